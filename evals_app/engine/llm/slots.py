"""How many calls this process may make at once and per minute."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Self

from anyio import CapacityLimiter

from evals_app.engine.basics.together import Together

_MINUTE_S = 60.0


class Slots:
    """Calls at once: `async with slots`. The limit may change at any moment; None means unlimited.

    A lower limit ends no call: new ones wait until enough have ended.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limiter = CapacityLimiter(_tokens(limit))
        self._peak = 0

    @property
    def under_way(self) -> int:
        return self._limiter.borrowed_tokens

    def take_peak(self) -> int:
        """Return the most calls that were under way or waiting since the last time."""
        peak, self._peak = self._peak, self._count_wanted()
        return max(peak, self._peak)

    def set_limit(self, limit: int | None) -> None:
        self._limiter.total_tokens = _tokens(limit)

    async def __aenter__(self) -> Self:
        self._peak = max(self._peak, self._count_wanted() + 1)
        await self._limiter.acquire()
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._limiter.release()

    def _count_wanted(self) -> int:
        return self.under_way + self._limiter.statistics().tasks_waiting


def _tokens(limit: int | None) -> float:
    return math.inf if limit is None else limit


class Pace:
    """Calls a minute, evenly spread: `await pace()` before each call.

    `book(count)` books that many moments for all processes together and returns the seconds until
    the first of them; the others follow at the pace. Without it this process is on its own.
    """

    def __init__(
        self,
        per_minute: int,
        *,
        book: Callable[[int], Awaitable[float]] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval_s = _MINUTE_S / per_minute
        self._book = book
        self._sleep = sleep
        self._clock = clock
        self._next = clock()
        self._moment: Together[None, float] = Together(self._moments)

    async def __call__(self) -> None:
        moment = await self._moment(None)
        if (wait := moment - self._clock()) > 0:
            await self._sleep(wait)

    async def _moments(self, asked: Sequence[None]) -> Sequence[float]:
        booked_s = 0.0 if self._book is None else await self._book(len(asked))
        first = max(self._clock() + booked_s, self._next)
        self._next = first + len(asked) * self._interval_s
        return [first + number * self._interval_s for number in range(len(asked))]
