"""JSON objects as judges answer with them: their schema, and how one is found and validated."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evals_app.engine.judging.asking import UnreadableError

M = TypeVar("M", bound=BaseModel)

_MAX_RESCANS = 20


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Give the JSON Schema of an object with these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: str) -> dict[str, Any]:
    """Read the last balanced JSON object of a reply.

    Raises:
        UnreadableError: there is none.
    """
    data = last_object(text)
    if data is None:
        raise UnreadableError("The answer holds no JSON object.")
    return data


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


def last_object(text: str) -> dict[str, Any] | None:
    """Find the last balanced JSON object in a text; None if there is none. Linear time."""
    start = 0
    for _ in range(_MAX_RESCANS):
        # A brace in the prose before it may swallow the object: begin again behind that brace.
        start = text.find("{", start)
        if start < 0:
            return None
        if found := _last_object_from(text, start):
            return found
        start += 1
    return None


def _last_object_from(text: str, begin: int) -> dict[str, Any] | None:
    last: dict[str, Any] | None = None
    depth = start = 0
    in_string = is_escaped = False
    for place in range(begin, len(text)):
        character = text[place]
        if in_string:
            if is_escaped:
                is_escaped = False
            elif character == "\\":
                is_escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = depth > 0  # outside of an object a quotation mark is prose
        elif character == "{":
            start = start if depth else place
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if not depth:
                last = _object(text[start : place + 1]) or last
    return last


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
    return value if isinstance(value, dict) else None
