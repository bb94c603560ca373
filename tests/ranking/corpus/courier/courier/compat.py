"""Names of version 1, which warn and pass on."""

import warnings

from courier.app import Courier
from courier.retry import RetryPolicy
from courier.task import Task


def _renamed(old, new):
    warnings.warn(f"{old} is called {new} since 2.0", DeprecationWarning, stacklevel=3)


class JobQueue(Courier):
    """The old name of `Courier`."""

    def __init__(self, *args, **kwargs):
        _renamed("JobQueue", "Courier")
        super().__init__(*args, **kwargs)

    def job(self, function=None, **options):
        _renamed("JobQueue.job", "Courier.task")
        return self.task(function, **options)


class Job(Task):
    """The old name of `Task`."""

    def run_async(self, *args, **kwargs):
        _renamed("run_async", "later")
        return self.later(*args, **kwargs)


def ExponentialBackoff(retries=3, delay=1.0, max_delay=600.0, jitter_seconds=0.0):
    """The old way to ask for a retry policy; jitter was in seconds, so it is converted to a share of the delay."""
    _renamed("ExponentialBackoff", "RetryPolicy")
    share = min(1.0, jitter_seconds / delay) if delay else 0.0
    return RetryPolicy(attempts=retries + 1, base=delay, ceiling=max_delay, jitter=share)
