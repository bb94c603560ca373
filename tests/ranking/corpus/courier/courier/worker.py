"""The process that reserves messages and runs their tasks."""

import concurrent.futures
import logging
import os
import signal
import socket
import threading
import time
import traceback

from courier import serialise
from courier.errors import Ignore, Reject, RetryLater, TimeLimitExceeded
from courier.ratelimit import RateLimiter

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 5.0
IDLE_SECONDS = 0.2


class Worker:
    """Runs the tasks of one application until it is told to stop."""

    def __init__(self, app, queues=None, clock=time.monotonic):
        self.app = app
        self.queues = queues or [app.settings.default_queue]
        self.clock = clock
        self.limiter = RateLimiter(clock)
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._stopping = threading.Event()
        self._running = {}
        self._prefetched = []
        self._last_beat = 0.0
        self._lock = threading.Lock()
        self._pool = concurrent.futures.ThreadPoolExecutor(app.settings.concurrency)

    # -- life

    def run(self):
        """Blocks until `stop` is called, from a signal or from another thread."""
        self._install_signals()
        self.app.signals.send("worker_ready", worker=self)
        try:
            while not self._stopping.is_set():
                self._beat()
                if not self._step():
                    self._stopping.wait(IDLE_SECONDS)
        finally:
            self._drain()

    def stop(self, *_):
        """Asks the loop to end; a second call does not wait for running tasks."""
        if self._stopping.is_set():
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._stopping.set()

    def _install_signals(self):
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self.stop)
            signal.signal(signal.SIGINT, self.stop)

    def _drain(self):
        """Gives prefetched messages back, then waits for what runs, up to the grace period."""
        for message in self._prefetched:
            self.app.broker.release(message)
        self._prefetched.clear()
        with self._lock:
            pending = list(self._running.values())
        done, late = concurrent.futures.wait(pending, timeout=self.app.settings.grace)
        if late:
            log.warning("%d tasks were still running after %.0f s", len(late), self.app.settings.grace)
        self.app.signals.send("worker_stopped", worker=self, finished=len(done), abandoned=len(late))

    def _beat(self):
        """Tells the broker that the messages held here are still being worked on."""
        now = self.clock()
        if now - self._last_beat < HEARTBEAT_SECONDS:
            return
        self._last_beat = now
        with self._lock:
            held = list(self._running)
        self.app.broker.touch(held + [message.id for message in self._prefetched])

    # -- one message

    def _step(self):
        """Reserves up to the prefetch limit and starts what there is room for; false when nothing was done."""
        room = self.app.settings.prefetch - len(self._prefetched)
        if room > 0:
            self._prefetched.extend(self.app.broker.reserve(self.queues, room))
        started = False
        while self._prefetched and len(self._running) < self.app.settings.concurrency:
            message = self._prefetched.pop(0)
            with self._lock:
                self._running[message.id] = self._pool.submit(self._handle, message)
            started = True
        return started

    def _handle(self, message):
        try:
            self._execute(message)
        except Exception:  # what a task raises was dealt with; this is ours
            log.exception("message %s broke the worker", message.id)
            self.app.broker.release(message)
        finally:
            with self._lock:
                self._running.pop(message.id, None)

    def _execute(self, message):
        task = self.app.tasks.get(message.task)
        if task is None:
            self.app.broker.bury(message, f"no task is called {message.task}")
            return
        wait = self.limiter.wait_for(task)
        if wait > 0:
            self.app.broker.push(message, delay=wait)
            self.app.broker.ack(message)
            return
        args, kwargs = serialise.loads(message.headers["content-type"], message.body)
        self.app.signals.send("task_started", message=message)
        try:
            value = self.app.middleware.around(task, message, lambda: self._call(task, args, kwargs))
        except Ignore:
            log.info("%s asked to be ignored", message.id)
        except Reject as error:
            self.app.broker.bury(message, str(error))
            return
        except Exception as error:
            self._failed(task, message, error)
        else:
            self.app.results.put(message.id, value)
            self.app.signals.send("task_succeeded", message=message, value=value)
        self.app.broker.ack(message)

    def _call(self, task, args, kwargs):
        if task.time_limit is None:
            return task.function(*args, **kwargs)
        future = concurrent.futures.ThreadPoolExecutor(1).submit(task.function, *args, **kwargs)
        try:
            return future.result(task.time_limit)
        except concurrent.futures.TimeoutError:
            raise TimeLimitExceeded(task.name, task.time_limit) from None

    def _failed(self, task, message, error):
        """Either one more attempt, or the dead letter queue."""
        if isinstance(error, RetryLater):
            delay = error.seconds
        elif task.retry is not None:
            delay = task.retry.next_delay(message.attempt, error)
        else:
            delay = None
        if delay is None:
            self.app.results.fail(message.id, error)
            self.app.broker.bury(message, traceback.format_exc())
            self.app.signals.send("task_failed", message=message, error=error)
        else:
            self.app.broker.push(message.again(), delay=delay)
            self.app.signals.send("task_retried", message=message, delay=delay)
