"""JSON in a text area, with errors that say where and what."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from fixtures_app.json_data import Json, json_problems
from fixtures_app.library import canonical

_KINDS: dict[type, str] = {dict: "an object in { }", list: "a list in [ ]"}


def read_json(text: str) -> Json:
    """Read JSON that a person typed.

    Raises:
        ValidationError: what is wrong, and in which line and column.
    """
    try:
        value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        message = f"This is not valid JSON: line {error.lineno}, column {error.colno}: "
        raise ValidationError(message + _hint(text, error)) from None
    except (ValueError, RecursionError):
        message = "This JSON holds a number that is too long, or is nested too deeply."
        raise ValidationError(message) from None
    for problem in json_problems(value):
        where = ".".join(map(str, problem.loc))
        raise ValidationError(f"{where}: {problem.message}" if where else problem.message)
    return value


def _refuse(constant: str) -> Json:
    message = f"JSON has no {constant}; write a number or null."
    raise ValidationError(message)


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Make an object; of two values under one key the first would be lost without a word."""
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            message = f"The key {json.dumps(key, ensure_ascii=False)} stands twice in one object."
            raise ValidationError(message)
        found[key] = value
    return found


def _hint(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :].lstrip()
    if rest.startswith("'"):
        return 'texts stand in double quotes: "...".'
    if rest.startswith(("}", "]")) or not rest:
        return "something is missing here, perhaps a value, a bracket, or a comma too many before."
    if rest[:5].lower().startswith(("true", "false", "none")):
        return "write true, false or null in lower case."
    return {
        "Expecting property name enclosed in double quotes": 'a key stands in double quotes: "key".',
        "Expecting ',' delimiter": "a comma is missing before this.",
        "Expecting ':' delimiter": "a colon is missing after the key.",
        "Expecting value": 'a value is missing; texts stand in double quotes: "...".',
        "Extra data": "this stands after the end of the JSON.",
    }.get(error.msg, f"{error.msg}.")


def write_json(value: Json) -> str:
    """Write JSON for people to edit."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _told_apart(value: Json) -> str:
    # As texts: 1 and true are equal, and are not the same. Blank stands for an empty object or list.
    return canonical(None if value in ({}, []) else value)


class JsonTextField(forms.CharField):
    """A text area of JSON; `kind` dict or list asks for an object or a list."""

    def __init__(self, *, kind: type | None = None, rows: int = 4, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "class": "ts-mono"})
        super().__init__(strip=False, **{"widget": widget, **kwargs})
        self.kind = kind

    def to_python(self, value: Any) -> Any:  # noqa: ANN401 - text in, JSON out
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if not isinstance(value, str):
            return value
        parsed = read_json(value)
        if self.kind is not None and not isinstance(parsed, self.kind):
            message = f"Write {_KINDS.get(self.kind, self.kind.__name__)}."
            raise ValidationError(message)
        return parsed

    def run_validators(self, value: Any) -> None:  # noqa: ANN401 - those of texts do not apply
        pass

    def prepare_value(self, value: Any) -> Any:  # noqa: ANN401 - JSON, or text as typed
        return value if value is None or isinstance(value, str) else write_json(value)

    def has_changed(self, initial: Any, data: Any) -> bool:  # noqa: ANN401 - JSON, and text
        try:
            return _told_apart(self.to_python(initial)) != _told_apart(self.to_python(data))
        except ValidationError:
            return True
