import pytest

from courier.errors import Ignore, Reject, RetryLater
from courier.retry import NO_RETRY, RetryPolicy, spread


def test_delay_grows_exponentially_up_to_the_ceiling():
    policy = RetryPolicy(attempts=10, base=1, factor=2, ceiling=10, jitter=0)
    delays = [policy.next_delay(attempt, OSError()) for attempt in range(1, 6)]
    assert delays == [1, 2, 4, 8, 10]


def test_attempts_are_used_up():
    policy = RetryPolicy(attempts=2)
    assert policy.next_delay(1, OSError()) is not None
    assert policy.next_delay(2, OSError()) is None


@pytest.mark.parametrize("error", [Ignore(), Reject(), KeyboardInterrupt()])
def test_some_errors_are_never_retried(error):
    assert not RetryPolicy(attempts=5).should_retry(1, error)


def test_only_named_exceptions_are_retried():
    policy = RetryPolicy(on=(ConnectionError,))
    assert policy.should_retry(1, ConnectionResetError())
    assert not policy.should_retry(1, ValueError())


def test_jitter_spreads_the_delay_in_both_directions():
    assert spread(100, 0.1, rng=lambda: 0.0) == 90
    assert spread(100, 0.1, rng=lambda: 1.0) == pytest.approx(110)


def test_a_policy_of_one_attempt_does_not_retry():
    assert NO_RETRY.next_delay(1, RuntimeError()) is None


def test_retry_later_carries_its_seconds():
    assert RetryLater(30).seconds == 30
