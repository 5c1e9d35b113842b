"""From a trial to grades: every assertion in its place."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from evals_app.engine.basics.errors import JudgeError, RateLimitedError
from evals_app.engine.graders import Grader, PlainGrader
from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES
from evals_app.engine.record.aids import (
    Aids,
    ChecklistAnswer,
    ChecklistQuestion,
    Judge,
    JudgeAnswer,
    JudgeQuestion,
    TickedItem,
)
from evals_app.engine.record.grade import Grade, GradedAssertion, GradeStatus
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause, Chunk, Failure, Message, Trial
from evals_app.engine.record.view import View
from evals_app.engine.specs.inventory import Abilities, Inventory
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.engine.verdicts.grading import NO_AIDS, grade_trial
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
        self.ticked: list[ChecklistQuestion] = []

    async def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        self.asked.append(question)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def tick_off(self, question: ChecklistQuestion) -> ChecklistAnswer:
        self.ticked.append(question)
        return ChecklistAnswer((TickedItem(1, "pass"), TickedItem(2, "fail")))


async def grade(
    trial: Trial,
    *turns: dict[str, Any],
    judge: Judge | None = None,
    suite: dict[str, Any] | None = None,
    **changes: Any,
) -> tuple[GradedAssertion, ...]:
    case = make_case(turns=list(turns), **changes)
    return await grade_trial(
        trial,
        case=case,
        suite=make_suite(case, **(suite or {})),
        aids_for=lambda *_: Aids(judge=judge),
    )


async def grade_of(
    assertion: dict[str, Any], *, reply: str = "Hello.", judge: Judge | None = None
) -> Grade:
    """Grade one check of one turn."""
    (check,) = await grade(make_trial(make_turn(reply)), turn(assertions=[assertion]), judge=judge)
    return check.grade


# Places


async def test_everything_is_graded_in_the_order_of_the_conversation() -> None:
    trial = make_trial(make_turn("hello"), make_turn("bye", index=2))

    graded = await grade(
        trial,
        turn(assertions=[HELLO, HELLO | {"name": "again"}]),
        turn(assertions=[HELLO | {"weight": 2, "fail_on_error": True}]),
        final_assertions=[HELLO | {"scope": "conversation"}],
        limits={"max_tool_calls": 0, "max_time_ms": 5},
    )

    assert [(check.type, check.turn, check.position) for check in graded] == [
        ("contains", 1, 0),
        ("contains", 1, 1),
        ("contains", 2, 0),
        ("contains", None, 0),
        ("max_time_ms", None, 2),
        ("max_tool_calls", None, 4),
    ]
    assert [check.grade.passed for check in graded] == [True, True, False, True, True, True]
    assert [check.family for check in graded] == ["text"] * 4 + ["limit"] * 2
    assert graded[1].label == "again"
    assert (graded[2].weight, graded[2].fail_on_error) == (2, True)


async def test_what_is_disabled_is_not_graded() -> None:
    off = HELLO | {"enabled": False}

    graded = await grade(make_trial(make_turn()), turn(assertions=[off]), final_assertions=[off])

    assert graded == ()


@pytest.mark.parametrize(
    ("assertion", "decides"),
    [
        pytest.param(HELLO, True, id="yes or no"),
        pytest.param(HELLO | {"weight": 0}, False, id="weight 0"),
        pytest.param(POLITE, True, id="a judge that says pass or fail"),
        pytest.param(POLITE | {"scale": "0-1"}, False, id="a score alone"),
        pytest.param(POLITE | {"scale": "0-1", "threshold": 0.5}, True, id="with a threshold"),
        (POLITE | {"scale": "0-1", "threshold": 0.5, "weight": 0}, False),
    ],
)
async def test_whether_a_grade_decides(assertion: dict[str, Any], *, decides: bool) -> None:
    judge = FakeJudge(JudgeAnswer(0.7 if assertion.get("scale") else "pass", 0.7, "Fine."))

    (graded,) = await grade(make_trial(make_turn()), turn(assertions=[assertion]), judge=judge)

    assert graded.decides is decides


# What a check sees

FIRST = make_turn(
    "One.", messages=(Message("assistant", "", (make_call("a", chunks=(Chunk("c1", "x"),)),)),)
)
SECOND = make_turn("Two.", index=2, messages=(Message("assistant", "", (make_call("b"),)),))


SAID, CALLED = ("contains", "One.", "Two."), ("tool_called", "a", "b")


@pytest.mark.parametrize(
    ("kind", "place", "scope", "passes"),
    [
        pytest.param(SAID, "first", None, ["One."], id="a turn sees its own reply"),
        pytest.param(SAID, "first", "turn", ["One."], id="also when it says so"),
        pytest.param(SAID, "first", "conversation", ["One."], id="what comes later does not count"),
        pytest.param(SAID, "second", None, ["Two."], id="nor what came before"),
        pytest.param(SAID, "second", "conversation", ["One.", "Two."], id="unless it is asked for"),
        pytest.param(SAID, "final", None, ["Two."], id="the end sees the last reply"),
        pytest.param(SAID, "final", "turn", ["Two."], id="also when it says so, at the end"),
        pytest.param(SAID, "final", "conversation", ["One.", "Two."], id="or all of them"),
        pytest.param(CALLED, "first", None, ["a"], id="calls of a turn"),
        pytest.param(CALLED, "second", None, ["b"], id="calls of another turn"),
        pytest.param(CALLED, "final", None, ["a", "b"], id="all calls"),
    ],
)
async def test_what_is_graded(
    kind: tuple[str, ...], place: str, scope: str | None, passes: list[str]
) -> None:
    name, *values = kind
    checks = [{"type": name, "value": value, "scope": scope} for value in values]

    graded = await grade(
        make_trial(FIRST, SECOND),
        turn(assertions=checks if place == "first" else []),
        turn(assertions=checks if place == "second" else []),
        final_assertions=checks if place == "final" else [],
    )

    passed = [check.grade.passed for check in graded]
    assert [value for value, ok in zip(values, passed, strict=True) if ok] == passes


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

    (graded,) = await grade(trial, turn(expected=expected, assertions=[check]))

    assert graded.grade.passed is passed


@pytest.mark.parametrize(
    "trial",
    [
        pytest.param(make_trial(make_turn("hello"), make_turn("x", index=2)), id="held"),
        pytest.param(make_trial(make_turn(error="It broke."), planned_turns=2), id="not held"),
        make_trial(failure=Failure(Cause.HARNESS, "Lost."), planned_turns=2),
    ],
)
async def test_a_default_check_without_any_text_is_not_applicable(trial: Trial) -> None:
    graded = await grade(trial, turn(), turn(expected="x"), suite={"assertions": [EXPECTED]})

    first, second = graded
    assert first.grade.status is GradeStatus.NOT_APPLICABLE
    assert first.grade.reason == "This turn has no expected text to compare with."
    assert second.grade.status is not GradeStatus.NOT_APPLICABLE


async def test_a_default_check_of_the_context_is_not_applicable_without_one() -> None:
    check = {"type": "geval", "criteria": "x", "evaluation_params": ["actual_output", "context"]}

    first, second = await grade(
        make_trial(make_turn("hello"), make_turn("x", index=2)),
        turn(),
        turn(context=["It is May."]),
        suite={"assertions": [check]},
    )

    assert first.grade.status is GradeStatus.NOT_APPLICABLE
    assert first.grade.reason == "This turn has no context to compare with."
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
async def test_a_score_is_compared_with_the_threshold(
    monkeypatch: pytest.MonkeyPatch,
    score: float,
    threshold: float | None,
    passed: bool | None,  # noqa: FBT001 - a column of the table
    cause: Cause | None,
) -> None:
    use(monkeypatch, lambda _: Grade.of_score(score, "Close."))

    graded = await grade_of({"type": "fake", "threshold": threshold})

    assert (graded.score, graded.passed, graded.cause) == (score, passed, cause)


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

    monkeypatch.setattr(
        "evals_app.engine.suites.assertion_spec.GRADERS", {"fake": Fake, "contains": _contains()}
    )


def _contains() -> type[Grader]:
    return type(AssertionSpec.model_validate(HELLO).grader)


# What goes wrong


@pytest.mark.parametrize(
    ("score", "kept"), [(-1e-12, 0.0), (1 + 1e-12, 1.0), (0.5, 0.5), (None, None)]
)
async def test_scores_are_kept_but_for_what_rounding_added(
    monkeypatch: pytest.MonkeyPatch, score: float | None, kept: float | None
) -> None:
    use(monkeypatch, lambda _: Grade(score, passed=True, reason="So."))

    graded = await grade_of({"type": "fake"})

    assert (graded.score, graded.passed) == (kept, True)


@pytest.mark.parametrize("score", [math.nan, math.inf, -0.5, 1.5, 20.0])
async def test_a_score_outside_0_to_1_is_an_error(
    monkeypatch: pytest.MonkeyPatch, score: float
) -> None:
    use(monkeypatch, lambda _: Grade(score, passed=True, reason="So."))

    graded = await grade_of({"type": "fake"})

    assert (graded.score, graded.passed) == (None, None)
    assert (graded.status, graded.cause) == (GradeStatus.ERROR, Cause.HARNESS)


@pytest.mark.parametrize(
    ("score", "threshold", "reason"),
    [
        pytest.param(0.29, 0.8, "So. Score 0.29, needs 0.80.", id="below"),
        pytest.param(0.8, 0.8, "So. Score 0.80, needs 0.80.", id="reached"),
        pytest.param(0.7 + 0.1, 0.8, "So. Score 0.80, needs 0.80.", id="reached but for noise"),
        pytest.param(0.7996, 0.8, "So. Score 0.7996, needs 0.8000.", id="nearly"),
        pytest.param(0.5, 0.825, "So. Score 0.500, needs 0.825.", id="threshold of three places"),
        pytest.param(0.29, None, "So. Score 0.29.", id="no threshold"),
        pytest.param(None, 0.8, "So.", id="no score"),
    ],
)
async def test_a_reason_ends_with_the_score_and_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, score: float | None, threshold: float | None, reason: str
) -> None:
    use(monkeypatch, lambda _: Grade(score, None, "So."))
    check = {"type": "fake"} | ({} if threshold is None else {"threshold": threshold})

    assert (await grade_of(check)).reason == reason


async def test_a_check_that_decides_by_itself_says_so_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, lambda _: Grade.miss("So."))

    assert (await grade_of({"type": "fake", "threshold": 0.5})).reason == "So."


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
    assert broken.grade.reason == "This check failed with an error: ZeroDivisionError: hello"
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
    graded = await grade_of(POLITE, judge=FakeJudge(error))

    assert (graded.status, graded.cause) == (GradeStatus.UNGRADED, cause)
    assert (graded.reason, graded.calls) == (reason, calls)


async def test_without_a_judge_nothing_is_judged() -> None:
    judged, plain = await grade(make_trial(make_turn("hello")), turn(assertions=[POLITE, HELLO]))

    assert (judged.grade.status, judged.grade.cause) == (GradeStatus.UNGRADED, Cause.JUDGE)
    assert "EVALS_JUDGE_MODEL" in judged.grade.reason
    assert plain.grade.passed is True


# Judges


async def test_a_judge_is_shown_what_it_needs_to_know() -> None:
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

    class Patient(FakeJudge):
        async def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
            await everybody.wait()
            return await super().__call__(question)

    async with asyncio.timeout(60):
        trial = make_trial(make_turn())
        graded = await grade(trial, turn(assertions=[POLITE] * 3), judge=Patient())

    assert [check.grade.passed for check in graded] == [True] * 3


async def test_each_check_may_have_its_own_judge() -> None:
    strict, kind = FakeJudge(JudgeAnswer("fail", 0.0, "No.")), FakeJudge()
    case = make_case(turns=[turn(assertions=[POLITE, POLITE | {"model": "agent"}])])

    graded = await grade_trial(
        make_trial(make_turn()),
        case=case,
        suite=make_suite(case),
        aids_for=lambda assertion, _: Aids(judge=kind if assertion.model == "agent" else strict),
    )

    assert [check.grade.passed for check in graded] == [False, True]


# The rubric of the suite

RUBRIC = {"rubric": "- Polite\n- Brief", "rubric_weight": 0.3, "pass_threshold": 0.5}


async def test_the_rubric_of_the_suite_is_graded_last_about_everything() -> None:
    judge = FakeJudge()
    trial = make_trial(make_turn("hello"), make_turn("bye", index=2))

    *_, final, graded, _ = await grade(
        trial,
        turn(assertions=[HELLO]),
        turn(assertions=[]),
        final_assertions=[POLITE],
        limits={"max_tool_calls": 0},
        judge=judge,
        suite=RUBRIC,
    )

    assert (graded.type, graded.label, graded.turn) == ("rubric", "Rubric of the suite", None)
    assert (graded.grade.score, graded.grade.passed) == (0.5, True)
    assert (graded.weight, graded.threshold, graded.decides, graded.is_rubric) == (
        0.3,
        0.5,
        True,
        True,
    )
    assert (final.position, graded.position, final.is_rubric) == (0, 1, False)
    assert graded.grade.details["share"] == 0.3
    assert "share" not in final.grade.details
    (question,) = judge.ticked
    assert question.view.turn is None
    assert question.key == "Greeting/1/final.1"


async def test_after_an_early_end_the_rubric_fails_by_the_agent() -> None:
    judge = FakeJudge()
    trial = make_trial(make_turn("hello", error="It broke."), planned_turns=2)

    graded = await grade(trial, turn(), turn(), judge=judge, suite=RUBRIC)

    assert [(check.grade.score, check.grade.cause) for check in graded] == [(0.0, Cause.AGENT)]
    assert judge.ticked == []


async def test_settings_that_a_judge_did_not_accept_show_on_its_grade() -> None:
    calls = tuple(
        replace(JUDGE_CALLS[0], dropped=names) for names in [("seed", "top_p"), ("seed",)]
    )
    judge = FakeJudge(JudgeAnswer("pass", 1.0, "Fine.", calls=calls))

    assert (await grade_of(POLITE, judge=judge)).details["dropped"] == ["seed", "top_p"]
    assert "dropped" not in (await grade_of(POLITE, judge=FakeJudge())).details


# Turns that did not run


def two_turns() -> list[dict[str, Any]]:
    return [turn(assertions=[HELLO, POLITE]), turn(assertions=[HELLO])]


async def test_an_error_of_the_agent_fails_the_checks_of_its_turn() -> None:
    judge = FakeJudge()
    trial = make_trial(make_turn("hello", error="It broke."), make_turn("hello", index=2))

    graded = await grade(trial, *two_turns(), final_assertions=[HELLO], judge=judge)

    assert [check.grade.passed for check in graded] == [False, False, True, True]
    for check in graded[:2]:
        assert (check.grade.score, check.grade.cause) == (0.0, Cause.AGENT)
        assert check.grade.reason == "It broke."
    assert judge.asked == []


async def test_after_an_early_end_what_did_not_run_fails_by_the_agent() -> None:
    trial = make_trial(make_turn("hello", error="It broke."), planned_turns=2)

    graded = await grade(trial, *two_turns(), final_assertions=[HELLO], judge=FakeJudge())

    assert [check.grade.score for check in graded] == [0.0] * 4
    assert {check.grade.cause for check in graded} == {Cause.AGENT}
    assert "early" in graded[2].grade.reason
    assert "early" in graded[3].grade.reason


@pytest.mark.parametrize(
    "check",
    [
        {"type": "llm_judge", "criteria": "The agent is polite."},
        {"type": "not_contains", "value": "password"},
        {"type": "tool_not_called", "value": "entity.delete"},
        {"type": "tool_calls", "tools": [], "exact": True},
        {"type": "latency", "max_ms": 60_000},
        {"type": "cost", "max_usd": 1},
        {"type": "rubric", "criteria": "- Polite"},
    ],
    ids=lambda check: check["type"],
)
@pytest.mark.parametrize("before", [0, 1], ids=["only turn", "last turn"])
async def test_the_end_of_a_conversation_that_crashed_fails_by_the_agent_and_asks_no_judge(
    check: dict[str, Any], before: int
) -> None:
    judge = FakeJudge()
    turns = [make_turn("hello", index=n, cost_usd=Decimal(0)) for n in range(1, before + 1)]
    crashed = make_turn("", index=before + 1, error="boom", cost_usd=Decimal(0))

    graded = await grade(
        make_trial(*turns, crashed),
        *[turn()] * (before + 1),
        final_assertions=[check],
        judge=judge,
        suite=RUBRIC,
    )

    assert [(e.grade.score, e.grade.passed, e.grade.cause) for e in graded] == [
        (0.0, False, Cause.AGENT)
    ] * 2
    assert (judge.asked, judge.ticked) == ([], [])


async def test_a_conversation_with_a_failed_turn_was_not_in_time() -> None:
    trial = make_trial(make_turn("", error="boom", latency_ms=1.0), make_turn(index=2))

    (graded,) = await grade(
        trial, turn(), turn(), final_assertions=[{"type": "latency", "max_ms": 60_000}]
    )

    assert (graded.grade.score, graded.grade.passed, graded.grade.cause) == (
        0.0,
        False,
        Cause.AGENT,
    )


async def test_what_a_provider_broke_off_is_ungraded_and_what_ran_before_is_graded() -> None:
    trial = make_trial(
        make_turn("hello"),
        make_turn("", index=2, error="Anthropic answered 529."),
        planned_turns=3,
        failure=Failure(Cause.PROVIDER, "Anthropic answered 529."),
    )

    graded = await grade(
        trial,
        *two_turns(),
        turn(assertions=[HELLO]),
        final_assertions=[HELLO],
        limits={"max_time_ms": 5},
        judge=FakeJudge(),
    )

    assert [check.grade.passed for check in graded] == [True, True, None, None, None, None]
    for check in graded[2:]:
        assert (check.grade.status, check.grade.cause) == (GradeStatus.UNGRADED, Cause.PROVIDER)
        assert check.grade.reason == "Not graded. Anthropic answered 529."


async def test_an_error_of_the_agent_stays_one_beside_a_later_failure() -> None:
    trial = make_trial(
        make_turn("", error="It broke."),
        make_turn("", index=2, error="Away."),
        failure=Failure(Cause.PROVIDER, "Away."),
    )

    graded = await grade(trial, turn(assertions=[HELLO]), turn(assertions=[HELLO]))

    assert [check.grade.cause for check in graded] == [Cause.AGENT, Cause.PROVIDER]


async def test_a_failure_of_ours_after_the_last_turn_spares_what_ran() -> None:
    trial = make_trial(
        make_turn("hello"), failure=Failure(Cause.HARNESS, "Not finished within 5 s.")
    )

    plain, judged, final = await grade(
        trial, turn(assertions=[HELLO, POLITE]), final_assertions=[HELLO]
    )

    assert plain.grade.passed is True
    for check in (judged, final):
        assert (check.grade.status, check.grade.cause) == (GradeStatus.UNGRADED, Cause.HARNESS)
        assert check.grade.reason == "Not graded. Not finished within 5 s."


async def test_what_a_failure_of_ours_left_nobody_to_ask_for_is_ungraded_by_it() -> None:
    trial = make_trial(make_turn("hello"), failure=Failure(Cause.HARNESS, "Not finished."))
    case = make_case(turns=[turn(assertions=[{"type": "answer_relevancy"}])])

    (graded,) = await grade_trial(
        trial, case=case, suite=make_suite(case), aids_for=lambda *_: NO_AIDS
    )

    assert (graded.grade.status, graded.grade.cause) == (GradeStatus.UNGRADED, Cause.HARNESS)


async def test_a_trial_that_never_began_has_all_its_rows() -> None:
    trial = make_trial(failure=Failure(Cause.HARNESS, "Lost."), planned_turns=2)

    graded = await grade(
        trial, *two_turns(), final_assertions=[HELLO], limits={"max_tool_calls": 1}
    )

    assert len(graded) == 5
    assert {check.grade.cause for check in graded} == {Cause.HARNESS}
    assert {check.grade.passed for check in graded} == {None}


# Names that nothing has

DESK = Inventory.of(
    "desk", Abilities(frozenset({"refund"}), finds_elsewhere=False), chunks=["returns"]
)


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "tool_called", "value": "refnd"},
        {"type": "tool_not_called", "value": "refnd"},
        {"type": "tool_calls", "tools": ["refnd"]},
        {"type": "tool_use", "tool": "refnd"},
        {"type": "chunks_fetched", "chunks": ["retruns"]},
        {"type": "world_changes", "deleted": [{"type": "ordr"}]},
    ],
    ids=lambda assertion: assertion["type"],
)
async def test_a_check_that_names_what_nothing_has_says_nothing_of_the_agent(
    assertion: dict[str, Any],
) -> None:
    trial = make_trial(make_turn())
    case = make_case(turns=[turn(assertions=[assertion])])

    (graded,) = await grade_trial(
        trial, case=case, suite=make_suite(case), aids_for=lambda *_: Aids(), inventory=DESK
    )

    assert (graded.grade.status, graded.grade.cause) == (GradeStatus.ERROR, Cause.CASE)
    assert graded.grade.passed is None


# What a judge left open


FIVE_BULLETS = {"type": "rubric", "criteria": "- a\n- b\n- c\n- d\n- e"}


class TickingJudge(FakeJudge):
    """A judge with given ticks, which may be suspicious."""

    def __init__(self, *words: Any, flags: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.words, self.flags = words, flags

    async def tick_off(self, question: ChecklistQuestion) -> ChecklistAnswer:
        items = (TickedItem(n, word) for n, word in enumerate(self.words, 1))
        return ChecklistAnswer(tuple(items), self.flags)


@pytest.mark.parametrize(
    ("threshold", "passed", "score", "says"),
    [
        pytest.param(0.6, True, 0.6, "enough", id="enough even if it is missed"),
        pytest.param(0.5, True, 0.6, "enough", id="more than enough"),
        pytest.param(0.9, False, 0.6, "not enough", id="too little even if it is met"),
        pytest.param(0.8, None, None, "0.8 is needed", id="it would decide"),
        pytest.param(0.7, None, None, "0.7 is needed", id="between"),
        pytest.param(None, None, None, "anything", id="nothing to decide by"),
    ],
)
async def test_an_undecided_part_counts_for_nobody(
    *, threshold: float | None, passed: bool | None, score: float | None, says: str
) -> None:
    judge = TickingJudge("pass", "pass", "pass", "fail", None)
    check = FIVE_BULLETS | ({} if threshold is None else {"threshold": threshold})

    graded = await grade_of(check, judge=judge)

    assert (graded.passed, graded.score) == (passed, score)
    is_open = passed is None
    assert graded.status is (GradeStatus.UNGRADED if is_open else GradeStatus.OK)
    assert graded.cause is (Cause.JUDGE if is_open else None if passed else Cause.ASSERTION)
    assert graded.details["range"] == [0.6, 0.8]
    assert says in graded.reason
    assert "between 0.60 and 0.80" in graded.reason


async def test_what_is_all_decided_has_no_range() -> None:
    judge = TickingJudge("pass", "pass", "pass", "fail", "fail")
    check = FIVE_BULLETS | {"threshold": 0.5}

    graded = await grade_of(check, judge=judge)

    assert "range" not in graded.details
    assert "between" not in graded.reason


@pytest.mark.parametrize(
    ("threshold", "flags", "is_said"),
    [
        pytest.param(0.5, ("injection",), True, id="a pass"),
        pytest.param(None, ("injection",), True, id="a score alone"),
        pytest.param(0.9, ("injection",), False, id="a failure is no success of theirs"),
        pytest.param(0.5, (), False, id="nothing suspected"),
    ],
)
async def test_a_pass_that_may_have_been_talked_into_says_so(
    threshold: float | None, flags: tuple[str, ...], *, is_said: bool
) -> None:
    judge = TickingJudge("pass", "pass", "pass", "fail", "fail", flags=flags)
    check = FIVE_BULLETS | ({} if threshold is None else {"threshold": threshold})

    graded = await grade_of(check, judge=judge)

    assert ("instructions for the judge" in graded.reason) is is_said
    assert graded.score == 0.6


@pytest.mark.parametrize(
    ("size", "cause", "asked"),
    [
        pytest.param(MAX_TEXT_BYTES, None, 1, id="the longest that a judge reads"),
        pytest.param(MAX_TEXT_BYTES + 1, Cause.AGENT, 0, id="longer"),
    ],
)
async def test_a_judge_reads_the_whole_reply_or_none_of_it(
    size: int, cause: Cause | None, asked: int
) -> None:
    judge = FakeJudge()

    (graded,) = await grade(
        make_trial(make_turn("x" * size)), turn(assertions=[POLITE]), judge=judge
    )

    assert (graded.grade.cause, len(judge.asked)) == (cause, asked)
    assert graded.grade.passed is (cause is None)


@pytest.mark.parametrize(
    ("check", "is_graded"),
    [
        ({"type": "tool_called", "value": "find"}, False),
        ({"type": "tool_not_called", "value": "find"}, False),
        ({"type": "chunks_fetched", "chunks": ["returns"]}, False),
        (HELLO, True),
    ],
)
async def test_calls_that_did_not_arrive_keep_only_checks_of_calls_from_being_graded(
    check: dict[str, Any], *, is_graded: bool
) -> None:
    case = make_case(turns=[turn(assertions=[check])])
    trial = make_trial(make_turn("hello", reports_calls=False, calls_missing="No span arrived."))

    (graded,) = await grade_trial(
        trial, case=case, suite=make_suite(case), aids_for=lambda *_: NO_AIDS
    )

    assert (graded.grade.passed is not None) == is_graded
    assert ("No span arrived." in graded.grade.reason) != is_graded
