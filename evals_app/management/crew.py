"""Somebody to work on what a command has started."""

import time
from contextlib import ExitStack

from evals_app.runs.cluster import LocalCluster
from evals_app.runs.workers import somebody_works

LOOK_FOR_WORKERS_S = 5.0
GRACE_S = 5.0


class Crew:
    """Somebody to do the work: workers that are alive, else some of our own."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._cluster: LocalCluster | None = None
        self._looked_at = 0.0

    @property
    def is_own(self) -> bool:
        return self._cluster is not None

    def ensure(self) -> None:
        """Start workers of our own if nobody works (any more)."""
        self._looked_at = time.monotonic()
        if self._cluster is None and not somebody_works():
            self._cluster = self._stack.enter_context(LocalCluster(grace_s=GRACE_S))

    def tick(self) -> None:
        """Keep things going.

        Raises:
            CannotWorkError: our own workers died too often.
        """
        if self._cluster is not None:
            self._cluster.tick()
        elif time.monotonic() - self._looked_at >= LOOK_FOR_WORKERS_S:
            self.ensure()
