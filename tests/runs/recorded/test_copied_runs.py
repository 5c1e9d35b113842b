"""Conversations of our own runs in a set: copied once, masked, and apart from all rates."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from evals_app.models import (
    Agent,
    Assertion,
    ConversationImport,
    ConversationSet,
    Execution,
    ImportedConversation,
    Run,
    Transcript,
)
from evals_app.runs.forgetting.conversations import forget_conversation
from evals_app.runs.forgetting.whole_runs import delete_run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded import copied_runs
from evals_app.runs.recorded.copied_runs import (
    CannotCopyError,
    CopiedConversations,
    copy_conversations,
)
from evals_app.runs.recorded.grade_conversations import WantedConversations, start_grading
from evals_app.runs.recorded.waiting_imports import discard_import, has_waiting, import_waiting
from evals_app.runs.regrading.start_regrade import regrade
from tests.runs.recorded.conversations import imported, make_set, row_of, rows_of
from tests.runs.suites import finished, make_suite, start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]

MESSAGES = ["hello, I am ann@example.org", "hello", "bye"]


@pytest.fixture
def run() -> Run:
    return finished(make_suite(MESSAGES))


def copied(run: Run, **how: Any) -> ConversationImport:
    target = ConversationSet.objects.first() or make_set()
    verdict = how.pop("verdict", "")
    return copy_conversations(CopiedConversations.of_run(run, verdict), target, **how)


def said(row: ImportedConversation) -> dict[str, Any]:
    turn: dict[str, Any] = Transcript.objects.get(pk=row.execution_id).trial["turns"][0]
    return turn


def test_conversations_are_copied_once_and_masked(run: Run) -> None:
    row = copied(run)
    assert (row.added, row.masked, row.kind, row.source_run) == (3, {"e-mail": 3}, "run", run)
    first, second, _ = row.conversation_set.conversations.order_by("pk")
    assert said(first)["user"] == "hello, I am [e-mail 1]"
    assert said(first)["reply"] == "You said: hello, I am [e-mail 1]"
    source = run.executions.get(case="case 2")
    assert second.external_id == f"conversation-{source.pk}"
    assert second.facts == {"run": str(run.pk), "suite": "greetings", "case": "case 2"}
    assert second.happened_at is not None
    original = Transcript.objects.get(execution__run=run, execution__case="case 1")
    assert "ann@example.org" in original.trial["turns"][0]["user"]

    again = copied(run)
    assert (again.added, again.known) == (0, 3)


def test_what_is_graded_again_is_the_same_conversation(run: Run) -> None:
    copied(run)
    again = regrade(run)
    work()
    again.refresh_from_db()
    row = copied(again)
    assert (row.added, row.known) == (0, 3)


def test_only_those_with_a_verdict_are_copied_and_not_masked_on_request(run: Run) -> None:
    row = copied(run, verdict="failed", is_masked=False)
    [one] = row.conversation_set.conversations.all()
    assert (one.facts["case"], row.is_masked) == ("case 3", False)
    assert row.file_name == f"run {run.pk}, failed"


def test_copies_are_graded_and_count_in_no_rate_and_outlive_their_run(run: Run) -> None:
    row = copied(run)
    suite = make_suite(slug="second", agent=run.suite.agent if run.suite else None)
    Assertion.objects.create(suite=suite, type="contains", options={"value": "hello"})
    [grading] = start_grading(row.conversation_set, suite, WantedConversations())
    work()
    grading.refresh_from_db()
    assert (grading.passed, grading.failed, grading.is_whole) == (2, 1, False)
    assert not Run.objects.filter(is_import=True).exists()

    delete_run(run, by=User.objects.create_superuser("owner"))
    row.refresh_from_db()
    assert (row.source_run, row.conversation_set.conversations.count()) == (None, 3)


def test_what_was_said_is_removed_from_copies_too(run: Run) -> None:
    row, owner = copied(run), User.objects.create_superuser("owner")
    copies = list(row.conversation_set.conversations.order_by("pk"))
    same_id = imported([row_of(copies[0].external_id)], make_set("others"))

    forget_conversation(run.executions.get(case="case 1"), by=owner)
    kept = set(Transcript.objects.values_list("execution", flat=True))
    assert [copy.execution_id in kept for copy in copies] == [False, True, True]
    copies[0].refresh_from_db()
    assert (copies[0].facts, copied(run).known) == ({}, 2)
    assert same_id.run.executions.get().pk in kept

    forget_conversation(copies[1].execution, by=owner)
    assert Transcript.objects.filter(execution__run=run, execution__case="case 2").exists()


def test_many_are_copied_by_a_worker(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied_runs, "MAX_AT_ONCE", 2)
    row = copied(run)
    assert (row.finished_at, has_waiting(), row.is_by_worker) == (None, True, True)
    import_waiting()
    row.refresh_from_db()
    assert (row.added, row.finished_at is None, has_waiting()) == (3, False, False)

    row = copied(run)
    assert discard_import(row)
    assert not has_waiting()


def test_a_copy_that_was_interrupted_is_continued_by_a_worker(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("evals_app.runs.recorded.import_conversations._finish", die)
        with pytest.raises(KeyboardInterrupt):
            copied(run)
    assert not has_waiting()  # it is still claimed
    ConversationImport.objects.update(claimed_until=timezone.now())
    import_waiting()
    row = ConversationImport.objects.get()
    assert (row.added, row.conversation_set.conversations.count()) == (3, 3)
    assert ConversationSet.objects.get().count == 3


def test_what_is_no_longer_stored_is_left_out_and_counted(run: Run) -> None:
    Transcript.objects.filter(execution__case="case 1").delete()
    Execution.objects.filter(case="case 2").update(content_removed_at=timezone.now())
    row = copied(run)
    assert row.added == 1
    assert list(row.losses.values()) == [1]


def test_chosen_ones_of_several_runs_are_copied_by_a_worker_if_they_are_many(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent.objects.get()
    other = finished(make_suite(["hi", "so long"], slug="second", agent=agent))
    keys = [run.executions.get(case="case 3").pk, *other.executions.values_list("pk", flat=True)]
    chosen = CopiedConversations.of([*keys, keys[0], 999_999])
    assert (chosen.count, chosen.name) == (3, f"3 conversations, {keys[0]} to {keys[-1]}")

    monkeypatch.setattr(copied_runs, "MAX_AT_ONCE", 2)
    row = copy_conversations(chosen, make_set())
    assert (row.finished_at, has_waiting(), row.is_by_worker) == (None, True, True)
    import_waiting()
    row.refresh_from_db()
    assert [copy.facts["suite"] for copy in row.conversation_set.conversations.order_by("pk")] == [
        *("greetings", "second", "second")
    ]
    assert copied(run, by_worker=False).known == 1

    with monkeypatch.context() as patch:
        patch.setattr(copied_runs, "MAX_CHOSEN", 2)
        with pytest.raises(CannotCopyError, match="at most 2 at once"):
            CopiedConversations.of(keys)


def test_a_run_that_is_deleted_before_a_worker_copies_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_runs, "MAX_AT_ONCE", 2)
    row = copied(run)
    delete_run(run, by=User.objects.create_superuser("owner"))
    import_waiting()
    row.refresh_from_db()
    assert (row.finished_at is None, row.added, len(row.problems)) == (False, 0, 1)
    assert not has_waiting()


def test_runs_that_cannot_be_copied() -> None:
    target = make_set()
    suite = make_suite()
    with pytest.raises(CannotCopyError, match="not ended"):
        CopiedConversations.of_run(start(suite))
    work()
    run = Run.objects.get()
    with pytest.raises(CannotCopyError, match="fits"):
        CopiedConversations.of_run(run, "errored")
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    [real] = start_grading(
        imported(rows_of(1), target).conversation_set, suite, WantedConversations()
    )
    work()
    real.refresh_from_db()
    with pytest.raises(CannotCopyError, match="real ones already"):
        CopiedConversations.of_run(real)
    with pytest.raises(CannotCopyError, match="real conversations already"):
        CopiedConversations.of(real.executions.values_list("pk", flat=True))
