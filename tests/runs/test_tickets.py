"""The tickets that wake worker processes."""

import importlib
from typing import Any

import pytest
from django.test import TestCase
from django_q.models import OrmQ
from redis import RedisError

from evals_app.models import Run, Worker
from evals_app.runs.start import start_run
from evals_app.runs.tickets import call_workers
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db


def start(slug: str = "greetings", **options: Any) -> Run:
    with TestCase.captureOnCommitCallbacks(execute=True):
        return start_run(make_suite(slug=slug, agent=make_agent(slug), **options))


def test_a_start_wakes_as_many_processes_as_the_run_can_use_and_leaves_one_free() -> None:
    start(cases=20)

    assert OrmQ.objects.count() == 2  # of three


def test_a_run_of_one_conversation_at_a_time_wakes_one() -> None:
    start(concurrency=1)

    assert OrmQ.objects.count() == 1


def test_a_ticket_calls_the_task_that_works() -> None:
    start(cases=1)

    task = OrmQ.objects.get().task
    module, _, name = task["func"].rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))
    assert (task["kwargs"], task["args"]) == ({}, ())


def test_the_queue_never_holds_more_tickets_than_there_are_processes() -> None:
    for number in range(5):
        start(f"suite-{number}", cases=20)
    call_workers()

    assert OrmQ.objects.count() == 3


def test_tickets_that_were_lost_are_issued_again() -> None:
    start(cases=1)
    OrmQ.objects.all().delete()

    call_workers()

    assert OrmQ.objects.count() == 1


def test_nobody_is_called_where_nothing_waits() -> None:
    run = start(cases=1)
    OrmQ.objects.all().delete()
    run.cancel()

    call_workers()

    assert not OrmQ.objects.exists()


def test_a_larger_crew_is_called_in_larger_numbers() -> None:
    Worker.objects.create(host="elsewhere", pid=1, version="0", processes=9)

    start(cases=500, concurrency=1000)

    assert OrmQ.objects.count() == 8


def test_a_queue_that_is_away_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.Q_CLUSTER = {**settings.Q_CLUSTER, "redis": "redis://127.0.0.1"}

    def fail(*_: Any, **__: Any) -> str:
        message = "The queue is gone."
        raise RedisError(message)

    # A queue that breaks midway cannot be had otherwise.
    monkeypatch.setattr("evals_app.runs.tickets.async_task", fail)
    start(cases=20)

    assert "No ticket could be issued" in caplog.text
    assert Run.objects.get().is_open
