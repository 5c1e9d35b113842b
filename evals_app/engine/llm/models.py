"""The way to every model of a run: places, pace, money, waiting and retries around single attempts."""

import asyncio
import difflib
import os
import random as random_module
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from types import TracebackType
from typing import Protocol, Self

from evals_app.engine.errors import (
    AuthFailedError,
    ConfigurationError,
    ProviderError,
    RateLimitedError,
)
from evals_app.engine.llm.anthropic import AnthropicAdapter
from evals_app.engine.llm.call import ModelCall, ModelReply
from evals_app.engine.llm.pricing import Prices
from evals_app.engine.llm.purse import Purse
from evals_app.engine.llm.retry import (
    JITTER,
    MAX_RETRIES,
    AttemptError,
    SettingRefusedError,
    delay_s,
    summary,
)
from evals_app.engine.llm.slots import Pace, Slots
from evals_app.engine.spec import ProviderSpec
from evals_app.engine.trial import Attempt

_KEY_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY"}
_INSTANT_S = 0.001  # clocks and sleeps differ by less; waiting for it would only spin


class Adapter(Protocol):
    """One model API, one attempt at a time."""

    async def send(self, call: ModelCall, *, without: frozenset[str]) -> ModelReply: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MissingKey:
    """A provider whose key is not in the environment."""

    provider: str
    variable: str

    def __str__(self) -> str:
        return (
            f"Provider {self.provider!r} needs an API key: "
            f"set the environment variable {self.variable}."
        )


def missing_keys(providers: Iterable[ProviderSpec], environ: Mapping[str, str]) -> list[MissingKey]:
    """List the providers that could not be called; scripted ones need no key."""
    return [
        MissingKey(spec.slug, _key_variable(spec))
        for spec in providers
        if spec.kind in _KEY_VARIABLES and not _key(spec, environ)
    ]


@dataclass(frozen=True, slots=True)
class Block:
    """A provider wants to be left alone: for how many seconds more, and in whose words."""

    for_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """What a process makes of a provider.

    `under_way` calls now, `wanted` at once at most since the last time, and what it was told since
    then about leaving the provider alone.
    """

    under_way: int
    wanted: int
    block: Block | None = None


# Books moments for so many calls of a provider, for all processes together; seconds to the first.
Book = Callable[[str, int], Awaitable[float]]


@dataclass(slots=True)
class _Provider:
    """A provider in one event loop."""

    spec: ProviderSpec
    slots: Slots
    prices: Prices
    pace: Pace | None = None
    adapter: Adapter | None = None
    blocked_until: float = 0.0
    blocked_by: type[ProviderError] = RateLimitedError
    blocked_because: str = ""
    is_news: bool = False  # nobody but us knows of the block yet
    refused: set[tuple[str, str, object]] = field(default_factory=set)

    def refused_settings(self, call: ModelCall) -> frozenset[str]:
        # By value, too: 1.5 may be out of range where 0 is welcome.
        return frozenset(
            name
            for model, name, value in self.refused
            if model == call.model and getattr(call, name) == value
        )


class Models:
    """All providers of a run, opened once per event loop: `async with Models(...) as models`.

    Clients are made on first use and closed on exit. `clock` measures durations in seconds, `now`
    is the Unix time, `random` gives 0..1. Without `book` calls a minute are counted here alone.
    """

    def __init__(
        self,
        providers: Sequence[ProviderSpec],
        *,
        purse: Purse | None = None,
        book: Book | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = random_module.random,
        environ: Mapping[str, str] = os.environ,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._specs = {spec.slug: spec for spec in providers}
        self._sleep = sleep
        self._clock = clock
        self._random = random
        self._environ = environ
        self._now = now
        self._purse = purse
        self._book = book
        self._providers: dict[str, _Provider] = {}
        self._exit = AsyncExitStack()
        self.news = asyncio.Event()  # set when a provider wants to be left alone

    async def __aenter__(self) -> Self:
        # Semaphores and clients belong to the loop they were first used in.
        self._providers = {
            slug: _Provider(
                spec,
                slots=Slots(spec.max_concurrency),
                prices=Prices(spec.prices),
                pace=self._pace(spec),
                blocked_until=self._clock(),
            )
            for slug, spec in self._specs.items()
        }
        self._exit = AsyncExitStack()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._providers = {}
        await self._exit.aclose()

    async def complete(self, call: ModelCall) -> ModelReply:
        """Get an answer, however many attempts it takes within the rules.

        Raises:
            ProviderError: it gave up; `attempts` tells what happened. No key ever is in a message.
            ConfigurationError: no such provider.
        """
        provider = self._find(call.provider)
        adapter = self._adapter(provider)
        name = provider.spec.provider
        started, queued_s = self._clock(), 0.0
        failures: list[AttemptError] = []
        attempts: list[Attempt] = []
        while True:
            async with AsyncExitStack() as slot:
                with call.waiting():
                    await self._wait_while_blocked(
                        provider, call, since=started + queued_s, attempts=attempts
                    )
                    asked_at = self._clock()
                    call.tell(f"waits for a free place at {name}")
                    await slot.enter_async_context(provider.slots)
                    if provider.pace is not None:
                        await provider.pace()
                    call.tell("waits for money that other calls have set aside")
                    bound = await self._reserve(provider, call)
                    queued_s += self._clock() - asked_at
                call.tell("")
                if self._blocked_s(provider):  # somebody was told so while we stood in the queue
                    self._settle(bound, Decimal(0))
                    continue
                try:
                    reply = await self._paid(provider, adapter, call, bound)
                except AttemptError as error:
                    failures.append(error)
                else:
                    waited_ms = (self._clock() - started) * 1000 - reply.latency_ms
                    return replace(reply, waited_ms=max(0.0, waited_ms), attempts=tuple(attempts))
            # The slot is free from here on: others work while this call waits.
            failure, spent_s = failures[-1], self._clock() - started - queued_s
            delay = delay_s(failure, retry=len(failures), jitter=self._random())
            if failure.blocks_provider:
                self._block(provider, for_s=delay, kind=failure.kind, because=failure.what)
            problem = summary(name, failures, seconds=spent_s)
            is_last = not failure.is_retryable or len(failures) > MAX_RETRIES
            if not is_last and spent_s + delay > call.patience_s:
                is_last = True
                problem += (
                    f" The next attempt would be {delay:.0f} s later, "
                    f"beyond the patience of {call.patience_s:.0f} s."
                )
            attempts.append(Attempt(str(failure), 0.0 if is_last else delay * 1000))
            if is_last:
                raise _gave_up(failure.to_provider_error(problem), attempts) from None
            call.tell(
                f"waits for {name} until {self._time_in(delay)} ({failure.what}), "
                f"then try {len(failures) + 1} of {MAX_RETRIES + 1}"
            )
            with call.waiting():
                await self._sleep(delay)

    async def _reserve(self, provider: _Provider, call: ModelCall) -> Decimal:
        """Set aside the most that an attempt can cost; nothing where no ceiling asks for it."""
        if self._purse is None or not self._purse.is_limited:
            return Decimal(0)
        bound = provider.prices.bound_usd(
            call.model,
            sent_bytes=len(call.as_json().encode("utf-8", "surrogatepass")),
            max_output_tokens=call.max_output_tokens,
        )
        if bound is None:
            msg = f"{call.provider}/{call.model} has no price, and this run has a ceiling."
            raise ConfigurationError(msg)
        await self._purse.reserve(bound)
        return bound

    async def _paid(
        self, provider: _Provider, adapter: Adapter, call: ModelCall, bound: Decimal
    ) -> ModelReply:
        """Try once, and settle what it cost: at most `bound`, which is reserved."""
        spent = bound  # what breaks off in the middle may be billed
        try:
            reply = await self._send(provider, adapter, call)
            cost = provider.prices.cost_usd(call.model, reply.usage)
            spent = bound if cost is None else cost
            return replace(reply, cost_usd=cost)
        except AttemptError as error:
            spent = bound if error.is_billable else Decimal(0)
            raise
        finally:
            self._settle(bound, spent)

    def _settle(self, bound: Decimal, spent: Decimal) -> None:
        if self._purse is not None:
            self._purse.settle(bound, spent)

    def standing(self) -> dict[str, Standing]:
        """Tell how it stands with each provider that has an API; news are told once."""
        self.news.clear()
        found = {}
        for slug, each in self._providers.items():
            if each.spec.kind not in _KEY_VARIABLES:
                continue
            block = None
            if each.is_news and (left := self._blocked_s(each)):
                block = Block(left, each.blocked_because)
            each.is_news = False
            found[slug] = Standing(each.slots.under_way, each.slots.take_peak(), block)
        return found

    def heed(self, *, places: Mapping[str, int], blocks: Mapping[str, Block]) -> None:
        """Keep to what all processes share: calls at once, and providers to be left alone."""
        for slug, limit in places.items():
            self._providers[slug].slots.set_limit(limit)
        for slug, block in blocks.items():
            provider = self._providers[slug]
            is_news = provider.is_news
            self._block(provider, for_s=block.for_s, kind=RateLimitedError, because=block.reason)
            provider.is_news = is_news  # this came from the others

    async def _send(self, provider: _Provider, adapter: Adapter, call: ModelCall) -> ModelReply:
        while True:  # ends: each round drops one setting, and only one that was sent
            try:
                return await adapter.send(call, without=provider.refused_settings(call))
            except SettingRefusedError as error:
                refused = (call.model, error.setting, getattr(call, error.setting))
                provider.refused.add(refused)

    async def _wait_while_blocked(
        self, provider: _Provider, call: ModelCall, *, since: float, attempts: Sequence[Attempt]
    ) -> None:
        while left := self._blocked_s(provider):
            # With jitter, lest everybody comes back in the same moment.
            wait = left * (1 + JITTER * self._random())
            because = f" ({provider.blocked_because})" if provider.blocked_because else ""
            call.tell(f"waits for {provider.spec.provider} until {self._time_in(wait)}{because}")
            if self._clock() - since + wait > call.patience_s:
                problem = (
                    f"{provider.spec.provider} wants to be left alone for another {left:.0f} s; "
                    f"the patience of this call is {call.patience_s:.0f} s."
                )
                raise _gave_up(provider.blocked_by(problem, retry_after_s=left), attempts)
            await self._sleep(wait)

    def _blocked_s(self, provider: _Provider) -> float:
        left = provider.blocked_until - self._clock()
        return left if left > _INSTANT_S else 0.0

    def _block(
        self, provider: _Provider, *, for_s: float, kind: type[ProviderError], because: str
    ) -> None:
        """Hold back every call to a provider; it never shortens a wait."""
        until = self._clock() + for_s
        if until > provider.blocked_until + _INSTANT_S:
            provider.blocked_until, provider.blocked_by = until, kind
            provider.blocked_because, provider.is_news = because, True
            self.news.set()

    def _time_in(self, seconds: float) -> str:
        return f"{datetime.fromtimestamp(self._now() + seconds, UTC):%H:%M:%S} UTC"

    def _pace(self, spec: ProviderSpec) -> Pace | None:
        if spec.requests_per_minute is None:
            return None
        own = _OwnBook(spec.requests_per_minute, self._clock)

        async def book(count: int) -> float:
            return own(count) if self._book is None else await self._book(spec.slug, count)

        return Pace(spec.requests_per_minute, book=book, sleep=self._sleep, clock=self._clock)

    def _find(self, slug: str) -> _Provider:
        provider = self._providers.get(slug)
        if provider is None:
            raise ConfigurationError(self._unknown(slug))
        if provider.spec.kind not in _KEY_VARIABLES:
            msg = f"Provider {slug!r} is {provider.spec.kind}: it has no model API to call."
            raise ConfigurationError(msg)
        return provider

    def _unknown(self, slug: str) -> str:
        if slug in self._specs:
            return "Models must be opened first: async with Models(...) as models."
        near = difflib.get_close_matches(slug, self._specs, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(sorted(self._specs)) or "none"
        return f"There is no provider {slug!r}.{hint} Known: {known}."

    def _adapter(self, provider: _Provider) -> Adapter:
        if provider.adapter is None:
            spec = provider.spec
            key = _key(spec, self._environ)
            if not key:
                raise _gave_up(AuthFailedError(str(MissingKey(spec.slug, _key_variable(spec)))), [])
            if not (key.isascii() and key.isprintable()):
                msg = f"The environment variable {_key_variable(spec)} holds no usable API key."
                raise _gave_up(AuthFailedError(msg), [])
            provider.adapter = AnthropicAdapter(
                api_key=key,
                api_key_env=_key_variable(spec),
                base_url=spec.base_url,
                clock=self._clock,
                now=self._now,
            )
            self._exit.push_async_callback(provider.adapter.close)
        return provider.adapter


class _OwnBook:
    """Moments for calls of this process alone."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._interval_s = 60 / per_minute
        self._clock = clock
        self._next = clock()

    def __call__(self, count: int) -> float:
        now = self._clock()
        first = max(now, self._next)
        self._next = first + count * self._interval_s
        return first - now


def _gave_up(error: ProviderError, attempts: Sequence[Attempt]) -> ProviderError:
    error.attempts = tuple(attempts)
    return error


def _key_variable(spec: ProviderSpec) -> str:
    return spec.api_key_env or _KEY_VARIABLES[spec.kind]


def _key(spec: ProviderSpec, environ: Mapping[str, str]) -> str:
    # A line end comes along easily from a file, and no HTTP header may hold one.
    return environ.get(_key_variable(spec), "").strip()
