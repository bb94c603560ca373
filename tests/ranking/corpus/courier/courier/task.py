"""A task, and the message that asks for one run of it."""

import time
import uuid
from dataclasses import dataclass, field

from courier import serialise
from courier.results import AsyncResult


@dataclass
class Message:
    """What travels through the broker."""

    task: str
    body: bytes
    queue: str = "default"
    priority: int = 0
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    attempt: int = 1
    headers: dict = field(default_factory=dict)
    published_at: float = field(default_factory=time.time)

    def again(self):
        """The same message for one more attempt."""
        return Message(
            task=self.task,
            body=self.body,
            queue=self.queue,
            priority=self.priority,
            id=self.id,
            attempt=self.attempt + 1,
            headers=dict(self.headers),
        )


class Task:
    """A function that can be run later, somewhere else."""

    def __init__(self, app, function, *, name=None, queue=None, retry=None, time_limit=None, rate=None, priority=0):
        self.app = app
        self.function = function
        self.name = name or f"{function.__module__}.{function.__qualname__}"
        self.queue = queue or app.settings.default_queue
        self.retry = retry
        self.time_limit = time_limit
        self.rate = rate
        self.priority = priority
        self.__doc__ = function.__doc__

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def later(self, *args, **kwargs):
        """Publishes a message and gives back a handle on its result."""
        return self.options().send(*args, **kwargs)

    def options(self, **overrides):
        """A copy of how this task is sent, with some of it changed: `task.options(delay=60).send(1)`."""
        return Call(self, **overrides)


class Call:
    """One way of sending a task."""

    def __init__(self, task, *, delay=0.0, queue=None, priority=None, headers=None):
        self.task = task
        self.delay = delay
        self.queue = queue or task.queue
        self.priority = task.priority if priority is None else priority
        self.headers = dict(headers or {})

    def send(self, *args, **kwargs):
        content_type, body = serialise.dumps((args, kwargs), self.task.app.settings.serialiser)
        message = Message(
            task=self.task.name,
            body=body,
            queue=self.queue,
            priority=self.priority,
            headers={"content-type": content_type, **self.headers},
        )
        self.task.app.publish(message, delay=self.delay)
        return AsyncResult(message.id, self.task.app.results)
