"""How many calls at once, and how many a minute: what this process may ask of a provider."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from evals_app.engine.together import Together

_MINUTE_S = 60.0


class Slots:
    """Calls at once: `async with slots`. The limit may change at any moment; None is no limit.

    A lower limit ends no call: new ones wait until enough have ended.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._peak = 0

    @property
    def under_way(self) -> int:
        return self._under_way

    def take_peak(self) -> int:
        """Give the most calls that were under way or waiting since the last time."""
        peak, self._peak = self._peak, self._under_way + len(self._waiting)
        return max(peak, self._peak)

    def set_limit(self, limit: int | None) -> None:
        self._limit = limit
        self._let_in()

    async def __aenter__(self) -> Self:
        entered = asyncio.get_running_loop().create_future()
        self._waiting.append(entered)
        self._peak = max(self._peak, self._under_way + len(self._waiting))
        self._let_in()
        try:
            await entered
        except asyncio.CancelledError:
            if entered.done() and not entered.cancelled():
                self._leave()
            else:
                with suppress(ValueError):  # `_let_in` may have passed it over already
                    self._waiting.remove(entered)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self._under_way -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and (self._limit is None or self._under_way < self._limit):
            entered = self._waiting.popleft()
            if not entered.done():
                self._under_way += 1
                entered.set_result(None)


class Pace:
    """Calls a minute, evenly spread: `await pace()` before each call.

    `book(count)` books as many moments for all processes together and gives the seconds until the
    first of them; the others follow at the pace. Without it this process is alone.
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
