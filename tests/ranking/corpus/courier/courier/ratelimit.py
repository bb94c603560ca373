"""How many runs of a task a worker may start in a time."""

import re
import threading

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def parse_rate(text):
    """`10/s`, `300/m`, `5/h` as runs a second."""
    match = re.fullmatch(r"(\d+)/([smh])", text)
    if match is None:
        raise ValueError(f"{text!r} is no rate such as 10/s")
    return int(match[1]) / UNITS[match[2]]


class TokenBucket:
    """Fills at `rate` tokens a second up to `capacity`."""

    def __init__(self, rate, capacity, clock):
        self.rate = rate
        self.capacity = capacity
        self.clock = clock
        self.tokens = capacity
        self.filled_at = clock()

    def take(self):
        """Takes a token and gives 0, or leaves it and gives the seconds until there is one."""
        now = self.clock()
        self.tokens = min(self.capacity, self.tokens + (now - self.filled_at) * self.rate)
        self.filled_at = now
        if self.tokens >= 1:
            self.tokens -= 1
            return 0.0
        return (1 - self.tokens) / self.rate


class RateLimiter:
    """A bucket for each task that has a rate; shared by the threads of a worker."""

    def __init__(self, clock):
        self.clock = clock
        self._buckets = {}
        self._lock = threading.Lock()

    def wait_for(self, task):
        """Seconds that a run of `task` has to wait; 0 when it may start now."""
        if not task.rate:
            return 0.0
        with self._lock:
            bucket = self._buckets.get(task.name)
            if bucket is None:
                rate = parse_rate(task.rate)
                bucket = self._buckets[task.name] = TokenBucket(rate, max(1.0, rate), self.clock)
            return bucket.take()
