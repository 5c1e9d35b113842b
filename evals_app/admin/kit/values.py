"""Values as a person chooses and types them: a text, a number, yes, no, nothing, or JSON.

The kind distinguishes the number 14 from the text 14; only lists and objects need JSON.
"""

import json

from django.core.exceptions import ValidationError

from fixtures_app.editing.json_field import read_json

KINDS: tuple[tuple[str, str], ...] = (
    ("text", "text"),
    ("number", "number"),
    ("yes", "yes (true)"),
    ("no", "no (false)"),
    ("nothing", "nothing (null)"),
    ("json", "list or object (JSON)"),
)
CONSTANTS: dict[str, object] = {"yes": True, "no": False, "nothing": None}


def read_number(text: str) -> int | float:
    """Read a number.

    Raises:
        ValidationError: it is not a number.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or value - value != 0:  # NaN and Infinity are not JSON
        raise ValidationError(
            f"“{text.strip()}” is not a valid number. Write, for example, 14 or 2.5, or choose “text”"
            " as the kind of value."
        )
    number: int | float = value
    return number


def read_value(kind: str, text: str) -> object:
    """Read a value of a kind; texts lose surrounding spaces.

    Raises:
        ValidationError: the text is not of that kind.
    """
    if kind in CONSTANTS:
        return CONSTANTS[kind]
    if kind == "number":
        return read_number(text)
    return read_json(text) if kind == "json" else text.strip()


def needs_text(kind: str) -> bool:
    """Whether a kind of value is more than its name."""
    return kind not in CONSTANTS


def write_value(value: object) -> tuple[str, str]:
    """Write a value as its kind and the text from which `read_value` reads it."""
    for kind, constant in CONSTANTS.items():
        if value is constant:
            return kind, ""
    if isinstance(value, str) and value and value.strip() == value:
        return "text", value
    is_number = isinstance(value, int | float)
    return "number" if is_number else "json", json.dumps(value, ensure_ascii=False)
