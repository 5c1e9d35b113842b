"""Verdicts, scores and summaries of executions: every rule, where it applies and where not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.record.grade import Grade, GradedAssertion, GradeStatus
from evals_app.engine.record.trial import Cause, Failure, Message, Trial, Verdict
from evals_app.engine.record.usage import Usage
from evals_app.engine.statistics.trust import ONLY_INFORMS
from evals_app.engine.verdicts.execution_verdict import (
    Decision,
    decide,
    execution_score,
    execution_summary,
)
from tests.engine.makers import (
    graded_check,
    graded_limit,
    make_call,
    make_case,
    make_suite,
    make_trial,
    make_turn,
)

PASSED, FAILED, ERRORED = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED

# A verdict and its cause.
Outcome = tuple[Verdict, Cause | None]
PASSES = PASSED, None
FAILS = FAILED, Cause.ASSERTION
EXCEEDS = FAILED, Cause.LIMIT
CRASHED = FAILED, Cause.AGENT
MEASURED = Verdict.MEASURED, None
UNDECIDED = ERRORED, Cause.CASE
UNJUDGED = ERRORED, Cause.JUDGE
BROKEN_BY_US = ERRORED, Cause.HARNESS
AWAY = ERRORED, Cause.PROVIDER

HELD = make_trial(make_turn())
HIT = graded_check(Grade.hit("Found."))
MISS = graded_check(Grade.miss("Not found."))
SHOWN_HIT = graded_check(Grade.hit("Found."), weight=0.0, decides=False)
SHOWN_MISS = graded_check(Grade.miss("Not found."), weight=0.0, decides=False)
UNTRUSTED = graded_check(
    Grade.hit("Found.", **{ONLY_INFORMS: "It only informs."}), weight=0.0, decides=False
)
KEPT, BROKEN = graded_limit(is_kept=True), graded_limit(is_kept=False)
UNGRADED = Grade.without_result(Cause.JUDGE, "The judge refused.")
IN_ERROR = Grade(None, None, "This check broke.", GradeStatus.ERROR, Cause.HARNESS)
IDLE = graded_check(Grade.not_applicable("No expected text."))
BY_SCORE: dict[str, Any] = {"pass_rule": "score"}
BY_GATES: dict[str, Any] = {"run_rule": "gates", "gates": {"min_score": 0.5}}


def score_check(score: float, *, weight: float = 1.0) -> GradedAssertion:
    """Return a score that nothing is compared with."""
    return graded_check(Grade.of_score(score, "Close."), weight=weight, decides=False)


def decision(*grades: GradedAssertion, trial: Trial = HELD, **suite: Any) -> Decision:
    return decide(trial, grades, suite=make_suite(**suite))


# The verdict of an execution


@pytest.mark.parametrize(
    ("grades", "outcome"),
    [
        pytest.param([HIT], PASSES, id="all passed"),
        pytest.param([HIT, MISS], FAILS, id="one failed"),
        pytest.param([HIT, KEPT], PASSES, id="a limit was kept"),
        pytest.param([HIT, BROKEN], EXCEEDS, id="a limit was not kept"),
        pytest.param([KEPT], PASSES, id="a limit alone"),
        pytest.param([HIT, SHOWN_MISS], PASSES, id="weight 0 is shown only"),
        pytest.param([HIT, score_check(0.0)], PASSES, id="a score without threshold informs"),
        pytest.param([HIT, IDLE], PASSES, id="one does not apply"),
        pytest.param([], UNDECIDED, id="nothing was asserted"),
        pytest.param([IDLE], UNDECIDED, id="nothing applies"),
        pytest.param([SHOWN_HIT], MEASURED, id="only weight 0"),
        pytest.param([score_check(1.0)], MEASURED, id="only a score"),
        pytest.param([score_check(0.1), SHOWN_MISS, IDLE], MEASURED, id="all of them only inform"),
        ([score_check(1.0), graded_check(UNGRADED, decides=False)], UNJUDGED),
        ([graded_check(UNGRADED, decides=False, fail_on_error=True)], FAILS),
        pytest.param([score_check(1.0), UNTRUSTED], UNDECIDED, id="a judge was meant to decide"),
        pytest.param([HIT, graded_check(UNGRADED)], UNJUDGED, id="one is ungraded"),
        pytest.param([HIT, graded_check(IN_ERROR)], BROKEN_BY_US, id="one is in error"),
        pytest.param([MISS, graded_check(UNGRADED)], FAILS, id="no judge could save a failure"),
        pytest.param([graded_check(UNGRADED), BROKEN], EXCEEDS, id="nor a limit that was not kept"),
        pytest.param(
            [MISS, graded_check(IN_ERROR)], BROKEN_BY_US, id="our own fault casts doubt on it"
        ),
        ([HIT, graded_check(UNGRADED, fail_on_error=True)], FAILS),
        pytest.param([HIT, graded_check(IN_ERROR, fail_on_error=True)], FAILS, id="of any kind"),
        ([HIT, graded_check(UNGRADED, weight=0.0, decides=False)], PASSES),
        pytest.param(
            [HIT, graded_check(UNGRADED, decides=False)], PASSES, id="nor would a mere score"
        ),
        pytest.param([graded_check(UNGRADED, family="limit")], UNJUDGED, id="an ungraded limit"),
    ],
)
def test_all_that_has_a_verdict_must_pass(grades: list[GradedAssertion], outcome: Outcome) -> None:
    decided = decision(*grades)

    assert (decided.verdict, decided.cause) == outcome
    assert bool(decided.reason) is (outcome != PASSES)


@pytest.mark.parametrize(
    ("grades", "threshold", "outcome"),
    [
        pytest.param([HIT, MISS], 0.5, PASSES, id="reached, inclusive"),
        pytest.param([HIT, MISS], 0.51, FAILS, id="not reached"),
        pytest.param([score_check(0.8)], 0.8, PASSES, id="a score alone is enough"),
        pytest.param([score_check(0.79)], 0.8, FAILS, id="or not enough"),
        (
            [
                score_check(1.0, weight=0.7),
                score_check(1.0, weight=0.1),
                score_check(0.0, weight=0.2),
            ],
            0.8,
            PASSES,
        ),
        pytest.param([HIT, BROKEN], 0.5, EXCEEDS, id="every limit must be kept too"),
        pytest.param([MISS, BROKEN], 0.5, EXCEEDS, id="a limit is the graver cause"),
        pytest.param([KEPT], 0.8, PASSES, id="a limit alone"),
        pytest.param([SHOWN_HIT], 0.5, MEASURED, id="weight 0 has no score"),
        pytest.param([], 0.0, UNDECIDED, id="nothing was asserted"),
        pytest.param([MISS], 0.0, PASSES, id="everything reaches 0"),
        pytest.param([HIT, graded_check(UNGRADED)], 0.1, UNJUDGED, id="one is ungraded"),
        pytest.param(
            [HIT, graded_check(UNGRADED, decides=False)], 0.1, UNJUDGED, id="its score decides"
        ),
        ([HIT, graded_check(UNGRADED, decides=False, weight=0.0)], 0.1, PASSES),
        ([HIT, graded_check(UNGRADED, decides=False, fail_on_error=True)], 0.1, FAILS),
    ],
)
def test_the_score_decides_where_the_suite_says_so(
    grades: list[GradedAssertion], threshold: float, outcome: Outcome
) -> None:
    decided = decision(*grades, pass_threshold=threshold, **BY_SCORE)

    assert (decided.verdict, decided.cause) == outcome


def test_a_case_may_have_a_score_to_reach_of_its_own() -> None:
    suite = make_suite(pass_threshold=0.8, **BY_SCORE)
    halves = [score_check(0.5)]

    def verdict(**case: Any) -> Verdict:
        return decide(HELD, halves, suite=suite, case=make_case(**case)).verdict

    assert verdict() is FAILED
    assert verdict(pass_threshold=0.5) is PASSED
    assert verdict(pass_threshold=0.9) is FAILED


def test_a_score_that_is_too_low_is_shown_with_the_first_check_that_failed() -> None:
    decided = decision(HIT, MISS, MISS, **BY_SCORE)

    assert decided.reason == "The score 0.3333 is below 0.8. Not found."
    assert decision(score_check(0.7999), **BY_SCORE).reason == "The score 0.7999 is below 0.8."


@pytest.mark.parametrize(
    ("grades", "outcome"),
    [
        pytest.param([score_check(0.1)], PASSES, id="a score is enough, whatever it is"),
        pytest.param([MISS], FAILS, id="what has a verdict still has it"),
        pytest.param([SHOWN_HIT], MEASURED, id="weight 0 has no score"),
        pytest.param([], UNDECIDED, id="nothing was asserted"),
        pytest.param([graded_check(UNGRADED, decides=False)], UNJUDGED, id="the score is missing"),
    ],
)
def test_where_gates_decide_scores_are_enough(
    grades: list[GradedAssertion], outcome: Outcome
) -> None:
    decided = decision(*grades, **BY_GATES)

    assert (decided.verdict, decided.cause) == outcome


@pytest.mark.parametrize("rule", [{}, BY_SCORE, BY_GATES], ids=["all", "score", "gates"])
@pytest.mark.parametrize(
    ("trial", "outcome"),
    [
        (make_trial(make_turn(error="It broke."), make_turn(index=2)), CRASHED),
        pytest.param(HELD.but(failure=Failure(Cause.PROVIDER, "Away.")), AWAY, id="away"),
        (make_trial(make_turn(error="Away."), failure=Failure(Cause.PROVIDER, "Away.")), AWAY),
        (make_trial(failure=Failure(Cause.HARNESS, "Lost."), planned_turns=1), BROKEN_BY_US),
        pytest.param(HELD, PASSES, id="nothing"),
    ],
)
def test_what_happened_to_the_conversation_comes_first(
    trial: Trial, outcome: Outcome, rule: dict[str, Any]
) -> None:
    decided = decision(HIT, trial=trial, **rule)

    assert (decided.verdict, decided.cause) == outcome


@pytest.mark.parametrize("graver", list(Cause)[:-1])
def test_of_several_causes_the_gravest_is_given(graver: Cause) -> None:
    less = [cause for cause in Cause if list(Cause).index(cause) > list(Cause).index(graver)]
    if graver.is_error:
        less = [cause for cause in less if cause.is_error]
    grades = [
        graded_check(Grade(None, passed=False, reason=cause, cause=cause))
        for cause in [*less, graver]
    ]

    decided = decision(*grades)

    assert (decided.cause, decided.reason) == (graver, graver.value)
    assert decided.verdict is (ERRORED if graver.is_error else FAILED)


@pytest.mark.parametrize("open_cause", [Cause.PROVIDER, Cause.JUDGE, Cause.CASE])
@pytest.mark.parametrize("rule", [{}, BY_SCORE, BY_GATES], ids=["all", "score", "gates"])
def test_a_certain_failure_is_one_beside_what_could_not_be_graded(
    open_cause: Cause, rule: dict[str, Any]
) -> None:
    undecided = graded_check(Grade.without_result(open_cause, "Nobody knows."), label="Polite")

    decided = decision(MISS, MISS, MISS, MISS, undecided, **rule)

    assert (decided.verdict, decided.cause) == FAILS
    assert decided.reason.endswith("Polite: Nobody knows.")
    assert "Not found." in decided.reason


def test_a_score_that_what_is_open_could_still_save_is_open() -> None:
    decided = decision(HIT, MISS, graded_check(UNGRADED), **BY_SCORE, pass_threshold=0.6)

    assert (decided.verdict, decided.cause) == UNJUDGED


def test_nothing_is_certain_about_an_agent_whose_own_model_was_away() -> None:
    away = make_trial(make_turn(error="Away."), failure=Failure(Cause.PROVIDER, "Away."))

    decided = decision(MISS, trial=away)

    assert (decided.verdict, decided.cause) == AWAY


@pytest.mark.parametrize("rule", [{}, BY_SCORE, BY_GATES], ids=["all", "score", "gates"])
@pytest.mark.parametrize(
    ("trial", "grades", "cause"),
    [
        (make_trial(make_turn(error="It broke."), make_turn(index=2)), [HIT], Cause.AGENT),
        pytest.param(HELD, [HIT, BROKEN], Cause.LIMIT, id="a limit"),
        pytest.param(HELD, [BROKEN], Cause.LIMIT, id="a limit alone"),
    ],
)
def test_what_failed_by_the_agent_or_a_limit_scores_0(
    trial: Trial, grades: list[GradedAssertion], cause: Cause, rule: dict[str, Any]
) -> None:
    decided = decision(*grades, trial=trial, **rule)

    assert (decided.verdict, decided.cause, decided.score) == (FAILED, cause, 0.0)


def test_of_equal_causes_the_first_is_given() -> None:
    second = graded_check(Grade.miss("Too short."))

    assert decision(HIT, MISS, second).reason == "Not found."
    assert decision(second, MISS).reason == "Too short."


def test_an_error_names_the_check_that_had_it() -> None:
    assert decision(graded_check(UNGRADED, label="Polite")).reason == "Polite: The judge refused."
    assert decision(graded_check(UNGRADED, label="Cost", family="limit")).reason == UNGRADED.reason


def test_nothing_asserted_is_shown_so() -> None:
    assert "nothing to check" in decision().reason
    assert "disabled" not in decision().reason


@pytest.mark.parametrize("of_suite", [True, False])
def test_checks_that_are_all_disabled_are_named_so(*, of_suite: bool) -> None:
    off = {"type": "contains", "value": "x", "enabled": False}
    case = make_case() if of_suite else make_case(final_assertions=[off])
    suite = make_suite(case, **({"assertions": [off]} if of_suite else {}))

    decided = decide(make_trial(make_turn()), (), suite=suite, case=case)

    assert (decided.cause, "disabled" in decided.reason) == (Cause.CASE, True)


# The score of an execution


@pytest.mark.parametrize(
    ("grades", "score"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([HIT, MISS], 0.5, id="the mean"),
        pytest.param([HIT, graded_check(Grade.miss("No."), weight=3.0)], 0.25, id="weighted"),
        pytest.param([HIT, SHOWN_MISS], 1.0, id="weight 0 does not count"),
        pytest.param([SHOWN_MISS], None, id="weight 0 alone"),
        pytest.param([HIT, score_check(0.5)], 0.75, id="what only informs counts"),
        pytest.param([HIT, KEPT], 1.0, id="limits have no score"),
        pytest.param([HIT, graded_check(UNGRADED)], 1.0, id="nor has what is ungraded"),
        pytest.param([HIT, IDLE], 1.0, id="nor what does not apply"),
        pytest.param([KEPT], None, id="a limit alone"),
    ],
)
def test_the_score_is_the_weighted_mean(grades: list[GradedAssertion], score: float | None) -> None:
    assert execution_score(grades) == score
    decided = decision(*grades)
    assert decided.score == (None if decided.verdict is Verdict.ERRORED else score)


def rubric(score: float | None, *, weight: float = 0.5, passed: bool | None = None) -> Any:
    """Return the grade of the suite's rubric."""
    grade = UNGRADED if score is None else Grade.of_score(score, "Two are met.").but(passed=passed)
    return graded_check(
        grade, type="rubric", family="judged", weight=weight, decides=weight > 0, is_rubric=True
    )


@pytest.mark.parametrize(
    ("grades", "score"),
    [
        pytest.param([HIT, rubric(0.5)], 0.75, id="half each"),
        pytest.param([HIT, MISS, HIT, MISS, rubric(1.0)], 0.75, id="however many checks"),
        ([HIT, graded_check(Grade.miss("No."), weight=3.0), rubric(1.0)], 0.625),
        pytest.param([MISS, rubric(1.0, weight=0.2)], 0.2, id="its own share"),
        pytest.param([MISS, rubric(1.0, weight=1.0)], 1.0, id="all of it"),
        pytest.param([MISS, rubric(1.0, weight=0.0)], 0.0, id="shown only"),
        pytest.param([rubric(0.5, weight=0.2)], 0.5, id="the rubric alone"),
        pytest.param([SHOWN_HIT, KEPT, rubric(0.5)], 0.5, id="no check has a score"),
        pytest.param([rubric(0.5, weight=0.0)], None, id="alone and shown only"),
        pytest.param([HIT, rubric(None)], 1.0, id="ungraded"),
        ([HIT, graded_check(Grade.not_applicable("-"), is_rubric=True)], 1.0),
    ],
)
def test_the_rubric_has_its_share_of_the_score(
    grades: list[GradedAssertion], score: float | None
) -> None:
    assert execution_score(grades) == pytest.approx(score)


@pytest.mark.parametrize(
    ("grades", "suite", "outcome"),
    [
        pytest.param([HIT, rubric(0.8, passed=True)], {}, PASSES, id="it passed"),
        pytest.param([rubric(0.8, passed=True)], {}, PASSES, id="alone"),
        pytest.param([HIT, rubric(0.7, passed=False)], {}, FAILS, id="it failed"),
        pytest.param([MISS, rubric(1.0, passed=True)], {}, FAILS, id="not all"),
        pytest.param([HIT, rubric(None)], {}, UNJUDGED, id="it is ungraded"),
        pytest.param([HIT, rubric(0.0, weight=0.0)], {}, PASSES, id="it is shown only"),
        pytest.param([HIT, rubric(0.7, passed=False)], BY_SCORE, PASSES, id="score reached"),
        pytest.param([HIT, rubric(0.5, passed=False)], BY_SCORE, FAILS, id="score missed"),
        pytest.param([rubric(0.9, passed=True)], BY_SCORE, PASSES, id="alone, by score"),
    ],
)
def test_the_rubric_decides_like_a_check(
    grades: list[GradedAssertion], suite: dict[str, Any], outcome: Outcome
) -> None:
    decided = decision(*grades, **suite)

    assert (decided.verdict, decided.cause) == outcome


SCORES = st.lists(
    st.tuples(st.floats(0, 1), st.just(0.0) | st.floats(0.001, 1e6)).map(
        lambda pair: score_check(pair[0], weight=pair[1])
    )
)


@given(SCORES)
def test_a_score_lies_between_the_scores_it_is_made_of(grades: list[GradedAssertion]) -> None:
    counted = [check.grade.score or 0.0 for check in grades if check.weight]

    score = execution_score(grades)

    if score is None:
        assert not counted
    else:
        assert min(counted) - 1e-9 <= score <= max(counted) + 1e-9


@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_checks_does_not_matter(grades: list[GradedAssertion], random: Any) -> None:
    shuffled = random.sample(grades, len(grades))

    assert execution_score(shuffled) == pytest.approx(execution_score(grades))


# The summary of an execution


def summary(*grades: GradedAssertion, trial: Trial = HELD) -> dict[str, Any]:
    return execution_summary(trial, grades, decide(trial, grades, suite=make_suite()))


def test_a_summary_tells_what_was_measured_limits_or_not() -> None:
    trial = make_trial(make_turn(usage=Usage(10, 5, cache_read=2), latency_ms=20.12345))

    measured = summary(HIT, trial=trial)

    assert measured == {
        "overall_passed": True,
        "prompt_tokens_passed": None,
        "response_tokens_passed": None,
        "time_passed": None,
        "response_criteria_passed": None,
        "trajectory_criteria_passed": None,
        "response_criteria_failure_reason": None,
        "prompt_tokens": 12,
        "response_tokens": 5,
        "execution_time_ms": 20.123,
        "cached_answers": None,
        "tool_calls": [],
    }


def test_a_summary_names_the_tools_that_were_called() -> None:
    calls = tuple(make_call(name) for name in ("a", "b", "a"))
    trial = make_trial(make_turn(messages=(Message("assistant", "", calls),)))

    assert summary(HIT, trial=trial)["tool_calls"] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("max_prompt_tokens", "prompt_tokens_passed"),
        ("max_response_tokens", "response_tokens_passed"),
        ("max_time_ms", "time_passed"),
    ],
)
def test_each_limit_has_its_word_in_the_summary(name: str, key: str) -> None:
    unknown = graded_check(UNGRADED, family="limit", type=name, turn=None)

    assert summary(graded_limit(is_kept=True, name=name))[key] is True
    assert summary(graded_limit(is_kept=False, name=name))[key] is False
    assert summary(unknown)[key] is False


def judged_check(grade: Grade, **changes: Any) -> GradedAssertion:
    return graded_check(grade, family="judged", **changes)


@pytest.mark.parametrize(
    ("grades", "passed", "reason"),
    [
        pytest.param([judged_check(Grade.hit("Fine."))], True, None, id="met"),
        pytest.param([judged_check(Grade.miss("Rude."))], False, "Rude.", id="not met"),
        pytest.param(
            [
                judged_check(Grade.miss("Rude.")),
                judged_check(Grade.hit("x")),
                judged_check(Grade.miss("Long.")),
            ],
            False,
            "Rude. Long.",
            id="reasons are joined",
        ),
        pytest.param(
            [judged_check(UNGRADED)], False, "The judge refused.", id="ungraded counts as not met"
        ),
        pytest.param([judged_check(Grade.of_score(0.2, "So so."))], None, None, id="a mere score"),
        pytest.param([judged_check(Grade.miss("x"), weight=0.0)], None, None, id="weight 0"),
        pytest.param([judged_check(Grade.not_applicable("x"))], None, None, id="does not apply"),
        pytest.param([MISS], None, None, id="no judged check"),
    ],
)
def test_response_criteria_are_the_judged_checks(
    grades: list[GradedAssertion], reason: str | None, *, passed: bool | None
) -> None:
    measured = summary(*grades)

    assert measured["response_criteria_passed"] is passed
    assert measured["response_criteria_failure_reason"] == reason


@pytest.mark.parametrize(
    ("grades", "passed"),
    [
        pytest.param([graded_check(Grade.hit("x"), family="tools")], True, id="tools"),
        pytest.param([graded_check(Grade.miss("x"), family="retrieval")], False, id="chunks"),
        (
            [
                graded_check(Grade.hit("x"), family="tools"),
                graded_check(Grade.miss("x"), family="tools"),
            ],
            False,
        ),
        pytest.param(
            [graded_check(Grade.miss("x"), family="tools", weight=0.0)], None, id="weight 0"
        ),
        pytest.param([MISS, BROKEN], None, id="none"),
    ],
)
def test_trajectory_criteria_are_the_checks_of_tools_and_chunks(
    grades: list[GradedAssertion], *, passed: bool | None
) -> None:
    assert summary(*grades)["trajectory_criteria_passed"] is passed


@pytest.mark.parametrize(
    ("grades", "passed"),
    [
        ([HIT], True),
        ([MISS], False),
        ([], False),
        ([graded_check(UNGRADED)], False),
        ([SHOWN_HIT], None),
    ],
)
def test_overall_it_passed_if_the_verdict_says_so(
    grades: list[GradedAssertion], *, passed: bool | None
) -> None:
    assert summary(*grades)["overall_passed"] is passed


def test_where_no_check_applied_the_reason_is_theirs() -> None:
    claimless = graded_check(Grade.not_applicable("It claims nothing."), label="Faithful")
    shown_only = graded_check(Grade.not_applicable("No context."), label="Other", decides=False)

    decided = decision(claimless, shown_only)

    assert (decided.verdict, decided.cause) == UNDECIDED
    assert "Faithful: It claims nothing." in decided.reason
    assert "Other" not in decided.reason


def test_a_check_that_shall_fail_where_it_cannot_be_graded_has_no_score() -> None:
    checks = [HIT, graded_check(UNGRADED, fail_on_error=True)]

    assert execution_score(checks) == 0.5
    assert decision(*checks).score == 0.5
