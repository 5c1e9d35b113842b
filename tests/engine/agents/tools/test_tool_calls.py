"""Arguments against the JSON Schema of a tool."""

from typing import Any

import pytest

from evals_app.engine.agents.tools.tool_calls import argument_problem

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("args", [{"city": "Rome"}, {"city": "", "days": 2}, {"city": "ä"}])
def test_arguments_that_fit(args: dict[str, Any]) -> None:
    assert argument_problem(SCHEMA, args) is None


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param({}, "“city” is missing.", id="missing"),
        pytest.param({"city": "a", "days": 0}, "at least 1", id="too small"),
        pytest.param({"city": "a", "dya": 1}, "“dya” is not allowed", id="unknown"),
        pytest.param({"city": "x" * 9_000, "days": "x" * 9_000}, "the text “xxx", id="long"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(args: dict[str, Any], words: str) -> None:
    problem = argument_problem(SCHEMA, args)

    assert problem is not None
    assert words in problem
    assert len(problem) < 1000


def test_a_pattern_cannot_hang() -> None:
    schema = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}

    assert argument_problem(schema, {"a": "a" * 5_000 + "!"}) is not None
    assert argument_problem(schema, {"a": "aaa"}) is None
    assert argument_problem(schema, {"a": 5}) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(float("nan"), "NaN", id="no number"),
        pytest.param(deep(200), "is JSON nested more than", id="deep"),
    ],
)
def test_arguments_that_are_no_json_do_not_fit(value: Any, words: str) -> None:
    assert words in (argument_problem({"type": "object"}, {"a": value}) or "")


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}

    assert argument_problem(schema, {"a": deep(10)}) is not None


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        pytest.param(
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"items": {"allOf": [{"$ref": "#/$defs/a"}] * 4}}},
                "properties": {"a": {"$ref": "#/$defs/a"}},
            },
            {"a": deep(20)},
            id="each level four times",
        ),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [[n] for n in range(60_000)]}),
        ({"properties": {"a": {"items": {"enum": [[0] * 10_000]}}}}, {"a": [[0] * 9_999] * 12}),
        pytest.param({"properties": {"a": {}}}, {"a": "x" * 1_000_000}, id="a long text"),
    ],
)
def test_what_would_take_too_long_cannot_be_checked(
    schema: dict[str, Any], args: dict[str, Any]
) -> None:
    assert "cannot be checked" in (argument_problem(schema, args) or "")


@pytest.mark.parametrize(
    ("items", "is_fine"), [([1, True, "1"], True), ([1, 1.0], False), ([{"a": [1]}] * 2, False)]
)
def test_items_that_occur_twice_are_found(items: list[Any], *, is_fine: bool) -> None:
    schema = {"properties": {"a": {"uniqueItems": True}}}

    assert (argument_problem(schema, {"a": items}) is None) == is_fine
