import pytest

from courier import Courier
from courier.broker.memory import MemoryBroker


class FakeClock:
    """A clock that only moves when it is told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def app(clock):
    app = Courier("tests")
    app._broker = MemoryBroker(clock=clock)
    yield app
    app.close()


@pytest.fixture
def run_one(app, clock):
    """Runs exactly one message without threads."""
    from courier.worker import Worker

    worker = Worker(app, clock=clock)

    def run():
        for message in app.broker.reserve(worker.queues, 1):
            worker._execute(message)
            return message

    return run
