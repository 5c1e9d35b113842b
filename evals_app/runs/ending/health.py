"""Find work that is stuck because no reaper handled it in time, and get it going again."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import (
    CharField,
    Count,
    F,
    Func,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Concat, Now
from django.utils import timezone

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.rates import percentile
from evals_app.models import Execution, Lease, Run
from evals_app.runs.ending.cancel import cancel_queued
from evals_app.runs.ending.finish import close_if_over
from evals_app.runs.ending.reap import reap_lease
from evals_app.runs.ground.workers import live_workers
from evals_app.runs.starting.waiting import call_workers, waiting_runs

ROUNDS = 2  # of reapers, or of tickets: one may have been missed
ENOUGH = 20  # conversations that show how long one takes
SAMPLE = 200
PROCESS = Concat("host", Value(":"), Cast("pid", CharField()))  # of a lease


class StuckKind(StrEnum):
    """What has not happened."""

    NOT_TAKEN_BACK = "not_taken_back"  # taken by a worker whose lease has ended
    NO_LEASE = "no_lease"  # running under a lease that does not exist
    NOT_TAKEN_UP = "not_taken_up"  # queued, though worker processes are free


@dataclass(frozen=True, slots=True)
class Stuck:
    """Executions that should have continued; `since` is None where no row records it."""

    kind: StuckKind
    executions: int
    since: datetime | None


class LeasedRows(NamedTuple):
    """Executions that run under one lease; `until` is None where there is no such lease."""

    run_id: int
    number: int
    until: datetime | None


def stuck_among(runs: QuerySet[Run]) -> dict[int, list[Stuck]]:
    """Return what is stuck, by run; the number of queries does not depend on the number of runs."""
    stuck = stuck_while_running(leased_rows(runs))
    for run_id, problem in stuck_in_queue(runs).items():
        stuck.setdefault(run_id, []).append(problem)
    return stuck


def leased_rows(runs: QuerySet[Run]) -> list[LeasedRows]:
    """Count the running executions of runs by lease, in one query over both tables."""
    leases = Lease.objects.filter(pk=OuterRef("lease_token"))
    rows = (
        running_rows()
        .filter(run__in=runs.values("pk"))
        .order_by("run", "lease_token")
        .values("run", "lease_token")
        .annotate(number=Count("pk"), until=Subquery(leases.values("until")))
    )
    return [LeasedRows(*row) for row in rows.values_list("run", "number", "until")]


def running_rows() -> QuerySet[Execution]:
    """Filter running executions by their own small index, however large the runs are."""
    # Running rows have a token; the redundant filter makes SQLite use the index of leased rows.
    return Execution.objects.filter(status=Execution.Status.RUNNING, lease_token__isnull=False)


def stuck_while_running(leased: Sequence[LeasedRows]) -> dict[int, list[Stuck]]:
    """Return rows that count as running though no worker can have them, by run."""
    long_ago = timezone.now() - ROUNDS * timedelta(seconds=settings.EVALS_REAP_S)
    late = [rows for rows in leased if rows.until is not None and rows.until < long_ago]
    unleased = [rows for rows in leased if rows.until is None]
    stuck: defaultdict[int, list[Stuck]] = defaultdict(list)
    for kind, lost in ((StuckKind.NOT_TAKEN_BACK, late), (StuckKind.NO_LEASE, unleased)):
        for run_id in {rows.run_id for rows in lost}:
            mine = [rows for rows in lost if rows.run_id == run_id]
            since = min((rows.until for rows in mine if rows.until), default=None)
            stuck[run_id].append(Stuck(kind, sum(rows.number for rows in mine), since))
    return stuck


def stuck_in_queue(runs: QuerySet[Run]) -> dict[int, Stuck]:
    """Return runs that wait though worker processes are free: none has looked for long."""
    long = ROUNDS * timedelta(seconds=settings.EVALS_LEASE_S)
    in_force = Lease.objects.filter(until__gt=Now())
    waiting = (
        waiting_runs(blocked_since=long)
        .annotate(
            processes=_total(live_workers(), "SUM(%(expressions)s)", F("processes")),
            busy=_total(in_force, "COUNT(DISTINCT %(expressions)s)", PROCESS),
        )
        .filter(
            pk__in=runs.values("pk"),
            workers=0,
            waiting_since__lt=Now() - long,
            processes__gt=F("busy"),
        )
    )
    return {
        run.pk: Stuck(StuckKind.NOT_TAKEN_UP, run.not_run, run.waiting_since)
        for run in waiting.only("not_run", "waiting_since")
    }


def _total(rows: QuerySet[Any], template: str, of: Combinable) -> Subquery:
    """Return an aggregate of whole rows as part of another query; SUM of none is null."""
    total = Func(of, template=template, output_field=IntegerField())
    return Subquery(rows.order_by().annotate(total=total).values("total"))


def requeue(run: Run) -> int:
    """Put executions of dead workers back in the queue, and wake workers; return how many.

    Safe at any time: rows of live leases are never touched, and a superfluous ticket ends at once.
    """
    running = running_rows().filter(run=run).order_by()
    moved = 0
    for lease in run.leases.filter(until__lte=Now()).select_related("run"):
        leased = running.filter(lease_token=lease.pk).count()
        if reap_lease(lease):
            moved += leased
    # In this order the result is stable: a lease is older than its first row, is deleted with its
    # last one, and its token is never used again.
    tokens: set[Any] = set(running.values_list("lease_token", flat=True).distinct())
    tokens -= set(Lease.objects.filter(pk__in=tokens).values_list("pk", flat=True))
    unleased = running.filter(lease_token__in=tokens)
    moved += unleased.update(status=Execution.Status.QUEUED, lease_token=None)
    cancel_queued(run.pk)
    if not close_if_over(run.pk):
        call_workers()
    return moved


def usual_s(run: Run) -> float | None:
    """Return the 95th percentile of seconds per conversation, judging included; None if unknown.

    Those of the run itself, or while they are few those of its suite's last run.
    """
    seconds = _durations_s(Run.objects.filter(pk=run.pk))
    if len(seconds) < ENOUGH:
        ended = Run.objects.filter(
            suite_slug=run.suite_slug,
            model=run.model,
            is_scripted=run.is_scripted,
            is_simulated=run.is_simulated,
            status=Run.Status.FINISHED,
            is_tryout=False,
            grades_of=run.grades_of_id,  # grading again is much faster than asking
            pk__lt=run.pk,
        )
        seconds = _durations_s(ended.order_by("-pk")[:1]) or seconds
    return percentile(seconds, 0.95)


def _durations_s(runs: QuerySet[Run]) -> Sequence[float]:
    decided = Execution.objects.filter(
        run__in=runs.values("pk"),
        verdict__in=[Verdict.PASSED, Verdict.FAILED],
        started_at__isnull=False,
    )
    # Any of them, in index order: ordering a large run would mean sorting all of it.
    times = decided.order_by().values_list("started_at", "finished_at")[:SAMPLE]
    return [(end - start).total_seconds() for start, end in times if start and end]
