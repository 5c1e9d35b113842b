"""Judge from outside whether the processes of a cluster still work."""

import socket
from collections import deque
from dataclasses import dataclass, field

from django.db.models.functions import Now

from evals_app.models import Lease
from evals_app.runs.starting.waiting import waiting_runs

SILENT_S = 10.0
MAX_RESTARTS = 5
WITHIN_S = 600.0


@dataclass
class Watchdog:
    """Follows one cluster, from its start to its end.

    A restart is due after `silent_s` without a heartbeat, or `idle_s` in which runs waited while
    all processes were idle. Times are those of `time.monotonic`.
    """

    silent_s: float
    idle_s: float
    _beat: float = 0.0
    _silent_for: float = 0.0
    _looked_at: float | None = None
    _waits_since: float | None = None

    def hear(self, beat: float, *, now: float) -> bool:
        """Note the last sign of life; return whether it is too old."""
        # At most a second each: while we were suspended ourselves, we heard nothing.
        since = 0.0 if self._looked_at is None else min(now - self._looked_at, 1.0)
        self._silent_for = 0.0 if beat != self._beat else self._silent_for + since
        self._beat, self._looked_at = beat, now
        return self._silent_for > self.silent_s

    def see(self, *, is_work_waiting: bool, now: float) -> bool:
        """Note whether work waits untouched; return whether it has waited too long."""
        if not is_work_waiting:
            self._waits_since = None
            return False
        if self._waits_since is None:
            self._waits_since = now
        return now - self._waits_since > self.idle_s


@dataclass
class Restarts:
    """Limits restarts of a cluster: five in ten minutes, after increasing pauses."""

    _at: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_RESTARTS))

    def next_pause(self, *, now: float) -> float | None:
        """Count a restart; return the seconds to wait before it, or None if there were too many."""
        while self._at and now - self._at[0] >= WITHIN_S:
            self._at.popleft()
        if len(self._at) == MAX_RESTARTS:
            return None
        self._at.append(now)
        return float(2 ** len(self._at) // 8)


def is_work_waiting() -> bool:
    """Whether a run waits with no worker on it, though this machine's processes are idle."""
    if Lease.objects.filter(until__gt=Now(), host=socket.gethostname()).exists():
        return False
    return waiting_runs().filter(workers=0).exists()
