"""A lease: the part of a run that one worker has, from opening to release.

Every operation is one short transaction. Locks are taken in the order Lease, Executions by id, Run,
monthly ceilings by id. A worker whose token is gone has lost its lease and must not write.
"""

import os
import socket
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.db.models.functions import Now

from evals_app.engine.running.run_gateway import ExecutionJob, InterruptedConversation, Outcome
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.formats.snapshots.run_snapshot import read_case
from evals_app.models import Execution, Lease, PaidCalls, Run, SnapshotCase, Tally
from evals_app.runs.ground import events
from evals_app.runs.ground.connections import sessions_of
from evals_app.runs.ground.patience import patiently
from evals_app.runs.ground.workers import processes, slots_for, workers_for
from evals_app.runs.money.budget import leave_unsettled
from evals_app.runs.work.conversations import stored_conversations
from evals_app.runs.work.record import end_of_lease, record_outcomes
from evals_app.runs.work.skipping import skip_decided, stopping_rate
from fixtures_app.ground.storable import storable

SUSPECTS_AT_ONCE = 8  # executions whose worker died once; those of two deaths run alone


class _QueuedRow(NamedTuple):
    """An execution that can be claimed."""

    pk: int
    position: int
    trial: int
    attempts: int


@dataclass(eq=False)
class HeldLease:
    """A lease in the hands of this process.

    Every method may be repeated when it is unknown whether it arrived: `patiently` does so.
    `others` are slots of the run's other workers; `is_alone`: whether this process works on
    nothing else; `min_pass_rate`: the `stopping_rate` of the run.
    """

    run: Run
    token: uuid.UUID
    slots: int
    others: int
    is_alone: Callable[[], bool]
    min_pass_rate: float | None = None
    counts: dict[str, int] = field(
        default_factory=lambda: {"claimed": 0, "recorded": 0, "refused": 0}
    )
    valid_until: float = field(default_factory=lambda: time.monotonic() + settings.EVALS_LEASE_S)
    holds_suspects: bool = False

    @property
    def run_id(self) -> int:
        return self.run.pk

    def claim(self, count: int, *, free: int, in_hand: int) -> list[ExecutionJob] | None:
        """Take up to `count` queued executions of the run; none if it is stopped or done.

        More than `free` are taken only if the run's other workers cannot begin them at once. None:
        nothing is left but suspects, if anything. Suspects, whose worker died, run in small groups
        or alone, to find out which of them caused it, and only when nothing else is in hand.
        """
        if self.holds_suspects and in_hand:
            return None
        with transaction.atomic():
            chosen = self._choose(count, free=free, in_hand=in_hand)
            if not chosen:
                return None if chosen is None else []
            ids = [row.pk for row in chosen]
            Execution.objects.filter(pk__in=ids).update(
                status=Execution.Status.RUNNING, lease_token=self.token, started_at=None
            )
            is_first = Run.objects.filter(pk=self.run_id, status=Run.Status.QUEUED).update(
                status=Run.Status.RUNNING, started_at=Now()
            )
        if is_first:
            events.run_begins(self.run)
        self.holds_suspects = chosen[0].attempts > 0
        self.counts["claimed"] += len(chosen)
        paid = PaidCalls.objects.filter(execution__in=ids).values_list("pk", "calls")
        begun = {pk: InterruptedConversation(**calls) for pk, calls in paid}
        for pk, session_id in sessions_of(ids).items():
            before = begun.get(pk, InterruptedConversation("", ()))
            begun[pk] = replace(before, session_id=session_id)
        cases = cases_of(self.run_id, {row.position for row in chosen})
        stored = stored_conversations(self.run, ids)
        return [
            ExecutionJob(
                row.pk, cases[row.position], row.trial, begun.get(row.pk), stored.get(row.pk)
            )
            for row in chosen
        ]

    def _choose(self, count: int, *, free: int, in_hand: int) -> list[_QueuedRow] | None:
        """Lock and return the executions that `claim` takes, which states when there are none."""
        # This may run late, after a lost connection: rows taken under an expired lease would
        # belong to no lease.
        if not Lease.objects.filter(pk=self.token).select_for_update().exists():
            return []
        queued = Execution.objects.filter(
            run_id=self.run_id, status=Execution.Status.QUEUED, run__stop_reason=""
        )
        waiting = queued.order_by()[: count + self.others].count()  # looked at, not locked
        most = min(count, max(free, waiting - self.others))
        if not most:
            return None if waiting else []
        # SKIP LOCKED: the run's workers share one pool. (SQLite locks whole transactions.)
        locked = queued.order_by("attempts", "pk").select_for_update(skip_locked=True, of=("self",))
        rows = [_QueuedRow(*row) for row in locked.values_list(*_QueuedRow._fields)[:most]]
        attempts = rows[0].attempts if rows else 0
        if attempts and not self.is_alone():
            return []  # only an otherwise idle process may run them
        if attempts and in_hand:
            return None
        return [row for row in rows if row.attempts == attempts][: _max_at_once(attempts)]

    def begin(self, ids: Sequence[int]) -> set[int]:
        """Count an attempt for each that is still ours, and return those."""
        mine = self._mine().filter(pk__in=ids)
        with transaction.atomic():
            if self.min_pass_rate is not None:
                self._skip_decided(mine, min_pass_rate=self.min_pass_rate)
            fresh = mine.filter(started_at__isnull=True)  # reported twice, it counts once
            if fresh.update(attempts=F("attempts") + 1, started_at=Now()) == len(ids):
                return set(ids)
            return set(mine.values_list("pk", flat=True))

    def _skip_decided(self, mine: QuerySet[Execution], *, min_pass_rate: float) -> None:
        """Skip executions whose cases were decided after they were claimed."""
        fresh = mine.filter(started_at__isnull=True)
        locked = fresh.order_by("pk").select_for_update()
        positions = set(locked.values_list("position", flat=True))
        skipped = skip_decided(
            fresh, run_id=self.run_id, positions=positions, min_pass_rate=min_pass_rate
        )
        if skipped:
            Run.objects.filter(pk=self.run_id).update(
                skipped=F("skipped") + skipped, not_run=F("not_run") - skipped
            )

    def record(self, outcomes: Sequence[Outcome]) -> bool:
        """Record the outcomes of executions, once; return whether the lease is still ours."""
        asked_at = time.monotonic()
        written = record_outcomes(
            outcomes, run_id=self.run_id, token=self.token, min_pass_rate=self.min_pass_rate
        )
        if written is None:
            self.counts["refused"] += len(outcomes)
            Tally.add(Tally.RESULTS_REFUSED, len(outcomes))
            return False
        self.valid_until = asked_at + settings.EVALS_LEASE_S
        self.counts["recorded"] += written
        return True

    def renew(self, *, activity: Mapping[str, object]) -> bool:
        """Extend the lease; False if it was lost."""
        asked_at = time.monotonic()
        mine = Lease.objects.filter(pk=self.token)
        if not mine.update(until=end_of_lease(), activity=activity):
            return False
        self.valid_until = asked_at + settings.EVALS_LEASE_S
        return True

    def keep(self, begun: Mapping[int, InterruptedConversation]) -> None:
        """Store calls already paid for by conversations that return to the queue."""
        with transaction.atomic():
            ours = self._mine().filter(pk__in=list(begun)).select_for_update()
            PaidCalls.objects.bulk_create(
                [
                    PaidCalls(execution_id=pk, calls=storable(asdict(begun[pk])))
                    for pk in sorted(ours.values_list("pk", flat=True))
                ],
                update_conflicts=True,
                unique_fields=["execution"],
                update_fields=["calls"],
            )

    def release(self) -> None:
        """Requeue what is unfinished, as if it had never begun, and end the lease."""
        with transaction.atomic():
            lease = Lease.objects.filter(pk=self.token).select_for_update().first()
            if lease is None:
                return
            # We stopped these conversations ourselves: this is not a failed attempt of theirs.
            begun = self._mine().filter(started_at__isnull=False)
            begun.update(attempts=F("attempts") - 1, started_at=None)
            self._mine().update(status=Execution.Status.QUEUED, lease_token=None)
            leave_unsettled(lease)
            Lease.objects.filter(pk=self.token).delete()
            Run.objects.filter(pk=self.run_id).update(waiting_since=Now())

    def _mine(self) -> QuerySet[Execution]:
        return Execution.objects.filter(
            lease_token=self.token, status=Execution.Status.RUNNING
        ).order_by()


def _max_at_once(attempts: int) -> int | None:
    """Return how many of a kind may run at once: fewer, the more often their worker died."""
    if attempts == 0:
        return None
    return SUSPECTS_AT_ONCE if attempts == 1 else 1


def cases_of(run_id: int, positions: Collection[int]) -> dict[int, CaseSpec]:
    """Read cases of a run's snapshot, by position."""
    rows = SnapshotCase.objects.filter(snapshot__runs=run_id, position__in=positions)
    return {
        position: read_case(content)
        for position, content in rows.values_list("position", "content")
    }


def open_lease(run_id: int, *, is_alone: Callable[[], bool] = lambda: True) -> HeldLease | None:
    """Take a share of a run's slots; None if there is nothing to take."""
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(pk=run_id, status__in=Run.OPEN).first()
        if run is None or run.stop_reason or not run.not_run:
            return None
        taken = run.leases.filter(until__gt=Now()).aggregate(slots=Sum("slots"))["slots"] or 0
        workers = workers_for(run.concurrency, executions=run.total, processes=processes())
        share = slots_for(run.concurrency, workers=workers)
        slots = min(share, run.concurrency - taken)
        if slots <= 0:
            return None
        me = {"host": socket.gethostname(), "pid": os.getpid()}
        lease = Lease.objects.create(run=run, slots=slots, until=end_of_lease(), **me)
    others = min(share * (workers - 1), run.concurrency - slots)
    return HeldLease(run, lease.token, slots, others, is_alone, stopping_rate(run))


def end_lease(lease: HeldLease) -> None:
    """Release unfinished work if the database responds in time; otherwise the reaper will."""
    patiently(lease.release, until=lambda: lease.valid_until, lost=None)()
