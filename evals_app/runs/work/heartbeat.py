"""The heartbeat of a worker on a run: renews its lease, and learns in return what to do."""

import time
from collections.abc import Callable, Sequence
from ctypes import c_double
from dataclasses import dataclass, field, replace

from django.conf import settings

from evals_app.engine.running.run_gateway import Orders, Signal, WorkerReport
from evals_app.engine.specs.base_spec import ProviderSpec
from evals_app.engine.specs.outside_spec import RateGroup
from evals_app.models import Run
from evals_app.runs.providers.shared_limits import block_providers, blocks, share_places
from evals_app.runs.work.lease import HeldLease


@dataclass
class Heartbeat:
    """Beats at a fixed interval.

    `grace` is the seconds that conversations may still take; negative: we were not asked to stop.
    `is_closing`: whether this process starts nothing more.
    """

    lease: HeldLease
    limited: Sequence[ProviderSpec | RateGroup]
    grace: c_double
    is_closing: Callable[[], bool] = lambda: False
    renewed: float = field(default_factory=time.monotonic)
    stopping_since: float | None = None
    places: dict[str, int] = field(default_factory=dict)

    def beat(self, report: WorkerReport) -> Orders:
        """Check once; every HEARTBEAT_S, renew the lease as well."""
        if not self._renew(report):
            return Orders(Signal.LOST)
        asked = report.providers
        blocked = {slug: state.block for slug, state in asked.items() if state.block is not None}
        if blocked:
            block_providers(blocked)
        limits = {
            limited.slug: limited.max_concurrency
            for limited in self.limited
            if limited.max_concurrency is not None and limited.slug in asked
        }
        if limits:
            # Before the first call, request as much as there are slots.
            first = {slug: replace(state, wanted=self.lease.slots) for slug, state in asked.items()}
            wishes = asked if self.places else first
            places = share_places(self.lease.token, limits, wishes, self.places)
            if places is None:
                return Orders(Signal.LOST)
            self.places = places
        return Orders(self._signal(), self.places, blocks(asked) if asked else {})

    def _renew(self, report: WorkerReport) -> bool:
        now = time.monotonic()
        if now - self.renewed < settings.EVALS_HEARTBEAT_S:
            return True
        doing = {str(pk): step for pk, step in report.doing.items()}
        if not self.lease.renew(activity=self.lease.counts | {"doing": doing}):
            return False
        self.renewed = now
        return True

    def _signal(self) -> Signal:
        now = time.monotonic()
        if self.grace.value >= 0:
            self.stopping_since = self.stopping_since or now
            is_over = now - self.stopping_since >= self.grace.value
            return Signal.RELEASE if is_over else Signal.FINISH
        reason = Run.objects.values_list("stop_reason", flat=True).get(pk=self.lease.run_id)
        if reason == Run.StopReason.CANCELLED:
            return Signal.CANCEL
        if reason:
            return Signal.RELEASE
        return Signal.FINISH if self.is_closing() else Signal.GO
