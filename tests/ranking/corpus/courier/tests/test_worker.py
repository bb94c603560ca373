from courier import RetryPolicy
from courier.errors import Reject
from courier.worker import Worker


def test_a_result_is_stored_and_the_message_acknowledged(app, run_one):
    @app.task(name="add")
    def add(a, b):
        return a + b

    handle = add.later(2, 3)
    run_one()
    assert handle.get(timeout=0) == 5
    assert app.broker.reserve(["default"], 1) == []


def test_a_failed_task_comes_back_after_its_delay(app, run_one, clock):
    calls = []

    @app.task(name="flaky", retry=RetryPolicy(attempts=2, base=10, jitter=0))
    def flaky():
        calls.append(1)
        raise OSError("not yet")

    flaky.later()
    run_one()
    assert run_one() is None
    clock.advance(10)
    assert run_one().attempt == 2
    assert len(app.broker.dead) == 1


def test_rejected_messages_are_buried(app, run_one):
    @app.task(name="no", retry=RetryPolicy())
    def no():
        raise Reject("malformed order")

    no.later()
    run_one()
    assert app.broker.dead[0][1] == "malformed order"


def test_unknown_tasks_go_to_the_dead_letter_queue(app, run_one):
    from courier.task import Message

    app.publish(Message(task="nobody", body=b"[]"))
    run_one()
    assert "no task is called nobody" in app.broker.dead[0][1]


def test_a_silent_worker_loses_its_messages(app, clock):
    from courier.task import Message

    app.publish(Message(task="x", body=b"[]"))
    (first,) = app.broker.reserve(["default"], 1)
    clock.advance(301)
    (second,) = app.broker.reserve(["default"], 1)
    assert first.id == second.id


def test_drain_returns_prefetched_messages(app, clock):
    from courier.task import Message

    worker = Worker(app, clock=clock)
    app.publish(Message(task="x", body=b"[]"))
    worker._prefetched.extend(app.broker.reserve(["default"], 4))
    worker._drain()
    assert len(app.broker.reserve(["default"], 4)) == 1
