"""Rows of an agent's lists: an object as fields, or as YAML where fields cannot express it."""

import textwrap
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from evals_app.formats.reading.problems import FormatError, Loc, keys_text
from evals_app.formats.reading.yaml_source import read_yaml
from evals_app.formats.reading.yaml_text import write_yaml
from fixtures_app.editing.inputs import TextArea
from fixtures_app.editing.list_rows import ListRow, ListRows
from fixtures_app.ground.json_data import canonical

YAML = "yaml"
_KEY = "item"


class YamlObject(forms.CharField):
    """An object in YAML, as it is in files."""

    def __init__(self, **kwargs: Any) -> None:
        widget = TextArea({"rows": 6, "class": "ew-input ew-mono"})
        super().__init__(strip=False, widget=widget, **kwargs)

    def prepare_value(self, value: object) -> object:
        return write_yaml(value).decode() if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        text = str(value or "")
        if not text.strip():
            return None
        # In the document the object is under a key, one line further down.
        document = f"{_KEY}:\n{textwrap.indent(text, '  ')}"
        try:
            item = read_yaml("", document.encode()).data[_KEY]
        except FormatError as error:
            raise ValidationError(
                [
                    f"Line {max(problem.line - 1, 1)}: {problem.message}"
                    for problem in error.problems
                ]
            ) from None
        if not isinstance(item, dict):
            raise ValidationError("Write keys with values, for example name: orders.find.")
        return item

    def run_validators(self, value: object) -> None:
        pass


class ItemRow(ListRow):
    """An object with a field for each part, or with one text area of YAML."""

    places: ClassVar[Mapping[str, str]] = {}  # keys of the object -> fields

    yaml = YamlObject(
        label="In YAML",
        help_text="This one uses options that the form does not have. It is kept as it is.",
        error_messages={"required": "Write it in YAML, or remove this row."},
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        stored = self.initial_item
        is_yaml = stored is not None and not self.expresses(stored)
        if self.is_bound:
            is_yaml = self.add_prefix(YAML) in self.data
        self.is_yaml = is_yaml
        for name in list(self.fields):
            if name != "position" and (name == YAML) != is_yaml:
                del self.fields[name]

    @classmethod
    def fields_of(cls, item: object) -> dict[str, object]:
        return {YAML: item, **(cls.split(item) if cls.expresses(item) else {})}

    @classmethod
    def split(cls, item: Any) -> dict[str, Any]:
        """Return the value of each field."""
        raise NotImplementedError

    @classmethod
    def join(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object with these values of fields."""
        raise NotImplementedError

    @classmethod
    def expresses(cls, item: object) -> bool:
        """Whether the fields give back exactly this object."""
        try:
            return canonical(cls.join(cls.read_back(cls.split(item)))) == canonical(item)
        except (AttributeError, LookupError, TypeError, ValueError, ValidationError):
            return False

    @classmethod
    def read_back(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values as fields of lines and rows would read them from the page."""
        read: dict[str, Any] = {}
        for name, value in values.items():
            field: Any = cls.base_fields[name]
            if isinstance(field, ListRows):
                read[name] = [_through(field.row, item) for item in value]
            elif hasattr(field, "to_lines"):
                read[name] = field.read(field.prepare_value(value))
            else:
                read[name] = value
        return read

    def read(self) -> Any:
        return self.cleaned_data[YAML] if self.is_yaml else self.join(self.cleaned_data)

    def put(self, loc: Loc, message: str) -> None:
        if self.is_yaml:
            self.add_error(YAML, f"{keys_text(loc)}: {message}" if loc else message)
            return
        field = self.places.get(str(loc[0])) if loc else None
        inside = self.fields.get(field) if field else None
        if isinstance(inside, ListRows) and len(loc) > 1 and isinstance(loc[1], int):
            inside.formset.kept_rows[loc[1]].put(loc[2:], message)
            return
        self.add_error(field, message if field else f"{keys_text(loc)}: {message}")


def _through(row: Any, item: Any) -> object:
    """Return an object as a row gives it back."""
    return row.join(row.read_back(row.split(item)))


def without_blanks(values: Mapping[str, object]) -> dict[str, object]:
    """Return the mapping without blank values."""
    return {key: value for key, value in values.items() if value not in (None, "", [], {})}
