"""The table of fields on the page of an entity type."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms import BaseFormSet, formset_factory

from fixtures_app.editing.inputs import CheckBox, HiddenInput, Select, TextArea, TextInput
from fixtures_app.editing.rows import InOrder, PositionField, RowState
from fixtures_app.ground.field_table import (
    LABELS,
    Field,
    FieldKind,
    FieldTable,
    choices_in,
    field_of,
)
from fixtures_app.ground.field_table import schema_of_field as schema_of_one
from fixtures_app.ground.quoting import cut_middle
from fixtures_app.ground.strict_json import read_strictly

_KINDS = [(kind.value, label) for kind, label in LABELS.items() if kind is not FieldKind.OTHER]
_REST_CHARS = 80


class FieldRow(RowState, forms.Form):
    """A field; `kept` is the schema that it had when the page was opened."""

    position = PositionField()
    name = forms.CharField(max_length=100, widget=TextInput)
    kind = forms.ChoiceField(label="Kind", widget=Select, choices=_KINDS)
    is_required = forms.BooleanField(label="Required", required=False, widget=CheckBox)
    choices = forms.CharField(
        label="Choices",
        required=False,
        widget=TextArea({"rows": 1, "placeholder": "open, shipped"}),
    )
    note = forms.CharField(label="Note or example", required=False, widget=TextInput, strip=False)
    kept = forms.CharField(required=False, widget=HiddenInput)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.empty_permitted = False  # an added row counts, even if it is empty
        for name in ("name", "kind", "is_required", "choices", "note"):
            self.fields[name].widget.attrs["aria-label"] = self.fields[name].label or "Name"
        self.origin = _origin(self["kept"].value())
        if self.origin is not None and self.origin.kind is FieldKind.OTHER:
            choices: Any = self.fields["kind"]
            choices.choices = [*_KINDS, (FieldKind.OTHER.value, LABELS[FieldKind.OTHER])]

    @property
    def rest_text(self) -> str:
        """The rules of the field that the table does not show."""
        rest = dict(self.origin.rest) if self.origin else {}
        text = json.dumps(rest.get("", rest), ensure_ascii=False)
        return cut_middle(text.strip("{}"), _REST_CHARS) if rest else ""

    def clean_choices(self) -> tuple[str, ...]:
        stored = self.origin.choices if self.origin else ()
        choices = choices_in(self.cleaned_data["choices"], stored=stored)
        if self.cleaned_data.get("kind") != FieldKind.CHOICE:
            return ()
        if not choices:
            raise ValidationError("Write the choices, one per line or separated by commas.")
        if len(set(choices)) < len(choices):
            raise ValidationError("A choice appears twice.")
        return choices

    def to_field(self) -> Field:
        """Return the field of a valid row."""
        values = self.cleaned_data
        kind = FieldKind(values["kind"])
        is_same = self.origin is not None and self.origin.kind is kind
        return Field(
            values["name"],
            kind,
            values["is_required"],
            values["choices"],
            values["note"].strip(),
            self.origin.rest if is_same and self.origin else {},
        )


def _origin(kept: str | None) -> Field | None:
    try:
        return field_of("", read_strictly(kept)) if kept else None
    except (ValueError, RecursionError):
        return None


class FieldRows(InOrder, BaseFormSet):
    """The fields of an entity type, in the order of the screen."""

    row_name = "field"

    def is_valid(self) -> bool:
        # Removed rows are not checked.
        is_clean = self.is_bound and not self.non_form_errors()
        return is_clean and not any(row.errors for row in self.kept_rows)

    def clean(self) -> None:
        taken: set[str] = set()
        for row in self.kept_rows:
            name = row.cleaned_data.get("name") if hasattr(row, "cleaned_data") else None
            if name in taken:
                row.add_error("name", f"Another field is called {name!r}.")
            taken |= {name} if name else set()

    def fields(self) -> tuple[Field, ...]:
        """Return the fields of valid rows."""
        return tuple(row.to_field() for row in self.kept_rows)


def field_rows(data: object, table: FieldTable) -> FieldRows:
    """Return the rows of a page that was opened or posted."""
    initial = [
        {
            "name": one.name,
            "kind": one.kind.value,
            "is_required": one.is_required,
            "choices": "\n".join(one.choices),
            "note": one.note,
            "kept": json.dumps(schema_of_one(one), ensure_ascii=False),
            "position": number,
        }
        for number, one in enumerate(table.fields)
    ]
    made: Any = formset_factory(FieldRow, formset=FieldRows, extra=0)
    rows: FieldRows = made(data, initial=initial, prefix="fields")
    return rows
