"""What may be stored as JSON, and names that may have been meant."""

from datetime import date
from typing import Any

import pytest

from fixtures_app.ground.json_data import MAX_DEPTH, canonical, json_problems


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "loc", "message"),
    [
        pytest.param({"a": [1, float("nan")]}, ("a", 1), "JSON has no nan", id="nan"),
        pytest.param({"a": float("-inf")}, ("a",), "JSON has no -inf", id="infinity"),
        pytest.param({"a": date(2026, 1, 2)}, ("a",), "Put it in quotes", id="date"),
        pytest.param({"a": {1: "x"}}, ("a", "1"), "Put 1 in quotes", id="number-as-key"),
        pytest.param({"a": 10**5000}, ("a",), "too many digits", id="too-many-digits"),
        pytest.param({"a": (1, 2)}, ("a",), "A tuple is not JSON.", id="tuple"),
        pytest.param({"a": {1, 2}}, ("a",), "A set is not JSON.", id="set"),
        pytest.param({"a": "x\0"}, ("a",), "NUL", id="nul"),
        pytest.param({"a": {"x\0": 1}}, ("a",), "NUL", id="nul-in-a-key"),
        pytest.param({"a": "\ud800"}, ("a",), "surrogate", id="half-a-surrogate-pair"),
        pytest.param(nested(MAX_DEPTH + 1), (0,) * MAX_DEPTH, "32 levels", id="too-deep"),
    ],
)
def test_what_is_not_json_is_found_where_it_stands(
    value: object, loc: tuple[str | int, ...], message: str
) -> None:
    problems = list(json_problems(value))

    assert [problem.loc for problem in problems] == [loc]
    assert message in problems[0].message


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="empty"),
        pytest.param({"a": [None, True, 1, 10**30, 1.5, "ü 😀"]}, id="every-kind"),
        pytest.param(nested(MAX_DEPTH), id="as-deep-as-allowed"),
    ],
)
def test_json_has_no_problems(value: object) -> None:
    assert list(json_problems(value)) == []


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="order of keys"),
        pytest.param(-0.0, 0.0, True, id="negative zero"),
        pytest.param(1e20, 10**20, True, id="large float"),
        pytest.param([1, 2], [2, 1], False, id="order of a list"),
        pytest.param(1, 1.0, False, id="int and float"),
        pytest.param(1, True, False, id="int and bool"),
        pytest.param(None, {}, False, id="nothing and empty"),
        pytest.param("1", 1, False, id="text and number"),
    ],
)
def test_json_is_compared_by_content(left: Any, right: Any, *, is_same: bool) -> None:
    assert (canonical(left) == canonical(right)) is is_same
