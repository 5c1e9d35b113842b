"""Fields for amounts of money, and for numbers of specs in readable units."""

from decimal import Decimal
from typing import Any

import annotated_types
from django import forms
from pydantic.fields import FieldInfo

from evals_app.engine.specs.base_spec import mark_of
from evals_app.models.fields.money import DIGITS, PLACES
from fixtures_app.editing.inputs import TextInput
from fixtures_app.editing.units import QuantityField, in_usual_unit


class UsdInput(forms.DecimalField):
    """An amount in USD, shown without trailing zeros."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_digits=DIGITS, decimal_places=PLACES, **kwargs)

    def prepare_value(self, value: object) -> object:
        return f"{value.normalize():f}" if isinstance(value, Decimal) else value


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
