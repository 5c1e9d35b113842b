"""JSON objects as judges answer with them: their schema, and how one is found and validated."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evals_app.engine.judging.asking import UnreadableError
from evals_app.engine.nesting import is_too_deep

M = TypeVar("M", bound=BaseModel)

_THOUGHTS = "<think>"  # in which models that are served locally try verdicts out
_MOST_SCANS = 20  # of a text, by its length
_BEGINS_LIKE_ONE = re.compile(r"""\{\s*+["']?\w[\w ]{0,99}+["']?\s*+:""")


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Give the JSON Schema of an object with these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: str) -> dict[str, Any]:
    """Read the last JSON object of a reply; what stands inside of another is part of that.

    A judge may quote what it grades, and that may look like a verdict. So an object that is broken
    hides everything, and of two objects with the same keys neither counts unless they are equal.

    Raises:
        UnreadableError: there is none, or it is not certain which is the answer.
    """
    if text.lstrip().startswith(_THOUGHTS):
        text = text.partition(f"</{_THOUGHTS[1:]}")[2]
    found = list(_objects(text))
    if not found:
        raise UnreadableError("The answer holds no JSON object.")
    last = found[-1]
    if any(each.keys() == last.keys() and each != last for each in found):
        raise UnreadableError("The answer holds several JSON objects that contradict each other.")
    return last


def last_object(text: str) -> dict[str, Any] | None:
    """Read the last JSON object of a script's reply; None if it cannot be read."""
    with suppress(UnreadableError):
        return read_object(text)
    return None


def checked(model: type[M], data: dict[str, Any]) -> M:
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
        raise UnreadableError("; ".join(problems)) from None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects that stand in a text, outside of each other. Linear time.

    Raises:
        UnreadableError: something begins like an object, and is none.
    """
    room = _MOST_SCANS * len(text)
    start = text.find("{")
    while start >= 0:
        if room < 0:
            raise UnreadableError("The answer holds too many braces that nothing closes.")
        end = _end(text, start)
        room -= (end or len(text)) - start
        value = _object(text[start:end]) if end else None
        if value:
            yield value
        elif _BEGINS_LIKE_ONE.match(text, start):
            raise UnreadableError(
                "The answer holds a JSON object that is broken, not complete or has a key twice."
            )
        # A brace of the prose may have swallowed an object.
        start = text.find("{", end if value and end else start + 1)


def _end(text: str, start: int) -> int | None:
    """Give the place behind the brace that closes the one at `start`; None: nothing does."""
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


def _object(text: str) -> dict[str, Any] | None:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            msg = "A key occurs twice."
            raise ValueError(msg)
        return found

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not is_too_deep(value) else None
