"""Verdicts of executions, cases and runs: every rule, where it applies and where it does not."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.scoring import (
    CaseSummary,
    Decision,
    Fact,
    GateResult,
    check_gates,
    decide,
    execution_summary,
    summarise_run,
    weighted_score,
)
from evals_app.engine.suite import GatesSpec
from evals_app.engine.trial import (
    Cause,
    Failure,
    Grade,
    GradedAssertion,
    GradeStatus,
    Message,
    Trial,
    Usage,
    Verdict,
)
from tests.engine.makers import graded, graded_limit, make_call, make_suite, make_trial, make_turn

PASSED, FAILED, ERRORED = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED

HELD = make_trial(make_turn())
HIT = graded(Grade.hit("Found."))
MISS = graded(Grade.miss("Not found."))
SHOWN_HIT = graded(Grade.hit("Found."), weight=0.0, decides=False)
SHOWN_MISS = graded(Grade.miss("Not found."), weight=0.0, decides=False)
KEPT, BROKEN = graded_limit(is_kept=True), graded_limit(is_kept=False)
UNGRADED = Grade.ungraded(Cause.JUDGE, "The judge refused.")
IN_ERROR = Grade(None, None, "This check broke.", GradeStatus.ERROR, Cause.HARNESS)
IDLE = graded(Grade.not_applicable("No expected text."))
BY_SCORE: dict[str, Any] = {"pass_rule": "score"}
BY_GATES: dict[str, Any] = {"run_rule": "gates", "gates": {"min_score": 0.5}}


def scored(score: float, *, weight: float = 1.0) -> GradedAssertion:
    """Give a score that nothing is compared with."""
    return graded(Grade.scored(score, "Close."), weight=weight, decides=False)


def decision(*grades: GradedAssertion, trial: Trial = HELD, **suite: Any) -> Decision:
    return decide(trial, grades, suite=make_suite(**suite))


# The verdict of an execution


@pytest.mark.parametrize(
    ("grades", "verdict", "cause"),
    [
        pytest.param([HIT], PASSED, None, id="all passed"),
        pytest.param([HIT, MISS], FAILED, Cause.ASSERTION, id="one failed"),
        pytest.param([HIT, KEPT], PASSED, None, id="a limit was kept"),
        pytest.param([HIT, BROKEN], FAILED, Cause.LIMIT, id="a limit was not kept"),
        pytest.param([KEPT], PASSED, None, id="a limit alone"),
        pytest.param([HIT, SHOWN_MISS], PASSED, None, id="weight 0 is shown only"),
        pytest.param([HIT, scored(0.0)], PASSED, None, id="a score without threshold informs"),
        pytest.param([HIT, IDLE], PASSED, None, id="one does not apply"),
        pytest.param([], ERRORED, Cause.CASE, id="nothing was asserted"),
        pytest.param([IDLE], ERRORED, Cause.CASE, id="nothing applies"),
        pytest.param([SHOWN_HIT], ERRORED, Cause.CASE, id="only weight 0"),
        pytest.param([scored(1.0)], ERRORED, Cause.CASE, id="only a score"),
        pytest.param([HIT, graded(UNGRADED)], ERRORED, Cause.JUDGE, id="one is ungraded"),
        pytest.param([HIT, graded(IN_ERROR)], ERRORED, Cause.HARNESS, id="one is in error"),
        pytest.param(
            [MISS, graded(UNGRADED)], ERRORED, Cause.JUDGE, id="an error outweighs a failure"
        ),
        pytest.param(
            [HIT, graded(UNGRADED, fail_on_error=True)],
            FAILED,
            Cause.ASSERTION,
            id="unless the check fails on errors",
        ),
        pytest.param(
            [HIT, graded(IN_ERROR, fail_on_error=True)], FAILED, Cause.ASSERTION, id="of any kind"
        ),
        pytest.param(
            [HIT, graded(UNGRADED, weight=0.0, decides=False)],
            PASSED,
            None,
            id="weight 0 would not have decided",
        ),
        pytest.param(
            [HIT, graded(UNGRADED, decides=False)], PASSED, None, id="neither would a mere score"
        ),
        pytest.param(
            [graded(UNGRADED, family="limit")], ERRORED, Cause.JUDGE, id="an ungraded limit"
        ),
    ],
)
def test_all_that_has_a_verdict_must_pass(
    grades: list[GradedAssertion], verdict: Verdict, cause: Cause | None
) -> None:
    found = decision(*grades)

    assert (found.verdict, found.cause) == (verdict, cause)
    assert bool(found.reason) is (verdict is not PASSED)


@pytest.mark.parametrize(
    ("grades", "threshold", "verdict", "cause"),
    [
        pytest.param([HIT, MISS], 0.5, PASSED, None, id="reached, inclusive"),
        pytest.param([HIT, MISS], 0.51, FAILED, Cause.ASSERTION, id="not reached"),
        pytest.param([scored(0.8)], 0.8, PASSED, None, id="a score alone is enough"),
        pytest.param([scored(0.79)], 0.8, FAILED, Cause.ASSERTION, id="or not enough"),
        pytest.param(
            [scored(1.0, weight=0.7), scored(1.0, weight=0.1), scored(0.0, weight=0.2)],
            0.8,
            PASSED,
            None,
            id="reached but for rounding",
        ),
        pytest.param([HIT, BROKEN], 0.5, FAILED, Cause.LIMIT, id="every limit must be kept too"),
        pytest.param([MISS, BROKEN], 0.5, FAILED, Cause.LIMIT, id="a limit is the graver cause"),
        pytest.param([KEPT], 0.8, PASSED, None, id="a limit alone"),
        pytest.param([SHOWN_HIT], 0.5, ERRORED, Cause.CASE, id="weight 0 has no score"),
        pytest.param([], 0.0, ERRORED, Cause.CASE, id="nothing was asserted"),
        pytest.param([MISS], 0.0, PASSED, None, id="everything reaches 0"),
        pytest.param([HIT, graded(UNGRADED)], 0.1, ERRORED, Cause.JUDGE, id="one is ungraded"),
        pytest.param(
            [HIT, graded(UNGRADED, decides=False)],
            0.1,
            ERRORED,
            Cause.JUDGE,
            id="its score would have decided",
        ),
        pytest.param(
            [HIT, graded(UNGRADED, decides=False, weight=0.0)],
            0.1,
            PASSED,
            None,
            id="with weight 0 it would not",
        ),
        pytest.param(
            [HIT, graded(UNGRADED, decides=False, fail_on_error=True)],
            0.1,
            FAILED,
            Cause.ASSERTION,
            id="it fails on errors",
        ),
    ],
)
def test_the_score_decides_where_the_suite_says_so(
    grades: list[GradedAssertion], threshold: float, verdict: Verdict, cause: Cause | None
) -> None:
    found = decision(*grades, pass_threshold=threshold, **BY_SCORE)

    assert (found.verdict, found.cause) == (verdict, cause)


def test_a_score_that_is_too_low_is_told_with_the_first_check_that_failed() -> None:
    found = decision(HIT, MISS, MISS, **BY_SCORE)

    assert found.reason == "The score 0.3333 is below 0.8. Not found."
    assert decision(scored(0.7999), **BY_SCORE).reason == "The score 0.7999 is below 0.8."


@pytest.mark.parametrize(
    ("grades", "verdict", "cause"),
    [
        pytest.param([scored(0.1)], PASSED, None, id="a score is enough, whatever it is"),
        pytest.param([MISS], FAILED, Cause.ASSERTION, id="what has a verdict still has it"),
        pytest.param([SHOWN_HIT], ERRORED, Cause.CASE, id="weight 0 has no score"),
        pytest.param([], ERRORED, Cause.CASE, id="nothing was asserted"),
        pytest.param(
            [graded(UNGRADED, decides=False)], ERRORED, Cause.JUDGE, id="the score is missing"
        ),
    ],
)
def test_where_gates_decide_scores_are_enough(
    grades: list[GradedAssertion], verdict: Verdict, cause: Cause | None
) -> None:
    found = decision(*grades, **BY_GATES)

    assert (found.verdict, found.cause) == (verdict, cause)


@pytest.mark.parametrize("rule", [{}, BY_SCORE, BY_GATES], ids=["all", "score", "gates"])
@pytest.mark.parametrize(
    ("trial", "verdict", "cause"),
    [
        pytest.param(
            make_trial(make_turn(error="It broke."), make_turn(index=2)),
            FAILED,
            Cause.AGENT,
            id="an error of the agent, even on an unscored turn",
        ),
        pytest.param(
            HELD.but(failure=Failure(Cause.PROVIDER, "Away.")), ERRORED, Cause.PROVIDER, id="away"
        ),
        pytest.param(
            make_trial(make_turn(error="Away."), failure=Failure(Cause.PROVIDER, "Away.")),
            ERRORED,
            Cause.PROVIDER,
            id="in the middle of a turn",
        ),
        pytest.param(
            make_trial(failure=Failure(Cause.HARNESS, "Lost."), planned_turns=1),
            ERRORED,
            Cause.HARNESS,
            id="before it began",
        ),
        pytest.param(HELD, PASSED, None, id="nothing"),
    ],
)
def test_what_happened_to_the_conversation_comes_first(
    trial: Trial, verdict: Verdict, cause: Cause | None, rule: dict[str, Any]
) -> None:
    found = decision(HIT, trial=trial, **rule)

    assert (found.verdict, found.cause) == (verdict, cause)


@pytest.mark.parametrize("graver", list(Cause)[:-1])
def test_of_several_causes_the_gravest_is_given(graver: Cause) -> None:
    less = [cause for cause in Cause if list(Cause).index(cause) > list(Cause).index(graver)]
    grades = [
        graded(Grade(None, passed=False, reason=each, cause=each)) for each in [*less, graver]
    ]

    found = decision(*grades)

    assert (found.cause, found.reason) == (graver, graver.value)
    assert found.verdict is (ERRORED if graver.is_error else FAILED)


def test_of_equal_causes_the_first_is_given() -> None:
    second = graded(Grade.miss("Too short."))

    assert decision(HIT, MISS, second).reason == "Not found."
    assert decision(second, MISS).reason == "Too short."


def test_an_error_names_the_check_that_had_it() -> None:
    assert decision(graded(UNGRADED, label="Polite")).reason == "Polite: The judge refused."


def test_nothing_asserted_is_said_so() -> None:
    assert decision().reason == "Nothing was asserted."


# The score of an execution


@pytest.mark.parametrize(
    ("grades", "score"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([HIT, MISS], 0.5, id="the mean"),
        pytest.param([HIT, graded(Grade.miss("No."), weight=3.0)], 0.25, id="weighted"),
        pytest.param([HIT, SHOWN_MISS], 1.0, id="weight 0 does not count"),
        pytest.param([SHOWN_MISS], None, id="weight 0 alone"),
        pytest.param([HIT, scored(0.5)], 0.75, id="what only informs counts"),
        pytest.param([HIT, BROKEN], 1.0, id="limits have no score"),
        pytest.param([HIT, graded(UNGRADED)], 1.0, id="nor has what is ungraded"),
        pytest.param([HIT, IDLE], 1.0, id="nor what does not apply"),
        pytest.param([KEPT], None, id="a limit alone"),
    ],
)
def test_the_score_is_the_weighted_mean(grades: list[GradedAssertion], score: float | None) -> None:
    assert weighted_score(grades) == score
    assert decision(*grades).score == score


SCORES = st.lists(
    st.tuples(st.floats(0, 1), st.just(0.0) | st.floats(0.001, 1e6)).map(
        lambda pair: scored(pair[0], weight=pair[1])
    )
)


@given(SCORES)
def test_a_score_lies_between_the_scores_it_is_made_of(grades: list[GradedAssertion]) -> None:
    counted = [each.grade.score or 0.0 for each in grades if each.weight]

    score = weighted_score(grades)

    if score is None:
        assert not counted
    else:
        assert min(counted) - 1e-9 <= score <= max(counted) + 1e-9


@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_checks_does_not_matter(grades: list[GradedAssertion], random: Any) -> None:
    shuffled = random.sample(grades, len(grades))

    assert weighted_score(shuffled) == pytest.approx(weighted_score(grades))


# The summary of an execution


def summary(*grades: GradedAssertion, trial: Trial = HELD) -> dict[str, Any]:
    return execution_summary(trial, grades, decide(trial, grades, suite=make_suite()))


def test_a_summary_tells_what_was_measured_limits_or_not() -> None:
    trial = make_trial(make_turn(usage=Usage(10, 5, cache_read=2), latency_ms=20.12345))

    found = summary(HIT, trial=trial)

    assert found == {
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
    unknown = graded(UNGRADED, family="limit", type=name, turn=None)

    assert summary(graded_limit(is_kept=True, name=name))[key] is True
    assert summary(graded_limit(is_kept=False, name=name))[key] is False
    assert summary(unknown)[key] is False


def judged(grade: Grade, **changes: Any) -> GradedAssertion:
    return graded(grade, family="judged", **changes)


@pytest.mark.parametrize(
    ("grades", "passed", "reason"),
    [
        pytest.param([judged(Grade.hit("Fine."))], True, None, id="met"),
        pytest.param([judged(Grade.miss("Rude."))], False, "Rude.", id="not met"),
        pytest.param(
            [judged(Grade.miss("Rude.")), judged(Grade.hit("x")), judged(Grade.miss("Long."))],
            False,
            "Rude. Long.",
            id="reasons are joined",
        ),
        pytest.param(
            [judged(UNGRADED)], False, "The judge refused.", id="set but ungraded counts as not met"
        ),
        pytest.param([judged(Grade.scored(0.2, "So so."))], None, None, id="a mere score"),
        pytest.param([judged(Grade.miss("x"), weight=0.0)], None, None, id="weight 0"),
        pytest.param([judged(Grade.not_applicable("x"))], None, None, id="does not apply"),
        pytest.param([MISS], None, None, id="no judged check"),
    ],
)
def test_response_criteria_are_the_judged_checks(
    grades: list[GradedAssertion], reason: str | None, *, passed: bool | None
) -> None:
    found = summary(*grades)

    assert found["response_criteria_passed"] is passed
    assert found["response_criteria_failure_reason"] == reason


@pytest.mark.parametrize(
    ("grades", "passed"),
    [
        pytest.param([graded(Grade.hit("x"), family="tools")], True, id="tools"),
        pytest.param([graded(Grade.miss("x"), family="retrieval")], False, id="chunks"),
        pytest.param(
            [graded(Grade.hit("x"), family="tools"), graded(Grade.miss("x"), family="tools")],
            False,
            id="all of them",
        ),
        pytest.param([graded(Grade.miss("x"), family="tools", weight=0.0)], None, id="weight 0"),
        pytest.param([MISS, BROKEN], None, id="none"),
    ],
)
def test_trajectory_criteria_are_the_checks_of_tools_and_chunks(
    grades: list[GradedAssertion], *, passed: bool | None
) -> None:
    assert summary(*grades)["trajectory_criteria_passed"] is passed


@pytest.mark.parametrize(
    ("grades", "passed"), [([HIT], True), ([MISS], False), ([], False), ([graded(UNGRADED)], False)]
)
def test_overall_it_passed_if_the_verdict_says_so(
    grades: list[GradedAssertion], *, passed: bool
) -> None:
    assert summary(*grades)["overall_passed"] is passed


# A case over its trials


def facts(
    verdicts: str, *, case: str = "a", scores: list[float | None] | None = None
) -> list[Fact]:
    """Write facts the short way: P passed, F failed, E errored, . not run."""
    known = {"P": PASSED, "F": FAILED, "E": ERRORED, ".": None}
    given_scores = scores or [None] * len(verdicts)
    return [
        Fact(case, known[letter], score, (100.0,))
        for letter, score in zip(verdicts, given_scores, strict=True)
    ]


def case_of(
    verdicts: str, *, scores: list[float | None] | None = None, **suite: Any
) -> CaseSummary:
    found: list[CaseSummary] = []
    summarise_run(facts(verdicts, scores=scores), suite=make_suite(**suite), keep=found.append)
    (case,) = found
    return case


@pytest.mark.parametrize(
    ("verdicts", "min_pass_rate", "verdict", "rate"),
    [
        pytest.param("PPP", 1.0, PASSED, 1.0, id="all"),
        pytest.param("PPF", 1.0, FAILED, 2 / 3, id="not all"),
        pytest.param("PPPPF", 0.8, PASSED, 0.8, id="inclusive"),
        pytest.param("PPPFF", 0.8, FAILED, 0.6, id="below"),
        pytest.param("PPPPPPPFFF", 0.7, PASSED, 0.7, id="but for rounding"),
        pytest.param("PPE", 1.0, PASSED, 1.0, id="errored trials are left out"),
        pytest.param("PFE", 0.5, PASSED, 0.5, id="of the rate, too"),
        pytest.param("EE", 1.0, ERRORED, None, id="only errors"),
        pytest.param("E.", 1.0, ERRORED, None, id="errors, and not run"),
        pytest.param("..", 1.0, None, None, id="not run"),
        pytest.param("P.", 1.0, PASSED, 1.0, id="partly run"),
    ],
)
def test_a_case_passes_by_the_rate_of_its_graded_trials(
    verdicts: str, min_pass_rate: float, verdict: Verdict | None, rate: float | None
) -> None:
    found = case_of(verdicts, min_pass_rate=min_pass_rate)

    assert (found.verdict, found.pass_rate) == (verdict, rate)
    assert found.trials == len(verdicts)
    assert (found.passed, found.failed, found.errored) == tuple(map(verdicts.count, "PFE"))


def test_the_score_of_a_case_is_the_mean_of_its_graded_trials() -> None:
    found = case_of("PFEP", scores=[1.0, 0.5, 0.0, None])

    assert found.score == 0.75
    assert found.deviation == pytest.approx(0.35355, abs=1e-5)


def test_how_sure_one_can_be_is_counted_over_the_graded_trials() -> None:
    found = case_of("PPFE")

    assert found.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert found.pass_at_k == pytest.approx((2 / 3, 1.0, 1.0))
    assert found.pass_hat_k == pytest.approx((2 / 3, 1 / 3, 0.0))


def test_of_a_case_that_was_never_graded_nothing_is_known() -> None:
    found = case_of("E", scores=[0.9])

    assert (found.score, found.deviation, found.interval) == (None, None, None)
    assert found.pass_at_k == found.pass_hat_k == ()


# A run


@pytest.mark.parametrize(
    ("cases", "suite", "verdict"),
    [
        pytest.param(["P", "P"], {}, "passed", id="every case passed"),
        pytest.param(["P", "F"], {}, "failed", id="one failed"),
        pytest.param(["P", "E"], {}, "inconclusive", id="one errored"),
        pytest.param(["F", "E"], {}, "failed", id="a failure is one beside an error"),
        pytest.param(["P", "."], {}, "inconclusive", id="one was not run"),
        pytest.param(["PE"], {}, "inconclusive", id="one trial errored, its case passed"),
        pytest.param(["P."], {}, "inconclusive", id="one trial was not run"),
        pytest.param([], {}, "inconclusive", id="nothing at all"),
        pytest.param(["PPPPF"], {"min_pass_rate": 0.8}, "passed", id="a case may fail a trial"),
        pytest.param(["P"], {"gates": {"max_p95_ms": 100}}, "passed", id="a gate holds"),
        pytest.param(["P"], {"gates": {"max_p95_ms": 99}}, "failed", id="a gate does not"),
        pytest.param(
            ["P"], {"gates": {"min_score": 0.5}}, "inconclusive", id="its actual is unknown"
        ),
        pytest.param(["F"], {"gates": {"min_score": 0.5}}, "failed", id="unknown, and one failed"),
        pytest.param(
            ["F", "P"],
            {"run_rule": "gates", "gates": {"min_pass_rate": 0.5}},
            "passed",
            id="the gates alone decide",
        ),
        pytest.param(
            ["F", "P"],
            {"run_rule": "gates", "gates": {"min_pass_rate": 0.6}},
            "failed",
            id="the gates alone, and one does not hold",
        ),
        pytest.param(
            ["P", "E"],
            {"run_rule": "gates", "gates": {"min_pass_rate": 0.5}},
            "inconclusive",
            id="an error is one for gates, too",
        ),
    ],
)
def test_the_verdict_of_a_run(cases: list[str], suite: dict[str, Any], verdict: str) -> None:
    found = [fact for n, each in enumerate(cases) for fact in facts(each, case=f"case {n}")]

    assert summarise_run(found, suite=make_suite(**suite)).verdict == verdict


def test_the_score_of_a_run_is_the_mean_of_its_cases_however_many_trials_they_have() -> None:
    cases: list[CaseSummary] = []

    found = summarise_run(
        [
            *facts("PPP", case="a", scores=[1.0, 1.0, 1.0]),
            *facts("F", case="b", scores=[0.0]),
            *facts("E", case="c", scores=[0.3]),
            *facts(".", case="d"),
        ],
        suite=make_suite(),
        keep=cases.append,
    )

    assert (found.score, found.pass_rate) == (0.5, 0.5)
    assert [case.name for case in cases] == ["a", "b", "c", "d"]


def test_latencies_are_those_of_all_turns_of_graded_executions() -> None:
    slow_error = Fact("a", ERRORED, None, (9000.0,))
    broken_off = Fact("a", None, None, (8000.0,))
    held = Fact("a", PASSED, 1.0, tuple(float(n) for n in range(1, 21)))

    found = summarise_run([slow_error, broken_off, held], suite=make_suite())

    assert (found.median_ms, found.p95_ms) == (10.0, 19.0)


def test_a_run_in_which_nobody_spoke_has_no_latency() -> None:
    found = summarise_run([Fact("a", ERRORED)], suite=make_suite())

    assert found.median_ms is found.p95_ms is found.score is found.pass_rate is None


def test_a_summary_is_plain_data() -> None:
    suite = make_suite(gates={"min_score": 0.5})
    dumped = summarise_run(facts("PF", scores=[1.0, 0.0]), suite=suite).to_json()

    assert dumped["verdict"] == "failed"
    assert dumped["gates"][0]["passed"] is True


# Gates

CENTS_30 = Decimal("0.1") + Decimal("0.2")
UNMEASURED: dict[str, Any] = dict.fromkeys(
    ["score", "pass_rate", "p95_ms", "cost_per_call_usd", "cost_usd"]
)


@pytest.mark.parametrize(
    ("gate", "actual", "holds"),
    [
        pytest.param({"min_score": 0.8}, {"score": 0.8}, True, id="score: inclusive"),
        pytest.param({"min_score": 0.8}, {"score": 0.7999}, False, id="score: below"),
        pytest.param({"min_score": 0.8}, {"score": None}, None, id="score: unknown"),
        pytest.param({"min_score": 0.0}, {"score": 0.0}, True, id="score: a gate of 0 is one"),
        pytest.param({"min_pass_rate": 0.5}, {"pass_rate": 0.5}, True, id="rate: inclusive"),
        pytest.param({"min_pass_rate": 0.5}, {"pass_rate": 0.49}, False, id="rate: below"),
        pytest.param({"min_pass_rate": 0.5}, {"pass_rate": None}, None, id="rate: unknown"),
        pytest.param({"max_p95_ms": 500}, {"p95_ms": 500.0}, True, id="p95: inclusive"),
        pytest.param({"max_p95_ms": 500}, {"p95_ms": 500.1}, False, id="p95: above"),
        pytest.param({"max_p95_ms": 500}, {"p95_ms": None}, None, id="p95: unknown"),
        pytest.param(
            {"max_cost_per_call_usd": 0.3},
            {"cost_per_call_usd": CENTS_30},
            True,
            id="call: at most",
        ),
        pytest.param(
            {"max_cost_per_call_usd": 0.29},
            {"cost_per_call_usd": CENTS_30},
            False,
            id="call: above",
        ),
        pytest.param(
            {"max_cost_per_call_usd": 1}, {"cost_per_call_usd": None}, None, id="call: unknown"
        ),
        pytest.param({"max_cost_usd": 0.3}, {"cost_usd": CENTS_30}, True, id="cost: at most"),
        pytest.param(
            {"max_cost_usd": 0.299999999}, {"cost_usd": CENTS_30}, False, id="cost: above"
        ),
        pytest.param({"max_cost_usd": 0}, {"cost_usd": Decimal(0)}, True, id="cost: nothing"),
        pytest.param({"max_cost_usd": 1}, {"cost_usd": None}, None, id="cost: unknown"),
    ],
)
def test_a_gate_is_held_against_what_was_measured(
    gate: dict[str, float], actual: dict[str, Any], *, holds: bool | None
) -> None:
    (found,) = check_gates(GatesSpec.model_validate(gate), **(UNMEASURED | actual))

    ((name, limit),) = gate.items()
    (value,) = actual.values()
    assert found == GateResult(name, limit, None if value is None else float(value), holds)


def test_gates_that_are_not_set_are_not_checked() -> None:
    assert check_gates(GatesSpec(), **UNMEASURED) == ()


def cost_gates(*found: Fact) -> dict[str, float | None]:
    gates = {"max_cost_per_call_usd": 1, "max_cost_usd": 1}
    return {
        gate.name: gate.actual for gate in summarise_run(found, suite=make_suite(gates=gates)).gates
    }


def costly(
    verdict: Verdict | None, usd: str | None, judge: str | None = "0", turns: int = 2
) -> Fact:
    cost, judged = (None if each is None else Decimal(each) for each in (usd, judge))
    return Fact("a", verdict, None, (100.0,) * turns, cost, judged)


def test_a_call_costs_what_graded_executions_cost_for_each_turn() -> None:
    found = cost_gates(
        costly(PASSED, "0.1", turns=1),
        costly(FAILED, "0.2"),
        costly(ERRORED, "9"),
        costly(None, "9"),
    )

    assert found["max_cost_per_call_usd"] == 0.1


def test_a_run_costs_what_agent_and_judge_cost_in_all_that_ended() -> None:
    found = cost_gates(
        costly(PASSED, "0.1", "0.02"), costly(ERRORED, "0.2", "0.003"), costly(None, "9", "9")
    )

    assert found["max_cost_usd"] == 0.323


@pytest.mark.parametrize(
    ("found", "actual"),
    [
        pytest.param([costly(PASSED, None)], (None, None), id="of the agent"),
        pytest.param([costly(PASSED, "0.2", None)], (0.1, None), id="of the judge"),
        pytest.param(
            [costly(PASSED, "0.2"), costly(ERRORED, None)], (0.1, None), id="of what errored"
        ),
        pytest.param([costly(PASSED, "0.2"), costly(None, None)], (0.1, 0.2), id="of what waits"),
        pytest.param([costly(PASSED, "0", turns=0)], (None, 0.0), id="without a turn"),
        pytest.param([costly(None, None)], (None, None), id="nothing has ended"),
        pytest.param([], (None, None), id="nothing at all"),
    ],
)
def test_one_cost_that_is_unknown_makes_the_sum_unknown(
    found: list[Fact], actual: tuple[float | None, ...]
) -> None:
    assert tuple(cost_gates(*found).values()) == actual


def test_a_gate_on_a_cost_that_is_unknown_does_not_pass() -> None:
    suite = make_suite(gates={"max_cost_usd": 1})

    assert summarise_run([costly(PASSED, "0.1")], suite=suite).verdict == "passed"
    assert summarise_run([costly(PASSED, None)], suite=suite).verdict == "inconclusive"
    assert summarise_run([costly(PASSED, "1.1")], suite=suite).verdict == "failed"
