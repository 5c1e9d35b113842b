"""Record outcomes in batches: as soon as one is full, or after a moment."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from evals_app.engine.running.run_gateway import Outcome

BATCH = 200  # outcomes recorded at once
BATCH_AFTER_S = 0.25  # or after this long
UNRECORDED = 2 * BATCH  # unrecorded outcomes before slots must wait


class Recorder:
    """The outcomes that are not recorded yet; `record` is given one batch at a time."""

    def __init__(self, record: Callable[[Sequence[Outcome]], Awaitable[None]]) -> None:
        self._record = record
        self._outcomes: asyncio.Queue[Outcome | None] = asyncio.Queue()  # None: there are no more
        self._unrecorded: Counter[str] = Counter()  # by case
        self._recorded = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    def add(self, outcome: Outcome) -> None:
        """Take an outcome, even if there is no room: it must not be lost."""
        self._outcomes.put_nowait(outcome)
        self._unrecorded[outcome.job.case.name] += 1
        self._note_room()

    async def wait_for_room(self) -> None:
        await self._has_room.wait()

    async def wait_for_case(self, name: str) -> None:
        """Wait until all outcomes of a case that were added are recorded."""
        while self._unrecorded[name]:
            self._recorded.clear()
            await self._recorded.wait()

    def close(self) -> None:
        """Note that no more outcomes will come."""
        self._outcomes.put_nowait(None)

    async def work(self) -> None:
        """Record batches until the recorder is closed and all is recorded."""
        while batch := await self._next_batch():
            await self._record(batch)
            self._unrecorded -= Counter(outcome.job.case.name for outcome in batch)
            self._recorded.set()
            self._note_room()

    async def _next_batch(self) -> list[Outcome]:
        """Return the next batch of outcomes; empty if the recorder is closed."""
        batch: list[Outcome] = []
        outcome = await self._outcomes.get()
        with suppress(TimeoutError):
            async with asyncio.timeout(BATCH_AFTER_S):
                while outcome is not None:
                    batch.append(outcome)
                    if len(batch) == BATCH:
                        return batch
                    outcome = await self._outcomes.get()
                self._outcomes.put_nowait(None)  # for the next call
        return batch

    def _note_room(self) -> None:
        if self._unrecorded.total() < UNRECORDED:
            self._has_room.set()
        else:
            self._has_room.clear()
