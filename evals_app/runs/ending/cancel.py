"""Cancel a run: nothing more starts, running conversations stop within a heartbeat."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from evals_app.models import Activity, Execution, Run, Settlement
from evals_app.models.people.activity import note_act
from evals_app.runs.ending.finish import close_if_over

AT_ONCE = 5000  # rows of one transaction: other writers wait for each


def cancel_run(run: Run) -> bool:
    """Ask a run to stop unless it has ended; return whether this call did it."""
    did = run.cancel()
    cancel_queued(run.pk)
    close_if_over(run.pk)
    return did


def cancel_settlement(settlement: Settlement, *, by: User | None = None) -> bool:
    """Cancel a retest and its runs unless it has ended; return whether this call did it."""
    did = settlement.end(Settlement.Status.CANCELLED)
    if did:
        note_act(Activity.Kind.RUN, "Cancelled.", user=by, row=settlement)
    for run in settlement.runs.filter(status__in=Run.OPEN).defer("summary"):
        cancel_run(run)
    return did


def cancel_queued(run_id: int) -> None:
    """Turn the queued executions of a cancelled run into cancelled ones."""
    queued = Execution.objects.filter(run_id=run_id, status=Execution.Status.QUEUED)
    wanted = queued.filter(run__stop_reason=Run.StopReason.CANCELLED).order_by("pk")
    locked = wanted.select_for_update(of=("self",)).values_list("pk", flat=True)
    count = AT_ONCE
    while count == AT_ONCE:
        with transaction.atomic():
            ids = list(locked[:AT_ONCE])
            count = queued.filter(pk__in=ids).update(status=Execution.Status.CANCELLED)
            if count:
                Run.objects.filter(pk=run_id).update(
                    cancelled=F("cancelled") + count, not_run=F("not_run") - count
                )
