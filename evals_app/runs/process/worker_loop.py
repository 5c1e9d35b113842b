"""The loop of a worker process, which works on the runs that wait, on several at once.

Most of what a conversation does is waiting: for a reply, or for a provider that is rate-limiting
us. Meanwhile its process adopts other runs, so that they do not wait for it.
"""

import asyncio
import faulthandler
import logging
import multiprocessing
import random
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings

from evals_app.engine.basics import at_work
from evals_app.runs.ending.cancel import cancel_queued
from evals_app.runs.ending.finish import close_if_over
from evals_app.runs.ground.patience import AWAY, patiently
from evals_app.runs.starting.waiting import call_workers, next_run
from evals_app.runs.work.lease import HeldLease, end_lease, open_lease
from evals_app.runs.work.run_worker import work_on_run
from evals_app.runs.work.telemetry import Exporter, exporting

log = logging.getLogger(__name__)

MAX_RUNS = 100  # of one process
LOOK_S = 0.25  # how often a busy process looks for a run that no process has taken
SIGN_OF_LIFE_S = 1.0
STDERR = 2  # what replaces sys.stderr, as in tests, may have no file below it
PULSE_S_PER_RUN = 0.05  # so that many heartbeats do not overload the database

# Seconds that conversations may still take once the worker is asked to stop; negative before. Made
# by the worker command before it forks. A RawValue has no lock that a dying process could keep.
GRACE = multiprocessing.RawValue("d", -1.0)


def work() -> dict[str, int]:
    """Work until no run waits for this process; return a few counts."""
    loop = WorkerLoop()
    with limited_memory(settings.EVALS_MEMORY_MB):
        async_to_sync(loop.work)()
    if loop.is_closing:
        call_workers()  # other processes take what is left
    return dict(loop.counts)


class WorkerLoop:
    """The runs that this process works on."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._exporter: Exporter | None = None
        self._leases: list[HeldLease] = []
        self._broken: set[int] = set()  # runs that cannot be worked on here
        # Not all at the same time.
        self._ends_at = time.monotonic() + settings.EVALS_SHIFT_S * random.uniform(0.5, 1.0)

    async def work(self) -> None:
        # After a lease time without a heartbeat other processes have the rows, and this one would
        # only interfere.
        async with (
            exit_when_blocked(after_s=settings.EVALS_LEASE_S),
            exporting() as self._exporter,
            asyncio.TaskGroup() as group,
        ):
            at_work: set[asyncio.Task[None]] = set()
            while True:
                if lease := await sync_to_async(self._take_next)():
                    at_work.add(group.create_task(self._work_on(lease)))
                if not at_work:
                    return
                _, at_work = await asyncio.wait(
                    at_work, timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED
                )

    # Leases are opened, checked for suspects and ended in the one thread that uses the database.

    def _take_next(self) -> HeldLease | None:
        if self.is_closing or len(self._leases) >= MAX_RUNS:
            return None
        if any(lease.holds_suspects for lease in self._leases):
            return None  # a crash caused by a suspect must not affect other runs
        mine = {lease.run_id for lease in self._leases}
        not_these = mine | self._broken
        try:
            while (run_id := next_run(is_busy=bool(mine), except_for=not_these)) is not None:
                if lease := open_lease(run_id, is_alone=lambda: len(self._leases) == 1):
                    self._leases.append(lease)
                    return lease
                not_these.add(run_id)  # another process was faster
        except AWAY as error:
            log.warning("The database did not answer while looking for runs. (%s)", error)
        return None

    @property
    def is_closing(self) -> bool:
        """Whether it starts nothing more: it has to stop, has grown too large, or is old."""
        has_to_stop = GRACE.value >= 0
        largest_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        is_too_large = largest_kb >= settings.Q_CLUSTER["max_rss"]
        return has_to_stop or is_too_large or time.monotonic() >= self._ends_at

    def _pulse_s(self) -> float:
        return max(float(settings.EVALS_PULSE_S), PULSE_S_PER_RUN * len(self._leases))

    async def _work_on(self, lease: HeldLease) -> None:
        at_work.RUN.set(lease.run_id)
        try:
            await work_on_run(
                lease,
                grace=GRACE,
                is_closing=lambda: self.is_closing,
                pulse_s=self._pulse_s,
                exporter=self._exporter,
            )
        except Exception:
            log.exception("Run %d cannot be worked on.", lease.run_id)
            self._broken.add(lease.run_id)
        await sync_to_async(self._end)(lease)

    def _end(self, lease: HeldLease) -> None:
        end_lease(lease)
        self._leases.remove(lease)
        self.counts.update(lease.counts)
        if lease.run_id not in self._broken:
            patiently(end_run_if_over, until=lambda: lease.valid_until, lost=None)(lease.run_id)


@contextmanager
def limited_memory(megabytes: int) -> Iterator[None]:
    """Bound what this process may allocate; beyond it a grader gets a MemoryError, which is a result."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = megabytes * 1024 * 1024
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@asynccontextmanager
async def exit_when_blocked(*, after_s: float) -> AsyncIterator[None]:
    """End this process with a traceback when its event loop is blocked for this long.

    The timer runs in C: it fires even while some code never releases the interpreter lock.
    """

    async def show_life() -> None:
        while True:
            faulthandler.dump_traceback_later(after_s, exit=True, file=STDERR)
            await asyncio.sleep(min(SIGN_OF_LIFE_S, after_s / 4))

    alive = asyncio.create_task(show_life())
    try:
        yield
    finally:
        alive.cancel()
        with suppress(asyncio.CancelledError):
            await alive
        faulthandler.cancel_dump_traceback_later()


def end_run_if_over(run_id: int) -> None:
    """After a lease has ended: cancel or close the run, if there is nothing else to do."""
    cancel_queued(run_id)
    close_if_over(run_id)
