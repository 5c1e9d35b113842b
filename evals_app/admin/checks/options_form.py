"""The form of a check's options, made from its grader: a new grader needs nothing here.

Annotations without a matching input become a text area for JSON.
"""

import types
import typing
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args, get_origin

import annotated_types
from django import forms
from django.utils import numberformat
from django.utils.html import format_html
from django.utils.safestring import SafeString
from pydantic.fields import FieldInfo

from evals_app.admin.checks.option_lines import (
    json_option,
    list_option,
    mapping_option,
    without_none,
)
from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.lines import list_of
from evals_app.admin.kit.number_or_text import NumberOrText
from evals_app.admin.kit.quantities import bounds_of
from evals_app.admin.kit.value_lines import UNSAID, VALUE_HELP, MatcherField
from evals_app.engine.basics.matchers import Matcher
from evals_app.engine.graders import GRADERS, Grader
from evals_app.engine.specs.base_spec import mark_of
from fixtures_app.editing.inputs import CheckBox, NumberInput, Select, TextArea, TextInput
from fixtures_app.editing.rows import RowField
from fixtures_app.editing.units import UNITS, QuantityField, in_usual_unit

_MATCHER_MARK = get_args(Matcher)[1]  # marks such an option
_LONG = 60  # an example of this many characters gets a text area


class SelectWithExamples(Select):
    """A choice with examples below it; check_trying.js has them graded."""

    def render(
        self,
        name: str,
        value: object,
        attrs: Mapping[str, object] | None = None,
        renderer: object = None,
    ) -> SafeString:
        key = f"{(attrs or {}).get('id', name)}_example"
        select = super().render(name, value, {**(attrs or {}), "aria-describedby": key}, renderer)
        return format_html('{}<p class="ew-help" id="{}" data-examples></p>', select, key)


class OwnText(forms.CharField):
    """A text kept as typed: two spaces in a row may matter."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)


class Prose(OwnText):
    """Required sentences, kept as typed; only spaces count as missing."""

    def to_python(self, value: object) -> str:
        text = str(super().to_python(value))
        return text if text.strip() else ""


class OptionsForm(forms.Form):
    """The options of one kind of check."""

    use_required_attribute = False
    bound_field_class = RowField
    check_kind: ClassVar[str]
    grader_class: ClassVar[type[Grader]]

    @property
    def help(self) -> str:
        """When a check of this kind passes: the first line of the grader's docstring."""
        return (self.grader_class.__doc__ or "").strip().partition("\n")[0]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in self._advanced_fields]

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        """The options that are rarely set."""
        return [self[name] for name in self.fields if name in self._advanced_fields]

    @property
    def has_advanced(self) -> bool:
        """Whether a rarely set option is set or invalid, so it must not be folded away."""
        fields = self.grader_class.model_fields
        return any(
            field.name in self.errors
            if self.is_bound
            else field.name in self.initial
            and self.initial[field.name]
            != fields[field.name].get_default(call_default_factory=True)
            for field in self.advanced_fields
        )

    @property
    def _advanced_fields(self) -> set[str]:
        fields = self.grader_class.model_fields.items()
        return {name for name, info in fields if mark_of(info, "advanced")}

    @classmethod
    def name_of(cls, key: object) -> str | None:
        """Return the field of an option, by its key in files."""
        fields = cls.grader_class.model_fields.items()
        return next((name for name, info in fields if key == (info.alias or name)), None)

    def to_mapping(self) -> dict[str, Any]:
        """Return the options as in a file; blank ones are left out and take their defaults."""
        options = {}
        for name, info in self.grader_class.model_fields.items():
            if name not in self.cleaned_data:
                continue
            # A required list is passed even when empty, so that the grader refuses it.
            blank: tuple[object, ...] = (None,) if info.is_required() else (None, "", [], {})
            if isinstance(self.fields[name], MatcherField):
                blank = (UNSAID,)
            if (value := self.cleaned_data[name]) not in blank:
                options[info.alias or name] = value
        return options


@cache
def options_form_class(kind: str) -> type[OptionsForm]:
    """Make the form class of a kind of check."""
    grader = GRADERS[kind]
    fields = {
        name: option_field(name, info, grader.example.get(info.alias or name))
        for name, info in grader.model_fields.items()
    }
    return type(
        f"{grader.__name__}OptionsForm",
        (OptionsForm,),
        {"check_kind": kind, "grader_class": grader, **fields},
    )


def initial_options(kind: str, options: Mapping[str, object]) -> dict[str, object]:
    """Return the stored options by field name."""
    form = options_form_class(kind)
    return {name: value for key, value in options.items() if (name := form.name_of(key))}


def option_field(name: str, info: FieldInfo, example: Any = None) -> forms.Field:
    """Make the form field of one option."""
    annotation, is_optional = without_none(info.annotation)
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    common: dict[str, Any] = {
        "label": info.title or name.replace("_", " ").capitalize(),
        "help_text": info.description or "",
        "required": info.is_required(),
        "initial": default,
    }
    names = mark_of(info, "names")
    words: Any = mark_of(info, "words") or {}
    origin = get_origin(annotation)
    if annotation is bool and not is_optional:
        return forms.BooleanField(**common | {"required": False}, widget=CheckBox())
    if annotation is bool or origin is Literal:
        values = [True, False] if annotation is bool else list(get_args(annotation))
        return _choice(values, common, words, has_examples=bool(mark_of(info, "reply_examples")))
    if words and origin is list:
        return _several(words, common)
    if origin is list:
        return list_option(annotation, common, example, names=names)
    if origin is dict:
        return mapping_option(annotation, common, names=names)
    if _MATCHER_MARK in info.metadata:
        return MatcherField(**common | {"help_text": VALUE_HELP, "initial": UNSAID})
    if annotation in (int, float, Decimal):
        return _number(annotation, info, common)
    if annotation is str:
        return _text(info, common, example)
    if origin in (types.UnionType, typing.Union) and set(get_args(annotation)) <= {int, float, str}:
        return NumberOrText(**_with_default(common), widget=_input(example))
    return json_option(common)


def _input(example: object = None) -> TextInput:
    is_short = isinstance(example, str | int | float)
    return TextInput({"placeholder": f"for example {example}"} if is_short else None)


def _plain_number(value: object) -> object:
    """Write a small number without an exponent: 0.000001, not 1e-06."""
    return numberformat.format(value, ".") if isinstance(value, float) else value


class _PlainNumberInput(NumberInput):
    def format_value(self, value: object) -> str | None:
        return super().format_value(_plain_number(value))


def _with_default(
    common: dict[str, object], write: Callable[[Any], Any] = _plain_number
) -> dict[str, Any]:
    """Add the default to the help text, if there is one."""
    if common["required"] or common["initial"] in (None, ""):
        return common
    means = f"Leave blank for {write(common['initial'])}."
    return common | {"help_text": f"{common['help_text']} {means}".strip()}


def _several(words: Mapping[str, str], common: dict[str, Any]) -> forms.Field:
    shown = common | {"required": False}
    return forms.MultipleChoiceField(choices=list(words.items()), widget=Choices(), **shown)


def _choice(
    values: list[Any],
    common: dict[str, Any],
    words: Mapping[str, str] = MappingProxyType({}),
    *,
    has_examples: bool = False,
) -> forms.Field:
    by_text = {str(value): value for value in values}
    words = {"True": "Yes", "False": "No", **words}
    choices = [
        (text, words.get(text, text.replace("_", " ").capitalize() if text.islower() else text))
        for text in by_text
    ]
    if common["initial"] is None:
        choices.insert(0, ("", "Choose…" if common["required"] else "Either"))

    def coerce(chosen: object) -> object:
        return by_text[str(chosen)]

    widget = SelectWithExamples() if has_examples else Select()
    return forms.TypedChoiceField(
        choices=choices, coerce=coerce, empty_value=None, widget=widget, **common
    )


def _number(kind: type, info: FieldInfo, common: dict[str, Any]) -> forms.Field:
    field_class = forms.IntegerField if kind is int else forms.FloatField
    bounds = bounds_of(info)
    if unit := mark_of(info, "unit"):
        common |= {"label": in_usual_unit(common["label"])}
        return QuantityField(
            unit,
            example=mark_of(info, "example") or None,
            is_whole=kind is int,
            bounds=bounds,
            **_with_default(common, UNITS[unit].to_text),
        )
    return field_class(
        min_value=bounds.get("ge"),
        max_value=bounds.get("le"),
        widget=_PlainNumberInput(),
        **_with_default(common),
    )


def _text(info: FieldInfo, common: dict[str, Any], example: Any) -> forms.Field:
    mono = " ew-mono" if mark_of(info, "mono") else ""
    rows = mark_of(info, "rows") or (
        2 if isinstance(example, str) and len(example) > _LONG else None
    )
    widget: forms.Widget = _input(example)
    if rows:
        widget = TextArea({"rows": rows, "placeholder": f"for example {example}"})
    widget.attrs["class"] = f"ew-input{mono}"
    if names := mark_of(info, "names"):
        widget.attrs["list"] = list_of(names)
    text_class = Prose if rows and common["required"] else OwnText
    return text_class(
        max_length=next(
            (mark.max_length for mark in info.metadata if isinstance(mark, annotated_types.MaxLen)),
            None,
        ),
        widget=widget,
        **_with_default(common),
    )
