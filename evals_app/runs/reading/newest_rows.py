"""The newest rows of a large table that match, found without reading its history."""

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Max, QuerySet

from evals_app.models import Execution, Run

NEWEST = 20_000  # keys: cheap to read, and most filters fill a page from them
_RUNS = 10  # of which the newest execution is looked for


def newest_keys(
    rows: QuerySet[Any], *, count: int, enough: int, below: int, newest: int = NEWEST
) -> Sequence[int]:
    """Return the keys of up to `count` rows, the newest first; fewer only if no more match.

    With a limit, a database walks back from the newest row until the page is full. For rare or old
    matches that is the whole table, although an index would find them at once. So a few of the keys
    below `below`, which none of `rows` has reached, are tried first, then the `newest`; if not even
    `enough` of them match, all matches are looked up and sorted.
    """
    keys = rows.order_by("-pk").values_list("pk", flat=True)
    found: list[int] = []
    for tried in (newest // 10, newest):
        found = list(keys.filter(pk__gte=below - tried, pk__lt=below)[:count])
        if len(found) == count:
            return found
    if len(found) < enough:
        # A sum has no index, so the database uses the filters.
        keys = keys.order_by((F("pk") + 0).desc())
    return list(keys[:count])


def end_of(rows: QuerySet[Any]) -> int:
    """Return a key above those of all rows of a table."""
    last: int | None = rows.order_by("-pk").values_list("pk", flat=True).first()
    return (last or 0) + 1


def end_of_runs(runs: QuerySet[Run]) -> int:
    """Return a key above those of all executions of some runs.

    Executions of runs that were prepared at the same time may be in any order, so some of the
    newest runs are looked at.
    """
    newest = list(runs.order_by("-pk").values_list("pk", flat=True)[:_RUNS])
    of_newest = Execution.objects.filter(run__in=newest)
    # A sum has no index: else the database might walk back from the newest execution of all runs.
    last: int | None = of_newest.aggregate(last=Max(F("pk") + 0))["last"]
    return (last or 0) + 1
