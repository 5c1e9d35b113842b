"""Conversations of our own runs, copied into a set: to be read, grouped and graded like real ones.

Each is copied once, by the key of its conversation. What is copied is masked as files are, stays when
the run is deleted, and counts in no rate. What was said goes with that of the conversation.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.trial import Trial, TurnRecord
from evals_app.formats.conversations.recorded import ConversationFile, RecordedConversation
from evals_app.models import ConversationImport, ConversationSet, Execution, Run, Transcript
from evals_app.models.run_records.conversation_sets import id_of_copy
from evals_app.runs.recorded.import_conversations import (
    CLAIMED_FOR,
    begin_import,
    continue_import,
)
from evals_app.runs.recorded.masking import site_masker

MAX_AT_ONCE = 500  # conversations that are copied while someone waits
_READ_AT_ONCE = 500
_GONE = "Conversations whose messages are no longer stored were left out."
_FILES = "Files that were shown to the agent were left out."
_SILENT = "Conversations without a message of the user were left out."


class CannotCopyError(CannotError):
    """The conversations of a run cannot be copied."""


def copy_run(
    run: Run,
    target: ConversationSet,
    *,
    verdict: str = "",
    is_masked: bool = True,
    by: User | None = None,
    by_worker: bool = True,
) -> ConversationImport:
    """Copy conversations of a run into a set; of many a worker does it, unless `by_worker` is off.

    Raises:
        CannotCopyError: there is nothing to copy.
        CannotImportConversationsError: copying the same was interrupted with other choices.
    """
    if run.is_of_real_conversations:
        raise CannotCopyError(f"The conversations of run {run.pk} are real ones already.")
    if run.is_open:
        raise CannotCopyError(f"Run {run.pk} has not ended yet.")
    count = _those_with(run, verdict).count()
    if not count:
        raise CannotCopyError(f"No conversation of run {run.pk} fits. Choose others.")
    is_small = count <= MAX_AT_ONCE or not by_worker
    row = begin_import(
        target,
        f"run {run.pk}, {verdict}" if verdict else f"run {run.pk}",
        kind=ConversationImport.OF_RUN,
        is_masked=is_masked,
        columns={},
        by=by,
        source_run=run,
        source_verdict=verdict,
        claimed_until=timezone.now() + CLAIMED_FOR if is_small else None,
    )
    return continue_copy(row) if is_small else row


def continue_copy(row: ConversationImport) -> ConversationImport:
    """Copy what is left, and return the report."""
    masker = site_masker() if row.is_masked else None
    return continue_import(row, conversations_of_run(row), masker=masker)


def conversations_of_run(row: ConversationImport) -> ConversationFile:
    """Return the conversations of a run as those of a file."""
    file = ConversationFile(row.file_name, row.OF_RUN, ())
    if row.source_run is not None:
        file.conversations = _Conversations(row.source_run, row.source_verdict, file)
    return file


def _those_with(run: Run, verdict: str) -> Any:
    ended = run.executions.filter(status=Execution.Status.FINISHED, content_removed_at=None)
    return ended.filter(verdict=verdict) if verdict else ended


@dataclass(frozen=True, slots=True)
class _Conversations:
    """The conversations of a run, some of them in memory at a time."""

    run: Run
    verdict: str
    file: ConversationFile

    def __iter__(self) -> Iterator[RecordedConversation]:
        keys = list(_those_with(self.run, self.verdict).order_by("pk").values_list("pk", flat=True))
        seen: set[int] = set()  # each conversation may have been graded several times
        for start in range(0, len(keys), _READ_AT_ONCE):
            part = keys[start : start + _READ_AT_ONCE]
            rows = Execution.objects.filter(pk__in=part).order_by("pk")
            executions = list(rows.only("case", "trial", "source"))
            stored = Transcript.objects.of_all({row.pk: row.source_id for row in executions})
            for execution in executions:
                key = execution.source_id or execution.pk
                if key in seen:
                    continue
                seen.add(key)
                transcript = stored.get(execution.pk)
                trial = transcript.to_trial() if transcript else None
                if trial is None:
                    self.file.lose(_GONE)
                elif not trial.turns:
                    self.file.lose(_SILENT)
                else:
                    yield _as_recorded(self.run, execution, trial, self.file)


def _as_recorded(
    run: Run, execution: Execution, trial: Trial, file: ConversationFile
) -> RecordedConversation:
    """Return a conversation as if it came from a file: what only tests have is left out."""
    if any(turn.files for turn in trial.turns):
        file.lose(_FILES)
    key = execution.source_id or execution.pk
    return RecordedConversation(
        id_of_copy(key),
        tuple(map(_without_tests, trial.turns)),
        trial.history,
        happened_at=datetime.fromisoformat(trial.started_at) if trial.started_at else None,
        agent=run.agent_name,
        system_prompt=trial.system_prompt,
        facts={"run": str(run.pk), "suite": run.suite_slug, "case": execution.case},
        place=f"{file.name}, conversation {key}",
    )


def _without_tests(turn: TurnRecord) -> TurnRecord:
    return replace(turn, expected=None, files=(), attempts=(), journal_end=None, span_id="")
