"""Inputs of values in a grid: one for each kind of field; none loses typed text."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django import forms
from django.utils.safestring import SafeString

from fixtures_app.editing.inputs import CheckBox, Select, TextArea, TextInput
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.ground.field_table import Field, FieldKind


class DateInput(TextInput):
    """A date. Browsers would drop an invalid value, so that is shown as text."""

    def _render(
        self, template_name: str, context: TemplateContext, renderer: object = None
    ) -> SafeString:
        if _is_date(context["widget"]["value"]):
            context["widget"]["type"] = "date"
        return super()._render(template_name, context, renderer)


class ChoiceInput(Select):
    """One of several. A value outside of them is offered as well, so that it stays visible."""

    def render(
        self, name: str, value: Any, attrs: dict[str, object] | None = None, renderer: Any = None
    ) -> SafeString:
        choices = list(self.choices)
        if value and value not in dict(choices):
            choices.append((value, value))
        other = type(self)(self.attrs)
        other.choices = choices
        return Select.render(other, name, value, attrs, renderer)


class CellField(forms.CharField):
    """The text of a value; the row reads it, because it knows the stored value."""

    def __init__(self, one: Field) -> None:
        super().__init__(required=False, strip=False, label=one.name, widget=_widget(one))


class FlagField(forms.BooleanField):
    """A value that is true or false."""

    def __init__(self, one: Field) -> None:
        widget = CheckBox({"aria-label": one.name})
        super().__init__(required=False, label=one.name, widget=widget)


def cell_field(one: Field) -> forms.Field:
    """Return the field of a form for values of a field of an entity type."""
    is_flag = one.kind is FieldKind.YES_NO and one.is_required
    return FlagField(one) if is_flag else CellField(one)


def _widget(one: Field) -> forms.Widget:
    attrs: dict[str, object] = {"aria-label": one.name}
    match one.kind:
        case FieldKind.NUMBER:
            return TextInput(attrs | {"inputmode": "decimal"})
        case FieldKind.WHOLE:
            return TextInput(attrs | {"inputmode": "numeric"})
        case FieldKind.YES_NO:
            return _select(attrs, [("true", "Yes"), ("false", "No")])
        case FieldKind.CHOICE:
            return _select(attrs, [(choice, choice) for choice in one.choices])
        case FieldKind.DATE:
            return DateInput(attrs)
        case FieldKind.TIME:
            return TextInput(attrs | {"placeholder": "14:30"})
        case FieldKind.DATE_TIME:
            return TextInput(attrs | {"placeholder": "2026-05-01T09:30:00Z"})
        case FieldKind.LONG_TEXT:
            return TextArea(attrs | {"rows": 1})
        case FieldKind.TEXTS:
            return TextArea(attrs | {"rows": 1, "placeholder": "One per line"})
        case _:
            return TextInput(attrs)


def _select(attrs: Mapping[str, object], choices: list[tuple[str, str]]) -> ChoiceInput:
    widget = ChoiceInput(attrs)
    widget.choices = [("", ""), *choices]
    return widget


def _is_date(value: object) -> bool:
    try:
        return not value or bool(date.fromisoformat(str(value)))
    except ValueError:
        return False
