"""Requests to a model and its replies, the same for every API.

Latencies are milliseconds, timeouts seconds. Tool names are the authored ones on both sides; what
an API accepts instead stays inside its adapter.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal
from typing import Any, Literal, Protocol

from evals_app.engine.llm.budget import ModelUse
from evals_app.engine.network.provider_kinds import PDF
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.base_spec import Effort

Stop = Literal["ok", "tool", "length", "refusal", "context"]

# Timeouts, callbacks and caches do not change the answer.
_NOT_ASKED = frozenset(
    {"timeout_s", "silence_s", "patience_s", "waiting", "refund", "tell", "cache_key"}
)

AGENT = "agent"  # the purpose of calls that are not made for a grade
MAX_REPLY_BYTES = 1_000_000  # of one reply of a model or an agent

# For what is sent besides the text: roles, separators, what an API adds for tools.
_OVERHEAD_TOKENS = 1000
# What the most expensive models count for a large image.
_IMAGE_TOKENS = 50_000
# A page is text and image, and hardly any model reads more than a million tokens.
_PDF_TOKENS_PER_BYTE = 20
_MAX_PDF_TOKENS = 2_000_000


@dataclass(frozen=True, slots=True)
class FileContent:
    """An image or PDF that is shown to the model as it is."""

    name: str
    media_type: str
    data: bytes = field(repr=False)

    @property
    def most_tokens(self) -> int:
        """Return an upper bound of the tokens it takes in any model."""
        if self.media_type != PDF:
            return _IMAGE_TOKENS
        guess = _IMAGE_TOKENS + _PDF_TOKENS_PER_BYTE * len(self.data)
        return min(guess, _MAX_PDF_TOKENS)

    def as_json(self) -> dict[str, str]:
        """Return JSON that identifies it, without the content."""
        digest = hashlib.sha256(self.data).hexdigest()
        return {"name": self.name, "media_type": self.media_type, "sha256": digest}


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of a person, with its files, or a question to a judge.

    Other calls begin with the same `shared` characters: APIs are asked to cache them.
    """

    text: str
    files: tuple[FileContent, ...] = ()
    shared: int = 0


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """A reply that was written manually or by another model: only its text is known."""

    text: str


@dataclass(frozen=True, slots=True)
class NativeTurn:
    """A reply as its API sent it, to be sent back unchanged: it may contain signed reasoning."""

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

    `is_malformed` means that the arguments were not a JSON object: then `arguments` is empty and
    `arguments_raw` is the original text. Answer such a call with an error, never run it.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    arguments_raw: str
    is_malformed: bool = False


class Silence(Protocol):
    """Says how many seconds nothing may come; a model `is_thinking` if its API has begun to answer."""

    def __call__(self, *, is_thinking: bool) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One question to a model.

    `provider` is a slug. `timeout_s` bounds one attempt, `patience_s` the time that retries may
    take in all. `silence_s(is_thinking=...)` returns the seconds after which an attempt is given up in
    which nothing (more) of an answer has come; None: only `timeout_s` bounds it. Such a call is
    streamed, which shows whether a model thinks or its API sends nothing; `stream` asks for
    it, too, and measures the time to the first token. `waiting()` is entered for as
    long as the call waits for its provider: callers stop their own clock meanwhile, and `refund` is
    called with the seconds of a failed attempt. `tell` is called with what it waits for, in words,
    and afterwards with an empty text. Sampling settings, `effort`, `seed` and `top_logprobs` (how
    many alternatives are named for each token of the reply) are sent only if set, and dropped if
    refused; so is `schema`: the reply is validated anyway. Calls with the same `cache_key`
    have the same beginning.
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
    silence_s: Silence | None = None
    patience_s: float = 600.0
    temperature: float | None = None
    top_p: float | None = None
    effort: Effort | None = None
    seed: int | None = None
    top_logprobs: int | None = None
    cache_key: str | None = None
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    refund: Callable[[float], None] = lambda _: None
    tell: Callable[[str], None] = lambda _: None

    @property
    def use(self) -> ModelUse:
        """What the call is for, in the budget."""
        role: Literal["agent", "judge"] = "agent" if self.purpose == AGENT else "judge"
        return ModelUse(role, f"{self.provider}/{self.model}")

    @property
    def streaming(self) -> Literal[True] | None:
        """Whether it is streamed if its model allows that."""
        return True if self.stream or self.silence_s is not None else None

    @property
    def files(self) -> tuple[FileContent, ...]:
        shown = (message.files for message in self.messages if isinstance(message, UserMessage))
        return tuple(file for files in shown for file in files)

    def without_marks(self) -> "ModelCall":
        """Return the same call without marks for a cache."""
        messages = (
            replace(message, shared=0) if isinstance(message, UserMessage) else message
            for message in self.messages
        )
        return replace(self, messages=tuple(messages))

    @property
    def most_prompt_tokens(self) -> int:
        """Return an upper bound of the prompt's tokens.

        No tokenizer makes more tokens of a text than it has bytes.
        """
        text = len(self.as_json().encode("utf-8", "surrogatepass"))
        return text + sum(file.most_tokens for file in self.files) + _OVERHEAD_TOKENS

    def as_json(self) -> str:
        """Return everything that the answer depends on as one JSON text."""
        asked = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in _NOT_ASKED
        }
        asked["messages"] = [
            [type(message).__name__, _as_json(message)] for message in self.messages
        ]
        asked["tools"] = [asdict(tool) for tool in self.tools]
        return json.dumps(asked, sort_keys=True, ensure_ascii=False, default=str)


def _as_json(message: ChatMessage) -> dict[str, object]:
    if isinstance(message, UserMessage):
        return {"text": message.text, "files": [file.as_json() for file in message.files]}
    return asdict(message)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token of a reply, and with `top` its alternatives.

    `offset` is its position in the reply's text, in characters. Probabilities are logarithms.
    """

    offset: int
    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model answered.

    `stop` is why it ended: `ok`, `tool` (it waits for tool results), `length` (cut at
    max_output_tokens), `refusal`, `context` (the conversation is too long for the model).
    `latency_ms` and `first_token_ms` are of the attempt that succeeded; all other time is in
    `waited_ms`. `may_cost_more`: an attempt broke off before, and may have been billed, too. `native_turn` goes into the next call's messages; None if the reply is empty.
    `dropped` names the settings that the model does not accept. `cost_usd` None is unknown.
    `is_whole` is False if a filter of the API cut off the text: then it is not an answer of the
    model. A model that declines in its own words has answered. `notes` are for people. `logprobs`
    is empty unless requested and reported. `is_replayed`: it was made and paid for earlier, in an
    interrupted conversation. `is_reused`: another grading of the same conversation asked for it.
    """

    text: str = ""
    tool_calls: tuple[ToolRequest, ...] = ()
    stop: Stop = "ok"
    refusal_category: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    latency_ms: float = 0.0
    waited_ms: float = 0.0
    may_cost_more: bool = False
    is_replayed: bool = False
    is_reused: bool = False
    first_token_ms: float | None = None
    attempts: tuple[Attempt, ...] = ()
    model: str = ""
    request_id: str | None = None
    sent: Mapping[str, object] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    native_turn: NativeTurn | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    is_whole: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedCall:
    """Texts to be embedded together, none of them blank; the rest as in a ModelCall."""

    provider: str
    model: str
    texts: tuple[str, ...]
    timeout_s: float = 60.0
    patience_s: float = 600.0
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    refund: Callable[[float], None] = lambda _: None
    tell: Callable[[str], None] = lambda _: None
    max_output_tokens: int = field(default=0, init=False)

    @property
    def use(self) -> ModelUse:
        """What the call is paid for: only checks compare texts."""
        return ModelUse("judge", f"{self.provider}/{self.model}")

    @property
    def most_prompt_tokens(self) -> int:
        sent = sum(len(text.encode("utf-8", "surrogatepass")) for text in self.texts)
        return sent + _OVERHEAD_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """The vectors of some texts, in their order; the rest as in a ModelReply.

    If several calls were needed, `latency_ms` and `waited_ms` are their totals.
    """

    vectors: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    may_cost_more: bool = False
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    latency_ms: float = 0.0
    waited_ms: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    model: str = ""


Complete = Callable[[ModelCall], Awaitable[ModelReply]]
