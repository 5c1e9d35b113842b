"""Prepare a run: its executions are written a batch at a time, out of sight, with heartbeats.

The preparing process renews `Run.waiting_since` with each batch. A preparation that was silent for
a lease time is abandoned (it gets a `stop_reason`): its Idempotency-Key is free at once, and its
rows are removed.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.db.models.sql import InsertQuery

from evals_app.models import Execution, Run
from evals_app.runs.starting.freeze import AT_ONCE, CannotStartError, in_parts

_ABANDONED: dict[str, object] = {"stop_reason": Run.StopReason.CANCELLED, "idempotency_key": None}


class PlannedExecution(NamedTuple):
    """An execution to write: its case, the place of that in the snapshot, and its trial.

    `source_id` is the execution whose conversation it grades again.
    """

    case: str
    position: int
    trial: int
    source_id: int | None = None


def write_executions(run: Run, plan: Iterable[PlannedExecution]) -> None:
    """Write the executions of a run, or raise CannotStartError if it was abandoned meanwhile."""
    for part in in_parts(iter(plan)):
        with transaction.atomic():
            show_life(run)
            insert_planned(run, part)


def insert_planned(run: Run, part: Sequence[PlannedExecution]) -> None:
    """Insert executions that differ only in what is planned.

    `bulk_create` prepares all columns of each row, which takes most of the time of a large start.
    """
    columns = [
        field
        for field in Execution._meta.concrete_fields  # noqa: SLF001
        if not field.primary_key and not field.has_db_default()
    ]
    query = InsertQuery(Execution)
    query.insert_values(columns, [Execution(run=run, **part[0]._asdict())])
    [(sql, values)] = query.get_compiler(connection=connection).as_sql()
    names = [field.attname for field in columns]
    places = [names.index(name) for name in PlannedExecution._fields]
    rows = []
    for planned in part:
        row = list(values)
        for place, value in zip(places, planned, strict=True):
            row[place] = value
        rows.append(row)
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def show_life(run: Run) -> None:
    """Note that a run is still being prepared, or raise CannotStartError if it was abandoned."""
    if not _preparing().filter(pk=run.pk).update(waiting_since=Now()):
        message = "Preparing the run stopped for so long that it was given up. Start it again."
        raise CannotStartError(message)


def abandon_if_silent(run: Run) -> bool:
    """Give up the preparation of a run whose process seems to be dead; return whether it was."""
    return bool(_silent_preparations().filter(pk=run.pk).update(**_ABANDONED))


def abandon(run: Run) -> None:
    """Give up the preparation of a run, so that it can begin again under the same key."""
    _preparing().filter(pk=run.pk).update(**_ABANDONED)


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
