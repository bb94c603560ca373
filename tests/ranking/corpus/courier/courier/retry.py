"""When a failed task is tried again."""

import random
from dataclasses import dataclass

from courier.errors import Ignore, Reject

NEVER = (Ignore, Reject, KeyboardInterrupt, SystemExit)


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential backoff with a ceiling and jitter."""

    attempts: int = 3
    base: float = 1.0
    factor: float = 2.0
    ceiling: float = 600.0
    jitter: float = 0.1
    on: tuple = (Exception,)

    def __post_init__(self):
        if self.attempts < 1:
            raise ValueError("attempts must be at least 1")
        if not 0 <= self.jitter <= 1:
            raise ValueError("jitter is a share of the delay, 0 to 1")

    def should_retry(self, attempt, error):
        """Whether `error`, raised by attempt number `attempt`, is worth another one."""
        if isinstance(error, NEVER) or not isinstance(error, self.on):
            return False
        return attempt < self.attempts

    def next_delay(self, attempt, error, rng=random.random):
        """Seconds until the next attempt, or None when there is none."""
        if not self.should_retry(attempt, error):
            return None
        delay = min(self.ceiling, self.base * self.factor ** (attempt - 1))
        return spread(delay, self.jitter, rng)


def spread(delay, jitter, rng=random.random):
    """Moves `delay` by up to `jitter` of itself in both directions."""
    return max(0.0, delay * (1 + jitter * (2 * rng() - 1)))


NO_RETRY = RetryPolicy(attempts=1)
PATIENT = RetryPolicy(attempts=12, base=30.0, ceiling=3600.0)
