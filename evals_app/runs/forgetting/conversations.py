"""Remove what was said in conversations; verdicts, causes and figures stay.

Runs that grade a conversation again quote it, and sets of real conversations may have a copy, so it
is removed from all of them. Comments and
reasons of people go, too: they often repeat what was said.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evals_app.engine.basics.errors import CannotError
from evals_app.models import (
    Activity,
    AgentCall,
    Execution,
    GradeResult,
    ImportedConversation,
    PaidCalls,
    Reading,
    ReadingNote,
    Review,
    ReviewedVerdict,
    Run,
    SnapshotCase,
    Trace,
    Transcript,
)
from evals_app.models.people.activity import note_act
from evals_app.models.people.names import shown_name
from evals_app.models.run_records.conversation_sets import copies_of
from evals_app.runs.forgetting.overwriting import overwriting

# No one but admins may remove results for good.
FORGETTING = ("evals_app.view_execution", "evals_app.delete_execution")
AT_ONCE = 200  # executions of one transaction: other writers wait for each
REMOVED = "What was said was removed."
# Of the details of a grade: everything else may quote.
_FIGURES = (
    *("scale", "met", "applicable", "undecided", "flags", "range", "limit", "counts", "share"),
    *("voters", "agreement", "variant", "tokenizer", "is_fenced"),
)
_OF_ITEM = ("id", "verdict", "yardstick")


class CannotForgetError(CannotError):
    """It cannot be removed now."""


def forget_conversation(execution: Execution, *, by: User) -> None:
    """Remove what was said in a conversation, also where it was graded again.

    Raises:
        CannotForgetError: it, or a run that grades it again, is in progress.
    """
    with overwriting(), transaction.atomic():
        _forget(Execution.objects.filter(pk=execution.pk), by=by)
        entry = LogEntry(
            user=by,
            content_type=ContentType.objects.get_for_model(execution),
            object_id=str(execution.pk),
            object_repr=str(execution)[:200],
            action_flag=CHANGE,
            change_message=REMOVED,
        )
        entry.kind_of_act = Activity.Kind.DELETED  # type: ignore[attr-defined]  # read when it is saved
        entry.save()


def forget_conversations_of(run: Run, *, by: User) -> int:
    """Remove what was said in all conversations of a run; return how many it has.

    Raises:
        CannotForgetError: it, or a run that grades it again, is in progress.
    """
    ids = list(run.executions.order_by("pk").values_list("pk", flat=True))
    with overwriting():
        for start in range(0, len(ids), AT_ONCE):
            with transaction.atomic():
                _forget(Execution.objects.filter(pk__in=ids[start : start + AT_ONCE]), by=by)
        note_act(Activity.Kind.DELETED, REMOVED, user=by, row=run)
    return len(ids)


def refuse_if_open(runs: QuerySet[Run]) -> None:
    """Refuse while one of the runs is in progress.

    Raises:
        CannotForgetError: it names the run.
    """
    if (run := runs.filter(status__in=Run.OPEN).order_by("pk").first()) is not None:
        message = f"Run {run.pk} is in progress and would write it again. Cancel it first, or wait."
        raise CannotForgetError(message)


def _forget(chosen: QuerySet[Execution], *, by: User) -> None:
    sources = chosen.exclude(source=None).values("source")
    roots = Execution.objects.filter(Q(pk__in=chosen.values("pk"), source=None) | Q(pk__in=sources))
    root_ids = list(roots.values_list("pk", flat=True))
    root_ids += copies_of(root_ids).values_list("execution", flat=True)
    same = Q(pk__in=root_ids) | Q(source__in=root_ids) | Q(pk__in=chosen.values("pk"))
    executions = Execution.objects.filter(same)
    ids = list(executions.order_by("pk").values_list("pk", flat=True))
    touched = Run.objects.filter(executions__in=ids).distinct()
    refuse_if_open(touched)
    for model in (Transcript, PaidCalls, Trace, AgentCall):
        model._default_manager.filter(execution__in=ids).delete()  # noqa: SLF001 - how Django names it
    # Its id and digest stay, so that a later import does not bring it back.
    imported = ImportedConversation.objects.filter(execution__in=ids)
    imported.update(facts={}, grades=[], topics="")
    _empty_grades(ids)
    Review.objects.filter(execution__in=ids).exclude(reason="").update(reason=REMOVED)
    ReviewedVerdict.objects.filter(execution__in=ids).exclude(reason="").update(reason=REMOVED)
    _empty_notes(ids)
    _empty_history(ids)
    written = {"content_removed_at": Now(), "content_removed_by": shown_name(by)[:150]}
    Execution.objects.filter(pk__in=ids).update(**written)
    for execution in Execution.objects.filter(pk__in=ids).only("reason", "summary"):
        execution.reason = REMOVED if execution.reason else ""
        texts = {"response_criteria_failure_reason": None, "tool_calls": None}
        execution.summary = execution.summary and execution.summary | texts
        execution.save(update_fields=["reason", "summary"])


def _empty_grades(ids: Iterable[int]) -> None:
    grades = list(GradeResult.objects.filter(execution__in=ids).only("reason", "details"))
    for grade in grades:
        grade.reason = REMOVED if grade.reason else ""
        grade.evidence, grade.calls = [], []
        grade.details = _figures(grade.details)
    columns = ["reason", "evidence", "calls", "details"]
    GradeResult.objects.bulk_update(grades, columns, batch_size=100)


def _empty_notes(ids: Sequence[int]) -> None:
    """Remove what people noted, and the questions to judges that quote notes."""
    ReadingNote.objects.filter(item__execution__in=ids).exclude(text="").update(text=REMOVED)
    empty_questions(Reading.objects.filter(items__execution__in=ids))


def empty_questions(readings: QuerySet[Reading]) -> None:
    """Remove what judges were asked to propose groups and checks: it quotes notes."""
    asked = Q(pk__in=readings.values("proposal")) | Q(pk__in=readings.values("groups__draft"))
    runs = list(Run.objects.filter(asked).values_list("pk", flat=True))
    for model in (Transcript, PaidCalls):
        model._default_manager.filter(execution__run__in=runs).delete()  # noqa: SLF001 - how Django names it
    for case in SnapshotCase.objects.filter(snapshot__runs__in=runs):
        content = json.loads(case.content)
        content["turns"] = [turn | {"user": REMOVED} for turn in content["turns"]]
        case.content = json.dumps(content)
        case.save(update_fields=["content"])


def _figures(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of a grade without what may quote the conversation."""
    kept = {key: details[key] for key in _FIGURES if key in details}
    items = details.get("items")
    if isinstance(items, list):
        rows = [item for item in items if isinstance(item, Mapping)]
        kept["items"] = [{key: row[key] for key in _OF_ITEM if key in row} for row in rows]
    return kept


def _empty_history(ids: Iterable[int]) -> None:
    """Remove the texts of reviews from the histories of conversations."""
    keys = list(map(str, ids))
    kind = ContentType.objects.get_for_model(Execution)
    entries = LogEntry.objects.filter(content_type=kind, object_id__in=keys)
    entries.exclude(change_message=REMOVED).update(change_message=f"Reviewed. {REMOVED}")
    empty_acts(keys)


def empty_acts(keys: Sequence[str]) -> None:
    """Remove the texts of reviews from the acts with conversations."""
    acts = Activity.objects.filter(object_type="execution", object_id__in=keys)
    acts.filter(kind=Activity.Kind.DECIDED).update(text=f"Reviewed. {REMOVED}")
