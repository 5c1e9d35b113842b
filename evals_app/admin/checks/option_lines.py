"""Options that are lists or mappings: the fields of several lines that fit their annotations."""

import types
import typing
from typing import Any, Literal, get_args, get_origin

from django import forms
from pydantic import BaseModel, ValidationError

from evals_app.admin.kit.blocks import RecordBlocks
from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.lines import KeyedTexts, LineColumn, LinesField, RecordLines, TextLines
from evals_app.admin.kit.value_lines import MATCHERS_HELP, MatcherLines
from evals_app.engine.basics.matchers import Matcher
from evals_app.engine.specs.base_spec import mark_of
from fixtures_app.editing.inputs import TextArea
from fixtures_app.editing.json_field import JsonTextField


def list_option(
    annotation: Any, common: dict[str, Any], example: Any, *, names: str
) -> forms.Field:
    """Make the field of a list: lines, check boxes, or JSON."""
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
    return json_option(common)


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _records(
    model: type[BaseModel], common: dict[str, Any], *, takes_text: bool, opens: bool
) -> LinesField:
    """Make one column per key; matchers become lines inside a block, the rest JSON."""
    columns: list[LineColumn] = []
    json_keys, number_keys = set(), set()
    blocks: dict[str, MatcherLines] = {}
    for name, info in model.model_fields.items():
        key = info.alias or name
        label = info.title or name.capitalize()
        annotation, _ = without_none(info.annotation)
        if get_origin(annotation) is Literal:
            words: Any = mark_of(info, "words") or {}
            values = map(str, get_args(annotation))
            choices = tuple((value, words.get(value, value)) for value in values)
            usual = "" if info.is_required() else str(info.default or "")
            columns.append(LineColumn(key, label, kind="select", choices=choices, usual=usual))
        elif annotation is str:
            columns.append(LineColumn(key, label, names=mark_of(info, "names")))
        elif annotation is int:
            number_keys.add(key)
            usual = "" if info.is_required() else f"{info.default or ''}"
            columns.append(LineColumn(key, label, placeholder=usual))
        elif _is_of_matchers(annotation) and not blocks:
            noun = label.removesuffix("s")
            blocks[key] = MatcherLines(
                noun=noun,
                names=mark_of(info, "names"),
                label=label,
                help_text=MATCHERS_HELP,
            )
        else:
            json_keys.add(key)
            columns.append(
                LineColumn(key, label, placeholder=f"{label} (JSON, or leave blank for any)")
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
    """Whether text alone is a valid object, as a tool name is a valid call."""
    try:
        model.model_validate("text")
    except ValidationError:
        return False
    return True


def _is_of_matchers(annotation: object) -> bool:
    return get_origin(annotation) is dict and get_args(annotation)[1:] == (Matcher,)


def mapping_option(annotation: object, common: dict[str, Any], *, names: str) -> forms.Field:
    """Make the field of a mapping: lines, or JSON."""
    if _is_of_matchers(annotation):
        return MatcherLines(names=names, **common | {"required": False, "help_text": MATCHERS_HELP})
    keys = get_args(annotation)[0] if get_args(annotation) else None
    if get_origin(keys) is Literal:
        return KeyedTexts(get_args(keys), key_label="Grade", **common | {"required": False})
    return json_option(common, kind=dict)


def json_option(common: dict[str, Any], kind: type | None = None) -> JsonTextField:
    """Make a text area for JSON."""
    help_text = f"{common['help_text']} In JSON.".strip()
    widget = TextArea({"rows": 4, "class": "ew-input ew-mono"})
    return JsonTextField(kind=kind, **common | {"help_text": help_text}, widget=widget)


def without_none(annotation: object) -> tuple[object, bool]:
    """Return an annotation without None, and whether it allows None."""
    if get_origin(annotation) not in (types.UnionType, typing.Union):
        return annotation, False
    members = [member for member in get_args(annotation) if member is not type(None)]
    is_optional = len(members) < len(get_args(annotation))
    if len(members) == 1:
        (only,) = members
        # The grader checks bounds; the input follows from the bare type.
        return (get_args(only)[0] if get_origin(only) is typing.Annotated else only), is_optional
    joined: object = typing.Union[tuple(members)]  # noqa: UP007 - made at run time
    return joined, is_optional
