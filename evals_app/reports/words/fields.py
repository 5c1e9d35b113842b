"""Tables of a model's fields, for the reference pages."""

import json
import types
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from evals_app.engine.specs.base_spec import ModelSpec, fields_of, mark_of

Default = Callable[[type[BaseModel], FieldInfo], str | None]


def field_table(
    model: type[BaseModel],
    *,
    heading: str = "option",
    default: Default = lambda _model, _field: None,
    apart: tuple[type[BaseModel], ...] = (),
) -> str:
    """Write a Markdown table of the fields, those of listed models beneath the list.

    `default` may describe a default in its own words; models in `apart` have tables elsewhere.
    """
    head = [f"| {heading} | type | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *_rows(model, "", default, apart)])


def _rows(
    model: type[BaseModel], prefix: str, default: Default, apart: tuple[type[BaseModel], ...]
) -> Iterator[str]:
    for name, field in fields_of(model).items():
        title = field.title or name
        adds = title.lower() != name.replace("_", " ")  # `tags` needs no "Tags."
        meaning = _meaning(field, title if adds else "")
        key = f"{prefix}{field.alias or name}"
        kind = _UNITS.get(mark_of(field, "unit")) or _kind(field.annotation)
        shown = default(model, field) or _default(field)
        yield f"| `{key}` | {kind} | {shown} | {cell(meaning)} |"
        (item, *_) = get_args(field.annotation) or (None,)
        if isinstance(item, type) and issubclass(item, BaseModel) and item not in apart:
            yield from _rows(item, f"{key}[].", default, apart)


_UNITS = {"share": "share (1 is 100 %)", "ms": "milliseconds", "s": "seconds"}


def _meaning(field: FieldInfo, title: str) -> str:
    """Write title and description, and what each value of a choice means."""
    extra = field.json_schema_extra
    words: Any = extra.get("words", {}) if isinstance(extra, dict) else {}
    values = "; ".join(
        f"`{value}`: {_inside_sentence(text)}" for value, text in words.items() if text != value
    )
    parts = (f"{title}." if title else "", field.description or "", f"{values}." if values else "")
    return " ".join(filter(None, parts))


def _inside_sentence(text: str) -> str:
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or isinstance(value, BaseModel):
        return "none"
    return f"`{json.dumps(value)}`"


def _kind(annotation: object) -> str:
    """Return the name of a type for people who write YAML."""
    names: dict[Any, str] = {
        str: "text",
        bool: "true or false",
        int: "whole number",
        float: "number",
        Decimal: "number",
        date: "day",
        ModelSpec: "`provider/model` or a mapping",
    }
    if annotation in names:
        return names[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in arguments)
    if origin in (Union, types.UnionType):
        kinds = [_kind(kind) for kind in arguments if kind is not type(None)]
        # A number is written either way.
        return " or ".join(k for k in kinds if k != "whole number" or "number" not in kinds)
    if origin is list:
        return "list of texts" if _kind(arguments[0]) == "text" else "list"
    if origin is dict:
        return "mapping"
    if hasattr(annotation, "__metadata__"):
        return _kind(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    return "value"


def cell(text: str) -> str:
    """Return a text that stays in its cell."""
    return text.replace("|", "\\|")
