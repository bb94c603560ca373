"""Hooks for those who only look on. Receivers cannot change what happens; middleware can."""

import logging
import weakref

log = logging.getLogger(__name__)

NAMES = (
    "before_publish",
    "task_started",
    "task_succeeded",
    "task_failed",
    "task_retried",
    "worker_ready",
    "worker_stopped",
)


class Signals:
    """Receivers by signal name, held weakly."""

    def __init__(self):
        self._receivers = {name: [] for name in NAMES}

    def connect(self, name, receiver):
        """Calls `receiver` with keyword arguments each time; usable as a decorator through `on`."""
        if name not in self._receivers:
            raise ValueError(f"no signal is called {name!r}")
        bound = getattr(receiver, "__self__", None) is not None
        reference = weakref.WeakMethod(receiver) if bound else weakref.ref(receiver)
        self._receivers[name].append(reference)
        return receiver

    def on(self, name):
        return lambda receiver: self.connect(name, receiver)

    def send(self, name, **facts):
        """Tells everybody. What a receiver raises is logged and goes no further."""
        alive = []
        for reference in self._receivers[name]:
            receiver = reference()
            if receiver is None:
                continue
            alive.append(reference)
            try:
                receiver(**facts)
            except Exception:
                log.exception("a receiver of %s failed", name)
        self._receivers[name] = alive
