"""Prepare a run: its executions are written a batch at a time, out of sight, with heartbeats.

The preparing process renews `Run.waiting_since` with each batch. A preparation that was silent for
a lease time is abandoned (it gets a `stop_reason`): its Idempotency-Key is free at once, and its
rows are removed.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from evals_app.models import Execution, Run
from evals_app.runs.starting.freeze import AT_ONCE, CannotStartError, in_parts


def write_executions(run: Run, executions: Iterable[Execution]) -> None:
    """Write the executions of a run, or raise CannotStartError if it was abandoned meanwhile."""
    for part in in_parts(iter(executions)):
        with transaction.atomic():
            show_life(run)
            Execution.objects.bulk_create(part)


def show_life(run: Run) -> None:
    """Note that a run is still being prepared, or raise CannotStartError if it was abandoned."""
    if not _preparing().filter(pk=run.pk).update(waiting_since=Now()):
        message = "Preparing the run stopped for so long that it was given up. Start it again."
        raise CannotStartError(message)


def abandon_if_silent(run: Run) -> bool:
    """Give up the preparation of a run whose process seems to be dead; return whether it was."""
    abandoned = {"stop_reason": Run.StopReason.CANCELLED, "idempotency_key": None}
    return bool(_silent_preparations().filter(pk=run.pk).update(**abandoned))


def remove_abandoned() -> None:
    """Remove all runs whose preparation was abandoned, or is silent."""
    for run in _silent_preparations():
        abandon_if_silent(run)
    for run in Run.all_runs.filter(status=Run.PREPARING).exclude(stop_reason=""):
        forget_unprepared(run)


def forget_unprepared(run: Run) -> None:
    """Remove a run that was never ready, some of its executions at a time."""
    rows = Execution.objects.filter(run=run).order_by("pk")
    while ids := list(rows.values_list("pk", flat=True)[:AT_ONCE]):
        Execution.objects.filter(pk__in=ids).delete()
    run.delete()


def _preparing() -> QuerySet[Run]:
    # An import that was interrupted stays: it can be continued.
    return Run.all_runs.filter(status=Run.PREPARING, stop_reason="", is_import=False)


def _silent_preparations() -> QuerySet[Run]:
    return _preparing().filter(waiting_since__lt=Now() - timedelta(seconds=settings.EVALS_LEASE_S))
