"""The form of a check's options, made from its grader: a new grader needs nothing here.

Annotations without a matching input become a text area for JSON.
"""

import json
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
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from evals_app.admin.blocks import RecordBlocks
from evals_app.admin.choices import Choices
from evals_app.admin.lines import ChosenTexts, Column, LinesField, RecordLines, TextLines, list_of
from evals_app.admin.quantities import bounds_of
from evals_app.admin.value_lines import (
    MATCHERS_HELP,
    UNSAID,
    VALUE_HELP,
    MatcherField,
    MatcherLines,
)
from evals_app.engine.graders import GRADERS, Grader
from evals_app.engine.matchers import Matcher
from evals_app.engine.spec import mark_of
from evals_app.reports.assertions import FAMILIES
from fixtures_app.editing.inputs import CheckBox, NumberInput, Select, TextArea, TextInput
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.units import UNITS, QuantityField, without_unit

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


def marks_of(info: FieldInfo) -> Mapping[str, Any]:
    """Return what a grader states about the input of an option."""
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}


class OptionsForm(forms.Form):
    """The options of one kind of check."""

    use_required_attribute = False
    check_kind: ClassVar[str]
    grader_class: ClassVar[type[Grader]]

    @property
    def help(self) -> str:
        """When such a check passes: the first line of the grader's docstring."""
        return (self.grader_class.__doc__ or "").strip().partition("\n")[0]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in self._advanced]

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        """The options that are rarely set."""
        return [self[name] for name in self.fields if name in self._advanced]

    @property
    def has_advanced(self) -> bool:
        """Whether a rarely set option is set or wrong, so that it must not be folded away."""
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
    def _advanced(self) -> set[str]:
        fields = self.grader_class.model_fields.items()
        return {name for name, info in fields if marks_of(info).get("advanced")}

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
    extra = marks_of(info)
    default = None if info.is_required() else info.get_default(call_default_factory=True)
    common: dict[str, Any] = {
        "label": info.title or name.replace("_", " ").capitalize(),
        "help_text": info.description or "",
        "required": info.is_required(),
        "initial": default,
    }
    names = mark_of(extra, "names")
    words: Any = extra.get("words", {})
    origin = get_origin(annotation)
    if annotation is bool and not is_optional:
        return forms.BooleanField(**common | {"required": False}, widget=CheckBox())
    if annotation is bool or origin is Literal:
        values = [True, False] if annotation is bool else list(get_args(annotation))
        return _choice(values, common, words)
    if words and origin is list:
        return _several(words, common)
    if origin is list:
        return _lines(annotation, common, example, names=names)
    if origin is dict:
        return _mapping(annotation, common, names=names)
    if _MATCHER_MARK in info.metadata:
        return MatcherField(**common | {"help_text": VALUE_HELP, "initial": UNSAID})
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


def _with_default(common: dict[str, Any], write: Callable[[Any], Any] = _written) -> dict[str, Any]:
    """Add the default to the help text, if there is one."""
    if common["required"] or common["initial"] in (None, ""):
        return common
    means = f"Leave blank for {write(common['initial'])}."
    return common | {"help_text": f"{common['help_text']} {means}".strip()}


def _several(words: Mapping[str, str], common: dict[str, Any]) -> forms.Field:
    shown = common | {"required": False}
    return forms.MultipleChoiceField(choices=list(words.items()), widget=Choices(), **shown)


def _choice(
    values: list[Any], common: dict[str, Any], words: Mapping[str, str] = MappingProxyType({})
) -> forms.Field:
    by_text = {str(value): value for value in values}
    words = {"True": "Yes", "False": "No", **words}
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


def _lines(annotation: Any, common: dict[str, Any], example: Any, *, names: str) -> forms.Field:
    (item,) = get_args(annotation)
    if get_origin(item) is typing.Annotated:
        item = get_args(item)[0]
    shown = common | {"required": False}
    if item is str:
        first = example[0] if isinstance(example, list) and example else ""
        placeholder = f"for example {first}" if first else ""
        return TextLines(placeholder=placeholder, names=names, **shown)
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
            words: Any = marks_of(info).get("words", {})
            values = map(str, get_args(annotation))
            choices = tuple((value, words.get(value, value)) for value in values)
            usual = "" if info.is_required() else str(info.default or "")
            columns.append(Column(key, label, kind="select", choices=choices, usual=usual))
        elif annotation is str:
            columns.append(Column(key, label, names=mark_of(info.json_schema_extra, "names")))
        elif annotation is int:
            number_keys.add(key)
            usual = "" if info.is_required() else f"{info.default or ''}"
            columns.append(Column(key, label, placeholder=usual))
        elif _is_of_matchers(annotation) and not blocks:
            noun = label.removesuffix("s")
            blocks[key] = MatcherLines(
                noun=noun,
                names=mark_of(info.json_schema_extra, "names"),
                label=label,
                help_text=MATCHERS_HELP,
            )
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


def _mapping(annotation: Any, common: dict[str, Any], *, names: str) -> forms.Field:
    if _is_of_matchers(annotation):
        return MatcherLines(names=names, **common | {"required": False, "help_text": MATCHERS_HELP})
    keys = get_args(annotation)[0] if get_args(annotation) else None
    if get_origin(keys) is Literal:
        return ChosenTexts(get_args(keys), key_label="Grade", **common | {"required": False})
    return _json(common, kind=dict)


def _number(kind: type, info: FieldInfo, common: dict[str, Any]) -> forms.Field:
    field_class: Any = forms.IntegerField if kind is int else forms.FloatField
    bounds = bounds_of(info)
    if unit := mark_of(info.json_schema_extra, "unit"):
        common |= {"label": without_unit(common["label"])}
        return QuantityField(
            unit,
            example=mark_of(info.json_schema_extra, "example") or None,
            is_whole=kind is int,
            bounds=bounds,
            **_with_default(common, UNITS[unit].written),
        )
    return field_class(
        min_value=bounds.get("ge"),
        max_value=bounds.get("le"),
        widget=_PlainNumberInput(),
        **_with_default(common),
    )


def _text(
    info: FieldInfo, common: dict[str, Any], extra: Mapping[str, Any], example: Any
) -> forms.Field:
    mono = " ts-mono" if extra.get("mono") else ""
    rows = extra.get("rows") or (2 if isinstance(example, str) and len(example) > _LONG else None)
    widget: forms.Widget = _input(example)
    if rows:
        widget = TextArea({"rows": rows, "placeholder": f"for example {example}"})
    widget.attrs["class"] = f"ts-input{mono}"
    if names := mark_of(extra, "names"):
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


def _json(common: dict[str, Any], kind: type | None = None) -> JsonTextField:
    help_text = f"{common['help_text']} In JSON.".strip()
    widget = TextArea({"rows": 4, "class": "ts-input ts-mono"})
    return JsonTextField(kind=kind, **common | {"help_text": help_text}, widget=widget)
