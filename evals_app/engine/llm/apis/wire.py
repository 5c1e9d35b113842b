"""JSON as APIs send it: errors, and what servers, cut replies and models do to it."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evals_app.engine.llm.apis.names import ToolNames
from evals_app.engine.llm.call import AssistantMessage, ChatMessage, ModelCall, ToolRequest
from evals_app.engine.record.usage import Usage
from evals_app.engine.specs.base_spec import MAX_INTEGER
from evals_app.engine.specs.model_settings import ANY_OBJECT
from fixtures_app.ground.json_keywords import parts
from fixtures_app.ground.nesting import is_too_deep
from fixtures_app.ground.strict_json import Json, JsonObject

# An error inside a reply comes after a status of 200: only its code shows the real one.
_STATUS_OF = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}

# Longer than any call waits. More is an error, and may not fit into a date.
_MAX_PAUSE_S = 86_400.0

_MAX_LABEL = 200


class UnreadableReplyError(Exception):
    """A reply that cannot be read; the text explains why."""


class MiscountedError(Exception):
    """An impossible number of tokens; the text explains why."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """What an API reports as wrong; empty if it reports nothing.

    `param` is the part of the request that is meant. `error` is all of it.
    """

    message: str = ""
    type: str = ""
    code: str = ""
    param: str = ""
    error: Mapping[str, object] = field(default_factory=dict)

    @property
    def status(self) -> int:
        """Return the status that fits this error."""
        if self.code.isdecimal() and 400 <= int(self.code) < 600:  # noqa: PLR2004 - errors of HTTP
            return int(self.code)
        return _STATUS_OF.get(self.code) or _STATUS_OF.get(self.type) or 500

    @property
    def about(self) -> str:
        """Return the words that name what is wrong in the request."""
        # `include` is a list: the message names the entry.
        return self.message if self.param in {"", "include"} else self.param

    @property
    def is_about_key(self) -> bool:
        """Whether it refuses the key with another status than 401, as Google does."""
        return any(detail.get("reason") == "API_KEY_INVALID" for detail in self._details)

    @property
    def retry_after_s(self) -> float | None:
        """Return the pause that Google writes into the body instead of a header."""
        delays = (detail.get("retryDelay") for detail in self._details)
        written = next((delay for delay in delays if isinstance(delay, str)), "")
        return pause_s(written.removesuffix("s"))

    @property
    def _details(self) -> list[Mapping[str, object]]:
        details = self.error.get("details")
        entries = details if isinstance(details, list) else ()
        return [detail for detail in entries if isinstance(detail, Mapping)]


def read_complaint(body: object) -> Complaint:
    """Read the body of an error, in all the shapes that APIs use."""
    if isinstance(body, list):  # Gemini
        body = body[0] if body else None
    if isinstance(body, str):
        return Complaint(body)
    if not isinstance(body, Mapping):
        return Complaint()
    error = body.get("error") or body
    if not isinstance(error, Mapping):
        return Complaint(str(error))
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, Mapping) else None
    return Complaint(
        message=_text(error.get("message") or error.get("detail")),
        type=_text(error.get("type")),
        code=_text(code or error.get("code")),
        param=_text(error.get("param")),
        error=error,
    )


def pause_s(pause: str | float, *, per_second: int = 1) -> float | None:
    """Read the seconds that an API asks us to wait; None if there is no usable value."""
    try:
        seconds = float(pause) / per_second
    except ValueError:
        return None
    # 0 would make us retry without any pause.
    return min(seconds, _MAX_PAUSE_S) if math.isfinite(seconds) and seconds > 0 else None


def given_settings(
    call: ModelCall, names: Iterable[str], *, without: frozenset[str]
) -> dict[str, Any]:
    """Return the optional settings of a call that go out, by our names."""
    return without_empty({name: getattr(call, name) for name in names if name not in without})


def reply_format(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the format of replies that fit a schema, as OpenAI's Responses API has it.

    `strict` accepts only schemas that leave nothing open.
    """
    if schema == ANY_OBJECT:
        return {"type": "json_object"}
    form = {"name": "answer", "strict": _is_closed(schema), "schema": schema}
    return {"type": "json_schema", **form}


def _is_closed(schema: Mapping[str, object]) -> bool:
    """Return whether each object in a schema requires all of its keys, and allows no other."""
    objects: list[Mapping[str, Any]] = [part for _, part in parts(schema)]
    return all(
        part.get("additionalProperties") is False
        and {*part.get("properties", ())} == {*part.get("required", ())}
        for part in objects
        if "properties" in part or part.get("type") == "object"
    )


def tool_definitions(
    call: ModelCall, names: ToolNames, *, schema: str = "parameters"
) -> list[JsonObject]:
    """Return the tools as all APIs take them; `schema` is the key of the arguments' JSON Schema."""
    return [
        {
            "name": names.name_to_send(tool.name),
            "description": tool.description,
            schema: dict(tool.parameters),
        }
        for tool in call.tools
    ]


def says_something(message: ChatMessage) -> bool:
    """Return whether a message may be sent.

    APIs refuse blank text; an empty reply leaves no turn in the history.
    """
    return not isinstance(message, AssistantMessage) or bool(message.text.strip())


def parse_json(raw: str) -> Json:
    """Read JSON that a model wrote; None if it is not valid, or cannot be stored."""
    try:
        value = json.loads(raw)
        json.dumps(value, allow_nan=False)  # Python reads NaN and 1e999, which databases refuse
    except (ValueError, RecursionError):
        return None
    return None if is_too_deep(value) else well_formed(value)


def tool_request(id_: object, *, name: object, arguments: str, names: ToolNames) -> ToolRequest:
    """Return a tool call of a model; `arguments` as it wrote them.

    Raises:
        UnreadableError: it has no id or name.
    """
    read = parse_json(arguments)
    return ToolRequest(
        id=read_name(id_, "the id of a tool call"),
        name=names.authored_name(read_name(name, "the name of a tool call")),
        arguments=read if isinstance(read, dict) else {},
        arguments_raw=arguments,
        is_malformed=not isinstance(read, dict),
    )


def is_object(raw: str) -> bool:
    """Return whether a model wrote a JSON object."""
    return isinstance(parse_json(raw), dict)


def entries(value: object, what: str) -> list[JsonObject]:
    """Return a list of objects.

    Raises:
        UnreadableError: it is not one.
    """
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise UnreadableReplyError(f"it has no list of {what}")
    return value


def well_formed(value: object) -> Any:
    """Replace what neither APIs nor databases accept.

    A reply that is cut within an emoji contains half a surrogate pair. Some servers write NaN, which
    becomes null.
    """
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        text = json.dumps(value, ensure_ascii=False)
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return json.loads(text, parse_constant=lambda _: None)
    return value


def without_empty(fields: Mapping[str, object]) -> dict[str, object]:
    """Leave out fields without a value."""
    return {name: value for name, value in fields.items() if value is not None}


def count(fields: object, name: str) -> int | None:
    """Read a number of tokens; what is not reported stays unknown.

    Raises:
        MiscountedError: the value is not a number of tokens.
    """
    value = fields.get(name) if isinstance(fields, Mapping) else None
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_INTEGER:
        raise MiscountedError(f"{name} is not a whole number from 0 to {MAX_INTEGER:,}")
    return value


def read_usage(usage: object, read: Callable[[object], Usage]) -> tuple[Usage, tuple[str, ...]]:
    """Read token counts; impossible ones are unknown, with a note."""
    problem = "" if isinstance(usage, Mapping | None) else "usage is not an object"
    try:
        counted = Usage() if problem else read(usage)
    except MiscountedError as error:
        counted, problem = Usage(), str(error)
    note = f"The model API reported invalid token counts: {problem}."
    return counted, (note,) if problem else ()


def label(value: object) -> str:
    """Return a name that an API reports, for example that of its model."""
    return value[:_MAX_LABEL] if isinstance(value, str) else ""


def text_or_empty(value: object, what: str) -> str:
    """Return a text; None becomes an empty one.

    Raises:
        UnreadableError: it is something else.
    """
    if not isinstance(value, str | None):
        raise UnreadableReplyError(f"{what} is not a text")
    return value or ""


def read_name(value: object, what: str) -> str:
    """Return a name.

    Raises:
        UnreadableError: it is not one.
    """
    if not isinstance(value, str) or not value:
        raise UnreadableReplyError(f"{what} is missing or not a text")
    return value


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
