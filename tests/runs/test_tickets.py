"""The tickets that wake worker processes."""

import importlib
from typing import Any

import pytest
from django_q.models import OrmQ
from redis import RedisError

from evals_app.models import Run, Worker
from evals_app.runs.starting.waiting import call_workers
from tests.runs.suites import make_agent, make_suite, start

pytestmark = pytest.mark.django_db


def start_slug(slug: str = "greetings", **options: Any) -> Run:
    return start(make_suite(slug=slug, agent=make_agent(slug), **options))


@pytest.mark.parametrize(
    ("processes", "options", "tickets"),
    [
        pytest.param(3, {"cases": 20}, 2, id="one process stays free"),
        pytest.param(3, {"concurrency": 1}, 1, id="one conversation at a time"),
        pytest.param(9, {"cases": 10, "concurrency": 1000}, 8, id="a larger crew"),
    ],
)
def test_a_start_wakes_as_many_processes_as_the_run_can_use(
    processes: int, options: dict[str, Any], tickets: int
) -> None:
    Worker.objects.create(host="elsewhere", pid=1, version="0", processes=processes)

    start_slug(**options)

    assert OrmQ.objects.count() == tickets


def test_a_ticket_calls_the_task_that_works() -> None:
    start_slug(cases=1)

    task = OrmQ.objects.get().task
    module, _, name = task["func"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))
    assert (task["kwargs"], task["args"]) == ({}, ())


def test_the_queue_never_has_more_tickets_than_there_are_processes() -> None:
    for number in range(5):
        start_slug(f"suite-{number}", cases=20)
    call_workers()

    assert OrmQ.objects.count() == 3


def test_lost_tickets_are_issued_again_while_something_waits() -> None:
    run = start_slug(cases=1)
    OrmQ.objects.all().delete()

    call_workers()
    again = OrmQ.objects.count()
    OrmQ.objects.all().delete()
    run.cancel()
    call_workers()

    assert (again, OrmQ.objects.count()) == (1, 0)


def test_a_queue_that_is_away_stops_no_start(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "redis": "redis://127.0.0.1"}

    def fail(*_: Any, **__: Any) -> str:
        message = "The queue is gone."
        raise RedisError(message)

    # A queue that breaks midway cannot be had otherwise.
    monkeypatch.setattr("evals_app.runs.starting.waiting.async_task", fail)
    start_slug(cases=20)

    assert "No ticket could be issued" in caplog.text
    assert Run.objects.get().is_open
