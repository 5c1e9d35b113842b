"""A lease: what one drainer holds of a run, from opening to release.

Every operation is one short transaction. Locks are taken in the order Lease, Executions by id,
Run. Who finds no row with its token has been given up for dead and writes nothing.
"""

import os
import socket
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

from evals_app.engine.execution import Job, Outcome
from evals_app.models import Execution, Lease, Run
from evals_app.runs.cancel import cancel_queued
from evals_app.runs.finish import close_if_over
from evals_app.runs.record import record_outcomes
from evals_app.runs.tickets import issue_tickets, slots_for


class HeldLease:
    """A lease in the hands of this process."""

    def __init__(self, *, run_id: int, token: uuid.UUID, slots: int) -> None:
        self.run_id = run_id
        self.token = token
        self.slots = slots
        self.counts = {"claimed": 0, "recorded": 0, "refused": 0}

    def claim(self, count: int) -> list[Job]:
        """Take up to `count` queued executions of the run; none if it is stopped or done."""
        queued = Execution.objects.filter(
            run_id=self.run_id, status=Execution.Status.QUEUED, run__stop_reason=""
        )
        with transaction.atomic():
            # SKIP LOCKED: the run's drainers share one pool. (SQLite locks whole transactions.)
            chosen = list(
                queued.order_by("attempts", "pk")
                .select_for_update(skip_locked=True, of=("self",))
                .values_list("pk", "case", "trial")[:count]
            )
            if not chosen:
                return []
            Execution.objects.filter(pk__in=[pk for pk, _, _ in chosen]).update(
                status=Execution.Status.RUNNING, lease_token=self.token, started_at=None
            )
            Run.objects.filter(pk=self.run_id, status=Run.Status.QUEUED).update(
                status=Run.Status.RUNNING, started_at=Now()
            )
        self.counts["claimed"] += len(chosen)
        return [Job(pk, case, trial) for pk, case, trial in chosen]

    def begin(self, ids: Sequence[int]) -> set[int]:
        """Count an attempt for each that is still ours, and give those."""
        mine = self._mine().filter(pk__in=ids)
        with transaction.atomic():
            begun = mine.update(attempts=F("attempts") + 1, started_at=Now())
            if begun == len(ids):
                return set(ids)
            return set(mine.values_list("pk", flat=True))

    def record(self, outcomes: Sequence[Outcome]) -> bool:
        """Write what came of executions, once; say whether the lease is still ours."""
        written = record_outcomes(outcomes, run_id=self.run_id, token=self.token)
        if written is None:
            self.counts["refused"] += len(outcomes)
            return False
        self.counts["recorded"] += written
        return True

    def renew(self, *, activity: dict[str, object]) -> bool:
        """Prolong the lease; False if it was given up for dead."""
        return bool(
            Lease.objects.filter(pk=self.token).update(until=_end_of_lease(), activity=activity)
        )

    def release(self) -> None:
        """Hand back what is still held, as if it had never begun, and end the lease."""
        with transaction.atomic():
            if not Lease.objects.filter(pk=self.token).select_for_update().exists():
                return
            # We stopped these conversations ourselves: the attempt was not theirs.
            begun = self._mine().filter(started_at__isnull=False)
            begun.update(attempts=F("attempts") - 1, started_at=None)
            self._mine().update(status=Execution.Status.QUEUED, lease_token=None)
            Lease.objects.filter(pk=self.token).delete()

    def _mine(self) -> QuerySet[Execution]:
        return Execution.objects.filter(
            lease_token=self.token, status=Execution.Status.RUNNING
        ).order_by()


def _end_of_lease() -> Combinable:
    return Now() + timedelta(seconds=settings.EVALS_LEASE_S)


def open_lease(run_id: int) -> HeldLease | None:
    """Take a share of a run's slots; None if there is nothing to take."""
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(pk=run_id, status__in=Run.OPEN).first()
        if run is None or run.stop_reason or not run.not_run:
            return None
        held = run.leases.filter(until__gt=Now()).aggregate(slots=Sum("slots"))["slots"] or 0
        share = slots_for(run.concurrency, executions=run.total)
        slots = min(share, run.concurrency - held)
        if slots <= 0:
            return None
        lease = Lease.objects.create(
            run=run,
            host=socket.gethostname(),
            pid=os.getpid(),
            slots=slots,
            until=_end_of_lease(),
        )
    return HeldLease(run_id=run_id, token=lease.token, slots=slots)


@contextmanager
def hold_lease(run_id: int) -> Iterator[HeldLease | None]:
    """Hold a lease for as long as the block lasts; afterwards close the run or pass it on."""
    lease = open_lease(run_id)
    if lease is None:
        cancel_queued(run_id)
        close_if_over(run_id)
        yield None
        return
    try:
        yield lease
    finally:
        lease.release()
        settle(run_id)


def settle(run_id: int) -> None:
    """After a lease has gone: cancel, close, or ask for somebody else, as the run needs."""
    cancel_queued(run_id)
    if close_if_over(run_id):
        return
    waits = Execution.objects.filter(
        run_id=run_id, status=Execution.Status.QUEUED, run__stop_reason=""
    )
    if waits.exists():
        Run.objects.filter(pk=run_id).update(ticketed_at=Now())
        issue_tickets(run_id, 1)
