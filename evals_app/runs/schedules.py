"""Start runs when they are due, each of them once.

The rows are the truth, as everywhere in `runs`: a process notes what is due in the transaction that
advances the schedule, and any process starts what is noted. The unique key of a run prevents two
starts of the same. Times that passed while no worker was running count once.
"""

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Subquery
from django.utils import timezone
from pydantic import ValidationError

from evals_app.engine.specs.base_spec import read_model
from evals_app.models import Activity, DueRun, Run, Schedule, Suite
from evals_app.models.people.activity import acts_from
from evals_app.models.run_records.schedules import Repeating
from evals_app.runs.ground.patience import AWAY
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.start_run import start_run
from fixtures_app.ground.spec_errors import messages_of

log = logging.getLogger(__name__)

R = TypeVar("R", bound=Repeating)

KEEP = timedelta(days=90)  # of results of due times


def save_schedule(schedule: Schedule, *, suites: Sequence[Suite], by: User) -> None:
    """Store a schedule. From now on it runs as the person who saves it.

    Otherwise people who may change a schedule could spend someone else's money.
    """
    schedule.owner = by
    schedule.next_at = next_time(schedule, after=timezone.now())
    with transaction.atomic():
        schedule.save()
        schedule.suites.set(suites)


def next_time(repeating: Repeating, *, after: datetime) -> datetime | None:
    """Return when something is due next; None if it is disabled, or never due again."""
    if not repeating.is_enabled:
        return None
    try:
        return repeating.rhythm.next(after=after)
    except ValidationError:
        log.exception("The time of %s %d is not valid.", type(repeating).__name__, repeating.pk)
        return None


def take_due(rows: "QuerySet[R]", pk: int, *, now: datetime) -> tuple[R, datetime] | None:
    """Lock what is due in the caller's transaction, and move its time; return it, and when it was due.

    None: another process has it.
    """
    still_due = rows.filter(pk=pk, next_at__lte=now)
    row = still_due.select_for_update(skip_locked=True).first()
    if row is None or row.next_at is None:
        return None
    # Not from the time before: missed times are not caught up on.
    still_due.update(next_at=next_time(row, after=now))
    return row, row.next_at


def start_due_runs(now: datetime | None = None) -> None:
    """Note what is due, and start what is noted; any number of processes may do this at any time."""
    now = now or timezone.now()
    for pk in (
        Schedule.objects.filter(next_at__lte=now).order_by("next_at").values_list("pk", flat=True)
    ):
        note_due(pk, now=now)
    waiting = DueRun.objects.filter(state=DueRun.State.DUE).order_by("pk")
    for due in waiting.select_related("schedule__owner", "schedule__agent", "suite"):
        try:
            start_due_run(due)
        except AWAY:
            raise
        except Exception:
            log.exception("Suite %s cannot be started by schedule %d.", due.suite, due.schedule_id)
            why = "Internal error in Evalwell. The worker's log has the reason."
            due.settle(DueRun.State.REFUSED, why=why)


def note_due(pk: int, *, now: datetime) -> None:
    """Store what a schedule is to start and when it is due next, unless another process does."""
    with transaction.atomic():
        taken = take_due(Schedule.objects.all(), pk, now=now)
        if taken is None:
            return
        schedule, due_at = taken
        DueRun.objects.bulk_create(
            [
                DueRun(schedule=schedule, suite=suite, due_at=due_at)
                for suite in schedule.suites.order_by("pk")
            ],
            ignore_conflicts=True,
        )


def start_due_run(due: DueRun) -> None:
    """Start a run that is due, or note why it does not start."""
    run = Run.all_runs.filter(idempotency_key=due.key).defer("summary").first()
    if run is not None:
        if run.status != Run.PREPARING:
            due.settle(DueRun.State.STARTED, run=run)
        return  # another process prepares it; a reaper removes what that leaves if it dies
    if problem := owner_problem(due.schedule):
        due.settle(DueRun.State.REFUSED, why=problem)
        return
    if going := _still_going(due):
        why = f"Run {going}, which this schedule started earlier, was still in progress."
        due.settle(DueRun.State.SKIPPED, why=why)
        return
    try:
        with acts_from(Activity.Origin.WORKER):
            run = start_run(
                due.suite,
                by=due.schedule.owner,
                idempotency_key=due.key,
                group=due.group,
                **due.schedule.choices(),
            )
    except CannotStartError as error:
        due.settle(DueRun.State.REFUSED, why=str(error))
    except IntegrityError:
        return  # another process was faster
    else:
        due.settle(DueRun.State.STARTED, run=run)


def owner_problem(
    repeating: Repeating, rights: Sequence[str] = RUNNING, what: str = "start runs"
) -> str:
    """Return why something may not run as its owner; empty if it may. The start checks ceilings."""
    again = f"To fix this, someone who may {what} must save it; it then runs as them."
    if repeating.owner is None:
        return f"The person who saved it last was deleted. {again}"
    if not repeating.owner.has_perms(rights):
        return f"{repeating.owner}, who saved it last, may no longer {what}. {again}"
    return ""


def problems_of(schedule: Schedule) -> Iterator[str]:
    """Return what prevents a schedule from starting anything, as far as it is known in advance."""
    if schedule.is_enabled and schedule.next_at is None:
        yield "Its time is not valid or never occurs. Change it and save."
    if problem := owner_problem(schedule):
        yield problem
    suites = schedule.suites.all()
    if not suites:
        yield "It has no suite."
    elif all(suite.archived_at for suite in suites):
        yield "Its suites are archived. Restore them, or choose others."


def next_times(repeating: Repeating, *, count: int = 5) -> list[datetime]:
    """Return when something is due next; None while it is disabled."""
    if repeating.next_at is None:
        return []
    later = repeating.rhythm.moments(after=repeating.next_at)
    return [repeating.next_at, *islice(later, count - 1)]


def last_due_runs(schedule: Schedule) -> list[DueRun]:
    """Return the results of the last time a schedule was due, suite by suite."""
    last = schedule.due_runs.order_by("-due_at").values("due_at")[:1]
    rows = schedule.due_runs.filter(due_at=Subquery(last)).select_related("suite", "run__suite")
    return list(rows.defer("run__summary").order_by("suite__name", "pk"))


def schedule_of(run: Run) -> Schedule | None:
    """Return the schedule that started a run, as long as that is stored."""
    if not (run.idempotency_key or "").startswith(DueRun.KEYS):
        return None
    return Schedule.objects.filter(due_runs__run=run).first()


def model_problem(name: str) -> str | None:
    """Return why a text does not name a model; an empty text replaces no model."""
    if not name:
        return None
    try:
        read_model(name)
    except ValidationError as error:
        return messages_of(error)[0]
    return None


def _still_going(due: DueRun) -> int | None:
    """Return the number of an earlier run of the same schedule and suite that has not ended."""
    earlier = DueRun.objects.filter(
        schedule=due.schedule_id, suite=due.suite_id, run__status__in=Run.OPEN
    )
    return earlier.order_by("pk").values_list("run", flat=True).first()


def forget_due_runs() -> int:
    """Remove the results of due times long ago; return how many."""
    old = DueRun.objects.filter(due_at__lt=timezone.now() - KEEP)
    return old.exclude(state=DueRun.State.DUE).delete()[0]
