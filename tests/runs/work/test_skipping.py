"""Trials that cannot change the verdict of their case are skipped, and only those."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now

from evals_app.engine.record.trial import Cause, Trial, Verdict
from evals_app.engine.running.run_gateway import ExecutionJob, Outcome
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.models import Execution, Lease, PaidCalls, Run, Suite
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.reap import reap
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.rerun import rerun
from evals_app.runs.starting.start_run import start_run
from evals_app.runs.work.lease import HeldLease, open_lease
from tests.runs.suites import claim, finished, lease_of, make_agent, make_suite

pytestmark = pytest.mark.django_db

DECISIONS = {
    "P": Decision(Verdict.PASSED, 1.0),
    "F": Decision(Verdict.FAILED, 0.0, Cause.ASSERTION, "Missing."),
    "E": Decision(Verdict.ERRORED, None, Cause.JUDGE, "Silent."),
}


def stopping_suite(messages: Sequence[str] = ("hello", "bye"), **changes: Any) -> Suite:
    """Write a suite whose cases pass with half of their four trials; one conversation at a time."""
    usual = {"trials": 4, "min_pass_rate": 0.5, "concurrency": 1, "stop_when_decided": True}
    return make_suite(list(messages), **usual | changes)


def counters(run: Run) -> dict[str, int]:
    run.refresh_from_db()
    names = ("total", "passed", "failed", "errored", "skipped", "cancelled", "not_run")
    return {name: getattr(run, name) for name in names if getattr(run, name)}


def outcome(job: ExecutionJob, letter: str) -> Outcome:
    return Outcome(job, Trial(job.case.name, job.trial, 1, "echo"), (), DECISIONS[letter])


def end(lease: HeldLease, letters: str) -> None:
    """Begin and record as many executions as there are letters."""
    jobs = claim(lease, len(letters))
    assert lease.begin([job.id for job in jobs]) == {job.id for job in jobs}
    assert lease.record([outcome(job, end) for job, end in zip(jobs, letters, strict=True)])


def test_a_run_skips_what_cannot_change_a_verdict() -> None:
    suite = stopping_suite()

    run, whole = finished(suite), finished(suite, all_trials=True)

    assert counters(run) == {"total": 8, "passed": 2, "failed": 3, "skipped": 3}
    assert counters(whole) == {"total": 8, "passed": 4, "failed": 4}
    assert (run.status, run.verdict, run.is_whole) == ("finished", whole.verdict, True)
    verdicts = [list(each.case_results.values_list("name", "verdict")) for each in (run, whole)]
    assert verdicts[0] == verdicts[1] == [("case 1", "passed"), ("case 2", "failed")]


def test_its_cases_say_how_many_trials_were_skipped_and_claim_no_interval() -> None:
    run = finished(stopping_suite())

    rows = run.case_results.values_list("trials", "passed", "failed", "skipped", "interval_low")
    assert list(rows) == [(4, 2, 0, 2, None), (4, 0, 3, 1, None)]
    assert run.case_results.values_list("pass_at_k", "pass_hat_k").distinct().get() == ([], [])
    assert run.summary["pass_hat_k"] == []


def test_such_a_run_gives_its_suite_a_verdict() -> None:
    run = finished(stopping_suite())

    assert list(Run.objects.suite_verdicts()) == [run]


def test_a_skipped_execution_never_began() -> None:
    run = finished(stopping_suite())

    rows = run.executions.filter(status="skipped")
    columns = ("verdict", "attempts", "lease_token", "started_at", "finished_at", "score")
    assert set(rows.values_list(*columns)) == {("", 0, None, None, None, None)}


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        pytest.param({"stop_when_decided": False}, {}, id="the suite does not say so"),
        pytest.param({}, {"all_trials": True}, id="the run is to have them"),
        pytest.param({"min_score": 0.1}, {}, id="a gate needs them"),
    ],
)
def test_all_trials_run_where_they_are_wanted(
    changes: dict[str, Any], options: dict[str, Any]
) -> None:
    run = finished(stopping_suite(**changes), **options)

    assert run.stops_when_decided is False
    assert counters(run) == {"total": 8, "passed": 4, "failed": 4}


def test_the_first_trial_of_every_case_comes_first() -> None:
    suite = stopping_suite(trials=2)
    suite.cases.filter(name="case 2").update(trials=3)
    run = start_run(suite)

    assert list(run.executions.order_by("pk").values_list("case", "trial")) == [
        *(("case 1", 1), ("case 2", 1), ("case 1", 2), ("case 2", 2), ("case 2", 3))
    ]


def test_errored_trials_count_in_no_rate() -> None:
    run = start_run(stopping_suite(["hello"], trials=4, min_pass_rate=1.0))
    lease = lease_of(run)

    end(lease, "EP")
    assert counters(run) == {"total": 4, "passed": 1, "errored": 1, "not_run": 2}
    end(lease, "F")

    assert counters(run) == {"total": 4, "passed": 1, "failed": 1, "errored": 1, "skipped": 1}


def test_what_was_claimed_before_its_case_was_decided_does_not_begin() -> None:
    run = start_run(stopping_suite(["hello"], trials=4, min_pass_rate=1.0, concurrency=4))
    lease = lease_of(run)
    first, second, third = claim(lease, 3)
    lease.begin([first.id, second.id])

    lease.record([outcome(first, "F")])
    begun = [lease.begin([third.id]), lease.begin([third.id])]

    assert begun == [set(), set()]
    # The second one was running already: it counts.
    assert counters(run) == {"total": 4, "failed": 1, "skipped": 2, "not_run": 1}
    lease.record([outcome(second, "P")])
    assert counters(run) == {"total": 4, "passed": 1, "failed": 1, "skipped": 2}


def test_what_is_reported_twice_is_skipped_once() -> None:
    run = start_run(stopping_suite(["hello"], trials=4, min_pass_rate=1.0))
    lease = lease_of(run)
    (job,) = claim(lease, 1)
    lease.begin([job.id])

    answers = [lease.record([outcome(job, "F")]) for _ in range(2)]

    assert answers == [True, True]
    assert counters(run) == {"total": 4, "failed": 1, "skipped": 3}


def test_a_conversation_that_was_handed_back_is_skipped_with_what_it_paid_for() -> None:
    run = start_run(stopping_suite(["hello"], trials=3, min_pass_rate=1.0))
    handed_back = run.executions.get(trial=3)
    PaidCalls.objects.create(execution=handed_back, calls={"started_at": "", "calls": []})

    end(lease_of(run), "F")

    assert counters(run) == {"total": 3, "failed": 1, "skipped": 2}
    assert not PaidCalls.objects.exists()


def test_the_work_of_a_dead_worker_is_skipped_if_its_case_was_decided_meanwhile() -> None:
    run = start_run(stopping_suite(["hello"], trials=3, min_pass_rate=1.0, concurrency=2))
    dead = lease_of(run)
    (lost,) = claim(dead, 1)
    dead.begin([lost.id])
    Lease.objects.filter(pk=dead.token).update(until=Now() - timedelta(seconds=1))
    reap()
    alive = lease_of(run)
    end(alive, "F")
    alive.release()

    reap()

    assert counters(run) == {"total": 3, "failed": 1, "skipped": 2}
    assert run.verdict == "failed"
    assert Execution.objects.get(pk=lost.id).status == "skipped"


def test_an_execution_that_is_given_up_can_decide_its_case() -> None:
    run = start_run(stopping_suite(["hello"], trials=3, min_pass_rate=0.5))
    end(lease_of(run), "P")  # one more failure, and it could still fail
    assert counters(run) == {"total": 3, "passed": 1, "not_run": 2}
    run.executions.filter(trial=2).update(attempts=2)
    run.leases.all().delete()
    lease = lease_of(run)
    run.executions.filter(trial=2).update(
        attempts=3, status="running", lease_token=lease.token, started_at=Now()
    )
    Lease.objects.filter(pk=lease.token).update(until=Now() - timedelta(seconds=1))

    reap()

    # P, E and whatever comes: one of two is half.
    assert counters(run) == {"total": 3, "passed": 1, "errored": 1, "skipped": 1}


def test_a_run_that_was_cancelled_keeps_what_it_skipped_when_it_goes_on() -> None:
    run = start_run(stopping_suite(["hello", "hello"], trials=3, min_pass_rate=1.0))
    lease = lease_of(run)
    end(lease, "F")
    lease.release()
    cancel_run(run)
    assert counters(run) == {"total": 6, "failed": 1, "skipped": 2, "cancelled": 3}

    resume_run(run)
    work()

    assert counters(run) == {"total": 6, "passed": 3, "failed": 1, "skipped": 2}
    assert (run.status, run.verdict) == ("finished", "failed")


@pytest.mark.parametrize("all_trials", [False, True])
@pytest.mark.parametrize("version", ["current", "frozen"])
def test_a_run_again_does_as_the_run_before(version: Any, *, all_trials: bool) -> None:
    first = finished(stopping_suite(["bye"]), all_trials=all_trials)

    again = rerun(first, only="failed", version=version)
    work()

    assert again.stops_when_decided is not all_trials
    assert counters(again) == counters(first)


def test_recording_asks_no_more_of_runs_that_have_all_trials(
    django_assert_max_num_queries: Any,
) -> None:
    run = start_run(stopping_suite(["hello"] * 5, stop_when_decided=False))
    lease = lease_of(run)
    jobs = claim(lease, 5)

    with django_assert_max_num_queries(3) as queries:
        lease.begin([job.id for job in jobs])
    assert not [query for query in queries if "COUNT" in query["sql"]]


def test_recording_many_results_takes_few_queries(django_assert_max_num_queries: Any) -> None:
    counted = []
    agent = make_agent()
    for size in (2, 40):
        how = {"slug": f"suite-{size}", "agent": agent, "trials": 3, "min_pass_rate": 1.0}
        suite = stopping_suite(["hello"] * size, concurrency=size, **how)
        lease = lease_of(start_run(suite))
        jobs = claim(lease, size)
        lease.begin([job.id for job in jobs])
        with django_assert_max_num_queries(20) as queries:
            lease.record([outcome(job, "F") for job in jobs])
        counted.append(len(queries))
    assert counted[0] == counted[1]


@pytest.mark.django_db(transaction=True)
def test_drainers_at_work_at_the_same_time_skip_each_trial_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evals_app.runs.work.lease.processes", lambda: 4)
    suite = stopping_suite(["hello"] * 12, trials=6, min_pass_rate=0.5, concurrency=16)
    run = start_run(suite)
    leases = [lease_of(run)]
    while lease := open_lease(run.pk):
        leases.append(lease)
    assert len(leases) > 1

    with ThreadPoolExecutor(len(leases)) as pool:
        list(pool.map(_run_conversations, leases))
    for lease in leases:
        lease.release()
    reap()

    counts = counters(run)
    assert counts["passed"] + counts["failed"] + counts["skipped"] == counts["total"] == 72
    assert counts["skipped"] == run.executions.filter(status="skipped").count() > 12
    assert run.status == "finished"
    for case in run.case_results.all():
        assert case.passed + case.failed + case.skipped == 6
        assert case.verdict == "passed"


def _run_conversations(lease: HeldLease) -> None:
    try:
        while jobs := lease.claim(2, free=2, in_hand=0):
            begun = lease.begin([job.id for job in jobs])
            ours = [job for job in jobs if job.id in begun]
            assert lease.record([outcome(job, "F" if job.trial == 1 else "P") for job in ours])
    finally:
        connection.close()
