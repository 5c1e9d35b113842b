"""The queue for an agent over HTTP: how many messages it gets at once and per minute."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from evals_app.engine.agents.session import Exchange
from evals_app.engine.llm.provider import ProviderLoad
from evals_app.engine.llm.slots import Pace, Slots
from evals_app.engine.specs.outside_spec import RateGroup


class AgentQueue:
    """An agent's slots and pace in one event loop; `book` reserves times across all processes."""

    def __init__(
        self, group: RateGroup, *, book: Callable[[str, int], Awaitable[float]] | None = None
    ) -> None:
        self.group = group
        self._slots = Slots(group.max_concurrency)
        self._pace: Pace | None = None
        if group.requests_per_minute is not None:
            booked = None if book is None else lambda count: book(group.slug, count)
            self._pace = Pace(group.requests_per_minute, book=booked)

    @asynccontextmanager
    async def place(self, exchange: Exchange) -> AsyncIterator[None]:
        """Wait until a message may be sent; the wait is not the agent's time."""
        async with AsyncExitStack() as place:
            with exchange.waiting("still waiting for a free slot of the agent"):
                await place.enter_async_context(self._slots)
                if self._pace is not None:
                    await self._pace()
            yield

    def load(self) -> ProviderLoad:
        """Return what other processes should know."""
        return ProviderLoad(self._slots.under_way, self._slots.take_peak())

    def set_places(self, places: int) -> None:
        """Set how many messages this process may send at once."""
        self._slots.set_limit(places)
