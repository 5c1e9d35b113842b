from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders.geval import GEval
from evals_app.engine.record.aids import Aids, MetricScore, RagQuestion, StepsQuestion
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.suites.suite_spec import CaseSpec
from tests.engine.graders.makers import view_of

pytestmark = pytest.mark.anyio
GOOD: dict[str, Any] = {"criteria": "Is good"}


def test_the_judge_is_asked_as_the_options_say() -> None:
    view = view_of("Hi")
    grader = GEval.model_validate(
        {
            "criteria": " Is kind\n",
            "evaluation_steps": ["Look."],
            "evaluation_params": ["actual_output", "input"],
            "strict_mode": True,
            "votes": 3,
        }
    )

    assert grader.question(view, key="k") == StepsQuestion(
        view=view,
        key="k",
        criteria="Is kind",
        steps=("Look.",),
        shown=("actual_output", "input"),
        scale="pass_fail",
        votes=3,
    )
    assert grader.asks() == 3


@pytest.mark.parametrize(
    ("options", "scale"), [({}, "1-5"), ({"scale": "0-10"}, "0-10")], ids=["usual", "of DeepEval"]
)
def test_the_scale_is_chosen_and_only_the_answer_shown(options: dict[str, Any], scale: str) -> None:
    question = GEval.model_validate({"criteria": "x", **options}).question(view_of("Hi"), key="k")

    assert (question.scale, question.shown) == (scale, ("actual_output",))


def test_steps_of_nothing_but_spaces_cannot_fail() -> None:
    assert GEval(evaluation_steps=[" "]).cannot_fail()
    assert GEval(evaluation_steps=["Look."]).cannot_fail() is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({}, "Write criteria", id="neither"),
        pytest.param({"criteria": " "}, "Write criteria", id="blank"),
        pytest.param({"evaluation_steps": [""]}, "at least 1 character", id="a blank step"),
        pytest.param(GOOD | {"evaluation_params": ["input"]}, "must include", id="no answer"),
        pytest.param(GOOD | {"evaluation_params": ["actual_output"] * 2}, "twice", id="twice"),
        pytest.param(GOOD | {"evaluation_params": ["output"]}, "Input should be", id="unknown"),
        pytest.param(GOOD | {"votes": 2}, "Input should be 1, 3 or 5", id="votes"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        GEval.model_validate(options)


@pytest.mark.parametrize(
    ("field", "lacking", "given"),
    [
        pytest.param("expected_output", "an expected text", {"expected": "Yes."}, id="expected"),
        pytest.param("context", "a context", {"context": ["It is May."]}, id="context"),
        pytest.param("input", None, {}, id="input"),
        pytest.param("retrieval_context", None, {}, id="retrieved: the tools may give it"),
    ],
)
def test_a_field_that_the_case_lacks_is_refused_when_it_is_written(
    field: str, lacking: str | None, given: dict[str, Any]
) -> None:
    check = {"type": "geval", "criteria": "x", "evaluation_params": ["actual_output", field]}
    turn = {"user": "Hi", "assertions": [check]}

    if lacking is not None:
        with pytest.raises(ValidationError, match=f"needs a turn with {lacking}"):
            CaseSpec.model_validate({"name": "c", "turns": [turn]})
    CaseSpec.model_validate({"name": "c", "turns": [turn | given]})


def test_the_end_of_a_conversation_has_neither() -> None:
    params = ["actual_output", "expected_output", "context"]
    check = {"type": "geval", "criteria": "x", "evaluation_params": params}
    turn = {"user": "Hi", "expected": "Yes.", "context": ["It is May."]}

    with pytest.raises(ValidationError, match="needs a turn with a context"):
        CaseSpec.model_validate({"name": "c", "turns": [turn], "final_assertions": [check]})


async def result_of(score: float | None, **options: Any) -> tuple[bool | None, Cause | None]:
    async def measure(question: RagQuestion | StepsQuestion) -> MetricScore:
        return MetricScore(score=score, reason="Because.")

    grader = GEval.model_validate({"criteria": "x"} | options)
    grade = await grader.grade_with(view_of("Hi"), Aids(measure=measure))
    assert grade.status is (GradeStatus.NOT_APPLICABLE if score is None else GradeStatus.OK)
    return grade.passed, grade.cause


@pytest.mark.parametrize(
    ("score", "strict", "passed"),
    [
        pytest.param(0.9, False, None, id="a score alone says nothing"),
        pytest.param(1.0, True, True, id="strict: passed"),
        pytest.param(0.0, True, False, id="strict: failed"),
        pytest.param(None, True, None, id="strict: no score"),
    ],
)
async def test_strict_has_a_verdict_of_its_own(
    *, score: float | None, strict: bool, passed: bool | None
) -> None:
    cause = Cause.ASSERTION if passed is False else None

    assert await result_of(score, strict_mode=strict) == (passed, cause)


def test_strict_decides_without_a_threshold() -> None:
    assert GEval(criteria="x", strict_mode=True).decides(None)


def test_a_closed_row_reads_as_a_sentence() -> None:
    assert GEval(criteria="Is\n kind").summary() == "By steps: Is kind"
    assert GEval(evaluation_steps=["Look.", "Grade."]).summary() == "By steps: Look. Grade."
