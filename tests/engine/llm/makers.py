"""Small worlds for the tests of model access."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from evals_app.engine.llm.call import ModelCall, UserMessage
from evals_app.engine.llm.models import Models
from evals_app.engine.spec import ProviderSpec
from tests.model_server import KEY, ModelServer

KEY_VARIABLE = "TEST_MODEL_KEY"


class FakeTime:
    """A clock on which sleeping takes no time; `slept` lists what was asked for."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def clock(self) -> float:
        return time.monotonic() + sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)  # others get their turn before the time has passed
        self.slept.append(seconds)


def make_provider(url: str | None = None, **changes: Any) -> ProviderSpec:
    fields = {
        "provider": "Anthropic",
        "slug": "anthropic",
        "kind": "anthropic",
        "base_url": url,
        "api_key_env": KEY_VARIABLE,
    }
    return ProviderSpec(**{**fields, **changes})


def make_models(
    server: ModelServer,
    fake_time: FakeTime,
    *,
    jitter: float = 0.0,
    environ: Mapping[str, str] | None = None,
    **changes: Any,
) -> Models:
    return Models(
        [make_provider(server.url, **changes)],
        sleep=fake_time.sleep,
        clock=fake_time.clock,
        random=lambda: jitter,
        environ={KEY_VARIABLE: KEY} if environ is None else environ,
        now=lambda: 1_800_000_000.0,
    )


def make_call(text: str = "Hello?", **changes: Any) -> ModelCall:
    fields: dict[str, Any] = {
        "provider": "anthropic",
        "model": "claude-haiku-5-5",
        "purpose": "agent",
        "messages": (UserMessage(text),),
        "timeout_s": 5.0,
    }
    return ModelCall(**{**fields, **changes})
