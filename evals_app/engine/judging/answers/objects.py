"""JSON objects as judges answer with them: their schema, and how one is found and validated."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from evals_app.engine.judging.answers.asking import UnreadableAnswerError
from fixtures_app.ground.nesting import is_too_deep
from fixtures_app.ground.quoting import cut_middle, in_quotes
from fixtures_app.ground.strict_json import JsonObject, read_strictly

M = TypeVar("M", bound=BaseModel)

_SENT = ("type", "enum", "required", "additionalProperties")
_MAX_SCANS = 20  # of a text, by its length
_MAX_GIVEN = 60
_BROKEN = "its JSON was broken or not complete"
_NO_NUMBER = "a value in its JSON was not a number (NaN or Infinity)"
_NOT_FINITE = re.compile(r":\s*-?(?:NaN|Infinity)\b")
_BEGINS_LIKE_ONE = re.compile(r"""\{\s*+["']?\w[\w ]{0,99}+["']?\s*+:""")


class StrictReply(BaseModel):
    """A reply, or a part of one: it has every key and no other, in the order of reasoning."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@cache
def reply_schema(model: type[StrictReply]) -> JsonObject:
    """Return the JSON Schema of a reply in the words that all model APIs know."""
    schema = model.model_json_schema()
    return _plain(schema, schema.get("$defs", {}))


def _plain(schema: dict[str, Any], definitions: dict[str, Any]) -> JsonObject:
    if reference := schema.get("$ref"):
        return _plain(definitions[reference.rpartition("/")[2]], definitions)
    plain = {key: value for key, value in schema.items() if key in _SENT}
    if "items" in schema:
        plain["items"] = _plain(schema["items"], definitions)
    if properties := schema.get("properties"):
        plain["properties"] = {key: _plain(part, definitions) for key, part in properties.items()}
    if "minimum" in schema:  # APIs enforce lists of values, but no ranges
        plain["enum"] = list(range(schema["minimum"], schema["maximum"] + 1))
    return plain


def read_object(text: str) -> JsonObject:
    """Read the last JSON object of a reply; one inside another is part of that.

    A judge may quote what it grades, and that may look like a verdict. So an object that is broken
    hides everything, and of two objects with the same keys neither counts unless they are equal.

    Raises:
        UnreadableError: there is none, or it is not certain which is the answer.
    """
    objects = list(_objects(text))
    if not objects:
        fault = "it had no JSON object in it" if text.strip() else "it was empty"
        raise UnreadableAnswerError("The answer holds no JSON object.", fault=fault)
    last = objects[-1]
    if any(other.keys() == last.keys() and other != last for other in objects):
        raise UnreadableAnswerError(
            "The answer holds several JSON objects that contradict each other.",
            fault="it had several JSON objects that contradict each other",
        )
    return last


def last_object(text: str) -> dict[str, Any] | None:
    """Read the last JSON object of a script's reply; None if it cannot be read."""
    with suppress(UnreadableAnswerError):
        return read_object(text)
    return None


def validate_answer(model: type[M], data: JsonObject) -> M:
    """Validate an answer.

    Raises:
        UnreadableError: it is not of the schema.
    """
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        problems = [
            f"{'.'.join(str(part) for part in error['loc']) or 'answer'}: {error['msg']}"
            for error in exc.errors(include_url=False, include_input=False)[:5]
        ]
        (first, *_) = exc.errors(include_url=False)
        raise UnreadableAnswerError("; ".join(problems), fault=_in_words(first)) from None


def _in_words(error: ErrorDetails) -> str:
    """Describe for people what is wrong with a part of an answer."""
    part = ".".join(map(str, error["loc"])) or "the answer"
    if error["type"] == "missing":
        return f"{part} was missing"
    if error["type"] == "extra_forbidden":
        return f"it had an unknown part, {in_quotes(part)}"
    given = cut_middle(json.dumps(error["input"], ensure_ascii=False, default=str), _MAX_GIVEN)
    if error["loc"][-1:] == ("score",):
        return f"the score was {given}, which is not on the scale"
    if error["type"] == "literal_error":
        return f"{part} was {given}, which is none of the words that were asked for"
    return f"{part} was {given}, which is not what was asked for"


def _objects(text: str) -> Iterator[JsonObject]:
    """Yield the objects in a text that are not inside each other, in linear time.

    Raises:
        UnreadableError: something begins like an object, and is none.
    """
    room = _MAX_SCANS * len(text)
    start = text.find("{")
    while start >= 0:
        if room < 0:
            raise UnreadableAnswerError(
                "The answer holds too many braces that nothing closes.", fault=_BROKEN
            )
        end = _end(text, start)
        room -= (end or len(text)) - start
        value = _object(text[start:end]) if end else None
        if value:
            yield value
        elif _BEGINS_LIKE_ONE.match(text, start):
            raise UnreadableAnswerError(
                "The answer holds a JSON object that is broken, not complete or has a key twice.",
                fault=_NO_NUMBER if _NOT_FINITE.search(text[start:end]) else _BROKEN,
            )
        # A brace in the prose may have hidden an object.
        start = text.find("{", end if value and end else start + 1)


def _end(text: str, start: int) -> int | None:
    """Return the place behind the brace that closes the one at `start`; None if there is none."""
    depth = 0
    in_string = is_escaped = False
    for place in range(start, len(text)):
        character = text[place]
        if in_string:
            if is_escaped:
                is_escaped = False
            elif character == "\\":
                is_escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return place + 1
    return None


def _object(text: str) -> JsonObject | None:
    try:
        value = read_strictly(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not is_too_deep(value) else None
