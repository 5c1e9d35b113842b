"""From a trial to grades: every assertion in its place, and the limits."""

import asyncio
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from evals_app.engine.errors import JudgeError, RateLimitedError
from evals_app.engine.graders import Grader, PlainGrader
from evals_app.engine.grading import grade_limits, grade_trial, limit_actuals
from evals_app.engine.suite import AssertionSpec, LimitsSpec
from evals_app.engine.trial import (
    Cause,
    Chunk,
    Failure,
    Grade,
    GradedAssertion,
    GradeStatus,
    Judge,
    JudgeAnswer,
    JudgeCall,
    JudgeQuestion,
    Message,
    Trial,
    TurnRecord,
    Usage,
    View,
)
from tests.engine.makers import make_call, make_case, make_suite, make_trial, make_turn

pytestmark = pytest.mark.anyio

HELLO = {"type": "contains", "value": "hello"}
POLITE = {"type": "llm_judge", "criteria": "Polite", "scale": "pass_fail"}
EXPECTED = {"type": "contains"}


def turn(user: str = "Hi", **changes: Any) -> dict[str, Any]:
    return {"user": user} | changes


class FakeJudge:
    """A judge that answers what it was made with; `asked` are the questions."""

    def __init__(self, answer: JudgeAnswer | Exception | None = None) -> None:
        self.answer = answer or JudgeAnswer("pass", 1.0, "Very polite.")
        self.asked: list[JudgeQuestion] = []

    async def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        self.asked.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def grade(
    trial: Trial,
    *turns: dict[str, Any],
    judge: Judge | None = None,
    suite: dict[str, Any] | None = None,
    **changes: Any,
) -> tuple[GradedAssertion, ...]:
    case = make_case(turns=list(turns), **changes)
    return await grade_trial(
        trial, case=case, suite=make_suite(case, **(suite or {})), judge_for=lambda _: judge
    )


# Places


async def test_everything_is_graded_in_the_order_of_the_conversation() -> None:
    trial = make_trial(make_turn("hello"), make_turn("bye", index=2))

    found = await grade(
        trial,
        turn(assertions=[HELLO, HELLO | {"name": "again"}]),
        turn(assertions=[HELLO | {"weight": 2, "fail_on_error": True}]),
        final_assertions=[HELLO | {"scope": "conversation"}],
        limits={"max_tool_calls": 0, "max_time_ms": 5},
    )

    assert [(each.type, each.turn, each.position) for each in found] == [
        ("contains", 1, 0),
        ("contains", 1, 1),
        ("contains", 2, 0),
        ("contains", None, 0),
        ("max_time_ms", None, 2),
        ("max_tool_calls", None, 4),
    ]
    assert [each.grade.passed for each in found] == [True, True, False, True, True, True]
    assert [each.family for each in found] == ["text"] * 4 + ["limit"] * 2
    assert found[1].label == "again"
    assert (found[2].weight, found[2].fail_on_error) == (2, True)


async def test_what_is_disabled_is_not_graded() -> None:
    off = HELLO | {"enabled": False}

    found = await grade(make_trial(make_turn()), turn(assertions=[off]), final_assertions=[off])

    assert found == ()


@pytest.mark.parametrize(
    ("assertion", "decides"),
    [
        pytest.param(HELLO, True, id="yes or no"),
        pytest.param(HELLO | {"weight": 0}, False, id="weight 0"),
        pytest.param(POLITE, True, id="a judge that says pass or fail"),
        pytest.param(POLITE | {"scale": "0-1"}, False, id="a score alone"),
        pytest.param(POLITE | {"scale": "0-1", "threshold": 0.5}, True, id="with a threshold"),
        pytest.param(
            POLITE | {"scale": "0-1", "threshold": 0.5, "weight": 0}, False, id="and weight 0"
        ),
    ],
)
async def test_whether_a_grade_decides(assertion: dict[str, Any], *, decides: bool) -> None:
    judge = FakeJudge(JudgeAnswer(0.7 if assertion.get("scale") else "pass", 0.7, "Fine."))

    (found,) = await grade(make_trial(make_turn()), turn(assertions=[assertion]), judge=judge)

    assert found.decides is decides


# What a check sees

FIRST = make_turn(
    "One.",
    messages=(Message("assistant", "", (make_call("a", chunks=(Chunk("c1", "x"),)),)),),
)
SECOND = make_turn("Two.", index=2, messages=(Message("assistant", "", (make_call("b"),)),))


@pytest.mark.parametrize(
    ("place", "scope", "passes"),
    [
        pytest.param("first", None, ["One."], id="a turn sees its own reply"),
        pytest.param("first", "turn", ["One."], id="also when it says so"),
        pytest.param("first", "conversation", ["One."], id="what comes later does not count"),
        pytest.param("second", None, ["Two."], id="nor what came before"),
        pytest.param("second", "conversation", ["One.", "Two."], id="unless it is asked for"),
        pytest.param("final", None, ["Two."], id="the end sees the last reply"),
        pytest.param("final", "turn", ["Two."], id="also when it says so, at the end"),
        pytest.param("final", "conversation", ["One.", "Two."], id="or all of them"),
    ],
)
async def test_which_text_is_graded(place: str, scope: str | None, passes: list[str]) -> None:
    checks = [{"type": "contains", "value": text, "scope": scope} for text in ("One.", "Two.")]

    found = await grade(
        make_trial(FIRST, SECOND),
        turn(assertions=checks if place == "first" else []),
        turn(assertions=checks if place == "second" else []),
        final_assertions=checks if place == "final" else [],
    )

    assert [
        text for text, each in zip(("One.", "Two."), found, strict=True) if each.grade.passed
    ] == passes


@pytest.mark.parametrize(
    ("place", "tools"), [("first", ["a"]), ("second", ["b"]), ("final", ["a", "b"])]
)
async def test_which_calls_are_graded(place: str, tools: list[str]) -> None:
    checks = [{"type": "tool_called", "value": name} for name in ("a", "b")]

    found = await grade(
        make_trial(FIRST, SECOND),
        turn(assertions=checks if place == "first" else []),
        turn(assertions=checks if place == "second" else []),
        final_assertions=checks if place == "final" else [],
    )

    assert [
        name for name, each in zip(("a", "b"), found, strict=True) if each.grade.passed
    ] == tools


@pytest.mark.parametrize(
    ("check", "expected", "passed"),
    [
        pytest.param(HELLO, "bye", True, id="its own value"),
        pytest.param(EXPECTED, "hello", True, id="the turn's text"),
        pytest.param(EXPECTED, "bye", False, id="another text"),
    ],
)
async def test_what_is_compared_with(check: dict[str, Any], expected: str, *, passed: bool) -> None:
    trial = make_trial(make_turn("hello"))

    (found,) = await grade(trial, turn(expected=expected, assertions=[check]))

    assert found.grade.passed is passed


@pytest.mark.parametrize(
    "trial",
    [
        pytest.param(make_trial(make_turn("hello"), make_turn("x", index=2)), id="held"),
        pytest.param(make_trial(make_turn(error="It broke."), planned_turns=2), id="not held"),
        pytest.param(
            make_trial(failure=Failure(Cause.HARNESS, "Lost."), planned_turns=2), id="broken"
        ),
    ],
)
async def test_a_default_check_without_any_text_is_not_applicable(trial: Trial) -> None:
    found = await grade(trial, turn(), turn(expected="x"), suite={"assertions": [EXPECTED]})

    first, second = found
    assert first.grade.status is GradeStatus.NOT_APPLICABLE
    assert first.grade.reason == "This turn has no expected text to compare with."
    assert second.grade.status is not GradeStatus.NOT_APPLICABLE


# Thresholds


@pytest.mark.parametrize(
    ("score", "threshold", "passed", "cause"),
    [
        pytest.param(0.7, 0.7, True, None, id="inclusive"),
        pytest.param(0.7 + 0.1, 0.8, True, None, id="but for rounding"),
        pytest.param(0.69, 0.7, False, Cause.ASSERTION, id="below"),
        pytest.param(0.0, 0.0, True, None, id="everything reaches 0"),
        pytest.param(0.7, None, None, None, id="none: it informs"),
    ],
)
async def test_a_score_is_held_against_the_threshold(
    monkeypatch: pytest.MonkeyPatch,
    score: float,
    threshold: float | None,
    passed: bool | None,  # noqa: FBT001 - a column of the table
    cause: Cause | None,
) -> None:
    use(monkeypatch, lambda _: Grade.scored(score, "Close."))

    (found,) = await grade(
        make_trial(make_turn()), turn(assertions=[{"type": "fake", "threshold": threshold}])
    )

    assert (found.grade.score, found.grade.passed, found.grade.cause) == (score, passed, cause)


@pytest.mark.parametrize("threshold", [None, 0.0, 1.0])
async def test_what_says_yes_or_no_needs_no_threshold(threshold: float | None) -> None:
    checks = [HELLO | {"threshold": threshold}, HELLO | {"value": "bye", "threshold": threshold}]

    yes, no = await grade(make_trial(make_turn("hello")), turn(assertions=checks))

    assert (yes.grade.passed, no.grade.passed) == (True, False)


def use(monkeypatch: pytest.MonkeyPatch, function: Callable[[View], Grade]) -> None:
    """Register a check `fake` that grades by a function: no real one gives any score at will."""

    class Fake(PlainGrader):
        family: ClassVar = "text"
        label: ClassVar = "Fake"

        def grade(self, view: View) -> Grade:
            return function(view)

    monkeypatch.setattr("evals_app.engine.suite.GRADERS", {"fake": Fake, "contains": _contains()})


def _contains() -> type[Grader]:
    return type(AssertionSpec.model_validate(HELLO).grader)


# What goes wrong


@pytest.mark.parametrize(
    ("score", "kept"), [(-0.5, 0.0), (1.5, 1.0), (0.5, 0.5), (math.inf, 1.0), (None, None)]
)
async def test_scores_are_clamped(
    monkeypatch: pytest.MonkeyPatch, score: float | None, kept: float | None
) -> None:
    use(monkeypatch, lambda _: Grade(score, passed=True, reason="So."))

    (found,) = await grade(make_trial(make_turn()), turn(assertions=[{"type": "fake"}]))

    assert (found.grade.score, found.grade.passed) == (kept, True)


async def test_a_score_that_is_no_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, lambda _: Grade(math.nan, passed=True, reason="So."))

    (found,) = await grade(make_trial(make_turn()), turn(assertions=[{"type": "fake"}]))

    assert (found.grade.score, found.grade.passed) == (None, None)
    assert (found.grade.status, found.grade.cause) == (GradeStatus.ERROR, Cause.HARNESS)


async def test_a_check_that_breaks_is_a_grade_in_error_and_its_neighbours_are_graded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def divide(view: View) -> Grade:
        raise ZeroDivisionError(view.reply)

    use(monkeypatch, divide)

    broken, fine = await grade(
        make_trial(make_turn("hello")), turn(assertions=[{"type": "fake"}, HELLO])
    )

    assert broken.grade.status is GradeStatus.ERROR
    assert broken.grade.cause is Cause.HARNESS
    assert broken.grade.reason == "This check broke: ZeroDivisionError: hello"
    assert fine.grade.passed is True


JUDGE_CALLS = (JudgeCall("judge", "claude", "Is it?", "Well"),)


@pytest.mark.parametrize(
    ("error", "cause", "reason", "calls"),
    [
        pytest.param(
            JudgeError("The judge refused.", calls=JUDGE_CALLS),
            Cause.JUDGE,
            "The judge refused.",
            JUDGE_CALLS,
            id="no verdict",
        ),
        pytest.param(
            RateLimitedError("Anthropic answered 429."),
            Cause.PROVIDER,
            "The judge could not be reached. Anthropic answered 429.",
            (),
            id="not reached",
        ),
    ],
)
async def test_a_judge_that_gives_no_verdict_leaves_the_check_ungraded(
    error: Exception, cause: Cause, reason: str, calls: tuple[JudgeCall, ...]
) -> None:
    (found,) = await grade(
        make_trial(make_turn()), turn(assertions=[POLITE]), judge=FakeJudge(error)
    )

    assert found.grade.status is GradeStatus.UNGRADED
    assert (found.grade.cause, found.grade.reason) == (cause, reason)
    assert found.grade.calls == calls


async def test_without_a_judge_nothing_is_judged() -> None:
    judged, plain = await grade(make_trial(make_turn("hello")), turn(assertions=[POLITE, HELLO]))

    assert (judged.grade.status, judged.grade.cause) == (GradeStatus.UNGRADED, Cause.JUDGE)
    assert judged.grade.reason == "There is no model to judge with."
    assert plain.grade.passed is True


# Judges


async def test_a_judge_is_told_what_it_needs_to_know() -> None:
    judge = FakeJudge()

    await grade(
        make_trial(make_turn(), make_turn(index=2), case="Refund", number=2),
        turn(expected="A greeting", assertions=[HELLO, POLITE]),
        turn(assertions=[]),
        final_assertions=[POLITE],
        judge=judge,
    )

    in_turn, at_the_end = judge.asked
    assert (in_turn.criteria, in_turn.scale, in_turn.reference) == (
        "Polite",
        "pass_fail",
        "A greeting",
    )
    assert in_turn.view.turn is not None
    assert (in_turn.view.turn.index, at_the_end.view.turn) == (1, None)
    assert (in_turn.key, at_the_end.key) == ("Refund/2/1.1", "Refund/2/final.0")
    assert at_the_end.reference is None


async def test_judges_are_asked_side_by_side() -> None:
    everybody = asyncio.Barrier(3)

    async def judge(question: JudgeQuestion) -> JudgeAnswer:
        await everybody.wait()
        return JudgeAnswer("pass", 1.0, "Fine.")

    async with asyncio.timeout(10):
        found = await grade(make_trial(make_turn()), turn(assertions=[POLITE] * 3), judge=judge)

    assert [each.grade.passed for each in found] == [True] * 3


async def test_each_check_may_have_its_own_judge() -> None:
    strict, kind = FakeJudge(JudgeAnswer("fail", 0.0, "No.")), FakeJudge()
    case = make_case(turns=[turn(assertions=[POLITE, POLITE | {"model": "agent"}])])

    found = await grade_trial(
        make_trial(make_turn()),
        case=case,
        suite=make_suite(case),
        judge_for=lambda assertion: kind if assertion.model == "agent" else strict,
    )

    assert [each.grade.passed for each in found] == [False, True]


# Turns that were not held


def two_turns() -> list[dict[str, Any]]:
    return [turn(assertions=[HELLO, POLITE]), turn(assertions=[HELLO])]


async def test_an_error_of_the_agent_fails_the_checks_of_its_turn() -> None:
    judge = FakeJudge()
    trial = make_trial(make_turn("hello", error="It broke."), make_turn("hello", index=2))

    found = await grade(trial, *two_turns(), final_assertions=[HELLO], judge=judge)

    assert [each.grade.passed for each in found] == [False, False, True, True]
    for each in found[:2]:
        assert (each.grade.score, each.grade.cause) == (0.0, Cause.AGENT)
        assert each.grade.reason == "It broke."
    assert judge.asked == []


async def test_after_an_early_end_what_was_not_held_fails_by_the_agent() -> None:
    trial = make_trial(make_turn("hello", error="It broke."), planned_turns=2)

    found = await grade(trial, *two_turns(), final_assertions=[HELLO], judge=FakeJudge())

    assert [each.grade.score for each in found] == [0.0] * 4
    assert {each.grade.cause for each in found} == {Cause.AGENT}
    assert found[2].grade.reason == "Turn 2 was not held: the conversation ended early."
    assert found[3].grade.reason == "The conversation ended early."


async def test_what_a_provider_broke_off_is_ungraded_and_what_was_held_before_is_graded() -> None:
    trial = make_trial(
        make_turn("hello"),
        make_turn("", index=2, error="Anthropic answered 529."),
        planned_turns=3,
        failure=Failure(Cause.PROVIDER, "Anthropic answered 529."),
    )

    found = await grade(
        trial,
        *two_turns(),
        turn(assertions=[HELLO]),
        final_assertions=[HELLO],
        limits={"max_time_ms": 5},
        judge=FakeJudge(),
    )

    assert [each.grade.passed for each in found] == [True, True, None, None, None, None]
    for each in found[2:]:
        assert (each.grade.status, each.grade.cause) == (GradeStatus.UNGRADED, Cause.PROVIDER)
        assert each.grade.reason == "Not graded. Anthropic answered 529."


async def test_an_error_of_the_agent_stays_one_beside_a_later_failure() -> None:
    trial = make_trial(
        make_turn("", error="It broke."),
        make_turn("", index=2, error="Away."),
        failure=Failure(Cause.PROVIDER, "Away."),
    )

    found = await grade(trial, turn(assertions=[HELLO]), turn(assertions=[HELLO]))

    assert [each.grade.cause for each in found] == [Cause.AGENT, Cause.PROVIDER]


async def test_a_failure_of_ours_after_the_last_turn_spares_what_was_held() -> None:
    trial = make_trial(
        make_turn("hello"), failure=Failure(Cause.HARNESS, "Not finished within 5 s.")
    )

    plain, judged, final = await grade(
        trial, turn(assertions=[HELLO, POLITE]), final_assertions=[HELLO]
    )

    assert plain.grade.passed is True
    for each in (judged, final):
        assert (each.grade.status, each.grade.cause) == (GradeStatus.UNGRADED, Cause.HARNESS)
        assert each.grade.reason == "Not graded. Not finished within 5 s."


async def test_a_trial_that_never_began_has_all_its_rows() -> None:
    trial = make_trial(failure=Failure(Cause.HARNESS, "Lost."), planned_turns=2)

    found = await grade(trial, *two_turns(), final_assertions=[HELLO], limits={"max_tool_calls": 1})

    assert len(found) == 5
    assert {each.grade.cause for each in found} == {Cause.HARNESS}
    assert {each.grade.passed for each in found} == {None}


# Limits

LIMITS = [
    *("max_prompt_tokens", "max_response_tokens", "max_time_ms", "max_cost_usd"),
    "max_tool_calls",
]
MEASURED = make_trial(
    make_turn(
        usage=Usage(10, 5, cache_read=90),
        latency_ms=200.0,
        waited_ms=5000.0,
        cost_usd=Decimal("0.1"),
        messages=(Message("assistant", "", (make_call(),)),),
    ),
    make_turn(
        index=2,
        usage=Usage(20, 7),
        latency_ms=100.5,
        cost_usd=Decimal("0.2"),
        messages=(Message("assistant", "", (make_call(), make_call())),),
    ),
)


def limits_of(trial: Trial, **limits: float) -> list[GradedAssertion]:
    return list(grade_limits(trial, LimitsSpec.model_validate(limits)))


def test_what_limits_bound_is_measured_in_any_case() -> None:
    assert limit_actuals(MEASURED) == {
        "max_prompt_tokens": 120,
        "max_response_tokens": 12,
        "max_time_ms": 300.5,
        "max_cost_usd": Decimal("0.3"),
        "max_tool_calls": 3,
    }


def test_a_limit_that_is_not_set_is_not_graded() -> None:
    assert limits_of(MEASURED) == []


@pytest.mark.parametrize(
    ("name", "limit", "is_kept", "shown"),
    [
        pytest.param("max_prompt_tokens", 120, True, "120", id="prompt: inclusive"),
        pytest.param("max_prompt_tokens", 119, False, "120", id="prompt: above"),
        pytest.param("max_response_tokens", 12, True, "12", id="response: inclusive"),
        pytest.param("max_response_tokens", 11, False, "12", id="response: above"),
        pytest.param("max_time_ms", 301, True, "301", id="time: below"),
        pytest.param("max_time_ms", 300, False, "301", id="time: half a millisecond above"),
        pytest.param("max_tool_calls", 3, True, "3", id="calls: inclusive"),
        pytest.param("max_tool_calls", 0, False, "3", id="calls: none allowed"),
    ],
)
def test_limits_are_inclusive(name: str, limit: int, shown: str, *, is_kept: bool) -> None:
    (found,) = limits_of(MEASURED, **{name: limit})

    assert (found.type, found.family, found.turn, found.position) == (
        name,
        "limit",
        None,
        LIMITS.index(name),
    )
    assert (found.grade.passed, found.grade.score) == (is_kept, None)
    assert found.grade.cause is (None if is_kept else Cause.LIMIT)
    assert found.grade.reason.endswith(f": {shown}, the limit is {limit}.")
    assert found.grade.details["limit"] == limit
    assert found.decides


@pytest.mark.parametrize(
    ("usages", "name", "status", "cause"),
    [
        pytest.param(
            [(Usage(), None)],
            "max_prompt_tokens",
            GradeStatus.UNGRADED,
            Cause.CASE,
            id="nobody reports",
        ),
        pytest.param(
            [(Usage(1, 1), None), (Usage(), None)],
            "max_response_tokens",
            GradeStatus.UNGRADED,
            Cause.CASE,
            id="not in every turn",
        ),
        pytest.param(
            [(Usage(1, 1), None), (Usage(), "It broke.")],
            "max_prompt_tokens",
            GradeStatus.OK,
            Cause.AGENT,
            id="unknown because the agent failed",
        ),
        pytest.param(
            [(Usage(), None), (Usage(), "It broke.")],
            "max_prompt_tokens",
            GradeStatus.UNGRADED,
            Cause.CASE,
            id="it would not have reported anyway",
        ),
        pytest.param(
            [(Usage(), None)], "max_time_ms", GradeStatus.OK, None, id="time is always known"
        ),
        pytest.param(
            [(Usage(), None)], "max_tool_calls", GradeStatus.OK, None, id="calls are always known"
        ),
    ],
)
def test_a_limit_on_what_is_unknown(
    usages: list[tuple[Usage, str | None]], name: str, status: GradeStatus, cause: Cause | None
) -> None:
    turns = [make_turn(index=n, usage=u, error=e) for n, (u, e) in enumerate(usages, 1)]

    (found,) = limits_of(make_trial(*turns), **{name: 5000})

    assert (found.grade.status, found.grade.cause) == (status, cause)
    assert found.grade.passed is (None if status is GradeStatus.UNGRADED else cause is None)
    assert found.grade.reason


def test_an_unknown_usage_is_said_to_be_unknown() -> None:
    (silent,) = limits_of(make_trial(make_turn(usage=Usage())), max_prompt_tokens=5)
    broken = make_turn("", index=1, usage=Usage(), error="It broke.")
    (failed,) = limits_of(make_trial(broken), max_prompt_tokens=5)

    assert silent.grade.reason == "Prompt tokens: the agent reports no usage."
    assert silent.grade.details == {"limit": 5, "actual": None}
    assert failed.grade.reason == "Prompt tokens: unknown. Turn 1 failed: It broke."


@pytest.mark.parametrize(
    ("turn", "status", "cause", "reason"),
    [
        pytest.param(
            make_turn(model="claude-opus-5-5"),
            GradeStatus.UNGRADED,
            Cause.CASE,
            "Cost: unknown, no price covers what claude-opus-5-5 did. Enter it on the page of its"
            " provider.",
            id="no price",
        ),
        pytest.param(
            make_turn("", error="It broke."),
            GradeStatus.UNGRADED,
            Cause.CASE,
            "Cost: unknown, no price covers what the agent's model did. Enter it on the page of its"
            " provider.",
            id="no price, and an error besides",
        ),
        pytest.param(
            make_turn(usage=Usage()),
            GradeStatus.UNGRADED,
            Cause.CASE,
            "Cost: the agent reports no usage.",
            id="no usage",
        ),
        pytest.param(
            make_turn("", usage=Usage(), error="It broke."),
            GradeStatus.OK,
            Cause.AGENT,
            "Cost: unknown. Turn 1 failed: It broke.",
            id="cut off",
        ),
    ],
)
def test_a_limit_on_a_cost_that_is_unknown(
    turn: TurnRecord, status: GradeStatus, cause: Cause, reason: str
) -> None:
    (found,) = limits_of(make_trial(turn), max_cost_usd=0.5)

    assert (found.grade.status, found.grade.cause) == (status, cause)
    assert found.grade.reason == reason
    assert found.grade.details == {"limit": 0.5, "actual": None}


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        pytest.param(0.3, None, id="inclusive: 0.1 and 0.2 are 0.3"),
        pytest.param(
            0.299999999, "Cost: $0.30, the limit is $0.299999999.", id="a billionth above"
        ),
        pytest.param(0, "Cost: $0.30, the limit is $0.", id="nothing allowed"),
    ],
)
def test_a_limit_on_cost_is_exact(limit: float, reason: str | None) -> None:
    (found,) = limits_of(MEASURED, max_cost_usd=limit)

    assert (found.type, found.position) == ("max_cost_usd", LIMITS.index("max_cost_usd"))
    assert found.grade.passed is (reason is None)
    assert found.grade.cause is (Cause.LIMIT if reason else None)
    assert found.grade.reason == (reason or "Cost: $0.30, the limit is $0.30.")
    assert found.grade.details == {"limit": limit, "actual": 0.3}


def test_limits_of_a_broken_trial_are_ungraded_and_still_measured() -> None:
    trial = MEASURED.but(failure=Failure(Cause.PROVIDER, "Away."))

    found = limits_of(trial, max_prompt_tokens=5, max_tool_calls=5)

    assert {each.grade.cause for each in found} == {Cause.PROVIDER}
    assert [each.grade.details["actual"] for each in found] == [120, 3]
