"""Schedules: each time starts one run, however many processes see it and whichever of them die."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import TestCase

from evals_app.models import DueRun, Run, Schedule, Suite
from evals_app.runs import schedules as module
from evals_app.runs.process.worker_loop import work
from evals_app.runs.schedules import note_due, problems_of, start_due_runs
from evals_app.runs.starting.start_run import start_run
from tests.runs.suites import make_agent, make_suite

pytestmark = pytest.mark.django_db

NIGHT = datetime(2026, 11, 26, 3, tzinfo=UTC)
DAY = timedelta(days=1)


def runner(name: str = "ann") -> User:
    person = User.objects.create_user(name)
    rights = Permission.objects.filter(codename__in=["view_run", "add_run"])
    person.user_permissions.set(rights)
    return person


def nightly(*suites: Suite, **columns: Any) -> Schedule:
    """Write a schedule that is due at NIGHT."""
    owner = columns.pop("owner", None) or runner()
    schedule = Schedule.objects.create(owner=owner, next_at=NIGHT, **columns)
    schedule.suites.set(suites or [make_suite(cases=1)])
    return schedule


def fire(now: datetime = NIGHT) -> list[Run]:
    with TestCase.captureOnCommitCallbacks(execute=True):
        start_due_runs(now)
    return list(Run.objects.order_by("pk"))


def outcomes() -> list[tuple[str, str]]:
    return list(DueRun.objects.order_by("pk").values_list("state", "why"))


def test_a_schedule_says_that_nothing_starts_while_its_suites_are_archived() -> None:
    schedule = nightly()
    assert not list(problems_of(schedule))

    Suite.objects.archive()

    assert "archived" in " ".join(problems_of(schedule))


def test_nothing_starts_before_its_time() -> None:
    nightly()

    assert fire(NIGHT - timedelta(seconds=1)) == []


def test_a_time_starts_one_run_of_each_suite_as_the_schedule_says() -> None:
    agent = make_agent()
    other = make_agent("other")
    suites = [make_suite(cases=1, slug=slug, name=slug, agent=agent) for slug in ("one", "two")]
    schedule = nightly(*suites, agent=other, trials=2, max_cost_usd=3, baseline="latest")

    runs = fire()
    again = fire(NIGHT + timedelta(seconds=10))

    assert [run.suite_slug for run in runs] == ["one", "two"]
    assert again == runs
    run = runs[0]
    assert (run.created_by, run.agent_slug, run.total, run.max_cost_usd) == (
        *(schedule.owner, "other", 2, 3),
    )
    assert run.group is not None
    assert run.group == runs[1].group
    assert [due.run for due in schedule.due_runs.order_by("pk")] == runs
    schedule.refresh_from_db()
    assert schedule.next_at == NIGHT + DAY


def test_times_that_passed_while_no_worker_ran_start_once() -> None:
    schedule = nightly()

    runs = fire(NIGHT + 5 * DAY + timedelta(hours=1))

    assert [run.group for run in runs] == [None]
    schedule.refresh_from_db()
    assert schedule.next_at == NIGHT + 6 * DAY


def test_a_run_that_is_still_going_is_not_overtaken() -> None:
    nightly()
    (first,) = fire()

    fire(NIGHT + DAY)
    work()
    runs = fire(NIGHT + 2 * DAY)

    assert [state for state, _ in outcomes()] == ["started", "skipped", "started"]
    assert f"Run {first.pk}" in outcomes()[1][1]
    assert len(runs) == 2


def _no_rights(schedule: Schedule) -> None:
    assert schedule.owner is not None
    schedule.owner.user_permissions.clear()


def _inactive(schedule: Schedule) -> None:
    User.objects.update(is_active=False)


def _deleted(schedule: Schedule) -> None:
    User.objects.all().delete()


def _archived(schedule: Schedule) -> None:
    Suite.objects.all().archive()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (_no_rights, "no longer start runs"),
        (_inactive, "no longer start runs"),
        (_deleted, "deleted"),
        (_archived, "archived"),
    ],
)
def test_what_may_not_start_says_so(change: Any, word: str) -> None:
    change(nightly())

    assert fire() == []
    ((state, why),) = outcomes()
    assert state == "refused"
    assert word in why


def test_an_error_of_ours_neither_repeats_nor_stops_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = make_suite(cases=1)
    two = make_suite(cases=1, slug="two", name="Two", agent=one.agent)
    nightly(one, two)

    def fail_first(suite: Suite, **how: Any) -> Run:
        if suite == one:
            raise ZeroDivisionError
        return start_run(suite, **how)

    monkeypatch.setattr(module, "start_run", fail_first)

    assert [run.suite for run in fire()] == [two]
    assert [state for state, _ in outcomes()] == ["refused", "started"]


def test_a_worker_that_dies_after_it_noted_what_is_due_loses_nothing() -> None:
    schedule = nightly()
    note_due(schedule.pk, now=NIGHT)

    assert len(fire(NIGHT + timedelta(minutes=1))) == 1


def test_a_worker_that_dies_after_the_start_starts_nothing_twice() -> None:
    nightly()
    (run,) = fire()
    DueRun.objects.update(state="due", run=None)  # it could not note it any more

    assert fire(NIGHT + timedelta(minutes=1)) == [run]
    assert DueRun.objects.get().run == run


def test_a_run_that_another_process_prepares_is_left_to_it() -> None:
    nightly()
    (run,) = fire()
    DueRun.objects.update(state="due", run=None)
    Run.objects.update(status=Run.PREPARING)

    fire(NIGHT + timedelta(minutes=1))
    assert DueRun.objects.get().state == "due"

    Run.all_runs.all().delete()  # as a reaper does, once that process is dead
    fire(NIGHT + timedelta(minutes=20))
    assert DueRun.objects.get().state == "started"
    assert run.pk not in Run.objects.values_list("pk", flat=True)


@pytest.mark.django_db(transaction=True)
def test_many_processes_start_one_run() -> None:
    nightly()
    processes = 4
    barrier, wrong = threading.Barrier(processes), []

    def look() -> None:
        try:
            barrier.wait()
            start_due_runs(NIGHT)
        except BaseException as exc:  # noqa: BLE001 - the test reports it
            wrong.append(exc)
        finally:
            connection.close()

    threads = [threading.Thread(target=look) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    start_due_runs(NIGHT)
    assert DueRun.objects.get().run == Run.all_runs.get()
