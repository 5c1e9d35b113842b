"""Join a site and an agent on this computer: fetch messages, ask, answer; until this is stopped."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from evals_app.management.connecting.local_agent import LocalAgent, ask_within
from evals_app.management.connecting.site import Site, SiteAwayError

WAIT_S = 10  # for a message, in one request
BEAT_S = 5.0  # between signs of life while everything is busy
CROWDED_S = 2.0  # where too many requests wait already
_MAX_PAUSE_S = 5.0  # the site keeps messages for a computer for longer than that: BACK_WITHIN
_LEAVE_S = 3.0

T = TypeVar("T")
Tell = Callable[[str], None]


class Connection:
    """This computer, at work for an agent. `parallel` is how many messages it takes at once."""

    def __init__(self, site: Site, agent: LocalAgent, *, parallel: int, tell: Tell) -> None:
        self._site = site
        self._agent = agent
        self._parallel = parallel
        self._tell = tell
        self._at_work: dict[int, asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._is_away = False

    async def work(self) -> None:
        """Work until cancelled.

        Raises:
            RefusedConnectionError: the site refuses this computer.
        """
        try:
            while True:
                await self._round()
        finally:
            for task in self._at_work.values():
                task.cancel()
            with suppress(SiteAwayError, TimeoutError):
                async with asyncio.timeout(_LEAVE_S):
                    await self._site.leave()

    async def _round(self) -> None:
        """Ask the site once, and begin what it has."""
        free = self._parallel - len(self._at_work)
        self._news.clear()
        poll = await self._patiently(
            lambda: self._site.poll(
                free=free, holding=list(self._at_work), wait_s=WAIT_S if free else 0
            )
        )
        for call in poll.dropped:
            if task := self._at_work.get(call):
                task.cancel()
        for call, request in poll.calls:
            task = asyncio.create_task(self._carry_out(call, request))
            self._at_work[call] = task
            task.add_done_callback(partial(self._end, call))
        if len(self._at_work) == self._parallel:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await self._news.wait()
        elif not poll.waited:
            await asyncio.sleep(CROWDED_S)

    def _end(self, call: int, _: asyncio.Task[None]) -> None:
        self._at_work.pop(call, None)
        self._news.set()

    async def _carry_out(self, call: int, request: Mapping[str, Any]) -> None:
        began = time.monotonic()
        answer = await ask_within(self._agent, request)
        took_s = time.monotonic() - began
        sent = {**asdict(answer), "took_s": round(took_s, 3)}
        sent["error"] = answer.error[:4000]
        problem = await self._patiently(lambda: self._site.answer(call, sent))
        how = answer.error or f"answered in {took_s:.1f} s"
        lost = f"; it does not count: {problem}" if problem else ""
        self._tell(f"{request['case']}, trial {request['trial']}: {how}{lost}")

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask the site until it answers."""
        pause = 0.5
        while True:
            try:
                answer = await ask()
            except SiteAwayError as error:
                if not self._is_away:
                    self._tell(f"The site does not answer: {error} Trying again until it does.")
                self._is_away = True
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE_S)
            else:
                if self._is_away:
                    self._tell("The site answers again.")
                self._is_away = False
                return answer
