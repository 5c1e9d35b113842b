"""A broker that may go away; the sentinel itself is tested with real processes in tests/faults."""

import inspect
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from django_q import cluster as q_cluster
from django_q.brokers import Broker
from django_q.status import Stat
from django_q.tasks import async_task
from redis import ConnectionError as RedisConnectionError

from evals_app.runs.process.sentinel import PatientBroker, Sentinel


class Queue:
    """A broker that gives these answers, or raises them."""

    list_key = "evalwell"

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.stored: list[object] = []

    def ping(self) -> bool:
        raise AssertionError

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        self.stored.append(value)

    def dequeue(self) -> object:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def acknowledge(self, ticket: object) -> None:
        self.dequeue()


def patient(queue: Queue) -> PatientBroker:
    return PatientBroker(queue, pause_s=0.0)


@pytest.fixture(autouse=True)
def _redis(settings: Any) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "redis": "redis://127.0.0.1"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OperationalError("gone"), id="database away"),
        pytest.param(InterfaceError("gone"), id="connection lost"),
        pytest.param(RedisConnectionError("gone"), id="Redis away"),
        pytest.param(ConnectionRefusedError("gone"), id="refused"),
    ],
)
def test_a_broker_that_is_away_has_no_tickets_and_takes_none(error: Exception) -> None:
    broker = patient(Queue(error, [(1, "ticket")], error, "taken"))

    assert [broker.dequeue(), broker.dequeue()] == [None, [(1, "ticket")]]
    broker.acknowledge(1)
    broker.acknowledge(2)


@pytest.mark.django_db
def test_an_outage_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    gone = OperationalError("gone")
    broker = patient(Queue(gone, gone, None, None, gone))

    for _ in range(5):
        broker.dequeue()

    assert [record.message.partition(";")[0] for record in caplog.records] == [
        "The queue does not answer",
        "The queue answers again.",
        "The queue does not answer",
    ]


def test_a_mistake_is_no_outage() -> None:
    with pytest.raises(ValueError, match="a mistake"):
        patient(Queue(ValueError("a mistake"))).dequeue()


def test_nothing_is_asked_or_stored_without_need() -> None:
    queue = Queue()
    broker = patient(queue)
    broker.set_stat("key", "value", 3)

    assert broker.ping()
    assert queue.stored == []
    assert broker.list_key == "evalwell"


# What `evals_app.runs` replaces or relies on inside django-q2, which promises none of it.
REPLACED_NAMES = {"Queue", "Event", "Value"}
REPLACED_METHODS = {
    "start": ["self"],
    "status": ["self"],
    "spawn_process": ["self", "target", "args"],
    "stop": ["self"],
}
BROKER_METHODS = {
    "ping": ["self"],
    "set_stat": ["self", "key", "value", "timeout"],
    "dequeue": ["self"],
    "acknowledge": ["self", "task_id"],
    "queue_size": ["self"],
}


def parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_django_q2_still_has_all_that_the_worker_replaces() -> None:
    sentinel = q_cluster.Sentinel
    built = inspect.getsource(sentinel.__init__)
    spawned = inspect.getsource(sentinel.spawn_worker)

    assert parameters(sentinel)[:4] == ["stop_event", "start_event", "cluster_id", "broker"]
    for name, expected in REPLACED_METHODS.items():
        assert parameters(getattr(sentinel, name)) == expected, f"Sentinel.{name} has changed."
    for name, expected in BROKER_METHODS.items():
        assert parameters(getattr(Broker, name)) == expected, f"Broker.{name} has changed."
    for name in REPLACED_NAMES:
        assert hasattr(q_cluster, name), f"django_q.cluster.{name} is gone."
        assert f"{name}(" in built + spawned, f"The sentinel no longer makes a {name} by name."
    assert "self.pusher = " in inspect.getsource(sentinel.spawn_cluster)
    assert "Stat(self).save()" in inspect.getsource(sentinel.guard), (
        "Rounds no longer ask the status."
    )
    assert "sentinel.status()" in inspect.getsource(Stat), "Stat no longer asks the status."
    assert {"func", "args", "kwargs"} == set(parameters(async_task)), "async_task has changed."
    assert {"Process", "Queue"} <= set(dir(q_cluster.get_mp_context()))


@pytest.mark.parametrize(("exitcode", "timer", "noted"), [(0, -1, -2), (-9, -1, -1), (0, 0, 0)])
def test_a_process_that_ended_because_it_was_idle_is_replaced_without_an_alarm(
    monkeypatch: pytest.MonkeyPatch, exitcode: int, timer: float, noted: float
) -> None:
    replaced: list[object] = []
    monkeypatch.setattr(q_cluster.Sentinel, "reincarnate", lambda _, ended: replaced.append(ended))
    process: Any = SimpleNamespace(exitcode=exitcode, timer=SimpleNamespace(value=timer))
    sentinel = object.__new__(Sentinel)
    sentinel.pool = [process]

    sentinel.reincarnate(process)

    assert replaced == [process]
    assert process.timer.value == noted
