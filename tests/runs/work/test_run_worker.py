"""A run, from its start to its end, in one process."""

import socket
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django_q.models import OrmQ

from evals_app.engine.record.grade import Grade, GradedAssertion
from evals_app.engine.record.trial import Trial, TurnRecord, Verdict
from evals_app.engine.running.run_gateway import Orders, Outcome, WorkerReport
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.models import (
    Assertion,
    GradeResult,
    Lease,
    Run,
    Snapshot,
    SnapshotCase,
    Transcript,
    Worker,
)
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.reap import reap
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import rerun
from evals_app.runs.starting.start_run import start_run
from evals_app.runs.work.heartbeat import Heartbeat
from evals_app.runs.work.lease import open_lease
from tests.runs.suites import claim, finished, lease_of, make_agent, make_suite, start

pytestmark = pytest.mark.django_db


def counters(run: Run) -> dict[str, int]:
    run.refresh_from_db()
    names = ("total", "passed", "failed", "errored", "cancelled", "not_run")
    return {name: getattr(run, name) for name in names if getattr(run, name)}


def test_a_run_ends_with_one_result_per_execution() -> None:
    run = start(make_suite(["hello", "bye", "crash"]))

    work()

    assert counters(run) == {"total": 3, "passed": 1, "failed": 2}
    assert (run.status, run.verdict) == ("finished", "failed")
    rows = run.executions.order_by("position").values_list("verdict", "cause", "reason")
    assert list(rows) == [
        ("passed", "", ""),
        ("failed", "assertion", "The reply does not contain “hello”; it says “You said: bye”."),
        ("failed", "agent", "The agent crashed."),
    ]
    assert Transcript.objects.count() == GradeResult.objects.count() == 3
    assert not Lease.objects.exists()


def test_trials_are_counted_from_one_and_summed_up_per_case() -> None:
    run = start(make_suite(["hello"], trials=3))

    work()

    assert counters(run) == {"total": 3, "passed": 3}
    assert sorted(run.executions.values_list("trial", flat=True)) == [1, 2, 3]
    (case,) = run.case_results.values()
    assert case["pass_rate"] == 1.0
    assert case["pass_hat_k"] == [1.0, 1.0, 1.0]


def test_a_later_edit_does_not_reach_a_run() -> None:
    suite = make_suite(["hello"])
    run = start(suite)
    suite.cases.get().turns.update(user="bye")

    work()

    assert counters(run) == {"total": 1, "passed": 1}


def test_what_the_database_cannot_store_is_replaced_not_lost() -> None:
    run = start(make_suite(["hello"]))
    lease = lease_of(run)
    (job,) = claim(lease, 1)
    record = TurnRecord(1, "hello", "NUL \x00 and half a pair \ud800")
    trial = Trial("case 1", 1, 1, "echo", turns=(record,))

    assert lease.record([Outcome(job, trial, (), Decision(Verdict.PASSED, 1.0))])

    assert counters(run) == {"total": 1, "passed": 1}
    stored = Transcript.objects.get().trial["turns"][0]["reply"]
    assert stored == "NUL \ufffd and half a pair \ufffd"


NESTED: dict[str, Any] = {}
for _ in range(5000):
    NESTED = {"in": NESTED}


@pytest.mark.parametrize(
    ("score", "changes"),
    [
        pytest.param(7.0, {}, id="by the database"),
        pytest.param(0.5, NESTED, id="by what makes rows"),
    ],
)
def test_a_result_that_is_refused_does_not_take_its_neighbours_along(
    score: float, changes: dict[str, Any]
) -> None:
    run = start(make_suite(cases=2))
    lease = lease_of(run)
    good, bad = claim(lease, 2)
    trial = Trial("case", 1, 1, "echo")
    passed = Decision(Verdict.PASSED, 1.0)
    grade = Grade(score, True, "Strange.")  # noqa: FBT003 - score, verdict
    graded = GradedAssertion("contains", "", "text", 1, 0, 1.0, None, grade)

    lease.record(
        [
            Outcome(bad, trial.but(world_changes=changes), (graded,), passed),
            Outcome(good, trial, (), passed),
        ]
    )

    assert counters(run) == {"total": 2, "passed": 1, "errored": 1}
    row = run.executions.get(pk=bad.id)
    assert (row.cause, row.grades.count()) == ("harness", 0)
    assert "could not be stored" in row.reason


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        pytest.param({"cases": ["cse 1"]}, "Did you mean 'case 1'?", id="case"),
        pytest.param({"tags": ["smoke"]}, "No case of greetings has the tag 'smoke'.", id="tag"),
        pytest.param(
            {"tags": ["ONE"], "cases": ["case 2"]}, "No case of greetings has both", id="not both"
        ),
        pytest.param({"model": "anthropic/claude-haiku-5-5"}, "scripted", id="model of a script"),
    ],
)
def test_a_start_that_makes_no_sense_is_refused_in_words(
    options: dict[str, Any], complaint: str
) -> None:
    suite = make_suite()
    suite.cases.filter(name="case 1").update(tags=["one"])

    with pytest.raises(CannotStartError) as caught:
        start_run(suite, **options)

    assert complaint in str(caught.value)
    assert not Run.objects.exists()


def test_no_drainer_takes_in_advance_what_another_drainer_could_begin_at_once() -> None:
    run = start(make_suite(cases=9, concurrency=8))
    first, second = lease_of(run), lease_of(run)

    begun = claim(first, 4)
    ahead = first.claim(4, free=0, in_hand=4)
    no_more = first.claim(4, free=0, in_hand=5)
    others = claim(second, 4)
    nothing = first.claim(4, free=0, in_hand=5)

    assert [len(begun), len(ahead or ()), no_more, len(others)] == [4, 1, None, 4]
    assert nothing == []


def test_a_beginning_that_is_reported_twice_counts_once() -> None:
    run = start(make_suite(cases=2))
    lease = lease_of(run)
    ids = [job.id for job in claim(lease, 2)]

    answers = [lease.begin(ids), lease.begin(ids)]

    assert answers == [set(ids), set(ids)]
    assert set(run.executions.values_list("attempts", flat=True)) == {1}


def test_a_drainer_that_fails_asks_for_no_other_to_fail_in_its_place(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start(make_suite(cases=2))
    OrmQ.objects.all().delete()

    def fail(run: Run) -> None:
        message = "The snapshot cannot be read."
        raise LookupError(message)

    # A snapshot of a later version cannot be had otherwise.
    monkeypatch.setattr("evals_app.runs.work.run_worker.plan_of", fail)
    work()

    assert "cannot be worked on" in caplog.text
    assert not OrmQ.objects.exists()
    assert not Lease.objects.exists()


def test_one_run_that_cannot_be_looked_after_does_not_stop_the_reaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = start(make_suite(cases=1))
    other = start(make_suite(cases=1, slug="other", agent=make_agent("other")))
    Run.objects.update(deadline_at=Now() - timedelta(seconds=1))
    monkeypatch.setattr(
        "evals_app.runs.ending.reap.cancel_queued", lambda pk: 1 / 0 if pk == broken.pk else None
    )

    reap()

    assert counters(other) == {"total": 1, "not_run": 1}
    assert other.status == "finished"


@pytest.mark.parametrize("head", [{}, {"content": '{"schema_version": 99}'}])
def test_a_queued_run_even_of_another_version_is_cancelled_at_once(head: dict[str, str]) -> None:
    run = start(make_suite(cases=2))
    Snapshot.objects.update(**head)

    assert [cancel_run(run), cancel_run(run)] == [True, False]
    assert counters(run) == {"total": 2, "cancelled": 2}
    assert (run.status, run.verdict) == ("cancelled", "inconclusive")


def test_a_drainer_stops_conversations_when_the_run_is_cancelled(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EVALS_PULSE_S = 0.3
    run = start(make_suite(["hello", "very late"], concurrency=1, contains="o"))

    class SomebodyClicks(Heartbeat):
        def beat(self, report: WorkerReport) -> Orders:
            if report.doing:
                run.cancel()
            return super().beat(report)

    # The click has to come while the conversations are lease, in this very thread.
    monkeypatch.setattr("evals_app.runs.work.run_worker.Heartbeat", SomebodyClicks)
    work()

    assert counters(run) == {"total": 2, "passed": 1, "cancelled": 1}
    assert (run.status, run.verdict) == ("cancelled", "inconclusive")
    stopped = run.executions.get(status="cancelled")
    assert [turn["user"] for turn in stopped.transcript.trial["turns"]] == ["very late"]


def test_a_reaper_ends_a_run_that_was_cancelled_without_a_worker() -> None:
    run = start(make_suite())
    run.cancel()

    reap()

    assert counters(run) == {"total": 3, "cancelled": 3}


# Deaths


def die(run: Run, *, begun: bool) -> Lease:
    """Leave a run as a worker does that is killed: a lease over rows, and nobody to renew it."""
    lease = lease_of(run)
    jobs = claim(lease, 10)
    if begun:
        lease.begin([job.id for job in jobs])
    Lease.objects.filter(pk=lease.token).update(until=Now() - timedelta(seconds=1))
    return Lease.objects.get(pk=lease.token)


def test_the_work_of_a_dead_worker_is_done_again() -> None:
    run = start(make_suite())
    die(run, begun=True)
    OrmQ.objects.all().delete()

    assert [reap(), reap()] == [1, 0]

    assert set(run.executions.values_list("status", "attempts")) == {("queued", 1)}
    assert OrmQ.objects.exists()  # asked for again at once
    work()
    assert counters(run) == {"total": 3, "passed": 3}


def test_a_worker_that_died_is_forgotten_and_what_waits_is_asked_for_again() -> None:
    start(make_suite())
    OrmQ.objects.all().delete()
    nobody = subprocess.Popen([sys.executable, "-c", ""])
    nobody.wait()
    Worker.objects.create(
        host=socket.gethostname(), pid=nobody.pid, version="0", processes=3, seen_at=Now()
    )

    reap()

    assert OrmQ.objects.exists()
    assert not Worker.objects.exists()


def test_a_death_before_the_conversation_began_does_not_count() -> None:
    run = start(make_suite())
    die(run, begun=False)

    reap()

    assert set(run.executions.values_list("status", "attempts")) == {("queued", 0)}


def test_the_third_death_makes_an_execution_errored() -> None:
    run = start(make_suite(cases=2))
    for _ in range(4):  # after two deaths each runs alone, so the last two are of one each
        die(run, begun=True)
        reap()

    assert counters(run) == {"total": 2, "errored": 2}
    assert (run.status, run.verdict) == ("finished", "inconclusive")
    row = run.executions.first()
    assert row is not None
    assert (row.verdict, row.cause) == ("errored", "harness")
    assert "died 3 times" in row.reason
    assert row.grades.get().status == "ungraded"


def test_a_late_worker_writes_nothing() -> None:
    run = start(make_suite(cases=1))
    lease = lease_of(run)
    (job,) = claim(lease, 1)
    lease.begin([job.id])
    Lease.objects.filter(pk=lease.token).update(until=Now() - timedelta(seconds=1))
    reap()
    work()
    verdict = run.executions.values_list("finished_at", flat=True).get()

    assert lease.begin([job.id]) == set()
    assert not lease.renew(activity={})
    assert not lease.record([])
    lease.release()

    assert run.executions.values_list("finished_at", flat=True).get() == verdict
    assert counters(run) == {"total": 1, "passed": 1}


def test_release_hands_back_what_we_stopped_ourselves_as_if_never_begun() -> None:
    run = start(make_suite())
    lease = lease_of(run)
    jobs = claim(lease, 2)
    lease.begin([jobs[0].id])

    lease.release()

    assert set(run.executions.values_list("status", "attempts")) == {("queued", 0)}


def test_drainers_share_the_slots_of_a_run() -> None:
    run = start(make_suite(cases=20, concurrency=10))

    leases = [lease_of(run), lease_of(run)]

    assert [lease.slots for lease in leases] == [5, 5]
    assert open_lease(run.pk) is None


@pytest.mark.parametrize(
    "part",
    [pytest.param(Snapshot, id="its head"), pytest.param(SnapshotCase, id="one of its cases")],
)
def test_a_snapshot_of_another_version_is_not_run_again(
    part: type[Snapshot | SnapshotCase],
) -> None:
    run = finished(make_suite(["bye"]))
    part._default_manager.update(content='{"schema_version": 0}')  # noqa: SLF001 - Django's name for it

    with pytest.raises(CannotStartError, match="made by another version"):
        rerun(Run.objects.get(pk=run.pk), only="failed", version="frozen")


@pytest.mark.parametrize("kind", ["tool_called", "tool_not_called"])
def test_a_check_of_a_tool_that_the_agent_lost_is_the_cases_fault(kind: str) -> None:
    suite = make_suite(["hello"])
    Assertion.objects.update(type=kind, options={"value": "entity.qery"})

    run = start(suite)
    work()

    assert counters(run) == {"total": 1, "errored": 1}
    assert run.verdict == "inconclusive"
    assert list(run.executions.values_list("verdict", "cause")) == [("errored", "case")]
