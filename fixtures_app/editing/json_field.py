"""JSON in a text area, with errors that have a place and a reason."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from fixtures_app.ground.json_data import canonical, json_problems
from fixtures_app.ground.strict_json import Json, fault_of, read_strictly

_KINDS: dict[type, str] = {dict: "an object in { }", list: "a list in [ ]"}


def read_json(text: str) -> Json:
    """Return JSON that a person typed.

    Raises:
        ValidationError: it is not valid; the message has the line and column.
    """
    try:
        value = read_strictly(text)
    except json.JSONDecodeError as error:
        message = f"This is not valid JSON: line {error.lineno}, column {error.colno}: "
        raise ValidationError(message + _hint(text, error)) from None
    except RecursionError:
        raise ValidationError("This JSON is nested too deeply.") from None
    except ValueError as error:
        raise ValidationError(str(error)) from None
    for problem in json_problems(value):
        raise ValidationError(str(problem))
    return value


def _hint(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :].lstrip()
    if rest.startswith("'"):
        return 'texts need double quotes: "...".'
    if rest.startswith(("}", "]")) or not rest:
        return (
            "something is missing here, perhaps a value or a bracket, or there is an extra comma."
        )
    if rest[:5].lower().startswith(("true", "false", "none")):
        return "write true, false or null in lower case."
    return f"{fault_of(error)}."


def write_json(value: object) -> str:
    """Return JSON as text for people to edit."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _comparable(value: object) -> str:
    # As texts, because 1 equals true. An empty field means an empty object or list.
    return canonical(None if value in ({}, []) else value)


class JsonTextField(forms.CharField):
    """A text area of JSON; `kind` dict or list asks for an object or a list."""

    def __init__(self, *, kind: type | None = None, rows: int = 4, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": rows, "class": "ew-mono"})
        super().__init__(strip=False, **{"widget": widget, **kwargs})
        self.kind = kind

    def to_python(self, value: object) -> Any:
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if not isinstance(value, str):
            return value
        parsed = read_json(value)
        if self.kind is not None and not isinstance(parsed, self.kind):
            raise ValidationError(f"Write {_KINDS.get(self.kind, self.kind.__name__)}.")
        return parsed

    def run_validators(self, value: object) -> None:
        pass

    def prepare_value(self, value: object) -> object:
        return value if value is None or isinstance(value, str) else write_json(value)

    def has_changed(self, initial: object, data: object) -> bool:
        try:
            return _comparable(self.to_python(initial)) != _comparable(self.to_python(data))
        except ValidationError:
            return True
