from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from django_q.models import OrmQ

from evals_app.models import Execution, Lease, Run, Worker
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.health import Stuck, StuckKind, requeue, stuck_among, usual_s
from evals_app.runs.work.lease import HeldLease
from tests.makers import make_execution, make_run
from tests.runs.suites import claim, lease_of, make_suite, start

pytestmark = pytest.mark.django_db


def ago(seconds: float) -> datetime:
    return timezone.now() - timedelta(seconds=seconds)


def stuck(run: Run) -> list[Stuck]:
    return stuck_among(Run.objects.filter(pk=run.pk)).get(run.pk, [])


def take(run: Run, count: int) -> HeldLease:
    """Open a lease and begin conversations under it."""
    lease = lease_of(run)
    lease.begin([job.id for job in claim(lease, count)])
    return lease


def end_lease(lease: HeldLease, *, seconds: float) -> None:
    Lease.objects.filter(pk=lease.token).update(until=ago(seconds))


def make_worker(**changes: Any) -> Worker:
    return Worker.objects.create(
        **{"host": "worker-1", "pid": 7, "version": "1", "processes": 3} | changes
    )


def kinds(run: Run) -> list[StuckKind]:
    return [problem.kind for problem in stuck(run)]


def states(run: Run) -> list[str]:
    return list(run.executions.order_by("pk").values_list("status", flat=True))


# What is stuck


def test_what_has_a_lease_is_not_stuck() -> None:
    make_worker()
    run = start(make_suite(cases=3))
    take(run, 2)

    assert stuck(run) == []


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(1, [], id="the reaper comes within its tick"),
        pytest.param(21, [StuckKind.NOT_TAKEN_BACK], id="two reapers have not come"),
    ],
)
def test_the_work_of_a_dead_worker_is_stuck_once_reapers_should_have_come(
    seconds: float, expected: list[StuckKind]
) -> None:
    run = start(make_suite(cases=3))
    end_lease(take(run, 2), seconds=seconds)

    assert kinds(run) == expected


def test_the_rows_of_several_dead_workers_are_counted_together_from_the_first_on() -> None:
    run = start(make_suite(cases=3, concurrency=2))
    end_lease(take(run, 1), seconds=60)
    end_lease(take(run, 1), seconds=600)

    (problem,) = stuck(run)

    assert problem.executions == 2
    assert problem.since is not None
    assert problem.since < ago(500)


def test_rows_whose_lease_does_not_exist_are_stuck() -> None:
    run = make_run(["running", "running", "queued"])

    (problem,) = stuck(run)

    assert (problem.kind, problem.executions, problem.since) == (StuckKind.NO_LEASE, 2, None)


@pytest.mark.parametrize(
    ("run", "worker", "expected"),
    [
        pytest.param({}, {}, [StuckKind.NOT_TAKEN_UP], id="never begun"),
        pytest.param({"waiting_since": 60}, {}, [], id="just started"),
        pytest.param({}, {"seen_at": 60}, [], id="no worker is alive"),
        pytest.param({}, {"is_draining": True}, [], id="the worker is stopping"),
        pytest.param({}, {"processes": 1}, [], id="every process is busy"),
        pytest.param({"stop_reason": "deadline"}, {}, [], id="stopped"),
        pytest.param({"started_at": 500, "waiting_since": 20}, {}, [], id="worked on lately"),
        ({"started_at": 500, "waiting_since": 100}, {}, [StuckKind.NOT_TAKEN_UP]),
    ],
)
def test_a_waiting_run_is_stuck_if_a_free_worker_does_not_take_it_up(
    run: dict[str, Any], worker: dict[str, Any], expected: list[StuckKind]
) -> None:
    make_worker(**_moments(worker))
    busy = make_run(["running"])
    Lease.objects.create(
        token=busy.executions.get().lease_token, run=busy, host="a", pid=1, slots=1, until=ago(-30)
    )
    waiting = make_run(
        ["queued", "queued"], **_moments({"created_at": 600, "waiting_since": 600} | run)
    )

    assert kinds(waiting) == expected


def _moments(columns: dict[str, Any]) -> dict[str, Any]:
    """Read seconds ago as moments: counted now, not when the tests were collected."""
    return {
        name: ago(value) if name.endswith(("_at", "_since")) and value is not None else value
        for name, value in columns.items()
    }


def test_what_is_queued_in_a_run_that_has_ended_is_not_stuck() -> None:
    make_worker()
    run = make_run(["passed", "not_run"], created_at=ago(600))

    assert stuck(run) == []


@pytest.mark.parametrize("runs", [1, 5])
def test_many_runs_take_as_many_queries_as_one(
    django_assert_num_queries: Callable[..., Any], runs: int
) -> None:
    make_worker()
    for _ in range(runs):
        make_run(["running", "queued"], waiting_since=ago(600))

    with django_assert_num_queries(2):  # running rows, waiting runs
        stuck = stuck_among(Run.objects.filter(status__in=Run.OPEN))

    assert len(stuck) == runs


# Requeue


def test_the_work_of_a_dead_worker_goes_back() -> None:
    run = start(make_suite(["hello", "bye"]))
    end_lease(take(run, 2), seconds=60)

    moved = requeue(run)

    assert moved == 2
    assert states(run) == ["queued", "queued"]


def test_rows_without_a_lease_go_back() -> None:
    run = start(make_suite(cases=2))
    lease = take(run, 1)
    Lease.objects.filter(pk=lease.token).delete()

    moved = requeue(run)

    assert moved == 1
    assert states(run) == ["queued", "queued"]


def test_rows_of_live_leases_and_of_other_runs_are_left_alone() -> None:
    other = make_run(["running"])
    run = start(make_suite(cases=3))
    alive = take(run, 2)

    assert requeue(run) == 0
    assert Execution.objects.filter(lease_token=alive.token, status="running").count() == 2
    assert Lease.objects.filter(pk=alive.token).exists()
    assert states(other) == ["running"]


def test_workers_are_asked_at_once() -> None:
    run = start(make_suite(cases=5))
    OrmQ.objects.all().delete()  # lost with a broker, say

    requeue(run)

    assert OrmQ.objects.count() == 2


def test_a_cancelled_run_that_hung_ends() -> None:
    run = start(make_suite(cases=3))
    lease = take(run, 2)
    cancel_run(run)
    end_lease(lease, seconds=60)

    requeue(run)

    run.refresh_from_db()
    assert (run.status, run.cancelled) == ("cancelled", 3)
    assert OrmQ.objects.count() == 2  # those of the start: none were added


def test_a_run_that_has_ended_stays_as_it_is() -> None:
    run = make_run(["passed", "not_run"])

    assert requeue(run) == 0
    assert states(run) == ["finished", "queued"]
    assert OrmQ.objects.count() == 0


def test_a_late_writer_of_a_row_that_went_back_writes_nothing() -> None:
    run = start(make_suite(cases=1))
    lease = take(run, 1)
    end_lease(lease, seconds=60)

    requeue(run)

    assert lease.begin([run.executions.get().pk]) == set()
    assert not lease.renew(activity={})


# How long a conversation takes


def took(run: Run, *seconds: float) -> None:
    """Add conversations that took so long."""
    begun = ago(1000)
    for number, duration in enumerate(seconds, 1):
        ended = begun + timedelta(seconds=duration)
        make_execution(run, f"long {number}", started_at=begun, finished_at=ended)


def test_a_run_with_enough_conversations_needs_no_other() -> None:
    run = make_run(["running"])
    took(run, *range(1, 21))

    assert usual_s(run) == pytest.approx(19)


def test_a_run_with_few_asks_the_last_run_of_its_suite() -> None:
    took(make_run([]), 500)
    took(make_run([]), 40)
    took(make_run([], is_tryout=True), 3)
    run = make_run(["running"])
    took(run, 1)

    assert usual_s(run) == pytest.approx(40)


def test_the_first_run_has_only_its_own() -> None:
    run = make_run(["running"])

    assert usual_s(run) is None
    took(run, 7)
    assert usual_s(run) == pytest.approx(7)


def test_what_has_no_verdict_does_not_count() -> None:
    run = make_run(["running"])
    make_execution(run, state="errored", started_at=ago(100), finished_at=ago(1))
    make_execution(run, "B", state="cancelled", started_at=ago(100), finished_at=ago(1))

    assert usual_s(run) is None
