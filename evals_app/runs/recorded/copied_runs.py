"""Conversations of our own runs, copied into a set: to be read, grouped and graded like real ones.

Each is copied once, by the key of its conversation. What is copied is masked as files are, stays when
the run is deleted, and counts in no rate. What was said goes with that of the conversation.
"""

from collections.abc import Iterable, Iterator, Sequence
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
from evals_app.reports.words.figures import count_text
from evals_app.runs.recorded.import_conversations import (
    CLAIMED_FOR,
    begin_import,
    continue_import,
)
from evals_app.runs.recorded.masking import site_masker

MAX_AT_ONCE = 500  # conversations that are copied while someone waits
MAX_CHOSEN = 10_000  # one by one: of a run, all may be copied
_READ_AT_ONCE = 500
_GONE = "Conversations whose messages are no longer stored were left out."
_FILES = "Files that were shown to the agent were left out."
_SILENT = "Conversations without a message of the user were left out."
_DELETED = "The run was deleted before all of its conversations were copied."


class CannotCopyError(CannotError):
    """Conversations of runs cannot be copied."""


@dataclass(frozen=True, slots=True)
class CopiedConversations:
    """What is copied: of a run, those with a verdict or all; or those with these keys."""

    name: str
    count: int
    run: Run | None = None
    verdict: str = ""
    keys: Sequence[int] = ()

    @classmethod
    def of_run(cls, run: Run, verdict: str = "") -> "CopiedConversations":
        """Return the conversations of a run.

        Raises:
            CannotCopyError: there is nothing to copy.
        """
        if run.is_of_real_conversations:
            raise CannotCopyError(f"The conversations of run {run.pk} are real ones already.")
        if run.is_open:
            raise CannotCopyError(f"Run {run.pk} has not ended yet.")
        count = _those_of(run, verdict).count()
        if not count:
            raise CannotCopyError(f"No conversation of run {run.pk} fits. Choose others.")
        name = f"run {run.pk}, {verdict}" if verdict else f"run {run.pk}"
        return cls(name, count, run, verdict)

    @classmethod
    def of(cls, keys: Iterable[int]) -> "CopiedConversations":
        """Return those of some executions that can be copied.

        Raises:
            CannotCopyError: none, or too many.
        """
        chosen = set(keys)
        if len(chosen) > MAX_CHOSEN:
            raise CannotCopyError(
                f"These are {len(chosen):,} conversations. Copy at most {MAX_CHOSEN:,} at once, or all of"
                " a run."
            )
        found = sorted(_copyable().filter(pk__in=chosen).values_list("pk", flat=True))
        if not found:
            raise CannotCopyError(
                "None of these can be copied: they are real conversations already, have not ended,"
                " or what was said was removed."
            )
        place = f"{found[0]} to {found[-1]}" if len(found) > 1 else str(found[0])
        return cls(f"{count_text(len(found), 'conversation')}, {place}", len(found), keys=found)


def copy_conversations(
    chosen: CopiedConversations,
    target: ConversationSet,
    *,
    is_masked: bool = True,
    by: User | None = None,
    by_worker: bool = True,
) -> ConversationImport:
    """Copy conversations into a set; of many a worker does it, unless `by_worker` is off.

    Raises:
        CannotImportConversationsError: copying the same was interrupted with other choices.
    """
    is_small = chosen.count <= MAX_AT_ONCE or not by_worker
    row = begin_import(
        target,
        chosen.name,
        kind=ConversationImport.OF_RUN,
        is_masked=is_masked,
        columns={},
        by=by,
        source_run=chosen.run,
        source_verdict=chosen.verdict,
        source_keys=chosen.keys,
        claimed_until=timezone.now() + CLAIMED_FOR if is_small else None,
    )
    return continue_copy(row) if is_small else row


def continue_copy(row: ConversationImport) -> ConversationImport:
    """Copy what is left, and return the report."""
    masker = site_masker() if row.is_masked else None
    return continue_import(row, _as_file(row), masker=masker)


def _as_file(row: ConversationImport) -> ConversationFile:
    file = ConversationFile(row.file_name, row.OF_RUN, ())
    keys = row.source_keys
    if row.source_run is not None:
        of_run = _those_of(row.source_run, row.source_verdict)
        keys = list(of_run.order_by("pk").values_list("pk", flat=True))
    elif not keys:
        file.problems.append(_DELETED)
    file.conversations = _Conversations(keys, file)
    return file


def _copyable() -> Any:
    """Return the conversations that are not real ones, have ended and are there."""
    ended = Execution.objects.filter(status=Execution.Status.FINISHED, content_removed_at=None)
    return ended.filter(run__conversation_set=None)


def _those_of(run: Run, verdict: str) -> Any:
    ended = _copyable().filter(run=run)
    return ended.filter(verdict=verdict) if verdict else ended


@dataclass(frozen=True, slots=True)
class _Conversations:
    """The conversations of some executions, some of them in memory at a time."""

    keys: Sequence[int]
    file: ConversationFile

    def __iter__(self) -> Iterator[RecordedConversation]:
        seen: set[int] = set()  # each conversation may have been graded several times
        for start in range(0, len(self.keys), _READ_AT_ONCE):
            part = self.keys[start : start + _READ_AT_ONCE]
            rows = _copyable().filter(pk__in=part).order_by("pk").select_related("run")
            facts = ("run__agent_name", "run__suite_slug")
            executions = list(rows.only("case", "trial", "source", "run", *facts))
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
                    yield _as_recorded(execution, trial, self.file)


def _as_recorded(
    execution: Execution, trial: Trial, file: ConversationFile
) -> RecordedConversation:
    """Return a conversation as if it came from a file: what only tests have is left out."""
    if any(turn.files for turn in trial.turns):
        file.lose(_FILES)
    key, run = execution.source_id or execution.pk, execution.run
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
