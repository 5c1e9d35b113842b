"""What is asked of a model and what it answers, the same for every API.

Latencies are milliseconds, timeouts seconds. Tool names are the authored ones on both sides; what
an API accepts instead stays inside its adapter.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from decimal import Decimal
from typing import Any, Literal

from evals_app.engine.trial import Attempt, Usage

Stop = Literal["ok", "tool", "length", "refusal", "context"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]

# How long we wait, and what we are told meanwhile, changes no answer.
_NOT_ASKED = frozenset({"timeout_s", "patience_s", "waiting", "tell"})


@dataclass(frozen=True, slots=True)
class UserMessage:
    """Something a person said, or what we ask a judge."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A reply that was written by hand, or by another model: only its text is known."""

    text: str


@dataclass(frozen=True, slots=True)
class NativeTurn:
    """A reply as its API gave it, to be sent back unchanged: it may hold signed reasoning."""

    value: Any


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one requested tool call returned, as text."""

    call_id: str
    name: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolResults:
    """The answers to ALL tool calls of the turn before; APIs refuse a turn answered in part."""

    results: tuple[ToolResult, ...]


ChatMessage = UserMessage | AssistantMessage | NativeTurn | ToolResults


@dataclass(frozen=True, slots=True)
class ToolDef:
    """A tool that the model may request; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that the model asks for.

    `is_malformed` says that the arguments were not a JSON object: `arguments` is empty then and
    `arguments_raw` holds what was written. Answer such a call with an error, never run it.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    arguments_raw: str
    is_malformed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One question to a model.

    `provider` is a slug. `timeout_s` bounds one attempt, `patience_s` the time that retries may
    take in all. `waiting()` is entered for as long as the call waits for its provider: callers stop
    their own clock there; `tell` hears in words what it waits for, and afterwards an empty text.
    Sampling settings and `effort` are sent only if set, and dropped where refused.
    """

    provider: str
    model: str
    purpose: str
    messages: tuple[ChatMessage, ...]
    system: str = ""
    tools: tuple[ToolDef, ...] = ()
    tool_choice: Literal["auto", "any", "none"] | None = None
    schema: dict[str, Any] | None = None
    stream: bool = False
    max_output_tokens: int = 4096
    timeout_s: float = 60.0
    patience_s: float = 600.0
    temperature: float | None = None
    top_p: float | None = None
    effort: Effort | None = None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    tell: Callable[[str], None] = lambda _: None

    def as_json(self) -> str:
        """Give all that the answer depends on as one JSON text."""
        asked = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name not in _NOT_ASKED
        }
        asked["messages"] = [[type(each).__name__, asdict(each)] for each in self.messages]
        asked["tools"] = [asdict(each) for each in self.tools]
        return json.dumps(asked, sort_keys=True, ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model answered.

    `stop` says why it ended: `ok`, `tool` (it waits for tool results), `length` (cut at
    max_output_tokens), `refusal`, `context` (the conversation is too long for the model).
    `latency_ms` and `first_token_ms` are of the attempt that succeeded; all other time is in
    `waited_ms`. `native_turn` goes into the next call's messages; None if nothing was said.
    `dropped` names the settings that the model does not accept. `cost_usd` None is unknown.
    `is_replayed`: it was given and paid for earlier, in a conversation that was broken off.
    """

    text: str = ""
    tool_calls: tuple[ToolRequest, ...] = ()
    stop: Stop = "ok"
    refusal_category: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    latency_ms: float = 0.0
    waited_ms: float = 0.0
    is_replayed: bool = False
    first_token_ms: float | None = None
    attempts: tuple[Attempt, ...] = ()
    model: str = ""
    request_id: str | None = None
    sent: Mapping[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    native_turn: NativeTurn | None = None


Complete = Callable[[ModelCall], Awaitable[ModelReply]]
