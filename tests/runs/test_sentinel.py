"""A broker that may go away; the sentinel itself is tested with real processes in tests/faults."""

import pytest
from django.db import InterfaceError, OperationalError
from redis import ConnectionError as RedisConnectionError

from evals_app.runs.sentinel import PatientBroker


class Queue:
    """A broker that answers, or raises, what it is told to."""

    list_key = "touchstone"

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


AWAY = [
    pytest.param(OperationalError("gone"), id="database away"),
    pytest.param(InterfaceError("gone"), id="connection lost"),
    pytest.param(RedisConnectionError("gone"), id="Redis away"),
    pytest.param(ConnectionRefusedError("gone"), id="refused"),
]


@pytest.mark.django_db
@pytest.mark.parametrize("error", AWAY)
def test_a_broker_that_is_away_has_no_tickets(error: Exception) -> None:
    broker = patient(Queue(error, [(1, "ticket")]))

    assert [broker.dequeue(), broker.dequeue()] == [None, [(1, "ticket")]]


@pytest.mark.django_db
@pytest.mark.parametrize("error", AWAY)
def test_a_ticket_that_cannot_be_taken_out_is_left(error: Exception) -> None:
    broker = patient(Queue(error, "taken"))

    broker.acknowledge(1)
    broker.acknowledge(2)


@pytest.mark.django_db
def test_an_outage_is_told_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
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


def test_nothing_is_asked_or_stored_that_nobody_needs() -> None:
    queue = Queue()
    broker = patient(queue)
    broker.set_stat("key", "value", 3)

    assert broker.ping()
    assert queue.stored == []
    assert broker.list_key == "touchstone"
