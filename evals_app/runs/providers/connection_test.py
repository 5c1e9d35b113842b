"""Test a provider with one short call and its saved settings, and describe the result."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync

from evals_app.engine.basics.errors import ConfigurationError, ProviderError
from evals_app.engine.llm.call import ModelCall, UserMessage
from evals_app.engine.llm.models import Models
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.network.provider_kinds import KINDS
from evals_app.engine.specs.base_spec import ProviderSpec

ANSWER_S = 15.0  # of the call
GIVE_UP_S = 18.0  # of all, the SDK's import included: people do not wait longer for a page

_NOT_FOUND = 404
_QUESTION = "This is a test of the connection. Answer with the one word: yes"
_MAX_TOKENS = 512  # models that reason spend some before the first word
_MAX_ANSWER = 80


@dataclass(frozen=True, slots=True)
class Tried:
    """The result, as a sentence for people."""

    is_well: bool
    sentence: str


@async_to_sync
async def try_provider(
    provider: ProviderSpec,
    *,
    model: str,
    is_embedding: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Tried:
    """Ask a model one thing, or embed a word; it takes no longer than GIVE_UP_S."""
    try:
        async with asyncio.timeout(GIVE_UP_S), Models([provider], environ=environ) as models:
            asked = _embed if is_embedding else _ask
            return Tried(is_well=True, sentence=await asked(models, provider, model))
    except TimeoutError:
        sentence = f"{provider.provider} did not answer within {GIVE_UP_S:g} s."
    except ProviderError as error:
        # Without the sentence about retries: there were none.
        problem = (
            f"{provider.provider} {error.attempts[-1].error}" if error.attempts else str(error)
        )
        sentence = f"{problem}{_hint(provider, error)}"
    except ConfigurationError as error:
        sentence = str(error)
    return Tried(is_well=False, sentence=sentence)


async def _ask(models: Models, provider: ProviderSpec, model: str) -> str:
    call = ModelCall(
        provider=provider.slug,
        model=model,
        purpose="connection",
        messages=(UserMessage(_QUESTION),),
        max_output_tokens=_MAX_TOKENS,
        timeout_s=ANSWER_S,
        patience_s=0,
    )
    reply = await models.complete(call)
    text = " ".join(reply.text.split())
    text = text if len(text) <= _MAX_ANSWER else f"{text[:_MAX_ANSWER]}…"
    what = (
        f"It replied “{text}”." if text else f"Its reply is empty; it stopped with “{reply.stop}”."
    )
    return f"{model} answered in {reply.latency_ms / 1000:.1f} s. {what} {_cost(reply.cost_usd)}"


async def _embed(models: Models, provider: ProviderSpec, model: str) -> str:
    reply = await models.embed(
        ["Yes"], provider=provider.slug, model=model, timeout_s=ANSWER_S, patience_s=0
    )
    numbers = len(reply.vectors[0])
    took = f"{reply.latency_ms / 1000:.1f} s"
    return f"{model} gave a vector of {numbers:,} numbers in {took}. {_cost(reply.cost_usd)}"


def _cost(usd: Decimal | None) -> str:
    if usd is None:
        return "What it cost is unknown: the model has no price here."
    return f"It cost {usd_text(usd)}."


def _hint(provider: ProviderSpec, error: ProviderError) -> str:
    """Return the usual causes when nothing answers at an address."""
    kind = KINDS[provider.kind]
    if error.status != _NOT_FOUND or kind.api != "openai" or provider.base_url is None:
        return ""
    if "v1" in urlsplit(provider.base_url).path:
        return ""
    return " Its base URL has no /v1, where most such servers have their API."
