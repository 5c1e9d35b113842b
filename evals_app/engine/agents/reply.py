"""What an agent outside answers: text, or JSON that also tells of tools, tokens, cost and sources.

    {"output": "...", "tool_calls": [{"name", "args", "result", "error"}],
     "usage": {"input_tokens", "output_tokens"}, "estimated_cost_usd": 0.0004,
     "retrieved": [{"id", "text"}], "model": "..."}

Only `output` (or `result`) is needed. What is left out is unknown, which is not 0.
"""

import difflib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from evals_app.engine.agents.session import Exchange
from evals_app.engine.errors import AgentError
from evals_app.engine.nesting import TOO_DEEP, is_too_deep
from evals_app.engine.quoting import json_text, shortened
from evals_app.engine.spec import MOST
from evals_app.engine.trial import Chunk, Message, ToolCall, Usage

RETRIEVED = "retrieved"  # the tool that brought the sources of an agent that reports no calls

_KEYS = (
    "output",
    "result",
    "tool_calls",
    "usage",
    "estimated_cost_usd",
    "retrieved",
    "model",
    "error",
)
# Who writes one of these means the shape; the others may as well be an answer in JSON.
_TELLING = {"output", "result", "tool_calls", "estimated_cost_usd", "retrieved", "error"}
_TOKENS = ("input_tokens", "output_tokens")
_ARGS_ELSEWHERE = ("arguments", "input", "parameters")  # as other APIs call `args`
_MOST_ITEMS = 1_000
_MOST_CHARS_OF_A_NAME = 200
_MOST_USD = 1_000_000
_BILLIONTH = Decimal("1e-9")


@dataclass(frozen=True, slots=True)
class AgentReply:
    """A reply, read. `retrieved` None: the agent does not say that it looked anything up.

    `reports_calls` is False where it does not say what it called, which is not that it called nothing.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal | None = None
    retrieved: tuple[Chunk, ...] | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()
    reports_calls: bool = False

    def put_down(self, exchange: Exchange) -> None:
        """Note in the exchange what the agent did and said."""
        if calls := self._calls():
            exchange.messages.append(Message("assistant", "", calls))
        exchange.messages.append(Message("assistant", self.text))
        exchange.usages.append(self.usage)
        exchange.costs.append(self.cost_usd)
        exchange.reports_calls = self.reports_calls
        exchange.model = self.model or exchange.model
        exchange.notes.extend(self.notes)

    def _calls(self) -> tuple[ToolCall, ...]:
        """Give the calls, one of which brought what was retrieved."""
        if self.retrieved is None:
            return self.tool_calls
        *others, last = self.tool_calls or (ToolCall(RETRIEVED, {}),)
        # Not a call beside those that are reported: checks of the calls would count it.
        return (*others, replace(last, chunks=self.retrieved, is_retrieval=True))


def parse_reply(text: str) -> AgentReply:
    """Read what an agent wrote: JSON of the shape above, anything else is plain text.

    Raises:
        AgentError: it is of that shape, and something in it is wrong.
    """
    doubled: list[str] = []
    try:
        value = json_noting(text, doubled) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and value.keys() & _TELLING:
        if doubled:
            raise AgentError(f"The agent's reply has the key {shortened(doubled[0])!r} twice.")
        return read_reply(value)
    return AgentReply(text.rstrip("\r\n"))


def json_noting(text: str, doubled: list[str]) -> Any:  # noqa: ANN401 - any JSON
    """Read JSON, and note the keys that an object has twice: one of their values would be lost.

    Raises:
        ValueError, RecursionError: it is none.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            doubled.extend(
                name for name, times in Counter(name for name, _ in pairs).items() if times > 1
            )
        return found

    return json.loads(text, object_pairs_hook=once)


def read_reply(value: Any) -> AgentReply:  # noqa: ANN401 - whatever the agent gave
    """Read a text, or JSON of the shape above.

    Raises:
        AgentError: it is neither, or the agent itself reports an `error`.
    """
    if isinstance(value, str):
        return AgentReply(value)
    if not isinstance(value, Mapping):
        raise _wrong("The agent's reply", "a text, or an object with output", value)
    if is_too_deep(value):
        raise AgentError(f"The agent's reply is {TOO_DEEP}.")
    text = _text(value)
    return AgentReply(
        text=text,
        tool_calls=tuple(
            _call(each, f"tool_calls {number}")
            for number, each in enumerate(_items(value, "tool_calls"), 1)
        ),
        usage=_usage(value.get("usage")),
        cost_usd=_cost(value.get("estimated_cost_usd")),
        retrieved=_retrieved(value),
        model=_name(value["model"], "model") if value.get("model") is not None else None,
        notes=(*_misspelt(value), *_uncounted(value.get("usage"))),
        reports_calls=value.get("tool_calls") is not None,
    )


def _text(value: Mapping[str, Any]) -> str:
    if error := value.get("error"):
        raise AgentError(f"The agent reports an error: {shortened(_message_of(error))}")
    for key in ("output", "result"):
        if (found := value.get(key)) is not None:
            # An answer that is JSON itself stays JSON, for the checks that read it.
            return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
    found = ", ".join(map(str, value)) or "no keys at all"
    raise AgentError(f"The agent's reply needs output, a text; it has {shortened(found)}.")


def _message_of(error: Any) -> str:  # noqa: ANN401 - any JSON
    if isinstance(error, Mapping) and "message" in error:
        error = error["message"]
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def _call(value: Any, where: str) -> ToolCall:  # noqa: ANN401 - any JSON
    if not isinstance(value, Mapping):
        raise _wrong(where, "an object with name and args", value)
    args = value.get("args")
    for name in _ARGS_ELSEWHERE:
        if args is None and name in value:
            raise AgentError(f"{where} has {name}; expected args.")
    if not isinstance(args, Mapping | None):
        raise _wrong(f"args of {where}", "an object", args)
    error = value.get("error")
    return ToolCall(
        name=_name(value.get("name"), f"name of {where}"),
        args=dict(args or {}),
        result=value.get("result"),
        error=None if error is None else _message_of(error),
        duration_ms=_number(value.get("duration_ms"), f"duration_ms of {where}") or 0.0,
    )


def _retrieved(value: Mapping[str, Any]) -> tuple[Chunk, ...] | None:
    if value.get("retrieved") is None:
        return None
    chunks = []
    for number, each in enumerate(_items(value, "retrieved"), 1):
        where = f"retrieved {number}"
        if not isinstance(each, Mapping):
            raise _wrong(where, "an object with id and text", each)
        ident, text = each.get("id"), each.get("text")
        if isinstance(ident, int) and not isinstance(ident, bool):
            ident = str(ident)
        if not isinstance(text, str):
            raise _wrong(f"text of {where}", "a text", text)
        chunks.append(Chunk(_name(ident, f"id of {where}"), text))
    return tuple(chunks)


def _usage(value: Any) -> Usage:  # noqa: ANN401 - any JSON
    if value is None:
        return Usage()
    if not isinstance(value, Mapping):
        raise _wrong("usage", f"an object with {' and '.join(_TOKENS)}", value)
    prompt, response = (_tokens(value, key) for key in _TOKENS)
    return Usage(prompt, response)


def _tokens(usage: Mapping[str, Any], key: str) -> int | None:
    value = usage.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST:
        raise _wrong(f"usage.{key}", f"a whole number from 0 to {MOST:,}", value)
    return value


def _cost(value: Any) -> Decimal | None:  # noqa: ANN401 - any JSON
    number = _number(value, "estimated_cost_usd")
    if number is None:
        return None
    if number > _MOST_USD:
        raise _wrong("estimated_cost_usd", f"at most {_MOST_USD:,}", value)
    # The shortest text that means a float is what was written: 0.1 is ten cents.
    return Decimal(repr(number)).quantize(_BILLIONTH, ROUND_HALF_EVEN)


def _number(value: Any, where: str) -> float | None:  # noqa: ANN401 - any JSON
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(where, "a number from 0 on", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number >= 0):
        raise _wrong(where, "a number from 0 on", value)
    return number


def _name(value: Any, where: str) -> str:  # noqa: ANN401 - any JSON
    if not isinstance(value, str) or not 0 < len(value) <= _MOST_CHARS_OF_A_NAME:
        raise _wrong(where, f"a text of 1 to {_MOST_CHARS_OF_A_NAME} characters", value)
    return value


def _items(value: Mapping[str, Any], key: str) -> list[Any]:
    items = value.get(key)
    if items is None:
        return []
    if not isinstance(items, list):
        raise _wrong(key, "a list", items)
    if len(items) > _MOST_ITEMS:
        raise AgentError(f"{key} has {len(items):,} entries; up to {_MOST_ITEMS:,} are read.")
    return items


def _misspelt(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Name keys that are read by nobody and look like one that would be."""
    notes = []
    for key in value:
        near = difflib.get_close_matches(str(key)[:_MOST_CHARS_OF_A_NAME], _KEYS, n=1)
        if key not in _KEYS and near:
            note = f"The agent's reply has a key {shortened(str(key))!r}, which nobody reads."
            notes.append(f"{note} Did you mean {near[0]!r}?")
    return tuple(notes[: len(_KEYS)])


def _uncounted(usage: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Say that tokens are not counted because they are called otherwise."""
    if usage and not usage.keys() & set(_TOKENS):
        names = shortened(", ".join(map(str, usage)))
        yield f"usage has {names}, which nobody reads; expected {' and '.join(_TOKENS)}."


def _wrong(where: str, expected: str, found: Any) -> AgentError:  # noqa: ANN401 - any JSON
    if found is None:
        return AgentError(f"{where} is missing; expected {expected}.")
    return AgentError(f"{where} is {json_text(found)}; expected {expected}.")
