"""The grader that asks code of the operator's."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.basics.errors import CodeError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.callables.pool import Callables
from evals_app.engine.graders.code import Code, context_of
from evals_app.engine.record.aids import Aids
from evals_app.engine.record.grade import Grade, GradedAssertion, GradeStatus
from evals_app.engine.record.trial import Cause, Chunk, ToolCall, Trial
from evals_app.engine.record.view import View
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.grading import grade_trial
from tests.engine.graders.makers import make_trial, make_turn
from tests.engine.makers import make_case, make_suite
from tests.engine.operator_code import OperatorCode

pytestmark = pytest.mark.anyio

EXAMPLE = "evals_app.engine.examples.graders:turn_program"
RESULT: dict[str, Any] = {"score": 0.7, "passed": None, "reason": None, "details": {}}


class FakeCode:
    """Code that gives what it was made with; `asked` is what it was called with."""

    def __init__(self, **result: Any) -> None:
        self._result = RESULT | result
        self.asked: list[tuple[str, Mapping[str, Any], float]] = []

    async def __call__(
        self, reference: str, argument: Mapping[str, Any], *, timeout_s: float
    ) -> Any:
        self.asked.append((reference, argument, timeout_s))
        return self._result


async def grade(code: FakeCode, **options: Any) -> Grade:
    turn = make_turn("60.94", user="What was it in 2007?")
    grader = Code.model_validate({"grader": EXAMPLE} | options)
    return await grader.grade_with(View(make_trial(turn), turn), Aids(run_code=code))


async def test_the_function_gets_the_context_within_its_time_and_gives_the_grade() -> None:
    code = FakeCode(score=0.4, passed=True, reason="Near enough.", details={"off_by": 0.6})

    result = await grade(code, timeout_s=3)

    [(reference, context, timeout_s)] = code.asked
    assert (reference, timeout_s) == (EXAMPLE, 3)
    assert context["agent_response"] == "60.94"
    assert (result.score, result.passed, result.reason) == (0.4, True, "Near enough.")
    assert result.details == {"grader": EXAMPLE, "off_by": 0.6}


async def test_a_failure_is_one_of_the_assertion_and_without_a_reason_the_score_is_shown() -> None:
    result = await grade(FakeCode(score=0.25, passed=False))

    assert result.cause is Cause.ASSERTION
    assert EXAMPLE in result.reason
    assert "0.25" in result.reason


async def test_where_no_code_can_run_that_is_shown() -> None:
    grader = Code.model_validate({"grader": EXAMPLE})
    turn = make_turn("60.94")

    with pytest.raises(CodeError, match="cannot be run"):
        await grader.grade_with(View(make_trial(turn), turn), Aids())


def test_a_context_tells_everything_about_a_turn() -> None:
    calls = (
        ToolCall("search", {"query": "2007"}, result="ü", chunks=(Chunk("a", "It was 60.94."),)),
        ToolCall("mail", {}, error="no network", duration_ms=12),
    )
    turns = [make_turn("Hi."), make_turn("60.94", user="And in 2007?", calls=calls, index=2)]
    trial = make_trial(*turns, case="Prices")
    view = View(trial, turns[1], "60.94", config={"turn_program": "60.94"})
    world = {"entities": [{"id": "order-1"}], "relations": []}

    context = context_of(view, Aids(opened_world=lambda: world))

    assert context == {
        "turn_input": "And in 2007?",
        "agent_response": "60.94",
        "ground_truth": "60.94",
        "tool_invocations": [
            {
                "name": "search",
                "args": {"query": "2007"},
                "result": "ü",
                "bytes": 4,
                "duration_ms": None,
                "error": None,
            },
            {
                "name": "mail",
                "args": {},
                "result": None,
                "bytes": 4,
                "duration_ms": 12,
                "error": "no network",
            },
        ],
        "reports_calls": True,
        "retrieval_context": ["It was 60.94."],
        "turn_index": 1,
        "test_case_name": "Prices",
        "turn_config": {"turn_program": "60.94"},
        "world_before": world,
        "world_after": world,
    }


def test_a_context_at_the_end_tells_of_the_whole_conversation() -> None:
    turns = [
        make_turn("Hi.", calls=(ToolCall("search", {}),)),
        make_turn("Bye.", user="Bye", calls=(ToolCall("mail", {}),), index=2),
    ]

    context = context_of(View(make_trial(*turns)), Aids())

    assert (context["turn_input"], context["agent_response"]) == ("Bye", "Bye.")
    assert [call["name"] for call in context["tool_invocations"]] == ["search", "mail"]
    assert (context["turn_index"], context["turn_config"]) == (None, {})
    assert (context["world_before"], context["retrieval_context"]) == (None, None)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param("os:system", "does not permit the module os", id="not permitted"),
        pytest.param(EXAMPLE.replace("gram", "gam"), "mean 'turn_program'?", id="misspelt"),
        pytest.param("evals_app.engine.examples.agents:analyst", "accept one argument", id="agent"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused_when_it_is_written(
    reference: str, message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        AssertionSpec.model_validate({"type": "code", "grader": reference})

    [error] = caught.value.errors()
    assert error["loc"] == ("grader",)
    assert message in error["msg"]


def test_what_was_allowed_when_it_was_written_is_read_again() -> None:
    written = {"type": "code", "grader": "gone.since:then", "threshold": 0.9}

    read = make_case_with(written, context=FROZEN)

    assert read.turns[0].assertions is not None
    assert read.turns[0].assertions[0].model_dump(exclude_unset=True) == written
    with pytest.raises(ValidationError, match="does not permit"):
        make_case_with(written, context=None)


def make_case_with(assertion: dict[str, Any], *, context: Any) -> Any:
    case = make_case().model_dump(mode="json", exclude_unset=True)
    case["turns"][0]["assertions"] = [assertion]
    return type(make_case()).model_validate(case, context=context)


@pytest.mark.parametrize("timeout_s", [0, 301])
def test_its_time_is_bounded(timeout_s: float) -> None:
    with pytest.raises(ValidationError):
        Code.model_validate({"grader": EXAMPLE, "timeout_s": timeout_s})


# With real processes, from the assertion to the grade


async def grade_by(reference: str, trial: Trial, **common: Any) -> GradedAssertion:
    """Grade the second turn, and the end, with a function."""
    written = {"type": "code", "grader": reference} | common
    spec = AssertionSpec.model_validate(written)
    turns = [{"user": "Hi"}, {"user": "Bye", "assertions": [written], "config": {"word": "Bye"}}]
    case = make_case(turns=turns)
    async with Callables(most=2) as callables:
        graded = await grade_trial(
            trial,
            case=case,
            suite=make_suite(case),
            aids_for=lambda _, key: Aids(run_code=callables.grade, key=key),
        )
    assert graded[-1].label == spec.label
    return graded[-1]


TRIAL = make_trial(make_turn("Hi."), make_turn("Bye.", index=2))
PASS = (1.0, True)
WHOLE = {"scope": "conversation"}


@pytest.mark.parametrize(
    ("code", "common", "expected"),
    [
        pytest.param("return True", {}, (1.0, True), id="true"),
        pytest.param("return False", {}, (0.0, False), id="false"),
        pytest.param("return 0.5", {}, (0.5, True), id="half is enough without a threshold"),
        pytest.param("return 0.49", {}, (0.49, False), id="less is not"),
        pytest.param("return 0.5", {"threshold": 0.6}, (0.5, False), id="below the threshold"),
        pytest.param("return 0.2", {"threshold": 0.2}, (0.2, True), id="at the threshold"),
        pytest.param("return True", {"threshold": 1.0}, (1.0, True), id="its own verdict counts"),
        pytest.param("return it.turn_config['word'] in it.agent_response", {}, PASS, id="config"),
        pytest.param("return it.turn_index", {"threshold": 1}, PASS, id="from 0"),
        pytest.param("return 'Hi.' in it.agent_response", WHOLE, PASS, id="whole conversation"),
    ],
)
async def test_scores_and_verdicts(
    operator_code: OperatorCode, code: str, common: dict[str, Any], expected: tuple[float, bool]
) -> None:
    result = await grade_by(operator_code.function(f"def it(it): {code}"), TRIAL, **common)

    assert (result.grade.score, result.grade.passed) == expected
    assert (result.decides, result.family) == (True, "code")


async def test_what_it_raises_is_an_error_of_the_check(operator_code: OperatorCode) -> None:
    reference = operator_code.function("def it(context): return context.turn_config['amount']")

    result = await grade_by(reference, TRIAL, fail_on_error=True)

    assert (result.grade.status, result.grade.cause) == (GradeStatus.ERROR, Cause.CASE)
    assert "failed: KeyError: 'amount' (" in result.grade.reason
    assert result.fail_on_error


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        pytest.param("return 5", "score is 5", id="stars"),
        pytest.param("return -0.5", "score is -0.5", id="below 0"),
        pytest.param(
            "from evals_app.engine.callables import GraderResult as It;"
            " return It(score=20, passed=True, reason='20 of 100 points')",
            "score is 20",
            id="of 100, with a verdict and a reason of its own",
        ),
    ],
)
async def test_a_score_on_another_scale_is_an_error_of_the_check(
    operator_code: OperatorCode, code: str, shown: str
) -> None:
    result = await grade_by(operator_code.function(f"def it(it): {code}"), TRIAL, threshold=0.9)

    assert (result.grade.status, result.grade.cause) == (GradeStatus.ERROR, Cause.CASE)
    assert (result.grade.score, result.grade.passed) == (None, None)
    assert shown in result.grade.reason


def test_a_check_is_called_after_its_function_unless_it_has_a_name() -> None:
    unnamed = AssertionSpec.model_validate({"type": "code", "grader": EXAMPLE})
    named = AssertionSpec.model_validate({"type": "code", "grader": EXAMPLE, "name": "Steps"})

    assert (unnamed.label, named.label) == ("Function turn_program", "Steps")


def test_an_agent_outside_has_no_world_to_compare() -> None:
    trial = make_trial(make_turn("Done."), is_outside=True)

    context = context_of(View(trial), Aids(opened_world=lambda: {"entities": [], "relations": []}))

    assert (context["world_before"], context["world_after"]) == (None, None)
