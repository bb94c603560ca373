"""What tasks returned, for those who want to wait."""

import threading
import time

from courier.errors import ResultTimeout, TaskFailed


class ResultStore:
    """Keeps values and errors by message id until they expire."""

    def __init__(self, expiry=3600, clock=time.monotonic):
        self.expiry = expiry
        self.clock = clock
        self._values = {}
        self._changed = threading.Condition()

    def put(self, id, value):
        self._set(id, ("ok", value))

    def fail(self, id, error):
        self._set(id, ("error", error))

    def _set(self, id, outcome):
        with self._changed:
            self._sweep()
            self._values[id] = (self.clock(), outcome)
            self._changed.notify_all()

    def wait(self, id, timeout):
        """The outcome of a message, or None when it did not come in time."""
        deadline = None if timeout is None else self.clock() + timeout
        with self._changed:
            while id not in self._values:
                left = None if deadline is None else deadline - self.clock()
                if left is not None and left <= 0:
                    return None
                self._changed.wait(left)
            return self._values[id][1]

    def forget(self, id):
        with self._changed:
            self._values.pop(id, None)

    def _sweep(self):
        """Drops what is older than the expiry; 0 keeps everything."""
        if not self.expiry:
            return
        oldest = self.clock() - self.expiry
        for id in [id for id, (at, _) in self._values.items() if at < oldest]:
            del self._values[id]


class AsyncResult:
    """A handle on something that may not have happened yet."""

    def __init__(self, id, store):
        self.id = id
        self.store = store

    def get(self, timeout=None):
        """Waits for the value. Raises what the task raised, wrapped, or `ResultTimeout`."""
        outcome = self.store.wait(self.id, timeout)
        if outcome is None:
            raise ResultTimeout(self.id, timeout)
        kind, value = outcome
        if kind == "error":
            raise TaskFailed(self.id) from value
        return value

    @property
    def ready(self):
        return self.store.wait(self.id, 0) is not None
