"""Replies that are JSON: whether they are valid, match a schema, and have the right parts."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evals_app.engine.graders.json_reply import JsonPath, JsonSchema, JsonValid
from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.suites.suite_spec import AssertionSpec
from fixtures_app.ground.json_text import MAX_JSON_BYTES
from tests.engine.graders.makers import view_of

ORDER = """\
{
  "status": "shipped", "total": 60.940, "id": 12345678901234567890123, "note": null,
  "paid": true, "items": [{"unit price": 1.50, "tags": ["book", "used"]}], "gift": false
}"""
SCHEMA = {
    "type": "object",
    "required": ["status"],
    "properties": {"status": {"enum": ["shipped", "open"]}, "total": {"type": "number"}},
}


@pytest.mark.parametrize(
    ("reply", "passes", "shown"),
    [
        pytest.param('{"a": 1, "b": 2}', True, "object with the keys “a”, “b”", id="object"),
        pytest.param("[]", True, "an empty list", id="list"),
        pytest.param("null", True, "null", id="null"),
        pytest.param("Yes, certainly!", False, "“Yes, certainly!”", id="prose"),
        pytest.param("", False, "empty", id="empty"),
    ],
)
def test_a_reply_is_json_or_not(*, reply: str, passes: bool, shown: str) -> None:
    grade = JsonValid().grade(view_of(reply))

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert shown in grade.reason


@pytest.mark.parametrize(
    "grader",
    [
        pytest.param(JsonValid(), id="json_valid"),
        pytest.param(JsonSchema.model_validate({"schema": {}}), id="json_schema"),
        pytest.param(JsonPath(path="$"), id="json_path"),
    ],
)
def test_a_reply_may_be_fenced_and_a_megabyte_long(grader: PlainGrader) -> None:
    fenced = grader.grade(view_of('Here:\n```json\n{"a": 1}\n```\n'))
    bare = grader.grade(view_of('{"a": 1}'))

    assert (fenced.passed, fenced.details["is_fenced"]) == (True, True)
    assert "code block" in fenced.reason
    assert (bare.passed, "is_fenced" in bare.details) == (True, False)

    at_the_limit = grader.grade(view_of('"' + "x" * (MAX_JSON_BYTES - 2) + '"'))
    above_it = grader.grade(view_of('"' + "x" * (MAX_JSON_BYTES - 1) + '"'))

    assert at_the_limit.passed is True
    assert (above_it.passed, above_it.cause) == (False, Cause.AGENT)


@pytest.mark.parametrize(
    ("reply", "passes", "says"),
    [
        pytest.param(ORDER, True, "schema: an object", id="fits"),
        ('{"status": "shiped", "total": "5"}', False, "meant?), and “total” should"),
        pytest.param('{"stauts": "open"}', False, "(the reply has “stauts”)", id="nearest key"),
        pytest.param("open", False, "The reply is text, “open”", id="no JSON"),
    ],
)
def test_a_reply_fits_a_schema_or_not(*, reply: str, passes: bool, says: str) -> None:
    grade = JsonSchema.model_validate({"schema": SCHEMA}).grade(view_of(reply))

    assert grade.passed is passes
    assert says in grade.reason


def test_many_mismatches_are_counted() -> None:
    grader = JsonSchema.model_validate({"schema": {"items": {"type": "string"}}})

    few, many = (grader.grade(view_of(f"[{'1, ' * n}1]")) for n in (7, 99))

    assert few.reason.endswith("and 3 others.")
    assert many.reason.endswith("and 15 or more others.")
    assert len(few.details["mismatches"]) == 8


def test_a_reply_that_keeps_the_schema_busy_is_no_pass_and_no_failure() -> None:
    twice = [{"items": {"$ref": "#"}, "minItems": 9}, {"items": {"$ref": "#"}}]
    grader = JsonSchema.model_validate({"schema": {"anyOf": [{"anyOf": twice}, {"anyOf": twice}]}})

    grade = grader.grade(view_of("[" * 60 + "]" * 60))

    assert (grade.status, grade.passed, grade.score) == (GradeStatus.ERROR, None, None)
    assert "too many steps" in grade.reason


def test_a_bad_schema_is_refused_where_it_stands() -> None:
    written = {
        "type": "json_schema",
        "schema": {"properties": {"a": {"type": "txt"}, "b": {"pattern": "("}}},
    }

    with pytest.raises(ValidationError) as refused:
        AssertionSpec.model_validate(written)

    assert [error["loc"] for error in refused.value.errors()] == [
        ("schema", "properties", "a", "type")
    ]


def test_a_schema_is_written_under_its_key() -> None:
    written = {"type": "json_schema", "schema": SCHEMA, "weight": 2.0}

    spec = AssertionSpec.model_validate(written)

    assert spec.model_dump(mode="json", exclude_unset=True) == written
    assert AssertionSpec.model_validate(spec.model_dump(mode="json")) == spec


def test_a_misspelt_key_of_a_schema_check_names_the_right_one() -> None:
    with pytest.raises(ValidationError, match="Did you mean 'schema'"):
        AssertionSpec.model_validate({"type": "json_schema", "shema": {}})


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        pytest.param({"path": "status"}, True, id="there"),
        pytest.param({"path": "note"}, True, id="there, though null"),
        pytest.param({"path": "stat"}, False, id="not there"),
        pytest.param({"path": "stat", "value": {"present": False}}, True, id="absent as wanted"),
        pytest.param({"path": "note", "value": {"present": False}}, False, id="null is there"),
        pytest.param({"path": "status", "value": "shipped"}, True, id="text"),
        pytest.param({"path": "status", "value": "Shipped"}, False, id="case counts"),
        pytest.param({"path": "note", "value": None}, True, id="null"),
        pytest.param({"path": "gift", "value": None}, False, id="false is not null"),
        pytest.param({"path": "paid", "value": True}, True, id="true"),
        pytest.param({"path": "paid", "value": 1}, False, id="true is not 1"),
        pytest.param({"path": "total", "value": 60.94}, True, id="number"),
        pytest.param({"path": "total", "value": "60.94"}, False, id="a number is no text"),
        pytest.param({"path": "total", "value": {"fuzzy": "60.94"}}, True, id="fuzzy"),
        pytest.param({"path": "total", "value": {"regex": r"60\.940"}}, True, id="its own text"),
        pytest.param({"path": "id", "value": 12345678901234567890123}, True, id="big number"),
        pytest.param({"path": "id", "value": 12345678901234567890124}, False, id="off by one"),
        pytest.param({"path": "id", "value": 1.2345678901234568e22}, False, id="no rounding"),
        pytest.param({"path": "items[0]['unit price']", "value": 1.5}, True, id="deep"),
        pytest.param({"path": "items[0].tags", "value": ["book", "used"]}, True, id="list"),
        pytest.param({"path": "items[0].tags", "value": {"contains": "used"}}, True, id="contains"),
        pytest.param({"path": "status", "value": {"any_of": ["open", "shipped"]}}, True, id="any"),
        pytest.param({"path": "total", "value": 61, "absolute_tolerance": 0.06}, True, id="at"),
        pytest.param({"path": "total", "value": 61, "absolute_tolerance": 0.05}, False, id="off"),
        pytest.param({"path": "total", "value": 60, "relative_tolerance": 0.02}, True, id="%"),
        pytest.param({"path": "status", "value": 5, "absolute_tolerance": 9}, False, id="text"),
        pytest.param({"path": "total", "minimum": 60.94}, True, id="at least, included"),
        pytest.param({"path": "total", "minimum": 60.95}, False, id="at least, less"),
        pytest.param({"path": "total", "minimum": 1, "maximum": 60.94}, True, id="between"),
        pytest.param({"path": "total", "maximum": 60.93}, False, id="more"),
        pytest.param({"path": "total", "maximum": 10**400}, True, id="at most, beyond any float"),
        pytest.param({"path": "status", "minimum": 1}, False, id="a text has no bounds"),
        pytest.param({"path": "paid", "minimum": 1}, False, id="true has no bounds"),
        pytest.param({"path": "stat", "maximum": 1}, False, id="absent has no bounds"),
    ],
)
def test_a_part_is_compared(*, options: dict[str, Any], passes: bool) -> None:
    grade = JsonPath.model_validate(options).grade(view_of(ORDER))

    assert (grade.passed, grade.score) == (passes, float(passes))


@pytest.mark.parametrize(
    ("options", "expected", "actual"),
    [
        ({"path": "status", "value": "open"}, "status = open", '"shipped"'),
        (
            {"path": "total", "value": 61, "absolute_tolerance": 0.05, "relative_tolerance": 0},
            "total = 61 (±0.05 or ±0 %)",
            "60.940",
        ),
        ({"path": "total", "minimum": 7, "maximum": 8}, "total at least 7 and at most 8", "60.940"),
        ({"path": "stauts", "value": "open"}, "stauts = open", "Did you mean “status”?"),
        (
            {"path": "items[0]", "value": {}},
            "items[0] = {}",
            '{"unit price": 1.50, "tags": ["book"',
        ),
        ({"path": "status", "value": {"present": False}}, "status absent", '"shipped"'),
    ],
)
def test_a_miss_shows_expected_beside_actual(
    options: dict[str, Any], expected: str, actual: str
) -> None:
    reason = JsonPath.model_validate(options).grade(view_of(ORDER)).reason

    assert reason.startswith(f"Expected {expected}; ")
    assert actual in reason


GONE = {"present": False}


@pytest.mark.parametrize(
    ("options", "place", "says"),
    [
        pytest.param({"path": "a..b"}, "path", "wildcards", id="path"),
        pytest.param({"path": ""}, "path", "at least 1", id="empty path"),
        pytest.param({"value": {"regex": "("}}, "value", "not closed", id="pattern"),
        ({"value": "5", "absolute_tolerance": 1}, "absolute_tolerance", "number"),
        pytest.param({"relative_tolerance": 1}, "relative_tolerance", "needs a number", id="none"),
        pytest.param({"value": GONE, "minimum": 1}, "value", "limits", id="bounds of nothing"),
        pytest.param({"minimum": 2, "maximum": 1}, "maximum", "less than minimum", id="range"),
        pytest.param({"minimum": math.inf}, "minimum", "finite", id="no end"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(
    options: dict[str, Any], place: str, says: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        JsonPath.model_validate({"path": "a", **options})

    (error,) = refused.value.errors()
    assert error["loc"] == (place,)
    assert says in error["msg"]


def test_a_check_written_out_with_its_defaults_means_the_same() -> None:
    for options in ({"path": "a"}, {"path": "a", "value": None}):
        spec = AssertionSpec.model_validate({"type": "json_path", **options})

        again = AssertionSpec.model_validate(spec.model_dump(mode="json"))

        assert again.grader.summary() == spec.grader.summary()


def test_a_closed_row_reads_as_a_sentence() -> None:
    assert JsonPath(path="a").summary() == "In the JSON reply a present"
    assert JsonPath(path="a", maximum=5).summary() == "In the JSON reply a at most 5"


def test_what_is_hardly_meant_warns() -> None:
    assert JsonPath(path="a", value={"regex": r"\\d"}).warnings()
    assert JsonSchema.model_validate({"schema": {"format": "uri"}}).warnings()
    assert not JsonPath(path="a", value={"regex": r"\d"}).warnings()


@given(st.text(max_size=80))
def test_any_reply_gets_a_grade(reply: str) -> None:
    for grader in (
        JsonValid(),
        JsonSchema.model_validate({"schema": SCHEMA}),
        JsonPath(path="a", value={"fuzzy": "x"}),
    ):
        grade = grader.grade(view_of(reply))

        assert grade.score in (0.0, 1.0)
        assert grade.passed is (grade.score == 1.0)


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        pytest.param({}, "Any JSON", id="nothing"),
        pytest.param({"title": "A", "$defs": {"a": {"type": "null"}}}, "Any JSON", id="remarks"),
        pytest.param({"properties": {"a": {}, "b": True}}, "Any JSON", id="keys of any kind"),
        pytest.param({"required": [], "items": {"minLength": 0}}, "Any JSON", id="empty bounds"),
        pytest.param({"anyOf": [{"type": "null"}, {}]}, "Any JSON", id="an alternative"),
        pytest.param({"type": "object", "requird": ["a"]}, "'required'", id="misspelt"),
        pytest.param({"type": "object", "nullable": True}, "'null'", id="of another standard"),
        pytest.param({"required": ["a"], "items": {"minimun": 1}}, "minimun", id="inside"),
        pytest.param({"type": "object", "x-unit": "EUR", "title": "a"}, None, id="remark beside"),
        pytest.param({"properties": {"requird": {"type": "null"}}}, None, id="a key of that name"),
        pytest.param({"enum": [{"requird": 1}]}, None, id="a value of that name"),
        pytest.param({"required": ["a"]}, None, id="required"),
        pytest.param({"not": {}}, None, id="nothing fits"),
        pytest.param({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}, None, id="reference"),
    ],
)
def test_a_schema_that_checks_nothing_or_not_what_it_says(
    schema: dict[str, Any], named: str | None
) -> None:
    problem = JsonSchema.model_validate({"schema": schema}).cannot_fail()

    assert (problem is None) is (named is None)
    assert named is None or named in (problem or "")


def test_a_path_to_a_number_that_may_be_another_is_not_graded() -> None:
    check = JsonPath(path="a", value={"fuzzy": 3.5})

    unclear, wrong = (check.grade(view_of(f'{{"a": "{number}"}}')) for number in ("3,5", "4,5"))

    assert (unclear.passed, unclear.cause) == (None, Cause.CASE)
    assert wrong.passed is False


def test_a_path_with_a_tolerance_that_covers_everything_cannot_fail() -> None:
    assert JsonPath(path="a", value=5, absolute_tolerance=1e300).cannot_fail()
    assert JsonPath(path="a", value=5, absolute_tolerance=1).cannot_fail() is None
