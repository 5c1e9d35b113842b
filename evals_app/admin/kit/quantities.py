"""Fields for numbers of specs in readable units; the spec decides which field a number gets."""

from typing import Any

import annotated_types
from django import forms
from pydantic.fields import FieldInfo

from evals_app.engine.specs.base_spec import mark_of
from fixtures_app.editing.inputs import TextInput
from fixtures_app.editing.units import QuantityField, in_usual_unit

_BOUNDS: dict[str, Any] = {
    "ge": annotated_types.Ge,
    "gt": annotated_types.Gt,
    "le": annotated_types.Le,
    "lt": annotated_types.Lt,
}


def quantity(field: forms.Field, info: FieldInfo) -> forms.Field:
    """Return the field with its unit if the spec states one."""
    unit = mark_of(info, "unit")
    if not unit or isinstance(field, QuantityField):
        return field
    return QuantityField(
        unit,
        example=mark_of(info, "example") or None,
        is_whole=isinstance(field, forms.IntegerField) and not isinstance(field, forms.FloatField),
        bounds=bounds_of(info),
        label=in_usual_unit(str(field.label)),
        required=field.required,
        initial=field.initial,
        help_text=field.help_text,
        disabled=field.disabled,
        widget=_text_input(field.widget),
    )


def bounds_of(info: FieldInfo) -> dict[str, Any]:
    """Return the bounds of a number, by name."""
    return {
        name: getattr(bound, name)
        for bound in info.metadata
        for name, kind in _BOUNDS.items()
        if isinstance(bound, kind)
    }


def _text_input(widget: Any) -> forms.Widget:
    """Return an input for "90 %" that looks like the given one."""
    classes = widget.attrs.get("class")
    return TextInput({"class": classes} if classes else None)
