"""What pydantic refuses: raised together with other errors, and put into plain words."""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType

_BUILT_IN = frozenset(get_args(ErrorType))
_PREFIX = "Value error, "
_PLAIN_BEGINNINGS = {
    "Input should be ": "The value must be ",
    "Input should ": "The value must ",
    "String should ": "The text must ",
    "Decimal input should ": "The number must ",
}


def error_at(kind: str, message: Any, loc: tuple[int | str, ...], value: Any) -> InitErrorDetails:
    """Return an error with its place, for a ValidationError of several."""
    # Braces in a message stay as they are: without a context it is not a template.
    return InitErrorDetails(type=PydanticCustomError(kind, message), loc=loc, input=value)


def taken_apart(error: ValidationError) -> list[InitErrorDetails]:
    """Return the errors in an error, so that they can be raised again together with others."""
    return [
        InitErrorDetails(
            type=part["type"], loc=part["loc"], input=part["input"], ctx=part.get("ctx", {})
        )
        if part["type"] in _BUILT_IN
        else error_at(part["type"], part["msg"], part["loc"], part["input"])
        for part in error.errors(include_url=False)
    ]


def message_of(error: Mapping[str, Any]) -> str:
    """Return the message of one error in plain words."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "too_short":
        return "At least one entry is needed, but this list is empty."
    if kind == "too_long" and context:
        most, actual = context["max_length"], context["actual_length"] or "more"
        return f"At most {most} entries are allowed, but this list has {actual}."
    if kind == "string_too_short":
        return "This text must not be empty."
    if kind == "string_too_long" and context:
        return f"This text is too long. The limit is {context['max_length']} characters."
    message = str(error["msg"]).removeprefix(_PREFIX)
    for beginning, plain in _PLAIN_BEGINNINGS.items():
        if message.startswith(beginning):
            message = plain + message.removeprefix(beginning)
            break
    return message if message.endswith((".", "?", "!")) else f"{message}."


def messages_of(error: ValidationError) -> list[str]:
    """Return the messages of an error in plain words."""
    return [message_of(part) for part in error.errors(include_url=False)]
