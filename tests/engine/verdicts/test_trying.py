"""A check that is tried on a pasted reply."""

from typing import Any

import pytest

from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Failure, ToolCall, Trial
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.trying import MAX_CHARS, needs_run, try_check
from tests.makers import make_trial

pytestmark = pytest.mark.anyio


def spec(kind: str, **options: Any) -> AssertionSpec:
    return AssertionSpec.model_validate({"type": kind, **options})


async def grade_of(
    check: AssertionSpec, reply: str, *, turn: int | None = 1, **around: Any
) -> Grade:
    return await try_check(check, reply=reply, turn=turn, **around)


CALLED = spec("tool_called", value="entity.query")
EVERYWHERE = spec("contains", value="late", scope="conversation")
TWO_TURNS = make_trial(turns=2, reply="late", calls=[ToolCall("entity.query", {})])


@pytest.mark.parametrize(
    ("check", "reply", "around", "passed"),
    [
        pytest.param(spec("contains", value="2 pm"), "At 2 PM.", {}, True, id="text"),
        pytest.param(spec("matches", value=r"#\d{3}"), "#12", {}, False, id="pattern"),
        pytest.param(spec("numeric", value=5, extract="any"), "5 or 6", {}, True, id="number"),
        (spec("json_path", path="a.b", value=1), '{"a": {"b": 2}}', {}, False),
        pytest.param(spec("exact_match"), "Rome", {"expected": "Rome"}, True, id="expected"),
        (spec("meteor", threshold=0.9), "Rome", {"expected": "Oslo"}, False),
        (spec("contains", value="42"), "<think>42</think> No.", {}, False),
        pytest.param(spec("contains", value="x"), "x", {"turn": 3}, True, id="later turn"),
        pytest.param(spec("contains", value="x"), "x", {"turn": None}, True, id="final check"),
        pytest.param(CALLED, "", {"last": TWO_TURNS, "turn": 2}, True, id="calls of a run"),
        pytest.param(CALLED, "", {"last": TWO_TURNS, "turn": None}, True, id="calls of all turns"),
        pytest.param(EVERYWHERE, "no", {"last": TWO_TURNS, "turn": 2}, True, id="earlier replies"),
        pytest.param(EVERYWHERE, "no", {"last": TWO_TURNS, "turn": 1}, False, id="not later ones"),
    ],
)
async def test_a_reply_is_graded_as_in_a_run(
    check: AssertionSpec, reply: str, around: dict[str, Any], *, passed: bool
) -> None:
    grade = await grade_of(check, reply, **around)

    assert (grade.status, grade.passed) == (GradeStatus.OK, passed)
    assert grade.reason


async def test_a_conversation_that_broke_off_does_not_fail_the_pasted_reply() -> None:
    broken = make_trial(calls=[ToolCall("entity.query", {})], failure=Failure("provider", "Down"))  # type: ignore[arg-type]

    assert (await grade_of(CALLED, "Hello", last=broken)).passed


@pytest.mark.parametrize(
    ("check", "reply", "last"),
    [
        pytest.param(CALLED, "", None, id="no conversation"),
        pytest.param(spec("tool_not_called", value="x"), "", make_trial(), id="turn did not run"),
        pytest.param(spec("exact_match"), "Rome", None, id="nothing expected"),
        pytest.param(spec("contains", value="a"), "a" * (MAX_CHARS + 1), None, id="too long"),
        (EVERYWHERE, "no", make_trial(turns=2, reply="a" * MAX_CHARS)),
        pytest.param(spec("llm_judge", criteria="Polite"), "Hi", None, id="judge"),
    ],
)
async def test_what_cannot_be_tried_has_a_reason_and_no_verdict(
    check: AssertionSpec, reply: str, last: Trial | None
) -> None:
    grade = await grade_of(check, reply, turn=2, last=last)

    assert (grade.status, grade.passed) == (GradeStatus.NOT_APPLICABLE, None)
    assert grade.reason


async def test_an_expected_answer_that_is_too_long_is_not_compared() -> None:
    grade = await grade_of(spec("meteor"), "Rome", expected="a" * (MAX_CHARS + 1))

    assert grade.status is GradeStatus.NOT_APPLICABLE


async def test_what_a_check_does_not_read_may_be_long() -> None:
    long = make_trial(reply="a" * MAX_CHARS * 2, calls=[ToolCall("entity.query", {})])

    assert (await grade_of(CALLED, "", last=long, turn=None)).passed


@pytest.mark.parametrize(
    ("check", "is_free"),
    [
        (spec("contains", value="a"), True),
        (spec("world_changes", nothing_else=True), True),
        (spec("llm_judge", criteria="Polite"), False),
        (spec("semantic_similarity", value="a"), False),
    ],
)
def test_only_checks_that_cost_nothing_are_tried(check: AssertionSpec, *, is_free: bool) -> None:
    assert (needs_run(check) is None) == is_free
