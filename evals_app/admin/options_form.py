"""The form of a check's options, made from its grader: a new grader needs nothing here.

Annotations without a matching input become a text area for JSON.
"""

import json
import types
import typing
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar, Literal, get_args, get_origin

import annotated_types
from django import forms
from django.utils import numberformat
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from evals_app.admin.blocks import RecordBlocks
from evals_app.admin.choices import Choices
from evals_app.admin.lines import (
    VALUE_HELP,
    ChosenTexts,
    Column,
    LinesField,
    MatcherLines,
    RecordLines,
    TextLines,
    read_value,
    write_value,
)
from evals_app.engine.graders import GRADERS, Grader
from evals_app.engine.matchers import Matcher
from evals_app.reports.assertions import FAMILIES
from fixtures_app.editing.inputs import CheckBox, NumberInput, Select, TextArea, TextInput
from fixtures_app.editing.json_field import JsonTextField

_VALUES_HELP = f"{VALUE_HELP} Several values: a, b, c."
_MATCHER_MARK = get_args(Matcher)[1]  # marks such an option
_LONG = 60  # an example of this many characters gets a text area


class OwnText(forms.CharField):
    """A text kept as typed: two spaces in a row may matter."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, **kwargs)


class Prose(OwnText):
    """Required sentences, kept as typed; only spaces count as missing."""

    def to_python(self, value: Any) -> str:
        text = str(super().to_python(value))
        return text if text.strip() else ""


class _AsTyped(str):
    """A typed text, as opposed to a stored one."""

    __slots__ = ()


class _TypedField(forms.CharField):
    """Tells what was typed from what is stored."""

    def bound_data(self, data: Any, initial: Any) -> Any:
        return _AsTyped(data) if isinstance(data, str) else data


class NumberOrText(_TypedField):
    """A number if it reads as one, else a text; digits in quotes are a text."""

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, _AsTyped):
            return value
        is_plain = isinstance(value, str) and self.to_python(value) == value
        return value if is_plain else json.dumps(value, ensure_ascii=False)

    def to_python(self, value: Any) -> Any:
        text = str(super().to_python(value))
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(read, str):
            return read
        is_number = isinstance(read, int | float) and not isinstance(read, bool)
        return read if is_number and read - read == 0 else text  # NaN and Infinity are texts

    def has_changed(self, initial: Any, data: Any) -> bool:
        # Blank is None or an empty text; 0 is neither.
        values = (initial, self.to_python(data))
        before, after = (None if value == "" else value for value in values)
        return bool(before != after)

    def run_validators(self, value: Any) -> None:
        if isinstance(value, str):
            super().run_validators(value)


_UNSAID = object()  # the value of a blank input where null, "", [] and {} are values


class ValueText(_TypedField):
    """A value, or a matcher such as {"fuzzy": 5}, as `read_value` reads it; blank: `_UNSAID`."""

    def prepare_value(self, value: Any) -> Any:
        if value is _UNSAID:
            return ""
        return value if isinstance(value, _AsTyped) else write_value(value)

    def to_python(self, value: Any) -> Any:
        text = str(super().to_python(value))
        return read_value(text) if text.strip() else _UNSAID

    def validate(self, value: Any) -> None:
        if self.required and value is _UNSAID:
            raise forms.ValidationError(self.error_messages["required"], code="required")

    def has_changed(self, initial: Any, data: Any) -> bool:
        # As texts, because 1 == True.
        before = str(self.prepare_value(initial)).strip()
        return before != ("" if data is None else str(data).strip())

    def run_validators(self, value: Any) -> None:
        pass


class OptionsForm(forms.Form):
    """The options of one kind of check."""

    use_required_attribute = False
    check_kind: ClassVar[str]
    grader_class: ClassVar[type[Grader]]

    @property
    def help(self) -> str:
        """When such a check passes: the first line of the grader's docstring."""
        return (self.grader_class.__doc__ or "").strip().partition("\n")[0]

    @classmethod
    def name_of(cls, key: object) -> str | None:
        """Return the field of an option, by its key in files."""
        fields = cls.grader_class.model_fields.items()
        return next((name for name, info in fields if key == (info.alias or name)), None)

    def written(self) -> dict[str, Any]:
        """Return the options as in a file; blank ones are left out and take their defaults."""
        options = {}
        for name, info in self.grader_class.model_fields.items():
            if name not in self.cleaned_data:
                continue
            # A required list is passed even when empty, so that the grader refuses it.
            blank: tuple[Any, ...] = (None,) if info.is_required() else (None, "", [], {})
            if isinstance(self.fields[name], ValueText):
                blank = (_UNSAID,)
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


def initial_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored options by field name."""
    form = options_form_class(kind)
    return {name: value for key, value in options.items() if (name := form.name_of(key))}


def kind_choices() -> list[tuple[str, Any]]:
    """Return the kinds of checks in groups."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for kind, grader in GRADERS.items():
        groups.setdefault(FAMILIES[grader.family], []).append((kind, grader.label))
    in_order = [(title, groups[title]) for title in FAMILIES.values() if title in groups]
    return [("", "Choose a check…"), *in_order]


def option_field(name: str, info: FieldInfo, example: Any = None) -> forms.Field:
    """Make the form field of one option."""
    annotation, is_optional = _without_none(info.annotation)
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    common: dict[str, Any] = {
        "label": info.title or name.replace("_", " ").capitalize(),
        "help_text": info.description or "",
        "required": info.is_required(),
        "initial": default,
    }
    origin = get_origin(annotation)
    if annotation is bool and not is_optional:
        return forms.BooleanField(**common | {"required": False}, widget=CheckBox())
    if annotation is bool or origin is Literal:
        values = [True, False] if annotation is bool else list(get_args(annotation))
        return _choice(values, common)
    if origin is list:
        return _lines(annotation, common, example, offers=str(extra.get("offers", "")))
    if origin is dict:
        return _mapping(annotation, common)
    if _MATCHER_MARK in info.metadata:
        help_text = f"{common['help_text']} {VALUE_HELP}".strip()
        return ValueText(
            **common | {"help_text": help_text, "initial": _UNSAID}, widget=_input(example)
        )
    if annotation in (int, float, Decimal):
        return _number(annotation, info, common)
    if annotation is str:
        return _text(info, common, extra, example)
    if origin in (types.UnionType, typing.Union) and set(get_args(annotation)) <= {int, float, str}:
        return NumberOrText(**_with_default(common), widget=_input(example))
    return _json(common)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in (types.UnionType, typing.Union):
        return annotation, False
    members = [member for member in get_args(annotation) if member is not type(None)]
    is_optional = len(members) < len(get_args(annotation))
    if len(members) == 1:
        (only,) = members
        # The grader checks bounds; the input follows from the bare type.
        return (get_args(only)[0] if get_origin(only) is typing.Annotated else only), is_optional
    joined: Any = typing.Union[tuple(members)]  # noqa: UP007 - made at run time
    return joined, is_optional


def _input(example: Any = None) -> TextInput:
    is_short = isinstance(example, str | int | float)
    return TextInput({"placeholder": f"for example {example}"} if is_short else None)


def _written(value: Any) -> Any:
    """Write a small number without an exponent: 0.000001, not 1e-06."""
    return numberformat.format(value, ".") if isinstance(value, float) else value


class _PlainNumberInput(NumberInput):
    def format_value(self, value: Any) -> str | None:
        return super().format_value(_written(value))


def _with_default(common: dict[str, Any]) -> dict[str, Any]:
    """Add the default to the help text, if there is one."""
    if common["required"] or common["initial"] in (None, ""):
        return common
    means = f"Leave blank for {_written(common['initial'])}."
    return common | {"help_text": f"{common['help_text']} {means}".strip()}


def _choice(values: list[Any], common: dict[str, Any]) -> forms.Field:
    by_text = {str(value): value for value in values}
    words = {"True": "Yes", "False": "No"}
    choices = [
        (text, words.get(text, text.replace("_", " ").capitalize() if text.islower() else text))
        for text in by_text
    ]
    if common["initial"] is None:
        choices.insert(0, ("", "Choose…" if common["required"] else "Either"))

    def coerce(chosen: Any) -> Any:
        return by_text[str(chosen)]

    return forms.TypedChoiceField(
        choices=choices, coerce=coerce, empty_value=None, widget=Select(), **common
    )


def _lines(annotation: Any, common: dict[str, Any], example: Any, *, offers: str) -> forms.Field:
    (item,) = get_args(annotation)
    if get_origin(item) is typing.Annotated:
        item = get_args(item)[0]
    shown = common | {"required": False}
    if item is str:
        first = example[0] if isinstance(example, list) and example else ""
        placeholder = f"for example {first}" if first else ""
        return TextLines(placeholder=placeholder, offers=offers, **shown)
    if get_origin(item) is Literal:
        choices = [(value, value.replace("_", " ").capitalize()) for value in get_args(item)]
        return forms.MultipleChoiceField(choices=choices, widget=Choices(), **shown)
    kinds = get_args(item) or (item,)
    models = [kind for kind in kinds if _is_model(kind)]
    if len(models) == 1 and all(_is_model(kind) or kind is str for kind in kinds):
        takes_text = str in kinds or _reads_text(models[0])
        return _records(models[0], shown, takes_text=takes_text, opens=common["required"])
    return _json(common)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _records(
    model: type[BaseModel], common: dict[str, Any], *, takes_text: bool, opens: bool
) -> LinesField:
    """Make one column per key; matchers become lines inside a block, the rest JSON."""
    columns: list[Column] = []
    json_keys, number_keys = set(), set()
    blocks: dict[str, MatcherLines] = {}
    for name, info in model.model_fields.items():
        key = info.alias or name
        label = info.title or name.capitalize()
        annotation, _ = _without_none(info.annotation)
        if get_origin(annotation) is Literal:
            choices = tuple((str(value), str(value)) for value in get_args(annotation))
            usual = "" if info.is_required() else str(info.default or "")
            columns.append(Column(key, label, kind="select", choices=choices, usual=usual))
        elif annotation is str:
            extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
            columns.append(Column(key, label, offers=str(extra.get("offers", ""))))
        elif annotation is int:
            number_keys.add(key)
            usual = "" if info.is_required() else f"{info.default or ''}"
            columns.append(Column(key, label, placeholder=usual))
        elif _is_of_matchers(annotation) and not blocks:
            noun = label.removesuffix("s")
            blocks[key] = MatcherLines(noun=noun, label=label, help_text=_VALUES_HELP)
        else:
            json_keys.add(key)
            columns.append(
                Column(key, label, placeholder=f"{label} (JSON, or leave blank for any)")
            )
    common |= {
        "json_keys": frozenset(json_keys),
        "number_keys": frozenset(number_keys),
        "bare_key": next(iter(model.model_fields)) if takes_text else "",
    }
    if not blocks:
        return RecordLines(columns, **common)
    ((key, inner),) = blocks.items()
    return RecordBlocks(columns, inner_key=key, inner=inner, opens=opens, **common)


def _reads_text(model: type[BaseModel]) -> bool:
    """Whether a text alone is a valid object, as a tool name is a valid call."""
    try:
        model.model_validate("text")
    except ValidationError:
        return False
    return True


def _is_of_matchers(annotation: Any) -> bool:
    return get_origin(annotation) is dict and get_args(annotation)[1:] == (Matcher,)


def _mapping(annotation: Any, common: dict[str, Any]) -> forms.Field:
    if _is_of_matchers(annotation):
        help_text = f"Conditions on arguments. {_VALUES_HELP}"
        return MatcherLines(**common | {"required": False, "help_text": help_text})
    keys = get_args(annotation)[0] if get_args(annotation) else None
    if get_origin(keys) is Literal:
        return ChosenTexts(get_args(keys), key_label="Grade", **common | {"required": False})
    return _json(common, kind=dict)


def _number(kind: type, info: FieldInfo, common: dict[str, Any]) -> forms.Field:
    field_class: Any = forms.IntegerField if kind is int else forms.FloatField
    return field_class(
        min_value=_bound(info, annotated_types.Ge, "ge"),
        max_value=_bound(info, annotated_types.Le, "le"),
        widget=_PlainNumberInput(),
        **_with_default(common),
    )


def _bound(info: FieldInfo, mark: type, name: str) -> Any:
    """Return a bound of an option; None if it has none of this kind."""
    return next((getattr(bound, name) for bound in info.metadata if isinstance(bound, mark)), None)


def _text(
    info: FieldInfo, common: dict[str, Any], extra: Mapping[str, Any], example: Any
) -> forms.Field:
    mono = " ts-mono" if extra.get("mono") else ""
    rows = extra.get("rows") or (2 if isinstance(example, str) and len(example) > _LONG else None)
    widget: forms.Widget = _input(example)
    if rows:
        widget = TextArea({"rows": rows, "placeholder": f"for example {example}"})
    widget.attrs["class"] = f"ts-input{mono}"
    if offers := extra.get("offers"):
        widget.attrs["list"] = f"ts-{offers}"
    text_class = Prose if rows and common["required"] else OwnText
    return text_class(
        max_length=_bound(info, annotated_types.MaxLen, "max_length"),
        widget=widget,
        **_with_default(common),
    )


def _json(common: dict[str, Any], kind: type | None = None) -> JsonTextField:
    help_text = f"{common['help_text']} In JSON.".strip()
    widget = TextArea({"rows": 4, "class": "ts-input ts-mono"})
    return JsonTextField(kind=kind, **common | {"help_text": help_text}, widget=widget)
