from typing import Any

import pytest

from fixtures_app.ground.field_table import (
    Field,
    FieldKind,
    FieldTable,
    choices_in,
    field_of,
    fields_of,
    schema_of,
    table_of,
)
from fixtures_app.ground.schema_problems import schema_problems

EVERY_KIND = FieldTable(
    (
        *(
            Field(kind.value, kind, is_required=kind is FieldKind.TEXT, note=f"a {kind}")
            for kind in FieldKind
            if kind not in {FieldKind.CHOICE, FieldKind.OTHER}
        ),
        Field("state", FieldKind.CHOICE, choices=("open", "closed")),
        Field("place", FieldKind.OTHER, rest={"type": "object"}),
        Field("pattern", FieldKind.TEXT, rest={"pattern": "^a"}),
        Field("any", FieldKind.OTHER, rest={"": True}),
    )
)


@pytest.mark.parametrize(
    "table",
    [EVERY_KIND, FieldTable(), FieldTable((), is_open=True)],
    ids=["all kinds", "none", "open"],
)
def test_a_table_is_read_back_from_its_schema(table: FieldTable) -> None:
    schema = schema_of(table)

    assert schema_problems(schema) == []
    assert table_of(schema) == table


@pytest.mark.parametrize(
    ("schema", "kind", "rest"),
    [
        ({"type": "string"}, FieldKind.TEXT, {}),
        ({"type": "string", "maxLength": 3}, FieldKind.TEXT, {"maxLength": 3}),
        ({"type": "string", "format": "email"}, FieldKind.TEXT, {"format": "email"}),
        ({"type": "integer", "minimum": 0}, FieldKind.WHOLE, {"minimum": 0}),
        ({"enum": ["a", "b"]}, FieldKind.CHOICE, {}),
        ({"type": "string", "enum": ["a"]}, FieldKind.CHOICE, {}),
        ({"enum": [1, "a"]}, FieldKind.OTHER, {"enum": [1, "a"]}),
        ({"enum": ["a\nb"]}, FieldKind.OTHER, {"enum": ["a\nb"]}),
        ({"type": ["string", "null"]}, FieldKind.OTHER, {"type": ["string", "null"]}),
        ({"type": "array"}, FieldKind.OTHER, {"type": "array"}),
        ({}, FieldKind.OTHER, {}),
        (True, FieldKind.OTHER, {"": True}),
    ],
)
def test_a_field_has_the_kind_of_its_schema_and_keeps_the_rest(
    schema: Any, kind: FieldKind, rest: dict[str, Any]
) -> None:
    field = field_of("a", schema)

    assert (field.kind, field.rest) == (kind, rest)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"required": ["a"], "properties": {"a": {"type": "string", "enum": ["x"]}}},
        {"properties": {"a": {}, "b": False}, "additionalProperties": True},
    ],
)
def test_other_spellings_of_a_table_are_read(schema: dict[str, Any]) -> None:
    assert table_of(schema) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"required": ["not named"]},
        {"properties": {}, "minProperties": 1},
        {"additionalProperties": {"type": "string"}},
        {"title": "Order"},
        {"$defs": {"a": {}}, "properties": {"a": {"$ref": "#/$defs/a"}}},
    ],
)
def test_a_schema_that_says_more_has_no_table(schema: dict[str, Any]) -> None:
    assert table_of(schema) is None


def test_the_fields_of_any_schema_are_known() -> None:
    fields = fields_of({"title": "x", "properties": {"a": {"type": "number"}}, "required": ["a"]})

    assert fields == (Field("a", FieldKind.NUMBER, is_required=True),)


@pytest.mark.parametrize(
    ("text", "stored", "choices"),
    [
        ("open, shipped", (), ("open", "shipped")),
        (" open ,, shipped, ", (), ("open", "shipped")),
        ("open\n shipped \n\n", (), ("open", "shipped")),
        pytest.param("Bern, CH\nWien, AT", (), ("Bern, CH", "Wien, AT"), id="commas in lines"),
        pytest.param("Bern, CH", ("Bern, CH",), ("Bern, CH",), id="unchanged"),
        pytest.param("Bern, CH, DE", ("Bern, CH",), ("Bern", "CH", "DE"), id="changed"),
        (" , ", (), ()),
    ],
)
def test_choices_are_lines_or_between_commas(
    text: str, stored: tuple[str, ...], choices: tuple[str, ...]
) -> None:
    assert choices_in(text, stored=stored) == choices
