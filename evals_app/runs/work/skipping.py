"""Skip trials that cannot change the verdict of their case, in runs that do not need all of them.

When results are recorded, queued trials of the cases that they decide are skipped. Another process
may have claimed some of them, or be recording too, so each is checked again before it starts.
"""

import json
from collections.abc import Collection

from django.db.models import Count, Q, QuerySet

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.deciding import is_certain
from evals_app.models import Execution, PaidCalls, Run
from evals_app.runs.ground.connections import forget_calls

_ENDED = {verdict.value: Count("pk", filter=Q(verdict=verdict)) for verdict in Verdict}


def stopping_rate(run: Run) -> float | None:
    """Return the share of its trials that a case needs to pass; None if all trials are to run."""
    if not run.stops_when_decided:
        return None
    return float(json.loads(run.snapshot.content)["suite"]["min_pass_rate"])


def skip_decided(
    rows: QuerySet[Execution], *, run_id: int, positions: Collection[int], min_pass_rate: float
) -> int:
    """Skip those of `rows` whose cases, at these positions, are decided; return how many.

    The caller moves the run's counters, in the same transaction.
    """
    decided = _find_decided(run_id, positions, min_pass_rate)
    if not decided:
        return 0
    # Leave rows that another process is claiming or skipping to that process.
    locked = rows.filter(position__in=decided).select_for_update(skip_locked=True, of=("self",))
    ids = list(locked.order_by("pk").values_list("pk", flat=True))
    if ids:
        PaidCalls.objects.filter(execution__in=ids).delete()
        forget_calls(ids)
        Execution.objects.filter(pk__in=ids).update(
            status=Execution.Status.SKIPPED, lease_token=None, started_at=None
        )
    return len(ids)


def _find_decided(run_id: int, positions: Collection[int], min_pass_rate: float) -> list[int]:
    rows = Execution.objects.filter(run_id=run_id, position__in=positions).order_by("position")
    counted = rows.values_list("position").annotate(planned=Count("pk"), **_ENDED)
    return [
        position
        for position, planned, passed, failed, *undecided in counted
        if is_certain(
            passed,
            failed,
            left=planned - passed - failed - sum(undecided),
            min_pass_rate=min_pass_rate,
        )
    ]
