"""Claim jobs ahead of time, and hand them out to the slots one by one."""

import asyncio
from collections.abc import Callable

from evals_app.engine.running.run_gateway import ExecutionJob, RunGateway


class Feeder:
    """The jobs of `slots` tasks: each calls `next`, and `release_slot` when its job is done.

    The next claim is under way before the jobs run out.
    """

    def __init__(self, gateway: RunGateway, slots: int) -> None:
        self._gateway = gateway
        self._slots = slots
        self._jobs: asyncio.Queue[ExecutionJob | None] = asyncio.Queue()  # None ends a slot
        self._busy = 0  # slots that have a job
        self._in_hand = 0  # claimed and not recorded
        self._is_stopped = False
        self._changed = asyncio.Event()

    async def feed(self) -> None:
        """Claim jobs until there are no more."""
        is_due: Callable[[], bool] = self._is_half_empty
        while await self._wait_until(is_due):
            free = max(0, self._slots - self._busy - self._jobs.qsize())
            jobs = await self._gateway.claim(self._slots, free=free, in_hand=self._in_hand)
            if jobs is None:
                is_due = self._is_all_recorded if free else self._is_slot_free
                continue
            if not jobs:
                self._end_slots()
                return
            is_due = self._is_half_empty
            self._in_hand += len(jobs)
            for job in jobs:
                self._jobs.put_nowait(job)

    async def next(self) -> ExecutionJob | None:
        """Return the next job, or None if there will be no more."""
        job = await self._jobs.get()
        if job is None or self._is_stopped:
            return None
        self._busy += 1
        self._changed.set()
        return job

    def release_slot(self) -> None:
        """Note that a slot has carried out its job."""
        self._busy -= 1
        self._changed.set()

    def forget(self, count: int) -> None:
        """Note that `count` jobs are no longer in hand: recorded, or never begun."""
        self._in_hand -= count
        self._changed.set()

    def stop(self) -> None:
        """Stop claiming jobs and handing out claimed ones."""
        self._is_stopped = True
        self._end_slots()
        self._changed.set()

    async def _wait_until(self, is_due: Callable[[], bool]) -> bool:
        """Return False if the feeder is stopped meanwhile."""
        while not (self._is_stopped or is_due()):
            self._changed.clear()
            await self._changed.wait()
        return not self._is_stopped

    def _end_slots(self) -> None:
        for _ in range(self._slots):
            self._jobs.put_nowait(None)

    def _is_half_empty(self) -> bool:
        return self._jobs.qsize() <= self._slots // 2

    def _is_slot_free(self) -> bool:
        return self._busy + self._jobs.qsize() < self._slots

    def _is_all_recorded(self) -> bool:
        return not self._in_hand
