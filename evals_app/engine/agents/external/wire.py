"""Agents with JSON of their own: the request as they expect it, and the places in their reply."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from evals_app.engine.agents.external.reply import AgentReply, json_noting, read_reply
from evals_app.engine.agents.tools.tool_calls import as_text
from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.basics.template import ResolvedText, fill_in, in_texts
from evals_app.engine.specs.wire_spec import MESSAGES, Places
from fixtures_app.ground.json_paths import NoSuchPlaceError, describe, find, parse_path
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.strict_json import Json, JsonObject

_LEAVES_SEGMENT = frozenset("/\\")
# Places that a reply may lack.
BESIDE_TEXT = ("tool_calls", "input_tokens", "output_tokens", "session_id")


def filled_request(
    body: Mapping[str, object], request: Mapping[str, Any], *, is_form: bool = False
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Fill the usual request into a body; also return warnings about what the case does not set.

    In a form and in a query an empty list is a name that is repeated never, so it would be left out:
    the history is `[]` there, as JSON, as it is JSON in later turns.
    """
    message = {"role": "user", "content": request["input"]}
    known = {"files": [], **request, MESSAGES: [*request["history"], message]}
    if is_form and not request["history"]:
        known["history"] = "[]"
    missing: list[str] = []

    def value_of(name: str) -> object:
        try:
            return find(known, parse_path(name))
        except NoSuchPlaceError:
            missing.append(name)
            return None

    filled: Any = in_texts(dict(body), lambda text: fill_in(text, value_of, as_text=_in_a_sentence))
    return filled, ResolvedText("", tuple(dict.fromkeys(missing))).warnings("The request")


def fill_path(url: str, request: Mapping[str, Any]) -> str:
    """Fill the usual request into the path of an address, where each value stays one segment of it.

    Raises:
        ConfigurationError: a value is missing, or could change which address is called.
    """

    def segment_of(name: str) -> str:
        try:
            value = find(request, parse_path(name))
        except NoSuchPlaceError:
            value = None
        text = as_text(value) if isinstance(value, str | int | float) else ""
        # Servers and proxies may decode a slash before they take the path apart.
        if not text.strip(".") or not _LEAVES_SEGMENT.isdisjoint(text):
            raise ConfigurationError(
                f"{{{{{name}}}}} in the path of the agent's address is {_value_text(value)}. There it must be"
                " a text without / and \\, and not only points. Anything else goes into the request"
                " or into query."
            )
        return quote(text, safe="", errors="replace")

    return str(fill_in(url, segment_of, as_text=str))


def _value_text(value: object) -> str:
    return "empty" if value in (None, "") else cut_middle(as_text(value))


def _in_a_sentence(value: object) -> str:
    return "" if value is None else as_text(value)


def read_at_places(text: str, places: Places) -> AgentReply:
    """Read a reply of the agent's own shape.

    Raises:
        AgentError: it is not JSON, or its text or a tool call is not where it should be.
    """
    doubled: list[str] = []
    notes: list[str] = []
    try:
        value = json_noting(text, doubled)
    except (ValueError, RecursionError):
        raise AgentError(f"The agent's reply is not valid JSON: {cut_middle(text)}") from None
    if doubled:
        raise AgentError(f"The agent's reply has the key {cut_middle(doubled[0])!r} twice.")
    answer = _at("The agent's reply", value, places.text)
    if answer is None:
        raise AgentError(f"The agent's reply has no text at {places.text}: it is null.")
    found = {part: _find_optional(value, getattr(places, part), notes) for part in BESIDE_TEXT}
    return reply_of(answer, found, places, notes)


def reply_of(
    answer: Json, found: Mapping[str, Json], places: Places, notes: list[str]
) -> AgentReply:
    """Return a reply of what was found at places: its answer, and whatever exists of BESIDE_TEXT.

    Raises:
        AgentError: something in it is wrong.
    """
    reply = read_reply(
        {
            "output": answer,
            "tool_calls": _calls(found.get("tool_calls"), places, notes),
            "usage": {name: found.get(name) for name in ("input_tokens", "output_tokens")},
        }
    )
    session = found.get("session_id")
    return replace(
        reply,
        notes=(*reply.notes, *dict.fromkeys(notes)),
        session_id=None if session is None else as_text(session),
    )


def _calls(calls: object, places: Places, notes: list[str]) -> list[JsonObject] | None:
    """Return the calls in our own format; None if they are unknown."""
    if calls is None:
        return None
    if not isinstance(calls, list):
        raise AgentError(
            f"The agent's reply has {describe(calls)} at {places.tool_calls}; it should be a list"
            " of tool calls."
        )
    return [_call(call, number, places, notes) for number, call in enumerate(calls, 1)]


def _call(call: object, number: int, places: Places, notes: list[str]) -> JsonObject:
    arguments = _find_optional(
        call, places.arguments, notes, what="A tool call in the agent's reply"
    )
    return {
        "name": _at(f"Tool call {number} in the agent's reply", call, places.name or "name"),
        "args": _arguments(arguments, places.arguments or ""),
        "result": _find_optional(call, places.result, []),
    }


def _arguments(written: object, path: str) -> dict[str, object]:
    """Return arguments, which may be JSON as text; anything but an object becomes one argument."""
    if written in (None, ""):
        return {}
    value = written
    if isinstance(written, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(written)
    return value if isinstance(value, dict) else {_last_key(path): written}


def _last_key(path: str) -> str:
    keys = [step for step in parse_path(path) if isinstance(step, str)]
    return keys[-1] if keys else "arguments"


def _at(what: str, value: object, path: str) -> Any:
    try:
        return find(value, parse_path(path))
    except NoSuchPlaceError as error:
        raise AgentError(f"{what} {error}") from None


def _find_optional(
    value: object, path: str | None, notes: list[str], *, what: str = "The agent's reply"
) -> Any:
    """Return a value that may be missing; then it is unknown, which is noted."""
    if path is None:
        return None
    try:
        return find(value, parse_path(path))
    except NoSuchPlaceError as error:
        notes.append(f"{what} {error}")
        return None
