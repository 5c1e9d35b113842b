from datetime import timedelta

import pytest
from django.utils import timezone

from evals_app.admin.run_progress import counters, progress, status_line
from evals_app.models import Lease, Run, Worker
from tests.makers import make_run

pytestmark = pytest.mark.django_db


def lease_for(run: Run, *, seconds: float = 30) -> Lease:
    row = run.executions.get(status="running")
    until = timezone.now() + timedelta(seconds=seconds)
    return Lease.objects.create(
        token=row.lease_token, run=run, host="worker-1", pid=7, slots=4, until=until
    )


def test_the_five_counters_add_up_to_the_total() -> None:
    run = make_run(["passed", "failed", "errored", "cancelled", "not_run"])

    numbers = [number for _, number in counters(run)]

    assert numbers == [1, 1, 1, 1, 1]
    assert sum(numbers) == run.total


def test_a_run_that_nobody_works_on_waits_and_counts_the_workers() -> None:
    run = make_run(["queued"])
    Worker.objects.create(host="a", pid=1, version="1", processes=3)

    waiting = progress(run)["waiting"]

    assert waiting.since == run.created_at
    assert waiting.workers == 1


def test_a_worker_that_was_not_seen_lately_is_not_counted() -> None:
    run = make_run(["queued"])
    long_ago = timezone.now() - timedelta(minutes=2)
    Worker.objects.create(host="a", pid=1, version="1", processes=3, seen_at=long_ago)

    assert progress(run)["waiting"].workers == 0


def test_a_run_that_somebody_works_on_does_not_wait() -> None:
    run = make_run(["running", "queued"])
    lease_for(run)

    shown = progress(run)

    assert shown["waiting"] is None
    assert shown["drainers"] == "1 worker process"


def test_what_is_being_held_shows_age_attempt_and_worker() -> None:
    run = make_run(["running"])
    lease_for(run)

    (line,) = progress(run)["running"]

    assert (line.name, line.attempt, line.worker, line.lost) == (
        "case 1",
        "attempt 1 of 3",
        "worker-1, process 7",
        "",
    )
    assert line.age.replace("\u00a0", " ").endswith(" s")


def test_past_its_lease_a_worker_is_lost() -> None:
    run = make_run(["running"])
    lease_for(run, seconds=-1)

    shown = progress(run)

    assert shown["running"][0].lost.startswith("Worker lost, retried by ")
    assert shown["waiting"] is not None


def test_what_was_only_claimed_is_about_to_begin() -> None:
    run = make_run(["running"])
    run.executions.update(attempts=0, started_at=None)

    (line,) = progress(run)["running"]

    assert (line.age, line.attempt) == ("about to begin", "")


def test_while_it_stops_a_run_does_not_wait_for_a_worker() -> None:
    run = make_run(["running"], stop_reason="cancelled")

    assert progress(run)["waiting"] is None


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param(["queued"] * 2, "0 of 2 done.", id="not begun"),
        pytest.param(["passed", "failed", "queued"], "2 of 3 done, 1 failed.", id="goes on"),
        pytest.param(["passed"], "Finished: passed. 1 passed.", id="passed"),
        pytest.param(["failed"], "Finished: failed. 0 passed, 1 failed.", id="failed"),
        pytest.param(["cancelled"], "Cancelled: inconclusive. 0 passed.", id="cancelled"),
    ],
)
def test_the_status_line_says_how_the_run_stands(states: list[str], expected: str) -> None:
    assert status_line(make_run(states)) == expected
