"""One provider in one event loop: which call may be made when, and why it waits."""

import asyncio
import random as random_module
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from evals_app.engine.basics.errors import ConfigurationError, ProviderError, RateLimitedError
from evals_app.engine.llm.apis.adapter import Adapter
from evals_app.engine.llm.apis.retry import JITTER, AttemptError, over_limit
from evals_app.engine.llm.budget import UNKNOWN_USE, CallBudget, ModelUse
from evals_app.engine.llm.call import EmbedCall, Embeddings, ModelCall, ModelReply
from evals_app.engine.llm.pricing import Prices
from evals_app.engine.llm.slots import Pace, Slots
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.usage import NO_USAGE, Usage
from evals_app.engine.specs.base_spec import ProviderSpec

Call = ModelCall | EmbedCall
R = TypeVar("R", ModelReply, Embeddings)

_INSTANT_S = 0.001  # clocks and sleeps differ by less; waiting for it would only spin


@dataclass(frozen=True, slots=True)
class Block:
    """For how many more seconds a provider is rate-limiting us, and why."""

    for_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class ProviderLoad:
    """The load of a provider, as one process sees it.

    `under_way` calls now; since the last time, the most `wanted` at once and a new `block`.
    """

    under_way: int
    wanted: int
    block: Block | None = None


@dataclass(frozen=True, slots=True)
class TimeSource:
    """Time and chance. `clock` measures seconds, `now` is the Unix time, `random` gives 0..1."""

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random_module.random
    now: Callable[[], float] = time.time

    def time_in(self, seconds: float) -> str:
        return f"{datetime.fromtimestamp(self.now() + seconds, UTC):%H:%M:%S} UTC"


@dataclass(slots=True)
class Course:
    """The course of a call so far; `queued_s` is waiting time without a failure."""

    began: float
    queued_s: float = 0.0
    failures: list[AttemptError] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    def gave_up(self, error: ProviderError) -> ProviderError:
        """Add to an error what happened."""
        error.attempts = tuple(self.attempts)
        error.may_be_billed = self.may_be_billed
        return error

    @property
    def may_be_billed(self) -> bool:
        """Whether an attempt that failed may have been billed all the same."""
        return any(failure.is_billable for failure in self.failures)


@dataclass(slots=True)
class OpenProvider:
    """A provider with its slots, pace and connections."""

    spec: ProviderSpec
    slots: Slots
    prices: Prices
    setting: TimeSource
    budget: CallBudget | None = None
    pace: Pace | None = None
    adapter: Adapter | None = None
    is_news: bool = False  # other processes do not know of the block yet
    _blocked_until: float = 0.0
    _blocked_by: type[ProviderError] = RateLimitedError
    _blocked_because: str = ""
    _refused: set[tuple[object, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._blocked_until = self.setting.clock()

    @property
    def name(self) -> str:
        return self.spec.provider

    @asynccontextmanager
    async def enter(self, call: Call, course: Course) -> AsyncIterator[Decimal]:
        """Wait until an attempt may be made; yield its highest cost, which is reserved.

        Raises:
            ProviderError: it takes longer than the call waits.
        """
        clock = self.setting.clock
        while True:
            async with AsyncExitStack() as place:
                with call.waiting():
                    await self._wait_while_blocked(call, course)
                    asked_at = clock()
                    call.tell(f"waiting for a free slot at {self.name}")
                    await place.enter_async_context(self.slots)
                    if self.pace is not None:
                        await self.pace()
                    call.tell("waiting for budget that other calls have reserved")
                    bound = await self._reserve(call)
                    course.queued_s += clock() - asked_at
                call.tell("")
                if not self.blocked_s:
                    yield bound
                    return
                # The provider was blocked while we were queued.
                self._charge(bound, Decimal(0))

    async def pay(self, call: Call, attempt: Callable[[], Awaitable[R]], bound: Decimal) -> R:
        """Make one attempt and charge its cost: at most `bound`, which is reserved."""
        spent = bound  # an interrupted call may be billed
        try:
            reply = await attempt()
            cost = self.prices.cost_usd(call.model, reply.usage)
            spent = bound if cost is None else cost
            self._count(call.use, "200", reply.usage)
            return replace(reply, cost_usd=cost)
        except AttemptError as error:
            spent = bound if error.is_billable else Decimal(0)
            self._count(call.use, str(error.status or "none"))
            raise
        except ConfigurationError:  # nothing was sent
            spent = Decimal(0)
            raise
        finally:
            self._charge(bound, spent, call.use)

    @property
    def blocked_s(self) -> float:
        """Seconds for which the provider is rate-limiting us."""
        left = self._blocked_until - self.setting.clock()
        return left if left > _INSTANT_S else 0.0

    def block(self, *, for_s: float, by: type[ProviderError], because: str) -> bool:
        """Delay every call; it never shortens a wait. Returns whether that is news."""
        until = self.setting.clock() + for_s
        if until <= self._blocked_until + _INSTANT_S:
            return False
        self._blocked_until, self._blocked_by, self._blocked_because = until, by, because
        return True

    def load(self) -> ProviderLoad:
        """Return its state; news are included once."""
        block = None
        if self.is_news and (left := self.blocked_s):
            block = Block(left, self._blocked_because)
        self.is_news = False
        return ProviderLoad(self.slots.under_way, self.slots.take_peak(), block)

    def note_refused(self, call: ModelCall, setting: str) -> None:
        """Remember that a model does not accept a setting."""
        self._refused.add(_refusal(call, setting))

    def refused_settings(self, call: ModelCall, settings: Mapping[str, object]) -> frozenset[str]:
        """Return the settings that the model is known not to accept."""
        return frozenset(name for name in settings if _refusal(call, name) in self._refused)

    async def _wait_while_blocked(self, call: Call, course: Course) -> None:
        setting = self.setting
        since = course.began + course.queued_s
        while left := self.blocked_s:
            # With jitter, so that callers do not retry at the same moment.
            wait = left * (1 + JITTER * setting.random())
            because = f" ({self._blocked_because})" if self._blocked_because else ""
            call.tell(f"waiting for {self.name} until {setting.time_in(wait)}{because}")
            if setting.clock() - since + wait > call.patience_s:
                problem = over_limit(self.name, self._blocked_because, call.patience_s)
                raise course.gave_up(self._blocked_by(problem, retry_after_s=left))
            await setting.sleep(wait)

    async def _reserve(self, call: Call) -> Decimal:
        """Reserve the most that an attempt can cost; nothing without a ceiling."""
        if self.budget is None or not self.budget.is_limited:
            return Decimal(0)
        bound = self.prices.bound_usd(
            call.model,
            most_prompt_tokens=call.most_prompt_tokens,
            max_output_tokens=call.max_output_tokens,
        )
        if bound is None:
            raise ConfigurationError(
                f"{call.provider}/{call.model} has no price, but this run has a cost ceiling."
            )
        await self.budget.reserve(bound)
        return bound

    def _count(self, use: ModelUse, status: str, usage: Usage = NO_USAGE) -> None:
        if self.budget is not None:
            self.budget.count(use, status, usage)

    def _charge(self, bound: Decimal, spent: Decimal, use: ModelUse = UNKNOWN_USE) -> None:
        if self.budget is not None:
            self.budget.charge(bound, spent, use)


def _refusal(call: ModelCall, setting: str) -> tuple[object, ...]:
    # By value, too: 1.5 may be out of range where 0 is accepted. Some refuse it only with tools.
    return call.model, setting, repr(getattr(call, setting)), bool(call.tools)
