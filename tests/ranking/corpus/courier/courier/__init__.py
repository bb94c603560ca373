"""Background jobs: tasks, brokers, workers, schedules."""

from courier.app import Courier
from courier.broker import Broker, MemoryBroker, RedisBroker, broker_from_url
from courier.errors import CourierError, Ignore, Reject, ResultTimeout, RetryLater, TimeLimitExceeded
from courier.ratelimit import RateLimiter, TokenBucket
from courier.results import AsyncResult, ResultStore
from courier.retry import RetryPolicy
from courier.schedule import Beat, Crontab, Every
from courier.task import Message, Task
from courier.worker import Worker

__all__ = [
    "AsyncResult",
    "Beat",
    "Broker",
    "Courier",
    "CourierError",
    "Crontab",
    "Every",
    "Ignore",
    "MemoryBroker",
    "Message",
    "RateLimiter",
    "RedisBroker",
    "Reject",
    "ResultStore",
    "ResultTimeout",
    "RetryLater",
    "RetryPolicy",
    "Task",
    "TimeLimitExceeded",
    "TokenBucket",
    "Worker",
    "broker_from_url",
]
