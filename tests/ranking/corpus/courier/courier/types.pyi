from typing import Any, Callable, Protocol

class RetryPolicy:
    attempts: int
    base: float
    factor: float
    ceiling: float
    jitter: float
    on: tuple[type[BaseException], ...]
    def should_retry(self, attempt: int, error: BaseException) -> bool: ...
    def next_delay(self, attempt: int, error: BaseException, rng: Callable[[], float] = ...) -> float | None: ...

class Message:
    task: str
    body: bytes
    queue: str
    priority: int
    id: str
    attempt: int
    headers: dict[str, str]
    def again(self) -> Message: ...

class Worker:
    def __init__(self, app: Any, queues: list[str] | None = ..., clock: Callable[[], float] = ...) -> None: ...
    def run(self) -> None: ...
    def stop(self, *_: Any) -> None: ...

class Seen(Protocol):
    def add(self, id: str) -> bool: ...
    def forget(self, id: str) -> None: ...
