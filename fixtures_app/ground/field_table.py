"""The fields of an entity type as a table: JSON Schema for people who do not write JSON.

A table expresses everything that its schema does: what has no column (a pattern, a minimum) is
kept in `rest`, and a field that is of no kind here is OTHER. A schema whose outside says more than
that has no table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fixtures_app.ground.json_data import canonical
from fixtures_app.ground.strict_json import Json

TIME_PATTERN = "^([01][0-9]|2[0-3]):[0-5][0-9]$"


class FieldKind(StrEnum):
    """What a field contains."""

    TEXT = "text"
    LONG_TEXT = "long-text"
    NUMBER = "number"
    WHOLE = "whole-number"
    YES_NO = "yes-no"
    DATE = "date"
    TIME = "time"
    DATE_TIME = "date-time"
    CHOICE = "choice"
    TEXTS = "texts"
    OTHER = "other"


LABELS = {
    FieldKind.TEXT: "Text",
    FieldKind.LONG_TEXT: "Long text",
    FieldKind.NUMBER: "Number",
    FieldKind.WHOLE: "Whole number",
    FieldKind.YES_NO: "Yes or no",
    FieldKind.DATE: "Date",
    FieldKind.TIME: "Time (14:30)",
    FieldKind.DATE_TIME: "Date and time",
    FieldKind.CHOICE: "One of choices",
    FieldKind.TEXTS: "List of texts",
    FieldKind.OTHER: "As in the JSON Schema",
}
# The more keywords a kind has, the earlier it is tried.
_WRITTEN: dict[FieldKind, dict[str, Json]] = {
    FieldKind.LONG_TEXT: {"type": "string", "contentMediaType": "text/plain"},
    FieldKind.DATE: {"type": "string", "format": "date"},
    FieldKind.DATE_TIME: {"type": "string", "format": "date-time"},
    FieldKind.TIME: {"type": "string", "pattern": TIME_PATTERN},
    FieldKind.TEXTS: {"type": "array", "items": {"type": "string"}},
    FieldKind.TEXT: {"type": "string"},
    FieldKind.NUMBER: {"type": "number"},
    FieldKind.WHOLE: {"type": "integer"},
    FieldKind.YES_NO: {"type": "boolean"},
}
_OUTSIDE = frozenset({"type", "properties", "required", "additionalProperties"})


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an entity type; `rest` are the keywords that no column shows."""

    name: str
    kind: FieldKind = FieldKind.TEXT
    is_required: bool = False
    choices: tuple[str, ...] = ()
    note: str = ""
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldTable:
    """All fields, and whether an entity may have others."""

    fields: tuple[Field, ...] = ()
    is_open: bool = False


def field_of(name: str, schema: object, *, is_required: bool = False) -> Field:
    """Return a field of a schema's properties."""
    if not isinstance(schema, dict):
        return Field(name, FieldKind.OTHER, is_required, rest={"": schema})
    rest = dict(schema)
    note = rest.pop("description") if isinstance(schema.get("description"), str) else ""
    if choices := _choices(rest):
        left = {key: value for key, value in rest.items() if key not in {"enum", "type"}}
        return Field(name, FieldKind.CHOICE, is_required, choices, note, left)
    for kind, written in _WRITTEN.items():
        if "enum" not in rest and all(rest.get(key) == value for key, value in written.items()):
            left = {key: value for key, value in rest.items() if key not in written}
            return Field(name, kind, is_required, (), note, left)
    return Field(name, FieldKind.OTHER, is_required, (), note, rest)


def _choices(schema: Mapping[str, object]) -> tuple[str, ...]:
    values = schema.get("enum")
    if schema.get("type", "string") != "string" or not isinstance(values, list):
        return ()
    # The table writes choices in one line each.
    fits = all(isinstance(value, str) and value.strip() == value != "" for value in values)
    return tuple(values) if fits and not any("\n" in value for value in values) else ()


def choices_in(text: str, *, stored: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the choices that a person wrote: one per line, or on one line between commas."""
    lines = [line.strip() for line in text.splitlines()]
    if tuple(filter(None, lines)) == tuple(stored):
        return tuple(stored)  # the only choice may have a comma
    parts = lines if len(lines) > 1 else [part.strip() for part in text.split(",")]
    return tuple(filter(None, parts))


def schema_of_field(one: Field) -> Json:
    """Return the schema of a field's values."""
    if "" in one.rest:
        whole: Json = one.rest[""]
        return whole
    core = _WRITTEN.get(one.kind, {})
    if one.kind is FieldKind.CHOICE:
        core = {"enum": [*one.choices]}
    note = {"description": one.note} if one.note else {}
    return {**core, **one.rest, **note}


def schema_of(table: FieldTable) -> dict[str, Json]:
    """Return the JSON Schema of a table."""
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {one.name: schema_of_field(one) for one in table.fields},
    }
    required: list[Json] = [one.name for one in table.fields if one.is_required]
    if required:
        schema["required"] = required
    if not table.is_open:
        schema["additionalProperties"] = False
    return schema


def table_of(schema: Mapping[str, object]) -> FieldTable | None:
    """Return the table of a schema; None if a table cannot express all of it."""
    table = FieldTable(fields_of(schema), schema.get("additionalProperties", True) is not False)
    is_whole = schema.keys() <= _OUTSIDE and _same(schema, schema_of(table))
    return table if is_whole else None


def fields_of(schema: Mapping[str, object]) -> tuple[Field, ...]:
    """Return the fields that a schema names, whatever else it says."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ()
    names: Sequence[object] = required if isinstance(required, list) else ()
    return tuple(field_of(name, one, is_required=name in names) for name, one in properties.items())


def _same(left: Mapping[str, object], right: Mapping[str, object]) -> bool:
    return canonical(_normal(left)) == canonical(_normal(right))


def _normal(schema: Mapping[str, Any]) -> dict[str, object]:
    """Return a schema in one of its spellings; the data of an entity is always an object."""
    properties = {
        name: {key: value for key, value in one.items() if not (key == "type" and _choices(one))}
        if isinstance(one, dict)
        else one
        for name, one in (schema.get("properties") or {}).items()
    }
    return {
        "type": schema.get("type", "object"),
        "properties": properties,
        "required": sorted(map(str, schema.get("required") or [])),
        "additionalProperties": schema.get("additionalProperties", True),
    }
