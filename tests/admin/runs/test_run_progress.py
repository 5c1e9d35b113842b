from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evals_app.admin.runs.run_progress import (
    pace_line,
    progress,
    running_line,
)
from evals_app.models import Lease, ProviderState, Run, Worker
from fixtures_app.editing.times import moment_text
from tests.admin.run_pages import page_of
from tests.makers import make_execution, make_run

pytestmark = pytest.mark.django_db


def lease_for(run: Run, *, seconds: float = 30, **changes: Any) -> Lease:
    row = run.executions.get(status="running")
    until = timezone.now() + timedelta(seconds=seconds)
    columns = {"run": run, "host": "worker-1", "pid": 7, "slots": 4, "until": until}
    return Lease.objects.create(token=row.lease_token, **columns | changes)


def make_worker(**changes: Any) -> Worker:
    return Worker.objects.create(
        **{"host": "a", "pid": 1, "version": "1", "processes": 3} | changes
    )


def test_progress_is_counted_in_cases() -> None:
    run = make_run(
        {"A": ["passed"] * 2, "B": ["failed", "queued"], "C": ["passed", "running"]}
        | {"D": ["queued"] * 2, "E": ["errored"] * 2}
    )

    counted = progress(run)["counted"]

    # B has failed already: its last trial cannot change that.
    assert counted.headline == "3 of 5 cases, 1 failed, 1 not graded"
    assert counted.label == "1 passed, 1 failed, 1 not graded, 1 running, 1 waiting"
    assert counted.notes == ("6 of 10 conversations done.",)


def test_a_run_without_a_worker_waits_and_counts_the_workers() -> None:
    run = make_run(["queued"])
    make_worker()

    waiting = progress(run)["waiting"]

    assert waiting.since == run.created_at
    assert waiting.workers == 1


def test_a_run_with_a_worker_does_not_wait() -> None:
    run = make_run(["running", "queued"])
    lease_for(run)

    shown = progress(run)

    assert shown["waiting"] is None
    assert shown["workers"] == "1 worker process"


@pytest.mark.parametrize(
    ("passed", "waited_s", "expected"),
    [
        pytest.param(6, None, ["6 conversations a minute", "20.0 s left"], id="usual"),
        pytest.param(4, None, [], id="too few"),
        pytest.param(6, 30, [], id="resumed"),
    ],
)
def test_the_pace_is_shown_once_enough_conversations_ended(
    passed: int, waited_s: int | None, expected: list[str]
) -> None:
    now = timezone.now()
    run = make_run(["passed"] * passed + ["running", "queued"])
    run.started_at = now - timedelta(seconds=60)
    run.waiting_since = now - timedelta(seconds=90 if waited_s is None else waited_s)

    line = pace_line(run, now=now).replace("\u00a0", " ")

    assert all(part in line for part in expected)
    assert bool(line) == bool(expected)


def test_what_is_running_shows_age_attempt_and_worker() -> None:
    run = make_run(["running"])
    lease_for(run)

    (line,) = progress(run)["running"]

    assert (line.name, line.attempt, line.worker, line.lost) == (
        "case 1",
        "1 of 3",
        "worker-1, process 7",
        "",
    )
    assert line.age.replace("\u00a0", " ").endswith(" s")


@pytest.mark.parametrize(
    ("seconds", "has_worker", "expected"),
    [
        pytest.param(-1, True, "Worker crashed, retry by ", id="the reaper comes"),
        pytest.param(-15, True, "Worker crashed, retry is overdue", id="the reaper is late"),
        pytest.param(-1, False, "Worker crashed, retry once a worker is running", id="nobody"),
    ],
)
def test_past_its_lease_a_worker_is_lost(
    seconds: float, expected: str, *, has_worker: bool
) -> None:
    run = make_run(["running"])
    lease_for(run, seconds=seconds)
    if has_worker:
        make_worker()

    shown = progress(run)

    assert shown["running"][0].lost.startswith(expected)
    assert shown["waiting"] is not None
    assert shown["retried"].endswith(": 1 conversation.") is (seconds == -1 and has_worker)


def test_a_conversation_without_a_worker_is_reported() -> None:
    assert progress(make_run(["running"]))["running"][0].lost == "No worker has it"


def test_what_is_running_says_what_it_is_doing() -> None:
    run = make_run(["running"])
    row = run.executions.get()
    lease_for(run, activity={"claimed": 1, "doing": {str(row.pk): "turn 3 of 5"}})

    assert progress(run)["running"][0].doing == "Turn 3 of 5"
    assert running_line(row).doing == "Turn 3 of 5"


@pytest.mark.parametrize("activity", [{}, {"doing": {}}, {"claimed": 3, "doing": {"0": "turn 1"}}])
def test_before_its_worker_has_spoken_nothing_is_shown(activity: dict[str, Any]) -> None:
    run = make_run(["running"])
    lease_for(run, activity=activity)

    assert progress(run)["running"][0].doing == ""


@pytest.mark.parametrize(
    ("took", "age", "expected"),
    [
        pytest.param(20, 50, "Slow: 95 % finish within 20.0 s", id="more than twice"),
        pytest.param(20, 30, "", id="less than twice"),
        pytest.param(0.5, 5, "", id="too short to matter"),
        pytest.param(None, 5000, "", id="nothing to compare with"),
    ],
)
def test_what_takes_more_than_twice_the_usual_is_slow(
    took: float | None, age: float, expected: str
) -> None:
    run = make_run(["running"])
    lease_for(run)
    run.executions.update(started_at=timezone.now() - timedelta(seconds=age))
    if took is not None:
        begun = timezone.now() - timedelta(seconds=100)
        end = begun + timedelta(seconds=took)
        make_execution(run, "done", started_at=begun, finished_at=end)

    (line,) = progress(run)["running"]

    assert line.slow.replace("\u00a0", " ") == expected


def test_what_waits_to_be_served_is_not_slow() -> None:
    run = make_run(["running"])
    row = run.executions.get()
    lease_for(run, activity={"doing": {str(row.pk): "waits for a free place at Anthropic"}})
    run.executions.update(started_at=timezone.now() - timedelta(seconds=50))
    make_execution(run, "done")

    (line,) = progress(run)["running"]

    assert (line.doing, line.slow) == ("Waits for a free place at Anthropic", "")


def test_the_oldest_come_first_and_what_has_not_begun_last() -> None:
    run = make_run(["running"] * 3)
    now = timezone.now()
    for case, seconds in (("case 2", 60), ("case 3", 20)):
        row = run.executions.filter(case=case)
        row.update(started_at=now - timedelta(seconds=seconds))
    run.executions.filter(case="case 1").update(started_at=None, attempts=0)

    assert [line.name for line in progress(run)["running"]] == ["case 2", "case 3", "case 1"]


def test_what_waits_is_counted_without_what_runs() -> None:
    run = make_run(["passed", "running", "queued", "queued"])

    assert progress(run)["queued"] == "2 conversations"


def test_a_provider_that_asked_us_to_wait_is_named() -> None:
    run = make_run(["running"])
    until = timezone.now() + timedelta(seconds=90)
    run.providers.create(slug="anthropic", blocked_until=until, reason="rate limited (429)")
    ProviderState.objects.create(slug="third", blocked_until=until, reason="overloaded")

    (line,) = progress(run)["blocked"]

    assert line == f"Anthropic asked us to wait until {until:%H:%M:%S}: rate limited (429)."


def test_a_provider_whose_time_is_over_is_not() -> None:
    run = make_run(["running"])
    past = timezone.now() - timedelta(seconds=1)
    run.providers.create(slug="anthropic", blocked_until=past, reason="rate limited")

    assert progress(run)["blocked"] == []


def test_a_run_that_may_not_ask_its_provider_yet_does_not_promise_a_worker(
    admin_client: Client,
) -> None:
    Worker.objects.create(host="worker-1", pid=7, version="1", processes=3)
    run = make_run(["queued"])
    url = reverse("admin:evals_app_run_change", args=[run.pk])
    before = admin_client.get(url).content.decode()
    until = timezone.now() + timedelta(seconds=90)
    run.providers.create(slug="anthropic", blocked_until=until, reason="rate limited (429)")

    page = admin_client.get(url).content.decode()

    assert "Waiting for a worker" in before
    assert "Waiting for a worker" not in page
    assert "asked us to wait" in page


def test_what_the_next_worker_will_fix_is_not_called_stuck() -> None:
    run = make_run(["running"])
    lease_for(run, seconds=-600)

    without = progress(run)["stuck"]
    make_worker()
    (line,) = progress(run)["stuck"]

    assert without == []
    assert line.startswith("Stuck on a worker that disappeared at ")
    assert line.endswith(": 1 conversation.")


def test_what_has_no_lease_is_stuck_with_or_without_workers() -> None:
    assert progress(make_run(["running"] * 2))["stuck"] == [
        "Marked as running, but no worker has them: 2 conversations."
    ]


def test_a_run_that_free_workers_do_not_take_up_is_stuck() -> None:
    make_worker()
    long_ago = timezone.now() - timedelta(minutes=10)
    run = make_run(["queued"], waiting_since=long_ago)

    (line,) = progress(run)["stuck"]

    assert line == (
        f"Not picked up although a worker is free, since {moment_text(long_ago)}: 1 conversation."
    )


def test_what_was_only_claimed_is_about_to_begin() -> None:
    run = make_run(["running"])
    run.executions.update(attempts=0, started_at=None)

    (line,) = progress(run)["running"]

    assert (line.age, line.attempt) == ("starting", "")


def test_while_it_stops_a_run_does_not_wait_for_a_worker() -> None:
    run = make_run(["running"], stop_reason="cancelled")

    assert progress(run)["waiting"] is None


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        pytest.param(["queued"] * 2, "0 of 2 cases.", id="not started"),
        pytest.param(["passed", "failed", "queued"], "2 of 3 cases, 1 failed.", id="goes on"),
        pytest.param(["passed"], "Finished: passed. 1 of 1 case passed.", id="passed"),
        pytest.param(["failed"], "Finished: failed. 0 of 1 case passed.", id="failed"),
        pytest.param(
            ["cancelled"],
            "Cancelled: inconclusive. No case passed or failed, 1 not run.",
            id="cancelled",
        ),
    ],
)
def test_the_status_line_shows_the_progress_of_the_run(
    admin_client: Client, states: list[str], expected: str
) -> None:
    assert status_of(admin_client, make_run(states)) == expected


def status_of(client: Client, run: Run) -> str:
    return str(client.get(page_of(run)).context["status_line"])


@pytest.mark.parametrize(
    ("states", "reason", "expected"),
    [
        pytest.param(["passed", "not_run"], "budget", "Stopped at a cost ceiling: ", id="budget"),
        pytest.param(["passed", "not_run"], "deadline", "Out of time: ", id="deadline"),
        pytest.param(["passed"], "deadline", "Finished: passed.", id="nothing was left"),
    ],
)
def test_the_status_line_says_what_cut_a_run_short(
    admin_client: Client, states: list[str], reason: str, expected: str
) -> None:
    run = make_run(states, stop_reason=reason)

    assert status_of(admin_client, run).startswith(expected)
