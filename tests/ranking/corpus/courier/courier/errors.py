"""Everything that can be raised, in one place."""


class CourierError(Exception):
    """Base of all errors of this library."""


class Ignore(CourierError):
    """Raised by a task: neither a success nor a failure, just acknowledge."""


class Reject(CourierError):
    """Raised by a task: to the dead letter queue at once, whatever the retry policy says."""


class RetryLater(CourierError):
    """Raised by a task that wants to be tried again after so many seconds."""

    def __init__(self, seconds):
        super().__init__(f"retry in {seconds} s")
        self.seconds = seconds


class TimeLimitExceeded(CourierError):
    """The task ran longer than its time limit."""

    def __init__(self, task, limit):
        super().__init__(f"{task} ran longer than {limit} s")
        self.task = task
        self.limit = limit


class ResultTimeout(CourierError):
    """A result was not there in time."""

    def __init__(self, id, timeout):
        super().__init__(f"no result of {id} after {timeout} s")


class TaskFailed(CourierError):
    """A result was asked for, but the task raised; the cause says what."""


class CannotDecode(CourierError):
    """The body of a message cannot be read."""
