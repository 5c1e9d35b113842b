"""The way to every model of a run: slots per provider, waiting and retries around single attempts."""

import asyncio
import difflib
import os
import random as random_module
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field, replace
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
from evals_app.engine.llm.retry import (
    JITTER,
    MAX_RETRIES,
    AttemptError,
    SettingRefusedError,
    delay_s,
    summary,
)
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


@dataclass(slots=True)
class _Provider:
    """A provider in one event loop."""

    spec: ProviderSpec
    slots: AbstractAsyncContextManager[object]
    adapter: Adapter | None = None
    blocked_until: float = 0.0
    blocked_by: type[ProviderError] = RateLimitedError
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
    is the Unix time, `random` gives 0..1.
    """

    def __init__(
        self,
        providers: Sequence[ProviderSpec],
        *,
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
        self._providers: dict[str, _Provider] = {}
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Self:
        # Semaphores and clients belong to the loop they were first used in.
        self._providers = {
            slug: _Provider(
                spec,
                slots=asyncio.Semaphore(spec.max_concurrency)
                if spec.max_concurrency
                else nullcontext(),
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
                    await slot.enter_async_context(provider.slots)
                    queued_s += self._clock() - asked_at
                if self._blocked_s(provider):
                    continue  # somebody was told to wait while we stood in the queue
                try:
                    reply = await self._send(provider, adapter, call)
                except AttemptError as error:
                    failures.append(error)
                else:
                    waited_ms = (self._clock() - started) * 1000 - reply.latency_ms
                    return replace(reply, waited_ms=max(0.0, waited_ms), attempts=tuple(attempts))
            # The slot is free from here on: others work while this call waits.
            failure, spent_s = failures[-1], self._clock() - started - queued_s
            delay = delay_s(failure, retry=len(failures), jitter=self._random())
            if failure.blocks_provider:
                self._block(provider, for_s=delay, kind=failure.kind)
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
            with call.waiting():
                await self._sleep(delay)

    def block(self, provider: str, *, for_s: float) -> None:
        """Hold back every call to a provider, as after a 429; it never shortens a wait."""
        self._block(self._find(provider), for_s=for_s, kind=RateLimitedError)

    def blocked(self) -> dict[str, float]:
        """Tell for how many seconds more each blocked provider is left alone."""
        left = {slug: self._blocked_s(each) for slug, each in self._providers.items()}
        return {slug: seconds for slug, seconds in left.items() if seconds}

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

    def _block(self, provider: _Provider, *, for_s: float, kind: type[ProviderError]) -> None:
        until = self._clock() + for_s
        if until > provider.blocked_until:
            provider.blocked_until, provider.blocked_by = until, kind

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


def _gave_up(error: ProviderError, attempts: Sequence[Attempt]) -> ProviderError:
    error.attempts = tuple(attempts)
    return error


def _key_variable(spec: ProviderSpec) -> str:
    return spec.api_key_env or _KEY_VARIABLES[spec.kind]


def _key(spec: ProviderSpec, environ: Mapping[str, str]) -> str:
    # A line end comes along easily from a file, and no HTTP header may hold one.
    return environ.get(_key_variable(spec), "").strip()
