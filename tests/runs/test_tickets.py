"""How many drainers a run asks for, and the tickets themselves."""

import importlib
from typing import Any

import pytest
from django_q.models import OrmQ
from django_q.tasks import async_task
from redis import RedisError

from evals_app.runs import start_run
from evals_app.runs.tickets import MOST_SLOTS, drainers_for, issue_tickets, slots_for
from tests.runs.suites import make_suite


@pytest.mark.parametrize(
    ("workers", "concurrency", "executions", "drainers"),
    [
        pytest.param(9, 1, 100, 1, id="one at a time: one"),
        pytest.param(9, 2, 100, 2, id="at least two"),
        pytest.param(9, 64, 100, 2, id="also where one could hold all"),
        pytest.param(9, 128, 1000, 2, id="two are full"),
        pytest.param(9, 129, 1000, 3, id="one more"),
        pytest.param(9, 1000, 10_000, 8, id="one process stays free"),
        pytest.param(3, 1000, 10_000, 2, id="of three, two"),
        pytest.param(2, 1000, 10_000, 1, id="of two, one"),
        pytest.param(1, 1000, 10_000, 1, id="but one there must be"),
        pytest.param(9, 10, 1, 1, id="no more than there is to do"),
        pytest.param(9, 1000, 3, 3, id="three for three"),
        pytest.param(9, 10, 0, 1, id="nothing to do: somebody must say so"),
    ],
)
def test_how_many_drainers_a_run_wants(
    workers: int, concurrency: int, executions: int, drainers: int
) -> None:
    assert drainers_for(concurrency, executions=executions, processes=workers) == drainers


@pytest.mark.parametrize(
    ("concurrency", "drainers", "slots"),
    [
        pytest.param(1, 1, 1, id="one at a time"),
        pytest.param(10, 2, 5, id="two share ten"),
        pytest.param(5, 2, 3, id="rounded up"),
        pytest.param(129, 3, 43, id="three share"),
        pytest.param(1000, 1, MOST_SLOTS, id="never more than a drainer holds"),
        pytest.param(10, 1, 10, id="one drainer has all"),
    ],
)
def test_the_drainers_share_what_may_be_held_at_once(
    concurrency: int, drainers: int, slots: int
) -> None:
    assert slots_for(concurrency, drainers=drainers) == slots


@pytest.mark.django_db
@pytest.mark.parametrize("count", [0, 1, 3])
def test_tickets_name_the_run_and_the_task_that_serves_it(count: int) -> None:
    issue_tickets(7, count)

    tasks = [row.task for row in OrmQ.objects.all()]
    assert len(tasks) == count
    for task in tasks:
        assert (task["kwargs"], task["args"]) == ({"run_id": 7}, ())
        module, _, name = task["func"].rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.django_db
def test_tickets_that_cannot_be_issued_are_left_to_the_next_reaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = start_run(make_suite())
    issued = []

    def break_at_the_second(*args: Any, **kwargs: Any) -> str:
        issued.append(kwargs)
        if len(issued) > 1:
            message = "The queue is gone."
            raise RedisError(message)
        return str(async_task(*args, **kwargs))

    # A queue that breaks midway cannot be had otherwise.
    monkeypatch.setattr("evals_app.runs.tickets.async_task", break_at_the_second)
    issue_tickets(run.pk, 3)

    run.refresh_from_db()
    assert len(issued) == 2
    assert not OrmQ.objects.exists()  # together or not at all
    assert run.ticketed_at is None
