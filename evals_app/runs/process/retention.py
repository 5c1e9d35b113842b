"""Retention: remove transcripts of old runs, what was deleted long ago, and files that nothing refers to.

Results and the snapshot stay, so a run can still run again. Removed are transcripts, prompts and
answers of judges, and calls kept for conversations that were cut short. Conversations that people
have reviewed stay whole, unless someone asks for them. Sessions that have ended and old records of
who signed in go, too.
"""

import logging
import re
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import timedelta
from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Window
from django.db.models.functions import Now, RowNumber
from django.utils import timezone
from django_q.models import Schedule

from evals_app.models import (
    Activity,
    Attachment,
    BulkEdit,
    DeletedObject,
    DeletedPart,
    Execution,
    GradeResult,
    PaidCalls,
    Review,
    Run,
    SnapshotCase,
    Suite,
    Trace,
    Transcript,
    Turn,
)
from evals_app.models.authored.suites import remove_forgotten_staged
from evals_app.models.notices import seal_addresses_again
from evals_app.models.people.sessions import SessionStore
from evals_app.runs.notices import forget_deliveries
from evals_app.runs.recorded.daily_imports import forget_due_imports
from evals_app.runs.recorded.received_spans import forget_spans
from evals_app.runs.recorded.waiting_imports import remove_unnamed_uploads
from evals_app.runs.schedules import forget_due_runs

log = logging.getLogger(__name__)

AT_ONCE = 500  # executions of one transaction: other writers wait for each
FILES_AT_ONCE = 100  # the same of contents
KEEP_LAST = 1  # runs of each suite whose transcripts stay at any age
SCHEDULE = "prune transcripts"
HOUR = 3  # hour of the day (UTC) when the fewest people wait for a worker

# Cases of snapshots and deleted turns are JSON without spaces, so there is no other way to write it.
_NAMES = '"sha256":"'
_NAME = re.compile(f"{_NAMES}([0-9a-f]{{64}})")

_JUDGED = GradeResult.objects.exclude(calls=[])  # that keep what a judge was asked


@dataclass(frozen=True)
class Pruned:
    """The numbers of rows that were, or would be, emptied or removed."""

    transcripts: int = 0
    judged: int = 0  # grades that kept what a judge was asked
    paid_calls: int = 0

    def __add__(self, other: "Pruned") -> "Pruned":
        return Pruned(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def due_runs(
    *, older_than_days: int, keep_last: int = KEEP_LAST, include_reviewed: bool = False
) -> QuerySet[Run]:
    """Return the runs that ended before that, oldest first, except kept ones and each suite's last.

    The last full runs of a suite stay, and the last partial ones; tries, real conversations and runs
    that grade conversations again do not count.
    """
    ended = Run.all_runs.exclude(status__in=[*Run.OPEN, Run.PREPARING])  # imports included
    in_suite = Window(RowNumber(), partition_by=["suite_slug", "is_whole"], order_by="-pk")
    counted = ended.filter(is_tryout=False, grades_of=None, conversation_set=None)
    last = counted.annotate(place=in_suite).filter(place__lte=keep_last)
    # A run that was resumed has more transcripts since it was pruned.
    unpruned = Q(pruned_at__isnull=True) | Q(pruned_at__lt=F("finished_at"))
    # What a person had reviewed stayed then; they have withdrawn it since.
    withdrawn = Review.objects.filter(withdrawn_at__gt=OuterRef("pruned_at"))
    for path in ("execution__run", "execution__source__run"):
        unpruned |= Q(Exists(withdrawn.filter(**{path: OuterRef("pk")})))
    if include_reviewed:  # which pruning has left until now
        unpruned |= Q(Exists(Transcript.objects.filter(execution__run=OuterRef("pk"))))
        unpruned |= Q(Exists(_JUDGED.filter(execution__run=OuterRef("pk"))))
    old = ended.filter(unpruned, finished_at__lt=Now() - timedelta(days=older_than_days))
    return _not_kept(old).exclude(pk__in=last.values("pk")).order_by("pk")


def _not_kept(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Leave out runs whose transcripts stay: pinned ones, and the baselines of suites, deleted ones too.

    A run that grades the conversations of another one keeps that run's transcripts, too.
    """
    baselines = Suite.objects.exclude(baseline=None).values("baseline")
    of_deleted = DeletedObject.objects.exclude(baseline=None).values("baseline")
    kept = Q(is_pinned=True) | Q(pk__in=baselines) | Q(pk__in=of_deleted)
    graded_again = Run.objects.filter(kept, grades_of=OuterRef("pk"))
    return runs.exclude(kept).exclude(Exists(graded_again))


def count_prunable(run: Run, *, include_reviewed: bool = False) -> Pruned:
    """Return what pruning the run would take away."""
    executions = run.executions.all()
    rows = _prunable(executions if include_reviewed else _without_reviewed(executions))
    return Pruned(*(row.count() for row in rows))


def _without_reviewed(executions: QuerySet[Execution]) -> QuerySet[Execution]:
    """Leave out reviewed executions, and those of which another one regrades the conversation and was."""
    current = Review.objects.filter(withdrawn_at=None)
    reviewed = current.values("execution")
    again = current.filter(execution__source__isnull=False).values("execution__source")
    return executions.exclude(pk__in=reviewed).exclude(pk__in=again)


def _prunable(executions: QuerySet[Execution]) -> tuple[QuerySet[Any], ...]:
    """Return what pruning would remove from executions."""
    pks = executions.values("pk")
    return (
        Transcript.objects.filter(pk__in=pks),
        _JUDGED.filter(execution__in=pks),
        PaidCalls.objects.filter(pk__in=pks),
    )


def count_reviewed(run: Run) -> int:
    """Count the executions of a run whose transcripts stay because people reviewed them."""
    current = Q(reviews__isnull=False, reviews__withdrawn_at=None)
    again = Q(regrades__reviews__isnull=False, regrades__reviews__withdrawn_at=None)
    return run.executions.filter(current | again).distinct().count()


def prune_run(run: Run, *, include_reviewed: bool = False) -> Pruned | None:
    """Remove the remaining transcripts of a run; None if they stay, or it was resumed."""
    ours = (
        _not_kept(Run.all_runs.filter(pk=run.pk))
        .filter(finished_at__lt=timezone.now())
        .exclude(status__in=Run.OPEN)
    )
    ids = list(run.executions.order_by("pk").values_list("pk", flat=True))
    total = Pruned()
    for start in range(0, len(ids), AT_ONCE):
        with transaction.atomic():
            # Locked, so that it is not pinned or resumed before the end of the batch.
            if not ours.select_for_update().exists():
                return None
            batch = Execution.objects.filter(pk__in=ids[start : start + AT_ONCE])
            total += _prune_executions(batch if include_reviewed else _without_reviewed(batch))
    return total if ours.update(pruned_at=Now()) else None


def _prune_executions(executions: QuerySet[Execution]) -> Pruned:
    transcripts, judged, paid_calls = _prunable(executions)
    # Before the transcripts: the same rows decide which conversations stay.
    Trace.objects.filter(execution__in=transcripts.values("pk")).delete()
    return Pruned(transcripts.delete()[0], judged.update(calls=[]), paid_calls.delete()[0])


def remove_unnamed_files() -> int:
    """Remove contents unused for a day that no turn or snapshot names; return how many."""
    unnamed = set(Attachment.objects.only_unused().values_list("pk", flat=True))
    for named in _named_files():
        unnamed -= named
        if not unnamed:
            return 0
    ids = sorted(unnamed)
    return sum(
        # Checked again: by now something may name it.
        Attachment.objects.only_unused()
        .filter(pk__in=ids[start : start + FILES_AT_ONCE])
        .delete()[0]
        for start in range(0, len(ids), FILES_AT_ONCE)
    )


def _named_files() -> Iterator[set[str]]:
    """Yield SHA-256s in use: by turns, deleted ones too, then by snapshots, which take longer to read."""
    shown = Turn.objects.exclude(files=[]).values_list("files", flat=True)
    yield {file["sha256"] for files in shown.iterator() for file in files if "sha256" in file}
    frozen = SnapshotCase.objects.filter(
        snapshot__in=Run.all_runs.values("snapshot"), content__contains=_NAMES
    )
    deleted = DeletedPart.objects.filter(content__contains=_NAMES)
    for rows in (deleted, frozen):
        for content in rows.values_list("content", flat=True).iterator(chunk_size=50):
            yield set(_NAME.findall(content))


def forget_sign_ins() -> None:
    """Remove sessions that have ended, and old records of who signed in, or failed to, and from where."""
    SessionStore.clear_expired()
    before = timezone.now() - timedelta(days=settings.EVALS_KEEP_SIGN_INS_DAYS)
    for records in (AccessLog, AccessAttempt, AccessFailureLog):
        records.objects.filter(attempt_time__lt=before).delete()
    Activity.objects.filter(kind__in=Activity.SIGN_INS, at__lt=before).delete()


def forget_activity() -> None:
    """Remove old acts, if the operator keeps them for a time."""
    if days := settings.EVALS_KEEP_ACTIVITY_DAYS:
        Activity.objects.filter(at__lt=timezone.now() - timedelta(days=days)).delete()


PRUNE_S = 300.0  # a night


def prune_as_scheduled() -> dict[str, int]:
    """Prune as the settings demand, for a limited time; the next call continues."""
    until = time.monotonic() + PRUNE_S
    remove_forgotten_staged()
    forget_due_runs()
    forget_due_imports()
    forget_deliveries()
    remove_unnamed_uploads()
    forget_spans()
    forget_sign_ins()
    forget_activity()
    seal_addresses_again()
    DeletedObject.objects.overdue().delete()
    BulkEdit.objects.overdue().delete()
    files = remove_unnamed_files()
    if files:
        log.info("Removed %d files that nothing names.", files)
    runs, total = 0, Pruned()
    days = settings.EVALS_KEEP_TRANSCRIPTS_DAYS  # 0: forever
    due = due_runs(older_than_days=days) if days else Run.objects.none()
    for run in due.defer("summary"):
        if time.monotonic() >= until:
            break
        pruned = prune_run(run)
        if pruned is not None:
            runs, total = runs + 1, total + pruned
    if runs:
        log.info("Removed %d transcripts of %d runs.", total.transcripts, runs)
    return {"runs": runs, "transcripts": total.transcripts, "files": files}


def ensure_schedule() -> None:
    """Schedule the daily pruning of transcripts and files."""
    schedules = Schedule.objects.filter(name=SCHEDULE)
    # Workers that start at the same moment may write two. Pruning twice is harmless, and the next
    # worker to start keeps only the first.
    first = schedules.order_by("pk").first()
    if first is None:
        now = timezone.now()
        tonight = now.replace(hour=HOUR, minute=0, second=0, microsecond=0)
        Schedule.objects.create(
            name=SCHEDULE,
            func="evals_app.tasks.prune_transcripts",
            schedule_type=Schedule.DAILY,
            next_run=tonight if tonight > now else tonight + timedelta(days=1),
        )
    else:
        schedules.exclude(pk=first.pk).delete()
