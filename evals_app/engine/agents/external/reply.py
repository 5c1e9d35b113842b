"""What an external agent answers: text, or JSON that also reports tools, tokens, cost and sources.

    {"output": "...", "tool_calls": [{"name", "args", "result", "error"}],
     "usage": {"input_tokens", "output_tokens"}, "estimated_cost_usd": 0.0004,
     "retrieved": [{"id", "text"}], "model": "..."}

Only `output` (or `result`) is required. A missing value is unknown, which is not 0.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from evals_app.engine.agents.session import Exchange
from evals_app.engine.basics.errors import AgentError, ReplyMismatchError
from evals_app.engine.record.tool_results import mcp_error
from evals_app.engine.record.trial import Chunk, Message, ToolCall
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.base_spec import MAX_INTEGER
from fixtures_app.ground.json_paths import path_text
from fixtures_app.ground.nesting import TOO_DEEP, is_too_deep
from fixtures_app.ground.quoting import cut_middle, json_text
from fixtures_app.ground.strict_json import Json
from fixtures_app.ground.words import near, nearest

RETRIEVED = "retrieved"  # the tool that brought the sources of an agent that reports no calls

# An object with one of these has the shape; with the others alone it may be an answer in JSON.
_TELLING = {"output", "result", "tool_calls", "estimated_cost_usd", "retrieved", "error"}
_ARGS_ELSEWHERE = ("arguments", "input", "parameters")  # as other APIs call `args`
_MAX_ITEMS = 1_000
_MAX_CHARS_OF_A_NAME = 200
_MAX_USD = 1_000_000
_BILLIONTH = Decimal("1e-9")

_SUBJECT = re.compile(r"^(Value error, |(Input|String|List) (?=should))")
_AFTERTHOUGHT = re.compile(r" (or instance of \w+|after validation.*)$")


def _number_as_text(value: Json) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Name = Annotated[str, Field(min_length=1, max_length=_MAX_CHARS_OF_A_NAME)]
_Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    """A part of a reply. Keys of the agent's own are ignored."""

    model_config = ConfigDict(frozen=True, strict=True)


class _Call(_Part):
    name: _Name
    args: dict[str, object] | None = None
    result: Any = None
    error: Any = None
    duration_ms: _Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _has_args_only(cls, value: Json) -> object:
        if isinstance(value, dict) and value.get("args") is None:
            for name in _ARGS_ELSEWHERE:
                if name in value:
                    raise ValueError(f"should have args instead of {name}")
        return value

    def read(self) -> ToolCall:
        error = mcp_error(self.result) if self.error is None else _message_of(self.error)
        return ToolCall(
            self.name, self.args or {}, self.result, error, duration_ms=self.duration_ms
        )


class _Chunk(_Part):
    id: Annotated[_Name, BeforeValidator(_number_as_text)]
    text: str


class _Usage(_Part):
    input_tokens: _Count | None = None
    output_tokens: _Count | None = None


class _Reply(_Part):
    tool_calls: Annotated[list[_Call], Field(max_length=_MAX_ITEMS)] | None = None
    usage: _Usage = _Usage()
    estimated_cost_usd: Annotated[_Number, Field(le=_MAX_USD)] | None = None
    retrieved: Annotated[list[_Chunk], Field(max_length=_MAX_ITEMS)] | None = None
    model: _Name | None = None

    @field_validator("usage", mode="before")
    @classmethod
    def _is_unknown(cls, value: Json) -> object:
        return _Usage() if value is None else value


_ANSWERS = ("output", "result")
_KEYS = (*_ANSWERS, *_Reply.model_fields, "error")
_TOKENS = tuple(_Usage.model_fields)


@dataclass(frozen=True, slots=True)
class AgentReply:
    """A reply, read. `retrieved` None: the agent does not report whether it looked anything up.

    `reports_calls` is False if it does not report its calls; it may still have made some.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    retrieved: tuple[Chunk, ...] | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()
    reports_calls: bool = False
    session_id: str | None = None  # of the agent's own

    def put_down(self, exchange: Exchange) -> None:
        """Note in the exchange what the agent did and answered."""
        if calls := self._calls():
            exchange.messages.append(Message("assistant", "", calls))
        exchange.messages.append(Message.of_agent(self.text))
        exchange.usages.append(self.usage)
        exchange.costs.append(self.cost_usd)
        exchange.reports_calls = self.reports_calls
        exchange.model = self.model or exchange.model
        exchange.notes.extend(self.notes)

    def _calls(self) -> tuple[ToolCall, ...]:
        """Return the calls, one of which brought what was retrieved."""
        if self.retrieved is None:
            return self.tool_calls
        *others, last = self.tool_calls or (ToolCall(RETRIEVED, {}),)
        # Not a call in addition to those that are reported: checks of the calls would count it.
        return (*others, replace(last, chunks=self.retrieved, is_retrieval=True))


def parse_reply(text: str) -> AgentReply:
    """Read what an agent wrote: JSON of the shape above, anything else is plain text.

    Raises:
        AgentError: it is of that shape, and something in it is wrong.
        ReplyMismatchError: a key is misspelt.
    """
    doubled: list[str] = []
    try:
        value = json_noting(text, doubled) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and value.keys() & _TELLING:
        if doubled:
            raise AgentError(f"The agent's reply has the key {cut_middle(doubled[0])!r} twice.")
        return read_reply(value)
    return AgentReply(text.rstrip("\r\n"))


def json_noting(text: str, doubled: list[str]) -> Any:
    """Read JSON, and note duplicate keys: one of their values would be lost.

    Raises:
        ValueError, RecursionError: it is not JSON.
    """

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            doubled.extend(name for name, count in counts.items() if count > 1)
        return value

    return json.loads(text, object_pairs_hook=once)


def read_reply(value: object) -> AgentReply:
    """Read a text, or JSON of the shape above.

    Raises:
        AgentError: it is neither, or the agent itself reports an `error`.
        ReplyMismatchError: a key is misspelt, so what it reports would not be read.
    """
    if isinstance(value, str):
        return AgentReply(value)
    if not isinstance(value, Mapping):
        raise AgentError(
            f"The agent's reply is {json_text(value)}; expected a text, or an object with output."
        )
    if is_too_deep(value):
        raise AgentError(f"The agent's reply is {TOO_DEEP}.")
    text = _text(value)
    _refuse_slips(value)
    try:
        reply = _Reply.model_validate(value)
    except ValidationError as error:
        raise AgentError(_sentence(error.errors(include_url=False)[0])) from None
    return AgentReply(
        text=text,
        tool_calls=tuple(call.read() for call in reply.tool_calls or ()),
        usage=Usage(reply.usage.input_tokens, reply.usage.output_tokens),
        cost_usd=_cost(reply.estimated_cost_usd),
        retrieved=_chunks(reply.retrieved),
        model=reply.model,
        notes=(*_doubtful(value), *_notes_on_usage(value.get("usage"))),
        reports_calls=reply.tool_calls is not None,
    )


def _text(value: Mapping[str, object]) -> str:
    if error := value.get("error"):
        raise reported_error(error)
    for key in _ANSWERS:
        if (answer := value.get(key)) is not None:
            # An answer that is JSON itself stays JSON, for the checks that read it.
            return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    keys = ", ".join(map(str, value)) or "none"
    raise AgentError(f"The agent's reply has no answer under output. Its keys: {cut_middle(keys)}.")


def reported_error(error: object) -> AgentError:
    """Return the error for one that the agent itself reports."""
    return AgentError(f"The agent reports an error: {cut_middle(_message_of(error))}")


def _message_of(error: object) -> str:
    if isinstance(error, Mapping) and "message" in error:
        error = error["message"]
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _chunks(sources: Sequence[_Chunk] | None) -> tuple[Chunk, ...] | None:
    return None if sources is None else tuple(Chunk(source.id, source.text) for source in sources)


def _cost(usd: float | None) -> Decimal | None:
    # The shortest text that means a float is what was written: 0.1 is ten cents.
    return None if usd is None else Decimal(repr(usd)).quantize(_BILLIONTH, ROUND_HALF_EVEN)


def _refuse_slips(value: Mapping[str, object]) -> None:
    """Raise for a misspelt key: checks that depend on its value could pass for no reason."""
    has_answer = not value.keys().isdisjoint(_ANSWERS)
    absent = [key for key in _KEYS if key not in value and not (key in _ANSWERS and has_answer)]
    for key, part in value.items():
        if key not in _KEYS and part and (meant := nearest(str(key), absent, is_slip=True)):
            raise ReplyMismatchError(
                f"The agent's reply has an unknown key {cut_middle(str(key))!r}. Did you mean"
                f" {meant!r}? It was not read, so this reply is not graded."
            )


def _doubtful(value: Mapping[str, object]) -> tuple[str, ...]:
    """Name the keys that are not read and look a little like one that would be."""
    notes = []
    for key in value:
        hint = near(str(key), _KEYS)
        if key not in _KEYS and hint:
            notes.append(f"The agent's reply has an unknown key {cut_middle(str(key))!r}.{hint}")
    return tuple(notes[: len(_KEYS)])


def _notes_on_usage(usage: Any) -> Iterator[str]:
    """Note that tokens are not counted because their keys have other names."""
    if usage and not usage.keys() & set(_TOKENS):
        names = cut_middle(", ".join(map(str, usage)))
        yield f"usage has only unknown keys ({names}); expected {' and '.join(_TOKENS)}."


def _sentence(error: ErrorDetails) -> str:
    """Describe what is wrong at one place of a reply, and what it should be."""
    where = path_text(list(error["loc"]))
    if error["type"] == "missing":
        return f"{where} is missing."
    should = _AFTERTHOUGHT.sub("", _SUBJECT.sub("", error["msg"]))
    return f"{where} is {json_text(error['input'])}; it {should.replace('dictionary', 'object')}."
