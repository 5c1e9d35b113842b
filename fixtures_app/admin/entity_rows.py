"""The entities of a fixture: a row of cells for each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from fixtures_app.admin.fixture_rows import FixtureRowForm
from fixtures_app.editing.cells import CellField, cell_field
from fixtures_app.editing.inputs import HiddenInput, TextInput
from fixtures_app.ground.cells import read_cell, write_cell
from fixtures_app.ground.field_table import LABELS, Field, FieldKind, fields_of
from fixtures_app.ground.json_data import json_problems
from fixtures_app.ground.schemas import located_misfits
from fixtures_app.ground.strict_json import Json
from fixtures_app.ground.words import near
from fixtures_app.models import Entity

_MISSING = object()


def cell_name(name: str) -> str:
    """Return the name of a cell's input, as the page makes it for a new column."""
    return "cell-" + quote(name, safe="!'()*~")


@dataclass(frozen=True)
class EntityColumn:
    """A column of a sheet; `is_named` if the type's schema defines the field."""

    one: Field
    is_named: bool
    hint: str  # the field that was probably meant
    cell: forms.Field

    @property
    def name(self) -> str:
        return self.one.name

    @property
    def label(self) -> str:
        """What the cells contain."""
        return LABELS[self.one.kind] if self.one.kind is not FieldKind.OTHER else "Any"

    @property
    def explains(self) -> str:
        return self.one.note


@dataclass(frozen=True)
class EntitySheet:
    """The grid of one entity type."""

    slug: str
    schema: Mapping[str, Any] | None  # None if there is no such type
    columns: Mapping[str, EntityColumn] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether entities may have fields that the type does not name."""
        return (
            self.schema is not None and self.schema.get("additionalProperties", True) is not False
        )

    @property
    def unnamed_columns(self) -> list[EntityColumn]:
        """The columns that look like errors: the type defines fields, but not these."""
        is_named = any(column.is_named for column in self.columns.values())
        return [one for one in self.columns.values() if is_named and not one.is_named]

    @property
    def status_title(self) -> str:
        """The title of the status that every entity has; a type may have a field of that name."""
        return "Row status" if "status" in self.columns else "Status"

    @property
    def width(self) -> int:
        return len(self.columns) + 3


def make_sheet(
    slug: str, schema: Mapping[str, object] | None, stored: Iterable[object], posted: Iterable[str]
) -> EntitySheet:
    """Return the columns of a type: its fields, and further fields of its entities."""
    rows = [data for data in stored if isinstance(data, dict)]
    named = {one.name: one for one in fields_of(schema or {})}
    names = dict.fromkeys([*named, *(key for data in rows for key in data), *posted])
    columns = {}
    for name in names:
        one = named.get(name, Field(name, FieldKind.OTHER))
        values = [data[name] for data in rows if name in data]
        if any(write_cell(one.kind, value) is None for value in values):
            one = Field(name, FieldKind.OTHER, one.is_required, note=one.note)
        hint = "" if name in named else near(name, named)
        columns[name] = EntityColumn(one, name in named, hint, cell_field(one))
    return EntitySheet(slug, schema, columns)


class EntityForm(FixtureRowForm):
    """An entity of a fixture: its fields are those of its type."""

    kind = forms.CharField(label="Type", widget=HiddenInput)

    class Meta:
        model = Entity
        fields = ("ref", "status", "position")
        labels = {"ref": "Ref"}
        widgets = {
            "ref": TextInput({"aria-label": "Ref"}),
            "status": TextInput({"aria-label": "Status"}),
        }

    def __init__(self, *args: object, sheet: EntitySheet, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.sheet = sheet
        self.initial["kind"] = sheet.slug
        is_same = self.instance.type_id and self.instance.type.slug == sheet.slug
        self.stored: dict[str, Json] = self.instance.data if is_same else {}
        for name, column in sheet.columns.items():
            # Shared by all rows: nothing changes it.
            self.fields[cell_name(name)] = column.cell
            text = self._stored_text(name)
            is_text = isinstance(column.cell, CellField)
            self.initial[cell_name(name)] = text if is_text else text == "true"

    @property
    def place(self) -> str:
        """The name of the row in errors."""
        ref = self["ref"].value()
        return f"{self.sheet.slug} “{ref}”" if ref else f"{self.sheet.slug} without a ref"

    def _stored_text(self, name: str) -> str:
        """Return the text of the stored value."""
        if name not in self.stored:
            return ""
        return write_cell(self.sheet.columns[name].one.kind, self.stored[name]) or ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.sheet.schema is None:
            self.add_error(None, f"The entity type {self.sheet.slug!r} no longer exists.")
        read = {
            name: value
            for name, column in self.sheet.columns.items()
            if (value := self._read(column, cleaned.get(cell_name(name)))) is not _MISSING
        }
        # Existing keys keep their order.
        cleaned["data"] = {
            key: read[key] for key in dict.fromkeys([*self.stored, *read]) if key in read
        }
        self._check(cleaned["data"])
        return cleaned

    def _read(self, column: EntityColumn, typed: Any) -> Any:
        name, one = column.name, column.one
        text = str(typed).lower() if isinstance(typed, bool) else typed or ""
        if name in self.stored and text == self._stored_text(name):
            return self.stored[name]  # also an empty text
        if not text.strip() and one.kind is not FieldKind.LONG_TEXT:
            if one.is_required:
                self._add(name, "This field is required.")
            return _MISSING
        try:
            return read_cell(one, text)
        except ValueError as error:
            self._add(name, str(error))
            return _MISSING

    def _check(self, data: dict[str, Json]) -> None:
        """Compare the values with the schema, except those that already have an error."""
        problems = list(json_problems(data))
        if not problems and self.sheet.schema is not None:
            required = self.sheet.schema.get("required", [])
            left = [name for name in required if name not in self.sheet.columns]
            schema = {**self.sheet.schema, "required": left}
            problems = located_misfits(data, schema, whole="the entity")
        for problem in problems:
            name = str(problem.loc[0]) if problem.loc else ""
            if cell_name(name) not in self.errors:
                self._add(name, problem.message)

    def _add(self, name: str, message: str) -> None:
        self.add_error(cell_name(name) if name in self.sheet.columns else None, message)

    def to_mapping(self) -> dict[str, Any]:
        return {
            "ref": self._value("ref"),
            "type": self.sheet.slug,
            "status": self._value("status"),
            "data": self.cleaned_data.get("data", {}),
        }

    def cells(self) -> SafeString:
        """Return the row's cells. A template for each would take most of the time of a page."""
        names = ["ref", *(cell_name(name) for name in self.sheet.columns), "status"]
        return format_html_join("", "{}", ((self._cell(name),) for name in names))

    def _cell(self, name: str) -> SafeString:
        bound = self[name]
        problems = SafeString()
        if self.is_bound:
            found = list(bound.errors)
            if name == "ref":
                found += self.non_field_errors()
            line = '<p class="ew-error" id="{}_error">{}</p>'
            problems = format_html_join("", line, ((bound.auto_id, one) for one in found))
        before = self["kind"].as_widget() if name == "ref" else ""
        return format_html("<td>{}{}{}</td>", before, bound, problems)
