"""What may be stored as JSON, and names that may have been meant."""

from datetime import date
from typing import Any

import pytest

from fixtures_app.json_data import MAX_DEPTH, Json, json_problems, suggestion


def nested(levels: int) -> Json:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "loc", "message"),
    [
        pytest.param({"a": [1, float("nan")]}, ("a", 1), "JSON has no nan", id="nan"),
        pytest.param({"a": float("-inf")}, ("a",), "JSON has no -inf", id="infinity"),
        pytest.param({"a": date(2026, 1, 2)}, ("a",), "write it in quotes", id="date"),
        pytest.param(
            {"a": {1: "x"}}, ("a", "1"), "A key must be text: put 1 in", id="number-as-key"
        ),
        pytest.param({"a": 10**5000}, ("a",), "too many digits", id="too-many-digits"),
        pytest.param({"a": (1, 2)}, ("a",), "A tuple is not JSON.", id="tuple"),
        pytest.param({"a": {1, 2}}, ("a",), "A set is not JSON.", id="set"),
        pytest.param({"a": "x\0"}, ("a",), "NUL", id="nul"),
        pytest.param({"a": {"x\0": 1}}, ("a",), "NUL", id="nul-in-a-key"),
        pytest.param({"a": "\ud800"}, ("a",), "surrogate", id="half-a-surrogate-pair"),
        pytest.param(nested(MAX_DEPTH + 1), (0,) * MAX_DEPTH, "Nested deeper", id="too-deep"),
    ],
)
def test_what_is_not_json_is_found_where_it_stands(
    value: Json, loc: tuple[str | int, ...], message: str
) -> None:
    found = list(json_problems(value))

    assert [problem.loc for problem in found] == [loc]
    assert message in found[0].message


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="empty"),
        pytest.param({"a": [None, True, 1, 10**30, 1.5, "ü 😀"]}, id="every-kind"),
        pytest.param(nested(MAX_DEPTH), id="as-deep-as-allowed"),
    ],
)
def test_json_has_no_problems(value: Json) -> None:
    assert list(json_problems(value)) == []


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        pytest.param("studnet", ["teacher", "student"], " Did you mean 'student'?", id="near"),
        pytest.param("STUDENT", ["student"], " Did you mean 'student'?", id="case"),
        pytest.param("zzz", ["teacher", "student"], " Known: teacher, student.", id="none-near"),
        pytest.param("zzz", list("abcdefghij"), " Known: a, b, c, d, e, f, g, h, ....", id="many"),
        pytest.param("zzz", [], "", id="nothing-known"),
    ],
)
def test_a_suggestion_names_what_may_have_been_meant(
    name: str, known: list[str], expected: str
) -> None:
    assert suggestion(name, known) == expected
