"""Workers for the runs that a command has started."""

import time
from collections.abc import Sequence
from contextlib import ExitStack

from evals_app.models import Run
from evals_app.runs.ground.events import be_quiet
from evals_app.runs.ground.workers import has_worker
from evals_app.runs.process.cluster import LocalCluster
from evals_app.runs.providers.shared_limits import kinds_of

LOOK_FOR_WORKERS_S = 5.0
GRACE_S = 5.0


class Crew:
    """Live workers, or else workers of our own."""

    def __init__(self, stack: ExitStack, runs: Sequence[Run]) -> None:
        self._stack = stack
        self._runs = runs
        self._cluster: LocalCluster | None = None
        self._looked_at = 0.0

    @property
    def is_own(self) -> bool:
        return self._cluster is not None

    def ensure(self) -> None:
        """Start workers of our own if no worker is alive (any more)."""
        self._looked_at = time.monotonic()
        if self._cluster is None and not has_worker():
            be_quiet()
            cluster = LocalCluster(grace_s=GRACE_S, kinds=kinds_of(self._runs))
            self._cluster = self._stack.enter_context(cluster)

    def tick(self) -> None:
        """Keep the workers running.

        Raises:
            CannotWorkError: our own workers died too often.
        """
        if self._cluster is not None:
            self._cluster.tick()
        elif time.monotonic() - self._looked_at >= LOOK_FOR_WORKERS_S:
            self.ensure()
