"""The application object: knows every task, its broker and its settings."""

import importlib
import logging
from dataclasses import dataclass, field

from courier.broker import broker_from_url
from courier.middleware import MiddlewareChain
from courier.results import ResultStore
from courier.signals import Signals
from courier.task import Message, Task

log = logging.getLogger(__name__)


@dataclass
class Settings:
    """What an operator may choose."""

    broker: str = "memory://"
    prefetch: int = 4
    concurrency: int = 2
    visibility_timeout: int = 300
    result_expiry: int = 3600
    serialiser: str = "json"
    default_queue: str = "default"
    grace: float = 30.0
    imports: list = field(default_factory=list)

    def update(self, values):
        """Takes over known keys and refuses others."""
        for key, value in values.items():
            if not hasattr(self, key):
                raise ValueError(f"unknown setting {key!r}")
            setattr(self, key, value)


class Courier:
    """Registers tasks and publishes their messages."""

    def __init__(self, name, **settings):
        self.name = name
        self.settings = Settings()
        self.settings.update(settings)
        self.tasks = {}
        self.signals = Signals()
        self.middleware = MiddlewareChain()
        self._broker = None
        self._results = None

    @property
    def broker(self):
        if self._broker is None:
            self._broker = broker_from_url(self.settings.broker, self.settings.visibility_timeout)
        return self._broker

    @property
    def results(self):
        if self._results is None:
            self._results = ResultStore(expiry=self.settings.result_expiry)
        return self._results

    def task(self, function=None, **options):
        """Decorator that makes a task of a function and registers it under its dotted name."""

        def wrap(inner):
            task = Task(self, inner, **options)
            if task.name in self.tasks:
                raise ValueError(f"task {task.name} is registered twice")
            self.tasks[task.name] = task
            return task

        return wrap if function is None else wrap(function)

    def publish(self, message: Message, delay: float = 0.0):
        """Hands a message to the broker and tells who listens."""
        self.signals.send("before_publish", message=message)
        self.broker.push(message, delay=delay)
        log.debug("published %s to %s", message.id, message.queue)

    def autodiscover(self):
        """Imports the modules named in the settings, so that their decorators run."""
        for module in self.settings.imports:
            importlib.import_module(module)
        return sorted(self.tasks)

    def close(self):
        if self._broker is not None:
            self._broker.close()
            self._broker = None
