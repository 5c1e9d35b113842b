"""Importing conversations: each is there once, and what is there already stays as it was."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.models import (
    Activity,
    ConversationImport,
    ConversationSet,
    Execution,
    Run,
    Transcript,
)
from evals_app.runs.process.retention import due_runs, prune_run
from evals_app.runs.recorded import import_conversations as module
from evals_app.runs.recorded.import_conversations import (
    CannotImportConversationsError,
    import_conversations,
)
from evals_app.runs.recorded.masking import site_masker
from tests.runs.recorded.conversations import file_of, imported, make_set, row_of, rows_of

pytestmark = pytest.mark.django_db


class _Shouting:
    """Masks by shouting."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def of_conversation(self, conversation: RecordedConversation) -> RecordedConversation:
        self.counts["name"] += 1
        return conversation.with_texts(lambda text, *_: text.upper())

    def of_text(self, text: str) -> str:
        return text.upper()


def test_a_conversation_becomes_an_execution_whose_unknown_numbers_are_unknown() -> None:
    row = imported([row_of("T 7", date="2026-11-16T09:14:00Z", tags=["price", "fee"])])

    [found] = row.conversation_set.conversations.select_related("execution__run")
    execution = found.execution
    assert (found.external_id, found.topic_list) == ("T 7", ["price", "fee"])
    assert (execution.case, execution.verdict, execution.time_ms) == ("T 7", "measured", None)
    assert (execution.agent_prompt_tokens, execution.agent_cost_usd) == (None, None)
    assert (execution.tool_calls, execution.turn_ms) == (None, [])
    trial = Transcript.objects.get(execution=execution).to_trial()
    assert trial is not None
    assert [(turn.user, turn.reply) for turn in trial.turns] == [("Why 9 euros?", "It is 6.90.")]
    assert (trial.is_outside, trial.started_at) == (True, "2026-11-16T09:14:00+00:00")
    run = execution.run
    assert (run.status, run.verdict, run.total, run.measured) == ("finished", "measured", 1, 1)
    assert (run.is_import, run.is_whole, run.suite_id) == (True, False, None)
    target = ConversationSet.objects.get()
    assert (target.count, target.days, target.topics) == (
        1,
        {"2026-11-16": 1},
        {"price": 1, "fee": 1},
    )


def test_what_is_there_is_not_imported_again_and_what_changed_is_named() -> None:
    first = imported(rows_of(3))
    changed = row_of(1, ("user", "Question 1"), ("assistant", "Another answer"))

    again = imported([rows_of(1)[0], changed, row_of(9), row_of(9)], first.conversation_set)

    assert (again.added, again.known, again.changed, again.repeated) == (1, 1, 1, 1)
    assert again.named == {"changed": ["1"], "repeated": ["9"]}
    assert ConversationSet.objects.get().count == 4
    kept = Transcript.objects.get(execution__case="1").trial
    assert kept["turns"][0]["reply"] == "Answer 1"


def test_what_is_masked_is_counted_and_is_the_same_conversation() -> None:
    target = make_set()
    masker = _Shouting()
    row = import_conversations(target, file_of(rows_of(2)), masker=masker)  # type: ignore[arg-type]

    assert (row.is_masked, row.masked) == (True, {"name": 2})
    assert Transcript.objects.first().trial["turns"][0]["reply"] == "ANSWER 0"  # type: ignore[union-attr]
    again = imported(rows_of(2), target)
    assert (again.known, again.changed) == (2, 0)


def test_an_interrupted_import_is_out_of_sight_until_it_is_continued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    target = make_set()
    file = file_of(rows_of(7, date="2026-11-16"))
    with pytest.raises(RuntimeError):
        import_conversations(target, _broken_off(file, after=5), masker=None)

    assert Execution.objects.count() == 4
    assert not Run.objects.exists()
    assert ConversationSet.objects.get().count == 0

    row = import_conversations(target, file, masker=None)

    assert (row.added, row.known, row.changed, row.repeated) == (7, 0, 0, 0)
    assert sorted(Execution.objects.values_list("case", flat=True)) == list("0123456")
    assert list(Execution.objects.order_by("pk").values_list("position", flat=True)) == [*range(7)]
    assert ConversationSet.objects.get().days == {"2026-11-16": 7}
    assert ConversationImport.objects.count() == 1
    run = Run.all_runs.get()
    assert (run.status, run.total, run.measured) == ("finished", 7, 7)


def test_an_interrupted_import_is_not_continued_in_another_way() -> None:
    target = make_set()
    with pytest.raises(RuntimeError):
        import_conversations(target, _broken_off(file_of(rows_of(3)), after=1), masker=None)

    with pytest.raises(CannotImportConversationsError):
        import_conversations(target, file_of(rows_of(3)), masker=_Shouting())  # type: ignore[arg-type]


def test_what_a_file_loses_and_what_cannot_be_read_stays_with_the_import() -> None:
    row = imported([row_of(1, ("user", "Hi"), ("wizard", "x")), {"id": 2}])
    assert (row.added, len(row.losses), len(row.problems)) == (1, 1, 1)


def test_who_wrote_what_was_left_out_is_masked_in_the_report() -> None:
    file = file_of([row_of(1, ("user", "Hi"), ("Jane Miller", "x"), ("John Smith", "y"))])
    row = import_conversations(make_set(), file, masker=site_masker())
    assert row.losses == {"Messages of “[name 1]” were left out: this role is not known.": 2}


@pytest.mark.parametrize("name", ["x" * 900, " two \n words ", "nul\x00"])
def test_any_id_can_be_stored(name: str) -> None:
    first = imported([row_of(name)])
    assert first.added == 1
    assert imported([row_of(name)], first.conversation_set).known == 1


def _broken_off(file: ConversationFile, *, after: int) -> ConversationFile:
    def some() -> Iterator[RecordedConversation]:
        for n, conversation in enumerate(file):
            if n == after:
                raise RuntimeError
            yield conversation

    return replace(file, conversations=some())


def test_transcripts_are_pruned_as_those_of_runs_are() -> None:
    row = imported(rows_of(2))
    Run.all_runs.update(finished_at=timezone.now() - timedelta(days=40))
    assert list(due_runs(older_than_days=50)) == []

    [due] = due_runs(older_than_days=30)
    pruned = prune_run(due)

    assert pruned is not None
    assert (due.pk, pruned.transcripts) == (row.run_id, 2)
    assert not Transcript.objects.exists()


def test_an_import_is_one_act() -> None:
    imported(rows_of(3))

    (act,) = Activity.objects.all()
    assert (act.kind, act.object_name) == ("imported", ConversationSet.objects.get().name)
    assert act.text.startswith("Imported conversations from ")
    assert ": 3, " in act.text
