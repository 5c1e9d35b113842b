from typing import Any

import pytest

from fixtures_app.ground.field_table import (
    Field,
    FieldTable,
    Kind,
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
            Field(kind.value, kind, is_required=kind is Kind.TEXT, note=f"a {kind}")
            for kind in Kind
            if kind not in {Kind.CHOICE, Kind.OTHER}
        ),
        Field("state", Kind.CHOICE, choices=("open", "closed")),
        Field("place", Kind.OTHER, rest={"type": "object"}),
        Field("pattern", Kind.TEXT, rest={"pattern": "^a"}),
        Field("any", Kind.OTHER, rest={"": True}),
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
        ({"type": "string"}, Kind.TEXT, {}),
        ({"type": "string", "maxLength": 3}, Kind.TEXT, {"maxLength": 3}),
        ({"type": "string", "format": "email"}, Kind.TEXT, {"format": "email"}),
        ({"type": "integer", "minimum": 0}, Kind.WHOLE, {"minimum": 0}),
        ({"enum": ["a", "b"]}, Kind.CHOICE, {}),
        ({"type": "string", "enum": ["a"]}, Kind.CHOICE, {}),
        ({"enum": [1, "a"]}, Kind.OTHER, {"enum": [1, "a"]}),
        ({"enum": ["a\nb"]}, Kind.OTHER, {"enum": ["a\nb"]}),
        ({"type": ["string", "null"]}, Kind.OTHER, {"type": ["string", "null"]}),
        ({"type": "array"}, Kind.OTHER, {"type": "array"}),
        ({}, Kind.OTHER, {}),
        (True, Kind.OTHER, {"": True}),
    ],
)
def test_a_field_has_the_kind_of_its_schema_and_keeps_the_rest(
    schema: Any, kind: Kind, rest: dict[str, Any]
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

    assert fields == (Field("a", Kind.NUMBER, is_required=True),)


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
