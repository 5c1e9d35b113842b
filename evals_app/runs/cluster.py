"""A django-q2 cluster inside one of our commands, and the loop that looks after it."""

import ctypes
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

from django.conf import settings
from django.db import OperationalError, connections
from django_q import cluster as q_cluster

from evals_app.engine.llm.anthropic import preload
from evals_app.runs.drain import GRACE
from evals_app.runs.reap import reap
from evals_app.runs.workers import announce, retire

log = logging.getLogger(__name__)

TICK_S = 0.2
ANNOUNCE_S = 10.0
_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted:
    """Counts the signals that ask us to stop, in the main thread."""

    def __init__(self) -> None:
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0

    @contextmanager
    def listening(self) -> Iterator[Self]:
        """Take SIGINT and SIGTERM for as long as the block lasts."""
        before = {each: signal.signal(each, self._note) for each in _SIGNALS}
        try:
            yield self
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self.count += 1


class LocalCluster:
    """Workers of this process. To be entered in the main thread, before any other thread starts.

    `grace_s` is how long conversations may still take once the block is left; what is unfinished
    then goes back to the queue.
    """

    def __init__(self, *, grace_s: float = 20.0) -> None:
        self.grace_s = grace_s
        self._cluster: q_cluster.Cluster | None = None
        self._reaped_at = self._announced_at = 0.0

    def __enter__(self) -> Self:
        GRACE.value = -1.0
        reap()
        announce(processes=settings.WORKERS)
        connections.close_all()  # a connection must not cross a fork
        preload()  # once here instead of a second of CPU in each worker
        die_with_parent()
        handlers = [signal.getsignal(each) for each in _SIGNALS]
        self._cluster = q_cluster.Cluster()
        for each, handler in zip(_SIGNALS, handlers, strict=True):
            signal.signal(each, handler)  # django-q2 took them; stopping is our business
        self._cluster.start()
        self._reaped_at = self._announced_at = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def is_alive(self) -> bool:
        return self._cluster is not None and self._cluster.sentinel.is_alive()

    def tick(self) -> None:
        """Do what is due: reap, and say that we are alive. Call it every TICK_S or so."""
        now = time.monotonic()
        try:
            if now - self._reaped_at >= settings.EVALS_REAP_S:
                self._reaped_at = now
                reap()
            if now - self._announced_at >= ANNOUNCE_S:
                self._announced_at = now
                announce(processes=settings.WORKERS)
        except OperationalError:
            log.warning("The database did not answer; trying again.", exc_info=True)
            connections.close_all()

    def stop(self) -> None:
        """Finish what can be finished within the grace, then end every process."""
        if self._cluster is None:
            return
        cluster, self._cluster = self._cluster, None
        GRACE.value = self.grace_s
        try:
            announce(processes=settings.WORKERS, is_draining=True)
        except OperationalError:
            log.warning("Could not say that this worker is stopping.", exc_info=True)
        # set() blocks for ever if the sentinel died while it held the event's lock.
        threading.Thread(target=cluster.stop_event.set, daemon=True).start()
        cluster.sentinel.join(self.grace_s + 10)
        if cluster.sentinel.is_alive():
            cluster.sentinel.kill()  # its workers die with it
            cluster.sentinel.join(5)
        try:
            reap()
            retire()
        except OperationalError:
            log.warning("Could not sign off; the next worker cleans up.", exc_info=True)


def look_after(
    cluster: LocalCluster,
    *,
    stop: Interrupted,
    is_over: Callable[[], bool] = lambda: False,
) -> bool:
    """Keep a cluster going until it is over or a signal comes; False if the cluster died."""
    while not stop and not is_over():
        if not cluster.is_alive:
            return False
        cluster.tick()
        time.sleep(TICK_S)
    return True


_is_registered = False


def die_with_parent() -> None:
    """Make every process that is forked from now on die when its parent does."""
    global _is_registered  # noqa: PLW0603 - hooks of a process cannot be taken away again
    follow = parent_death_signal()
    if follow is not None and not _is_registered:
        os.register_at_fork(after_in_child=follow)
        _is_registered = True


def parent_death_signal() -> Callable[[], None] | None:
    """Give what a new child calls so that the death of its parent kills it; None if unknown here."""
    if os.uname().sysname != "Linux":
        return None
    libc = ctypes.CDLL(None, use_errno=True)

    def follow() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    return follow
