"""What tools of all kinds share: whether arguments fit, and what a call is answered with."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from evals_app.engine.json_data.documents import MAX_JSON_BYTES, NotJsonError, read_json
from evals_app.engine.json_data.schemas import TooMuchWorkError, mismatches
from evals_app.engine.nesting import TOO_DEEP, is_too_deep

_SAID = 3


def tool_error(code: str, message: str) -> dict[str, Any]:
    """Give a result that says what went wrong, in the shape of all tools."""
    return {"error": {"code": code, "message": message}}


def json_or_text(text: str) -> Any:  # noqa: ANN401 - any JSON
    """Read JSON, which knows neither NaN nor Infinity; anything else stays text."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def tool_result(name: str, result: Any) -> Any:  # noqa: ANN401 - any JSON
    """Give what a tool returned; an error where nobody could keep it."""
    if is_too_deep(result):
        return tool_error("too_deep", f"{name} returned {TOO_DEEP}.")
    return result


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def argument_problem(schema: Mapping[str, Any], args: Mapping[str, Any]) -> str | None:
    """Say what is wrong with arguments; None if they fit.

    The schema is one in which `schema_problems` finds nothing.
    """
    text = json.dumps(args)
    if len(text) > MAX_JSON_BYTES:
        return f"They cannot be checked: they have more than {MAX_JSON_BYTES:,} characters."
    try:
        found = mismatches(read_json(text), schema, whole="what was passed")
    except NotJsonError as exc:
        return f"What was passed {exc}"
    except TooMuchWorkError as exc:
        return f"They cannot be checked: {exc}."
    return " ".join(f"{each[:1].upper()}{each[1:]}." for each in found[:_SAID]) or None
