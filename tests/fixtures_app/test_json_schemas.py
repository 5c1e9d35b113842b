"""Data against the JSON Schema of its type, in words; and schemas made to keep us busy."""

from typing import Any

import pytest

from fixtures_app.json_data import MAX_DEPTH, Json
from fixtures_app.json_schemas import MAX_MISMATCHES, mismatches, schema_problems
from tests.fixtures_app.makers import STUDENT


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param({}, "'name' is a required property.", id="missing"),
        pytest.param({"name": "A", "garde": 5}, "Did you mean 'grade'?", id="misspelt-property"),
        pytest.param({"name": "A", "level": "junor"}, "Did you mean 'junior'?", id="enum"),
        pytest.param({"name": "A", "born": "2026-02-30"}, "born: '2026-02-30'", id="date"),
        pytest.param({"name": "A", "seen": "noon"}, "seen: 'noon'", id="date-time"),
        pytest.param({"name": "A", "grade": True}, "True is not of type 'integer'", id="bool"),
        pytest.param(
            {"name": "A", "contact": 5},
            "contact: 5 is not of type 'string', or 5 is not of type 'null'.",
            id="alternatives",
        ),
    ],
)
def test_data_off_its_schema_is_explained(data: dict[str, Any], message: str) -> None:
    found = mismatches(data, STUDENT)

    assert len(found) == 1
    assert message in found[0]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"name": "A"}, id="required-only"),
        pytest.param({"name": "A", "grade": 5.0}, id="whole-float-for-an-integer"),
        pytest.param({"name": "A", "contact": None}, id="null-where-allowed"),
        pytest.param(
            {"name": "A", "seen": "2026-01-01T10:00:00Z", "born": "2026-02-28"}, id="times"
        ),
    ],
)
def test_data_that_fits_its_schema_has_no_mismatch(data: dict[str, Any]) -> None:
    assert mismatches(data, STUDENT) == []


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        pytest.param("date-time", "2026-01-01T10:00:00Z", True, id="zulu"),
        pytest.param(
            "date-time", "2026-01-01t10:00:00.123456789+02:00", True, id="fraction-offset"
        ),
        pytest.param("date-time", 5, True, id="a-number-has-no-format"),
        pytest.param("date-time", "2026-01-01T10:00:00", False, id="no-zone"),
        pytest.param("date-time", "2026-01-01 10:00:00Z", False, id="space"),
        pytest.param("date-time", "2026-01-01", False, id="day-only"),
        pytest.param("date-time", "2026-02-30T10:00:00Z", False, id="no-such-day"),
        pytest.param("date-time", "2026-01-01T25:00:00Z", False, id="no-such-hour"),
        pytest.param("date-time", "2026-W01-1T10:00:00Z", False, id="week"),
        pytest.param("date-time", "", False, id="empty"),
        pytest.param("time", "10:00:00Z", True, id="time"),
        pytest.param("time", "10:00", False, id="time-without-seconds"),
        pytest.param("date", "2026-02-28", True, id="date"),
        pytest.param("date", "28.02.2026", False, id="german-date"),
        pytest.param("email", "jo@example.org", True, id="email"),
        pytest.param("email", '"jo b"@[127.0.0.1]', True, id="email-with-a-blank"),
        pytest.param("email", "jo@", False, id="email-to-nowhere"),
        pytest.param("email", "@", False, id="email-at"),
        pytest.param("email", "jo b@example.org", False, id="email-and-more"),
        pytest.param("email", 5, True, id="email-of-a-number"),
        pytest.param("uuid", "not-a-uuid", False, id="uuid"),
        pytest.param("ipv4", "300.1.1.1", False, id="ipv4"),
        pytest.param("phone", "anything", True, id="unknown-format"),
    ],
)
def test_formats_are_checked(kind: str, value: object, *, fits: bool) -> None:
    assert (mismatches(value, {"format": kind}) == []) is fits


def test_a_schema_that_never_ends_for_some_data_is_a_mismatch_not_a_crash() -> None:
    loop = {"$ref": "#/$defs/a"}

    found = mismatches({"a": 1}, {"properties": {"a": loop}, "$defs": {"a": loop}})

    assert found == ["The schema refers to itself without end for this data."]


@pytest.mark.parametrize(
    ("number", "factor", "fits"),
    [
        pytest.param(19.99, 0.01, True, id="cents"),
        pytest.param(19.995, 0.01, False, id="half-a-cent"),
        pytest.param(10**400, 0.5, True, id="larger-than-any-float"),
        pytest.param(10**400, 3, False, id="large-and-no-multiple"),
        pytest.param(1e308, 1e-300, True, id="many-places"),
        pytest.param(-7.5, 2.5, True, id="negative"),
        pytest.param("7", 2, True, id="text"),
        pytest.param(True, 2, True, id="true"),
    ],
)
def test_multiples_are_told_exactly(number: Json, factor: float, *, fits: bool) -> None:
    assert (mismatches(number, {"multipleOf": factor}) == []) is fits


def test_nothing_remote_is_fetched_even_by_an_unchecked_schema() -> None:
    found = mismatches({}, {"$ref": "https://example.org/schema.json"})

    assert found == [
        "The schema refers to 'https://example.org/schema.json', which does not exist."
    ]


def test_a_pattern_cannot_hang() -> None:
    schema = {
        "properties": {"a": {"pattern": "^(a+)+$"}},
        "patternProperties": {"^(b+)+$": {"type": "integer"}},
        "additionalProperties": False,
    }

    assert mismatches({"a": "aaa", "bb": 1}, schema) == []
    assert len(mismatches({"a": "a" * 5_000 + "!", "b" * 5_000 + "!": 1, "b": "x"}, schema)) == 3


def nested(value: Json, levels: int = MAX_DEPTH - 2) -> Json:
    for _ in range(levels):
        value = [value]
    return {"a": value}


TWICE = {"items": {"$ref": "#/$defs/a"}}


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        pytest.param(
            {"additionalProperties": {"$ref": "#/$defs/a"}, "$defs": {"a": {"allOf": [TWICE] * 2}}},
            nested(1),
            id="each level twice in allOf",
        ),
        pytest.param(
            {
                "additionalProperties": {"$ref": "#/$defs/a"},
                "$defs": {"a": {"anyOf": [TWICE | {"minItems": 9}, TWICE]}},
            },
            nested(1),
            id="each level twice in anyOf",
        ),
        pytest.param(
            {
                "additionalProperties": {"$ref": "#b"},
                "$defs": {"a": {"$anchor": "b", "oneOf": [{"items": {"$ref": "#b"}}] * 2}},
            },
            nested(1),
            id="anchors",
        ),
        pytest.param(
            {"additionalProperties": {"items": {"not": {"enum": [[0] * 1_000]}}}},
            {"a": [[0] * 999] * 120},
            id="long values",
        ),
        pytest.param(
            {"additionalProperties": {"uniqueItems": True}},
            {"a": [[n] for n in range(60_000)]},
            id="items that are compared with each other",
        ),
        pytest.param(
            {"additionalProperties": {"items": {"not": {"pattern": "(a+)+$"}}}},
            {"a": ["a" * 10_000 + "!"] * 20_000},
            id="long texts",
        ),
        pytest.param(
            {"additionalProperties": {"unevaluatedItems": False, "contains": {"const": 0}}},
            {"a": [0, *[1] * 5_000]},
            id="unevaluated items",
        ),
    ],
)
def test_what_would_take_too_long_is_said_so(schema: dict[str, Any], data: Json) -> None:
    assert mismatches(data, schema) == ["The schema takes too many steps for this data."]


def test_a_schema_with_anchors_is_not_searched_for_each_of_them() -> None:
    many = {f"k{n}": {"type": "string"} for n in range(3_000)}
    schema = {
        "additionalProperties": {"items": {"$ref": "#a"}},
        "$defs": {"a": {"$anchor": "a", "type": "integer"}, "many": {"properties": many}},
    }

    assert mismatches({"a": [1] * 4_000}, schema) == []


PATTERNED = {"allOf": [{"patternProperties": {"(a+)+$": {}}}], "unevaluatedProperties": False}


def test_nobody_searches_with_patterns_that_hang() -> None:
    data = {"a" * 5_000 + "!": 1}

    (problem,) = schema_problems(PATTERNED)
    assert "use additionalProperties" in problem.message
    assert mismatches(data, PATTERNED) == ["The schema takes too many steps for this data."]


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        pytest.param(
            {"$ref": "#/$defs/a/items", "$defs": {"a": True}},
            "points to nothing",
            id="through-true",
        ),
        pytest.param({"$ref": "#/allOf/a", "allOf": [{}]}, "points to nothing", id="no-position"),
        pytest.param({"$id": "http://["}, "no address", id="address"),
        pytest.param(
            {"$id": "https://a/", "items": {"$id": "http://["}}, "no address", id="address-inside"
        ),
    ],
)
def test_what_the_library_cannot_follow_is_refused(schema: dict[str, Any], says: str) -> None:
    (problem,) = schema_problems(schema)

    assert says in problem.message


def test_a_schema_that_refers_to_itself_too_often_is_refused() -> None:
    steps = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(30)}

    (problem,) = schema_problems({"$ref": "#/$defs/a0", "$defs": {**steps, "a30": {}}})

    assert problem.message == "The schema refers to itself without end, or too often."


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(["x"], "a: ['x'] is not one of ['b', 2, None, ...].", id="short"),
        pytest.param([[1], {}], "a: [..., {}] is not one of ['b',", id="nested"),
        pytest.param([*range(9)], "a: [0, 1, 2, 3, 4, 5, 6, 7, ...] is not one of", id="long"),
    ],
)
def test_values_are_shown_as_far_as_they_help(data: Json, says: str) -> None:
    schema = {"properties": {"a": {"enum": ["b", 2, None, {"c": 3}]}}}

    (found,) = mismatches({"a": data}, schema)

    assert found.startswith(says)


def test_of_many_mismatches_the_first_are_told_and_each_is_short() -> None:
    data = {f"key {n}": ["x" * 1_000] * 100 for n in range(1_000)}

    found = mismatches(data, {"additionalProperties": {"items": {"maxLength": 5}}})

    assert len(found) == MAX_MISMATCHES
    assert all(len(each) < 500 for each in found)


@pytest.mark.parametrize(
    ("items", "is_fine"), [([1, True, "1"], True), ([1, 1.0], False), ([{"a": [1]}] * 2, False)]
)
def test_items_that_occur_twice_are_found(items: list[Any], *, is_fine: bool) -> None:
    assert (mismatches({"a": items}, {"properties": {"a": {"uniqueItems": True}}}) == []) is is_fine
