"""What goes with time, and what stays."""

import importlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django_q.models import OrmQ, Schedule
from django_q.scheduler import scheduler

from evals_app.library.baselines import set_baseline, unset_baseline
from evals_app.library.deleting.written import delete_case, delete_written
from evals_app.models import (
    Attachment,
    DeletedObject,
    Execution,
    GradeResult,
    PaidCalls,
    Review,
    Run,
    SignedInSession,
    Suite,
    Transcript,
    Turn,
)
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.process import retention
from evals_app.runs.process.retention import (
    Pruned,
    count_prunable,
    count_reviewed,
    due_runs,
    ensure_schedule,
    prune_as_scheduled,
    prune_run,
)
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.run_readers import run_document
from evals_app.runs.starting.rerun import rerun
from evals_app.runs.starting.start_run import start_run
from tests import makers
from tests.authored import a_case, write_suite
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


def make_run(states: Any = ("passed", "failed"), *, days_ago: float = 100, **changes: Any) -> Run:
    finished_at = timezone.now() - timedelta(days=days_ago)
    return makers.make_run(states, finished_at=finished_at, **changes)


def is_due(run: Run, *, days: int = 30, keep_last: int = 0) -> bool:
    return due_runs(older_than_days=days, keep_last=keep_last).filter(pk=run.pk).exists()


def transcripts(run: Run) -> int:
    return Transcript.objects.filter(execution__run=run).count()


def judged() -> GradeResult:
    call = {"model": "local/judge-1", "prompt": "Is it kind?", "reply": "{}"}
    return makers.make_grade(type="llm_judge", family="judged", calls=[call])


# Which runs


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"days_ago": 31}, True, id="older"),
        pytest.param({"days_ago": 29}, False, id="younger"),
        pytest.param({"is_pinned": True}, False, id="pinned"),
        pytest.param({"states": ["passed", "queued"]}, False, id="open"),
        pytest.param({"states": ["passed", "cancelled"]}, True, id="cancelled"),
        pytest.param({"states": ["passed", "not_run"], "stop_reason": "budget"}, True, id="spent"),
        pytest.param({"pruned_at": timezone.now()}, False, id="pruned already"),
        ({"pruned_at": timezone.now() - timedelta(days=200)}, True),
    ],
)
def test_a_run_is_due_when_it_ended_long_ago_and_is_not_pinned(
    changes: dict[str, Any],
    expected: bool,  # noqa: FBT001 - a column of the table
) -> None:
    run = make_run(**changes)

    assert is_due(run) is expected


def test_the_baseline_of_a_suite_keeps_its_transcripts_while_it_is_that() -> None:
    run = make_run()
    set_baseline(run)

    assert not is_due(run)
    assert prune_run(run) is None
    assert transcripts(run) == 2

    unset_baseline(run)
    assert is_due(run)
    assert prune_run(run) == Pruned(transcripts=2)


def test_the_baseline_of_a_deleted_suite_keeps_its_transcripts_while_that_can_be_restored() -> None:
    run = make_run(suite=makers.make_suite())
    assert run.suite is not None
    Suite.objects.filter(pk=run.suite.pk).update(baseline=run)
    deleted = delete_written(Suite.objects.get(), by=User.objects.create_user("ann"))
    assert deleted is not None

    assert not is_due(run)

    deleted.delete()
    assert is_due(run)


def test_what_was_deleted_stays_as_long_as_the_setting_says_with_its_files(settings: Any) -> None:
    settings.EVALS_KEEP_DELETED_DAYS = 7
    Attachment.objects.store([b"text"])
    Attachment.objects.update(wanted_at=timezone.now() - timedelta(days=2))
    file = Attachment.objects.get().pk
    suite = write_suite([a_case("old"), a_case("new")])
    Turn.objects.update(files=[{"name": "a.txt", "media_type": "text/plain", "sha256": file}])
    ann = User.objects.create_user("ann")
    entries = [delete_case(suite.cases.get(name=name), by=ann) for name in ("old", "new")]
    long_ago = timezone.now() - timedelta(days=8)
    DeletedObject.objects.filter(pk=entries[0].pk).update(deleted_at=long_ago)

    prune_as_scheduled()

    assert [entry.name for entry in DeletedObject.objects.all()] == ["new"]
    assert Attachment.objects.count() == 1
    entries[1].delete()
    prune_as_scheduled()
    assert not Attachment.objects.exists()


def test_what_people_reviewed_stays_until_they_withdraw_it() -> None:
    run = make_run(["passed", "failed"])
    first = run.executions.order_by("pk").first()
    assert first is not None
    review = Review.objects.create(execution=first, kind="comment", reason="Hm.", by_name="Ann")

    assert count_reviewed(run) == 1
    assert count_prunable(run) == Pruned(transcripts=1)
    assert prune_run(run) == Pruned(transcripts=1)
    assert Transcript.objects.get().execution == first

    Review.objects.filter(pk=review.pk).update(withdrawn_at=timezone.now())
    assert count_reviewed(run) == 0
    assert prune_run(run) == Pruned(transcripts=1)


def test_a_conversation_stays_while_another_grading_of_it_is_reviewed() -> None:
    run, again = make_run(["passed", "passed"]), make_run(["passed"])
    source = run.executions.order_by("pk")[0]
    again.executions.update(source=source)
    Review.objects.create(execution=again.executions.get(), kind="comment", by_name="Ann")

    assert (count_reviewed(run), count_reviewed(again)) == (1, 1)
    assert prune_run(run) == Pruned(transcripts=1)
    assert Transcript.objects.filter(execution=source).exists()


@pytest.mark.parametrize(
    ("keep_last", "kept"),
    [
        pytest.param(0, [], id="none"),
        pytest.param(1, ["c", "z"], id="one of each suite"),
        pytest.param(2, ["b", "c", "z"], id="two"),
        pytest.param(9, ["a", "b", "c", "z"], id="more than there are"),
    ],
)
def test_the_last_runs_of_each_suite_stay_and_tries_do_not_count(
    keep_last: int, kept: list[str]
) -> None:
    runs = {name: make_run() for name in "abc"}
    runs["z"] = make_run(suite=makers.make_suite("greetings"))
    tried = make_run(is_tryout=True)
    makers.make_run(["queued"])

    due = set(due_runs(older_than_days=30, keep_last=keep_last))

    assert [name for name, run in runs.items() if run not in due] == kept
    assert tried in due


def test_the_run_that_gives_a_suite_its_verdict_stays_beside_later_parts() -> None:
    older, verdict = make_run(), make_run()
    older_part, part = (make_run(is_whole=False) for _ in range(2))

    due = set(due_runs(older_than_days=30, keep_last=1))

    assert due == {older, older_part}
    assert not due & {verdict, part}


# What goes


def test_transcripts_go_and_results_stay() -> None:
    run = make_run([])
    row = makers.make_execution(run, agent_cost_usd="0.25", grades=[judged(), makers.make_grade()])
    PaidCalls.objects.create(execution=row, calls=[{"request": "r", "reply": "x"}])
    before = rows_of(row)

    pruned = prune_run(run)

    run.refresh_from_db()
    assert pruned == Pruned(transcripts=1, judged=1, paid_calls=1)
    assert run.pruned_at is not None
    assert not Transcript.objects.exists()
    assert not PaidCalls.objects.exists()
    assert [grade.calls for grade in row.grades.all()] == [[], []]
    assert rows_of(row) == before
    assert not is_due(run)


def rows_of(row: Execution) -> list[dict[str, Any]]:
    """Return all that must stay of an execution."""
    grades = [
        {name: value for name, value in grade.items() if name != "calls"}
        for grade in GradeResult.objects.filter(execution=row).order_by("pk").values()
    ]
    return [dict(Execution.objects.values().get(pk=row.pk)), *grades]


def test_counting_gives_the_same_and_removes_nothing() -> None:
    run = make_run([])
    for number in range(3):
        makers.make_execution(run, f"case {number}", grades=[judged()])

    counted = count_prunable(run)

    assert counted == Pruned(transcripts=3, judged=3)
    assert transcripts(run) == 3
    assert prune_run(run) == counted


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"is_pinned": True}, id="pinned"),
        pytest.param({"status": "running", "verdict": ""}, id="resumed"),
        pytest.param({"finished_at": Now() + timedelta(seconds=1)}, id="resumed and ended again"),
    ],
)
def test_a_run_that_is_wanted_again_between_two_batches_keeps_the_rest(
    monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any]
) -> None:
    run = make_run(["passed", "passed", "not_run"])
    monkeypatch.setattr(retention, "AT_ONCE", 1)
    after_batch(monkeypatch, lambda: Run.objects.update(**columns))

    assert prune_run(run) is None

    run.refresh_from_db()
    assert (run.pruned_at, transcripts(run)) == (None, 1)


def test_pruning_that_was_broken_off_goes_on_where_it_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = make_run(["passed"] * 3)
    monkeypatch.setattr(retention, "AT_ONCE", 1)

    def die() -> None:
        message = "The machine went off."
        raise SystemExit(message)

    after_batch(monkeypatch, die, number=2)
    with pytest.raises(SystemExit):
        prune_run(run)
    monkeypatch.undo()
    assert (is_due(run), transcripts(run)) == (True, 2)

    assert prune_run(run) == Pruned(transcripts=2)

    assert (is_due(run), transcripts(run)) == (False, 0)


def after_batch(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], *, number: int = 1
) -> None:
    """Let something happen at the end of a batch: elsewhere it would be a race."""
    prune = retention._prune_executions  # noqa: SLF001 - the seam between two batches
    calls = []

    def then(executions: QuerySet[Execution]) -> Pruned:
        done = prune(executions)
        calls.append(executions)
        if len(calls) == number:
            act()
        return done

    monkeypatch.setattr(retention, "_prune_executions", then)


# A pruned run is still good for everything but reading it


def test_a_pruned_run_can_be_run_again() -> None:
    run = finished(make_suite(["hello", "bye"]))
    prune_run(run)

    again = rerun(Run.objects.get(pk=run.pk), only="failed")
    work()

    again.refresh_from_db()
    assert (again.total, again.failed) == (1, 1)
    assert transcripts(again) == 1


def test_a_pruned_run_that_was_stopped_can_go_on() -> None:
    run = start_run(make_suite(["hello", "hello"]))
    PaidCalls.objects.create(execution=run.executions.order_by("pk")[0], calls={})
    cancel_run(run)
    run.refresh_from_db()
    prune_run(run)

    resume_run(run)
    work()

    run.refresh_from_db()
    assert (run.status, run.passed) == ("finished", 2)
    assert transcripts(run) == 2


def test_a_pruned_run_is_exported_without_its_messages() -> None:
    run = finished(make_suite(["hello", "bye"]))
    executions = list(run_document(run)["executions"])
    prune_run(run)

    left = list(run_document(run)["executions"])

    emptied = ("messages", "tool_calls", "turns", "world_changes", "warnings")
    for before, after in zip(executions, left, strict=True):
        assert before["messages"]
        assert [name for name in emptied if after[name]] == []
        assert {k: v for k, v in after.items() if k not in emptied} == {
            k: v for k, v in before.items() if k not in emptied
        }


# The schedule


def schedules() -> Any:
    return Schedule.objects.filter(name="prune transcripts")


def test_the_schedule_prunes_what_the_setting_says(settings: Any) -> None:
    settings.EVALS_KEEP_TRANSCRIPTS_DAYS = 30
    old, young, last = make_run(days_ago=31), make_run(days_ago=29), make_run(days_ago=99)

    assert prune_as_scheduled() == {"runs": 1, "transcripts": 2, "files": 0}
    assert [transcripts(run) for run in (old, young, last)] == [0, 2, 2]


@pytest.mark.parametrize(
    ("days", "prune_s"),
    [pytest.param(0, 300, id="never"), pytest.param(30, 0, id="no time is left tonight")],
)
def test_no_run_is_pruned_without_the_setting_or_time(
    settings: Any, monkeypatch: pytest.MonkeyPatch, days: int, prune_s: float
) -> None:
    settings.EVALS_KEEP_TRANSCRIPTS_DAYS = days
    monkeypatch.setattr(retention, "PRUNE_S", prune_s)
    runs = [make_run(), make_run()]

    assert prune_as_scheduled() == {"runs": 0, "transcripts": 0, "files": 0}
    assert [transcripts(run) for run in runs] == [2, 2]


def test_sessions_that_have_ended_go_every_night() -> None:
    for key, hours in (("ended", -1), ("open", 1)):
        expires = timezone.now() + timedelta(hours=hours)
        SignedInSession.objects.create(session_key=key, session_data="", expire_date=expires)

    prune_as_scheduled()

    assert SignedInSession.objects.get().session_key == "open"


@pytest.mark.parametrize("model", [AccessLog, AccessAttempt, AccessFailureLog])
def test_records_of_sign_ins_stay_as_long_as_the_setting_says(settings: Any, model: Any) -> None:
    settings.EVALS_KEEP_SIGN_INS_DAYS = 7
    counted = {"failures_since_start": 1} if model is AccessAttempt else {}
    for name, days in (("old", 8), ("new", 6)):
        record = model.objects.create(username=name, ip_address="192.0.2.1", **counted)
        at = timezone.now() - timedelta(days=days)
        model.objects.filter(pk=record.pk).update(attempt_time=at)

    prune_as_scheduled()

    assert model.objects.get().username == "new"


@pytest.mark.parametrize("days", [30, 0])
def test_the_schedule_is_there_once_whatever_the_setting(settings: Any, days: int) -> None:
    settings.EVALS_KEEP_TRANSCRIPTS_DAYS = days
    ensure_schedule()
    (first,) = schedules()
    Schedule.objects.create(name="prune transcripts", func="of another worker")
    Schedule.objects.create(name="somebody else's", func="x.y")

    ensure_schedule()

    (kept,) = schedules()
    assert (kept.pk, kept.schedule_type, kept.repeats) == (first.pk, Schedule.DAILY, -1)
    assert kept.next_run.hour == 3
    assert timedelta(0) < kept.next_run - timezone.now() <= timedelta(days=1)
    assert Schedule.objects.count() == 2


@pytest.mark.django_db(transaction=True)  # django-q2 closes connections
def test_a_schedule_that_missed_nights_is_queued_once_and_names_a_task_that_exists(
    settings: Any,
) -> None:
    settings.EVALS_KEEP_TRANSCRIPTS_DAYS = 30
    ensure_schedule()
    schedules().update(next_run=timezone.now() - timedelta(days=3, hours=1))

    scheduler()
    scheduler()

    (queued,) = OrmQ.objects.all()
    module, _, name = queued.task["func"].rpartition(".")
    task = getattr(importlib.import_module(module), name)
    old, _last = make_run(), make_run()
    assert task(**queued.task["kwargs"]) == {"runs": 1, "transcripts": 2, "files": 0}
    assert transcripts(old) == 0
    assert schedules().get().next_run > timezone.now()


def test_a_run_is_due_again_once_a_review_in_it_is_withdrawn() -> None:
    run = make_run(["failed"], days_ago=9)
    execution = run.executions.get()
    assert Transcript.objects.filter(execution=execution).exists()
    review = Review.objects.create(execution=execution, kind="comment", reason="-", by_name="Ann")
    prune_run(run)
    assert not due_runs(older_than_days=1, keep_last=0).exists()

    Review.objects.filter(pk=review.pk).update(withdrawn_at=timezone.now() + timedelta(seconds=1))
    (due,) = due_runs(older_than_days=1, keep_last=0)
    prune_run(due)

    assert not Transcript.objects.exists()
