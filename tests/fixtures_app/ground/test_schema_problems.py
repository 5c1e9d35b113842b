"""A JSON Schema that cannot work is refused when it is written, at its place."""

from datetime import date
from typing import Any

import pytest

from fixtures_app.ground.schema_problems import schema_problems, schema_warnings


@pytest.mark.parametrize(
    ("schema", "place", "says"),
    [
        pytest.param({"type": "text"}, ("type",), '"text"', id="type"),
        ({"properties": {"a": {"minimum": "5"}}}, ("properties", "a", "minimum"), "the text “5”"),
        pytest.param({"required": "a"}, ("required",), "a list", id="no list"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",), "2020-12"),
        pytest.param({"$ref": "#/$defs/x"}, ("$ref",), "points to nothing", id="reference"),
        ({"items": {"$ref": "https://example.org/x.json"}}, ("items", "$ref"), "outside"),
        ({"x": {"a": 1}, "$ref": "#/x"}, ("$ref",), "not a schema"),
        ({"$ref": "#/$defs/a/items", "$defs": {"a": True}}, ("$ref",), "points to nothing"),
        ({"$ref": "#/allOf/a", "allOf": [{}]}, ("$ref",), "points to nothing"),
        pytest.param({"$id": "http://["}, ("$id",), "address", id="address"),
        ({"$id": "https://a/", "items": {"$id": "http://["}}, ("items", "$id"), "Leave out $id"),
        pytest.param({"$ref": "#"}, (), "endlessly", id="endless"),
        pytest.param({"allOf": [{"$ref": "#"}]}, (), "endlessly", id="endless in a part"),
        pytest.param(
            {
                "$ref": "#/$defs/a0",
                "$defs": {"a30": {}}
                | {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)},
            },
            (),
            "too often",
            id="each reference twice the work",
        ),
        pytest.param({"$ref": "#" + "/x" * 5_000}, ("$ref",), "points to nothing", id="long"),
        ({"properties": {"a": {"pattern": "(?=x)"}}}, ("properties", "a", "pattern"), "Lookahead"),
        ({"patternProperties": {"(": {}}}, ("patternProperties", "("), "not closed"),
        pytest.param(
            {"unevaluatedProperties": False, "patternProperties": {"a": {}}},
            ("unevaluatedProperties",),
            "Use additionalProperties",
            id="unevaluated beside patterns",
        ),
        pytest.param(
            {
                "unevaluatedProperties": False,
                "allOf": [{"$ref": "#/$defs/a"}],
                "$defs": {"a": {"patternProperties": {"(a+)+$": {}}}},
            },
            ("unevaluatedProperties",),
            "Use additionalProperties",
            id="unevaluated above patterns",
        ),
        ({"$defs": {"a": {"$id": "a"}}}, ("$defs", "a", "$id"), "Leave out $id"),
        pytest.param({"const": date(2026, 5, 1)}, (), "quotes", id="a date"),
        pytest.param({"const": float("nan")}, (), "JSON allows", id="no number"),
        pytest.param({"const": 10**5_000}, (), "JSON allows", id="a number too long"),
    ],
)
def test_a_schema_that_cannot_work_is_refused_at_its_place(
    schema: dict[str, Any], place: tuple[str, ...], says: str
) -> None:
    (problem,) = schema_problems(schema)

    assert problem.loc == place
    assert says in problem.message
    assert len(problem.message) < 500


def test_a_schema_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"not": schema}

    (problem,) = schema_problems(schema)

    assert "levels" in problem.message


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="anything"),
        pytest.param({"$schema": "https://json-schema.org/draft/2020-12/schema"}, id="dialect"),
        {"$id": "https://example.org/a", "$ref": "#/$defs/a", "$defs": {"a": {}}},
        pytest.param({"items": {"$ref": "#"}}, id="a tree"),
        pytest.param({"$defs": {"a": {"$anchor": "x"}}, "$ref": "#x"}, id="anchor"),
        pytest.param({"properties": {"a": True, "pattern": {"type": "string"}}}, id="names"),
        pytest.param({"enum": [{"pattern": "("}], "default": {"$ref": "#/no"}}, id="values"),
        pytest.param({"pattern": r"^\PL+\z"}, id="RE2's own"),
    ],
)
def test_a_schema_that_can_work_is_taken(schema: dict[str, Any]) -> None:
    assert schema_problems(schema) == []


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        pytest.param({"items": {"format": "uri"}}, "'uri' is not checked", id="format"),
        pytest.param({"pattern": r"\\d"}, "one backslash", id="doubled backslash"),
        pytest.param({"properties": {"a": {}}}, "under required", id="nothing required"),
        pytest.param({"properties": {"a": {}}, "required": ["a"]}, "type: object", id="any type"),
    ],
)
def test_what_is_hardly_meant_warns(schema: dict[str, Any], says: str) -> None:
    (warning,) = schema_warnings(schema)

    assert says in warning


def test_a_known_format_does_not_warn() -> None:
    assert schema_warnings({"format": "date", "pattern": r"\d"}) == []
