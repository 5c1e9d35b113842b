"""Small worlds for the tests of model access.

`APIS` are the three that the SDKs speak; what holds for every provider is tested with each of them.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from evals_app.engine.llm.call import ModelCall, ModelReply, ToolDef, UserMessage
from evals_app.engine.llm.models import Models
from evals_app.engine.llm.provider import TimeSource
from evals_app.engine.specs.base_spec import ProviderSpec
from tests.chat_api import tool_messages
from tests.messages_api import Json
from tests.model_server import KEY, Answer, ModelServer, tool_results
from tests.responses_api import outputs

KEY_VARIABLE = "PROVIDER_TEST_API_KEY"
NOT_CHAT = "gpt-6-test"  # takes tools only in the Responses API
QUERY = ToolDef(
    "entity.query",
    "Look up entities.",
    {"type": "object", "properties": {"type": {"type": "string"}}},
)
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
OPENAI = {"provider": "OpenAI", "slug": "openai", "kind": "openai"}


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
        environ={KEY_VARIABLE: KEY} if environ is None else environ,
        setting=TimeSource(
            fake_time.sleep, fake_time.clock, random=lambda: jitter, now=lambda: 1_800_000_000.0
        ),
    )


def make_call(text: str = "Hello?", **changes: Any) -> ModelCall:
    fields: dict[str, Any] = {
        "provider": "anthropic",
        "model": "claude-haiku-5-5",
        "purpose": "agent",
        "messages": (UserMessage(text),),
        "timeout_s": 60.0,
    }
    return ModelCall(**{**fields, **changes})


@dataclass(frozen=True)
class Api:
    """A model API, and the words it has for what they all have.

    `cut` is the reason why a reply ends at its limit, `results` finds what tools gave in a request.
    """

    path: str
    provider: Mapping[str, Any]
    call: Mapping[str, Any]
    cut: str
    results: Callable[[Json], list[Json]]

    @property
    def name(self) -> str:
        return str(self.provider["provider"])

    def open(self, server: ModelServer, fake_time: FakeTime, **changes: Any) -> Models:
        fields = {**self.provider, "base_url": f"{server.url}{self.path}", **changes}
        return make_models(server, fake_time, **fields)

    def ask(self, text: str = "Hello?", **changes: Any) -> ModelCall:
        return make_call(text, **{"provider": self.provider["slug"], **self.call, **changes})


MESSAGES = Api(
    path="",
    provider={"provider": "Anthropic", "slug": "anthropic", "kind": "anthropic"},
    call={},
    cut="max_tokens",
    results=tool_results,
)
CHAT = Api(
    path="/v1", provider=OPENAI, call={"model": "gpt-test"}, cut="length", results=tool_messages
)
RESPONSES = replace(CHAT, call={"model": NOT_CHAT, "tools": (QUERY,)}, results=outputs)


@dataclass(frozen=True)
class Lab:
    """A server on this machine, and a clock on which waiting takes no time."""

    server: ModelServer
    time: FakeTime

    def open(self, api: Api, *answers: Answer, **changes: Any) -> Models:
        if answers:
            self.server.replies(answers)
        return api.open(self.server, self.time, **changes)

    async def ask(
        self,
        *answers: Answer,
        api: Api = MESSAGES,
        opened: Mapping[str, Any] | None = None,
        **call: Any,
    ) -> ModelReply:
        """Ask once, of a server that answers so; `opened` changes the provider, the rest the call."""
        async with self.open(api, *answers, **(opened or {})) as models:
            return await models.complete(api.ask(**call))


APIS = pytest.mark.parametrize(
    "api", [MESSAGES, CHAT, RESPONSES], ids=["messages", "chat", "responses"]
)
# For what no API has a part in: errors, keys, waiting.
SDKS = pytest.mark.parametrize("api", [MESSAGES, CHAT], ids=["Anthropic's SDK", "OpenAI's SDK"])
BY_BOTH = pytest.mark.parametrize("api", [CHAT, RESPONSES], ids=["chat", "responses"])
