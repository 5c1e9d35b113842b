"""Drain a run: hold its conversations in this process until there is a reason to stop."""

import multiprocessing
import time
from dataclasses import dataclass, field

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.utils.crypto import salted_hmac

from evals_app.engine.execution import Plan, Signal, execute
from evals_app.formats.snapshot import SnapshotSpec
from evals_app.models import Execution, Run
from evals_app.runs.lease import HeldLease, hold_lease
from fixtures_app.tools import open_world

# Seconds that conversations may still take once the worker is told to stop; negative: not told.
# Made by the worker command before it forks. A RawValue has no lock that a death could keep.
GRACE = multiprocessing.RawValue("d", -1.0)


def drain(run_id: int) -> dict[str, int]:
    """Work on a run for as long as there is something to do here; gives a few counts."""
    if GRACE.value >= 0:
        return {}  # this worker is on its way out: the reaper of the next one asks again
    with hold_lease(run_id) as lease:
        if lease is None:
            return {}
        run = Run.objects.select_related("snapshot").get(pk=run_id)
        here = sync_to_async  # thread-sensitive: runs in this very thread
        async_to_sync(execute)(
            plan_of(run),
            slots=lease.slots,
            claim=here(lease.claim),
            begin=here(lease.begin),
            record=here(lease.record),
            pulse=here(Heart(lease).beat),
            pulse_s=settings.EVALS_PULSE_S,
        )
        return lease.counts


def plan_of(run: Run) -> Plan:
    """Give what the executions of a run share, from its snapshot."""
    frozen = SnapshotSpec.read(run.snapshot.content)
    types = {each.slug: each.json_schema for each in frozen.entity_types}
    started_at = run.created_at.isoformat()
    return Plan(
        suite=frozen.suite,
        agent=frozen.agent,
        open_world=lambda clock: open_world(frozen.fixtures, types, clock=clock or started_at),
        providers=frozen.providers,
        judge=frozen.judge,
        scripted={agent.slug: agent for agent in frozen.scripted},
        secret=salted_hmac("evals_app.judge", str(run.pk)).digest(),
        execution_s=settings.EVALS_EXECUTION_S,
    )


@dataclass
class Heart:
    """Keeps a lease alive and says, each pulse, what is wanted of its drainer."""

    lease: HeldLease
    started: float = field(default_factory=time.monotonic)
    renewed: float = field(default_factory=time.monotonic)
    told_to_stop: float | None = None

    def beat(self) -> Signal:
        """Look once; every heartbeat the lease is renewed too."""
        now = time.monotonic()
        if now - self.renewed >= settings.EVALS_HEARTBEAT_S:
            if not self.lease.renew(activity=dict(self.lease.counts)):
                return Signal.LOST
            self.renewed = now
        if GRACE.value >= 0:
            self.told_to_stop = self.told_to_stop or now
            is_over = now - self.told_to_stop >= GRACE.value
            return Signal.RELEASE if is_over else Signal.FINISH
        reason = Run.objects.values_list("stop_reason", flat=True).get(pk=self.lease.run_id)
        if reason == Run.StopReason.CANCELLED:
            return Signal.CANCEL
        if reason:
            return Signal.RELEASE
        if now - self.started >= self._time_box():
            return Signal.FINISH
        return Signal.GO

    def _time_box(self) -> float:
        """Give way sooner to a run that waits and has nobody."""
        elapsed = time.monotonic() - self.started
        if elapsed < settings.EVALS_TIME_BOX_SHARED_S:
            return settings.EVALS_TIME_BOX_S
        waiting = Run.objects.filter(status__in=Run.OPEN, stop_reason="", leases__isnull=True)
        others = waiting.exclude(pk=self.lease.run_id)
        if others.filter(executions__status=Execution.Status.QUEUED).exists():
            return settings.EVALS_TIME_BOX_SHARED_S
        return settings.EVALS_TIME_BOX_S
