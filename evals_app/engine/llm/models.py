"""The way to every model of a run: waiting and retries around single attempts."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Self, TypeVar

from evals_app.engine.basics.errors import ConfigurationError, RateLimitedError
from evals_app.engine.llm.apis.adapter import Adapter
from evals_app.engine.llm.apis.anthropic import AnthropicAdapter
from evals_app.engine.llm.apis.openai import OpenAIAdapter
from evals_app.engine.llm.apis.retry import (
    MAX_RETRIES,
    NOT_THE_AGENT,
    AttemptError,
    SettingRefusedError,
    delay_s,
    most_attempts,
    over_limit,
    summary,
)
from evals_app.engine.llm.budget import CallBudget
from evals_app.engine.llm.call import EmbedCall, Embeddings, ModelCall, ModelReply
from evals_app.engine.llm.judge_plugins import PLUGIN, ask_plugin
from evals_app.engine.llm.keys import access
from evals_app.engine.llm.pricing import Prices
from evals_app.engine.llm.provider import (
    Block,
    Call,
    Course,
    OpenProvider,
    ProviderLoad,
    TimeSource,
)
from evals_app.engine.llm.slots import Pace, Slots
from evals_app.engine.network.provider_kinds import KINDS, Api
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.usage import total_cost, total_usage
from evals_app.engine.specs.base_spec import ProviderSpec
from fixtures_app.ground.words import near

__all__ = ["Block", "Book", "Models", "ProviderLoad", "preload"]

R = TypeVar("R", ModelReply, Embeddings)

# Reserves times for calls of a provider across all processes; returns the seconds to the first.
Book = Callable[[str, int], Awaitable[float]]

# Of all texts of one embedding call; APIs allow about as many tokens, and texts have fewer.
_MAX_BYTES = 250_000

_ADAPTERS: dict[Api, type[Adapter]] = {"anthropic": AnthropicAdapter, "openai": OpenAIAdapter}


def preload(kinds: Collection[str]) -> None:
    """Import the SDKs for these kinds now: workers pay for it once, before they fork."""
    for api in {KINDS[kind].api for kind in kinds}:
        if api is not None:
            _ADAPTERS[api].preload()


class Models:
    """All providers of a run, opened once per event loop: `async with Models(...) as models`.

    Clients are made on first use and closed on exit. Without `book` calls per minute are counted
    only here.
    """

    def __init__(
        self,
        providers: Sequence[ProviderSpec],
        *,
        budget: CallBudget | None = None,
        book: Book | None = None,
        environ: Mapping[str, str] = os.environ,
        setting: TimeSource = TimeSource(),  # noqa: B008 - frozen
    ) -> None:
        self._specs = {spec.slug: spec for spec in providers}
        self._setting = setting
        self._environ = environ
        self._budget = budget
        self._book = book
        self._providers: dict[str, OpenProvider] = {}
        self._exit = AsyncExitStack()
        self.news = asyncio.Event()  # set when a provider begins to rate-limit us

    async def __aenter__(self) -> Self:
        # Semaphores and clients belong to the loop they were first used in.
        self._providers = {
            slug: OpenProvider(
                spec,
                slots=Slots(spec.max_concurrency),
                prices=Prices.of(spec),
                setting=self._setting,
                budget=self._budget,
                pace=self._pace(spec),
            )
            for slug, spec in self._specs.items()
        }
        self._exit = AsyncExitStack()
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._providers = {}
        await self._exit.aclose()

    async def complete(self, call: ModelCall) -> ModelReply:
        """Return an answer, after as many attempts as the rules allow.

        Raises:
            ProviderError: it gave up; `attempts` lists what happened. Messages never contain a key.
            ConfigurationError: no such provider.
        """
        if call.provider == PLUGIN and PLUGIN not in self._specs:
            return await self._ask_plugin(call)
        provider = self._find(call.provider)
        if not provider.prices.allow_caches(call.model):
            call = call.without_marks()
        send = partial(self._send, provider, self._adapter(provider), call)
        return await self._persist(provider, call, send)

    async def _ask_plugin(self, call: ModelCall) -> ModelReply:
        """Ask the judge of a plug-in; what it says that it cost counts as spent."""
        reply = await ask_plugin(call)
        if self._budget is not None:
            self._budget.charge(Decimal(0), reply.cost_usd or Decimal(0), call.use)
        return reply

    async def embed(
        self,
        texts: Sequence[str],
        *,
        provider: str,
        model: str,
        timeout_s: float = 60.0,
        patience_s: float = 600.0,
    ) -> Embeddings:
        """Return a vector for each text, in as many calls as needed; options as in a ModelCall.

        Raises:
            ProviderError: it gave up; `attempts` lists what happened. Messages never contain a key.
            ConfigurationError: no such provider, or it has no embeddings.
            ValueError: a text is blank; APIs refuse that.
        """
        if not all(text.strip() for text in texts):
            raise ValueError("A blank text cannot be embedded.")
        opened = self._find(provider)
        kind = KINDS[opened.spec.kind]
        adapter = self._adapter(opened) if kind.has_embeddings else None
        if not isinstance(adapter, OpenAIAdapter):
            raise ConfigurationError(
                f"Provider {provider!r} ({kind.label}) does not offer embeddings."
            )
        parts = []
        for part in _parts(texts, most=kind.most_texts):
            call = EmbedCall(
                provider=provider,
                model=model,
                texts=part,
                timeout_s=timeout_s,
                patience_s=patience_s,
            )
            parts.append(await self._persist(opened, call, partial(adapter.embed, call)))
        return _join_parts(parts)

    async def _persist(
        self, provider: OpenProvider, call: Call, attempt: Callable[[], Awaitable[R]]
    ) -> R:
        clock = self._setting.clock
        course = Course(began=clock())
        while True:
            async with provider.enter(call, course) as bound:
                tried_at = clock()
                try:
                    reply = await provider.pay(call, attempt, bound)
                except AttemptError as error:
                    course.failures.append(error)
                    call.refund(clock() - tried_at)
                else:
                    waited_ms = (clock() - course.began) * 1000 - reply.latency_ms
                    return replace(
                        reply,
                        waited_ms=max(0.0, waited_ms),
                        attempts=tuple(course.attempts),
                        may_cost_more=course.may_be_billed,
                    )
            # The slot is free from here on, so other calls run while this one waits.
            delay = self._delay(provider, call, course)
            with call.waiting():
                await self._setting.sleep(delay)

    def _delay(self, provider: OpenProvider, call: Call, course: Course) -> float:
        """Return the seconds until the next attempt; raise if there will be none."""
        failure, tried = course.failures[-1], len(course.failures)
        spent_s = self._setting.clock() - course.began - course.queued_s
        delay = delay_s(failure, retry=tried, jitter=self._setting.random())
        if failure.blocks_provider and provider.block(
            for_s=delay, by=failure.kind, because=failure.what
        ):
            provider.is_news = True
            self.news.set()
        problem = summary(provider.name, course.failures, seconds=spent_s)
        most = most_attempts(failure)
        alike = sum(error.kind is failure.kind for error in course.failures)
        is_last = not failure.is_retryable or tried > MAX_RETRIES or alike >= most
        if not is_last and spent_s + delay > call.patience_s:
            is_last = True
            if failure.blocks_provider:
                problem = over_limit(provider.name, failure.what, call.patience_s)
            else:
                problem += f" A call waits at most {call.patience_s:.0f} s in total."
        if is_last and failure.is_retryable and NOT_THE_AGENT not in problem:
            problem = f"{problem} {NOT_THE_AGENT}"
        course.attempts.append(Attempt(str(failure), 0.0 if is_last else delay * 1000))
        if is_last:
            raise course.gave_up(failure.to_provider_error(problem)) from None
        call.tell(
            f"waiting for {provider.name} until {self._setting.time_in(delay)} ({failure.what}), "
            f"then attempt {tried + 1} of {most}"
        )
        return delay

    async def _send(self, provider: OpenProvider, adapter: Adapter, call: ModelCall) -> ModelReply:
        while True:  # ends: each round drops one setting, and only one that was sent
            try:
                without = provider.refused_settings(call, adapter.settings)
                return await adapter.send(call, without=without)
            except SettingRefusedError as error:
                provider.note_refused(call, error.setting)

    def loads(self) -> dict[str, ProviderLoad]:
        """Return the state of each provider with an API; news are included once."""
        self.news.clear()
        return {
            slug: provider.load()
            for slug, provider in self._providers.items()
            if KINDS[provider.spec.kind].api
        }

    def apply(self, *, places: Mapping[str, int], blocks: Mapping[str, Block]) -> None:
        """Apply what all processes share: parallel calls, and providers that are rate-limiting us."""
        for slug, limit in places.items():
            self._providers[slug].slots.set_limit(limit)
        for slug, block in blocks.items():
            self._providers[slug].block(
                for_s=block.for_s, by=RateLimitedError, because=block.reason
            )

    def _pace(self, spec: ProviderSpec) -> Pace | None:
        if spec.requests_per_minute is None:
            return None
        book = None if self._book is None else partial(self._book, spec.slug)
        setting = self._setting
        return Pace(spec.requests_per_minute, book=book, sleep=setting.sleep, clock=setting.clock)

    def _find(self, slug: str) -> OpenProvider:
        provider = self._providers.get(slug)
        if provider is None:
            raise ConfigurationError(self._unknown(slug))
        if KINDS[provider.spec.kind].api is None:
            raise ConfigurationError(
                f"Provider {slug!r} is {provider.spec.kind}: it has no model API."
            )
        return provider

    def _unknown(self, slug: str) -> str:
        if slug in self._specs:
            return "Models must be opened first: async with Models(...) as models."
        hint = near(slug, self._specs)
        known = ", ".join(sorted(self._specs)) or "none"
        return f"There is no provider {slug!r}.{hint} Known: {known}."

    def _adapter(self, provider: OpenProvider) -> Adapter:
        if provider.adapter is None:
            way = access(provider.spec, self._environ)
            make = _ADAPTERS[way.kind.api or "openai"]
            provider.adapter = make(way, clock=self._setting.clock, now=self._setting.now)
            self._exit.push_async_callback(provider.adapter.close)
        return provider.adapter


def _parts(texts: Sequence[str], *, most: int) -> Iterator[tuple[str, ...]]:
    """Split texts into calls; a single text is never split."""
    part: list[str] = []
    size = 0
    for text in texts:
        of_text = len(text.encode("utf-8", "surrogatepass"))
        if part and (len(part) == most or size + of_text > _MAX_BYTES):
            yield tuple(part)
            part, size = [], 0
        part.append(text)
        size += of_text
    if part:
        yield tuple(part)


def _join_parts(parts: Sequence[Embeddings]) -> Embeddings:
    return Embeddings(
        vectors=tuple(vector for part in parts for vector in part.vectors),
        usage=total_usage([part.usage for part in parts]),
        cost_usd=total_cost([part.cost_usd for part in parts]),
        latency_ms=sum(part.latency_ms for part in parts),
        waited_ms=sum(part.waited_ms for part in parts),
        attempts=tuple(attempt for part in parts for attempt in part.attempts),
        model=parts[0].model if parts else "",
    )
