"""Verdicts of cases over their trials, of runs, and their gates."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.record.trial import Cause, Failure, Verdict
from evals_app.engine.suites.suite_spec import GatesSpec
from evals_app.engine.verdicts.case_summary import CaseSummary, Fact, turn_times
from evals_app.engine.verdicts.gates import RunCost, RunMeasure, TurnTimes, check_gates
from evals_app.engine.verdicts.run_summary import summarise_run
from tests.engine.makers import make_suite, make_trial, make_turn

PASSED, FAILED, ERRORED = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED


# A case over its trials


def facts(
    verdicts: str, *, case: str = "a", scores: list[float | None] | None = None
) -> list[Fact]:
    """Write facts the short way: P passed, F failed, E errored, M measured, . not run."""
    known = {"P": PASSED, "F": FAILED, "E": ERRORED, "M": Verdict.MEASURED, ".": None}
    given_scores = scores or [None] * len(verdicts)
    return [
        Fact(case, known[letter], score, (100.0,))
        for letter, score in zip(verdicts, given_scores, strict=True)
    ]


def case_of(
    verdicts: str, *, scores: list[float | None] | None = None, **suite: Any
) -> CaseSummary:
    summary: list[CaseSummary] = []
    summarise_run(facts(verdicts, scores=scores), suite=make_suite(**suite), keep=summary.append)
    (case,) = summary
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
        pytest.param("MM", 1.0, Verdict.MEASURED, None, id="only measured"),
        pytest.param("ME", 1.0, Verdict.MEASURED, None, id="measured, and an error"),
        pytest.param("PM", 1.0, PASSED, 1.0, id="one could pass"),
    ],
)
def test_a_case_passes_by_the_rate_of_its_graded_trials(
    verdicts: str, min_pass_rate: float, verdict: Verdict | None, rate: float | None
) -> None:
    summary = case_of(verdicts, min_pass_rate=min_pass_rate)

    assert (summary.verdict, summary.pass_rate) == (verdict, rate)
    assert summary.trials == len(verdicts)
    assert (summary.passed, summary.failed, summary.errored) == tuple(map(verdicts.count, "PFE"))


def test_the_score_of_a_case_is_the_mean_of_its_graded_trials() -> None:
    summary = case_of("PFEP", scores=[1.0, 0.5, 0.0, None])

    assert summary.score == 0.75
    assert summary.deviation == pytest.approx(0.35355, abs=1e-5)


def test_how_sure_one_can_be_is_counted_over_the_graded_trials() -> None:
    summary = case_of("PPFE")

    assert summary.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert summary.pass_at_k == pytest.approx((2 / 3, 1.0, 1.0))
    assert summary.pass_hat_k == pytest.approx((2 / 3, 1 / 3, 0.0))


def test_of_a_case_that_was_never_graded_nothing_is_known() -> None:
    summary = case_of("E", scores=[0.9])

    assert (summary.score, summary.deviation, summary.interval) == (None, None, None)
    assert summary.pass_at_k == summary.pass_hat_k == ()


# A run


def test_how_sure_one_can_be_of_a_run_is_counted_over_its_decided_cases() -> None:
    trials = [*facts("P"), *facts("PP", case="b"), *facts("F", case="c"), *facts("E", case="d")]

    known = summarise_run(trials, suite=make_suite())
    unknown = summarise_run(facts("E"), suite=make_suite())

    assert known.pass_rate_interval == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert unknown.pass_rate_interval is None


def test_what_k_trials_would_do_is_the_mean_of_the_cases_as_far_as_all_have_trials() -> None:
    trials = [*facts("PPF"), *facts("PP", case="b"), *facts("EE", case="c")]

    summary = summarise_run(trials, suite=make_suite())

    assert summary.pass_at_k == pytest.approx((5 / 6, 1.0))
    assert summary.pass_hat_k == pytest.approx((5 / 6, 2 / 3))


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
        pytest.param(["P"], {"gates": {"min_score": 0.5}}, "inconclusive", id="actual unknown"),
        pytest.param(["F"], {"gates": {"min_score": 0.5}}, "failed", id="unknown, and one failed"),
        (["F", "P"], {"run_rule": "gates", "gates": {"min_pass_rate": 0.5}}, "passed"),
        (["F", "P"], {"run_rule": "gates", "gates": {"min_pass_rate": 0.6}}, "failed"),
        (["P", "E"], {"run_rule": "gates", "gates": {"min_pass_rate": 0.5}}, "inconclusive"),
        pytest.param(["M", "M"], {}, "measured", id="only measured"),
        pytest.param(["M", "P"], {}, "passed", id="one could pass"),
        pytest.param(["M", "F"], {}, "failed", id="one could fail"),
        pytest.param(["ME"], {}, "inconclusive", id="measured, and an error"),
        pytest.param(["M"], {"gates": {"max_p95_ms": 100}}, "passed", id="measured, a gate holds"),
        pytest.param(["M"], {"gates": {"max_p95_ms": 99}}, "failed", id="measured, one does not"),
        pytest.param(["M"], {"gates": {"min_pass_rate": 0.1}}, "inconclusive", id="no rate"),
    ],
)
def test_the_verdict_of_a_run(cases: list[str], suite: dict[str, Any], verdict: str) -> None:
    summary = [
        fact for n, verdicts in enumerate(cases) for fact in facts(verdicts, case=f"case {n}")
    ]

    assert summarise_run(summary, suite=make_suite(**suite)).verdict == verdict


def test_the_score_of_a_run_is_the_mean_of_its_cases_however_many_trials_they_have() -> None:
    cases: list[CaseSummary] = []

    summary = summarise_run(
        [
            *facts("PPP", case="a", scores=[1.0, 1.0, 1.0]),
            *facts("F", case="b", scores=[0.0]),
            *facts("E", case="c", scores=[0.3]),
            *facts(".", case="d"),
        ],
        suite=make_suite(),
        keep=cases.append,
    )

    assert (summary.score, summary.pass_rate) == (0.5, 0.5)
    assert [case.name for case in cases] == ["a", "b", "c", "d"]


def test_latencies_are_those_of_graded_conversations() -> None:
    errored = Fact("a", ERRORED, None, (21.0, 22.0, 23.0))
    waiting = Fact("a", None, None, (8000.0,))
    ended = Fact("a", PASSED, 1.0, tuple(float(n) for n in range(1, 21)))

    summary = summarise_run([errored, waiting, ended], suite=make_suite())

    assert (summary.median_ms, summary.p95_ms) == (10.0, 19.0)


@pytest.mark.parametrize(
    ("turn_ms", "median", "p95", "holds"),
    [
        pytest.param((5.0,) * 20, 5.0, 5.0, True, id="all were answered"),
        pytest.param((5.0,) * 19 + (None,), 5.0, 5.0, True, id="1 of 20 may be slow"),
        pytest.param((5.0,) * 18 + (None, None), 5.0, None, False, id="2 of 20 may not"),
        pytest.param((None, None, 5.0), None, None, False, id="most failed"),
        pytest.param((None,), None, None, False, id="a dead agent"),
        pytest.param((), None, None, None, id="nothing was measured"),
    ],
)
def test_a_turn_that_failed_is_slower_than_any_limit(
    turn_ms: tuple[float | None, ...],
    median: float | None,
    p95: float | None,
    *,
    holds: bool | None,
) -> None:
    suite = make_suite(gates={"max_p95_ms": 100})

    summary = summarise_run([Fact("a", FAILED, 0.0, turn_ms)], suite=suite)

    (gate,) = summary.gates
    assert (summary.median_ms, summary.p95_ms, gate.actual) == (median, p95, p95)
    assert gate.passed is holds
    assert bool(gate.reason) is (p95 is None)


def test_what_a_turn_took_is_noted_unless_something_else_broke_it_off() -> None:
    turns = make_turn(latency_ms=7.0), make_turn("", index=2, error="Broken.", latency_ms=1.0)

    assert turn_times(make_trial(*turns)) == [7.0, None]
    for cause in (Cause.PROVIDER, Cause.HARNESS, Cause.BUDGET, Cause.TOOL):
        assert turn_times(make_trial(*turns, failure=Failure(cause, "Away."))) == [7.0]


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param({"max_p95_ms": 100_000}, id="speed"),
        pytest.param({"max_cost_usd": 1}, id="cost"),
        pytest.param({"max_cost_per_call_usd": 1}, id="cost of a call"),
        pytest.param({"min_score": 0}, id="any score"),
        pytest.param({"min_pass_rate": 0}, id="any rate"),
    ],
)
@pytest.mark.parametrize(
    ("verdicts", "verdict"), [("FFF", "failed"), ("FFE", "inconclusive"), ("FF.", "inconclusive")]
)
def test_a_run_in_which_nothing_passed_never_passes(
    gates: dict[str, float], verdicts: str, verdict: str
) -> None:
    ended = [
        Fact("a", known.verdict, 0.5, (5.0,), Decimal(0), Decimal(0)) for known in facts(verdicts)
    ]

    summary = summarise_run(ended, suite=make_suite(run_rule="gates", gates=gates))

    assert summary.verdict == verdict
    assert all(gate.passed is not False for gate in summary.gates)
    assert bool(summary.notes) is (verdict == "failed")


def test_a_run_in_which_nobody_spoke_has_no_latency() -> None:
    summary = summarise_run([Fact("a", ERRORED)], suite=make_suite())

    assert summary.median_ms is summary.p95_ms is summary.score is summary.pass_rate is None


def test_a_summary_is_plain_data() -> None:
    suite = make_suite(gates={"min_score": 0.5})
    dumped = summarise_run(facts("PF", scores=[1.0, 0.0]), suite=suite).to_json()

    assert dumped["verdict"] == "failed"
    assert dumped["gates"][0]["passed"] is True


# Gates

CENTS_30 = Decimal("0.1") + Decimal("0.2")
ONE_CALL = TurnTimes()
ONE_CALL.add([5.0])


def times(ms: float) -> TurnTimes:
    summary = TurnTimes()
    summary.add([ms])
    return summary


def cost_of(*costs: str | Decimal | None) -> RunCost:
    summary = RunCost()
    for cost in costs:
        summary.add(None if cost is None else Decimal(cost))
    return summary


def a_call(*costs: str | Decimal | None) -> dict[str, Any]:
    """Return what is measured of one call that cost so much."""
    return {"agent": cost_of(*costs), "times": ONE_CALL}


def exactly(value: float) -> RunMeasure:
    """Return what is measured where all is graded."""
    return RunMeasure(value, value, value)


UNMEASURED: dict[str, Any] = {
    "score": RunMeasure(None, None, None),
    "pass_rate": RunMeasure(None, None, None),
    "times": TurnTimes(),
    "agent": RunCost(),
    "everyone": RunCost(),
}


@pytest.mark.parametrize(
    ("gate", "measured", "actual", "holds"),
    [
        pytest.param({"min_score": 0.8}, {"score": exactly(0.8)}, 0.8, True, id="score: inclusive"),
        ({"min_score": 0.8}, {"score": exactly(0.7999)}, 0.7999, False),
        pytest.param({"min_score": 0.8}, {}, None, None, id="score: unknown"),
        pytest.param({"min_score": 0.0}, {"score": exactly(0.0)}, 0.0, True, id="score: gate of 0"),
        ({"min_pass_rate": 0.5}, {"pass_rate": exactly(0.5)}, 0.5, True),
        ({"min_pass_rate": 0.5}, {"pass_rate": exactly(0.49)}, 0.49, False),
        pytest.param({"min_pass_rate": 0.5}, {}, None, None, id="rate: unknown"),
        pytest.param({"max_p95_ms": 500}, {"times": times(500)}, 500, True, id="p95: inclusive"),
        pytest.param({"max_p95_ms": 500}, {"times": times(500.1)}, 500.1, False, id="p95: above"),
        pytest.param({"max_p95_ms": 500}, {}, None, None, id="p95: unknown"),
        ({"max_cost_per_call_usd": 0.3}, a_call(CENTS_30), 0.3, True),
        ({"max_cost_per_call_usd": 0.29}, a_call(CENTS_30), 0.3, False),
        ({"max_cost_per_call_usd": 1}, a_call("0.1", None), None, None),
        pytest.param({"max_cost_per_call_usd": 1}, {}, None, None, id="call: none"),
        ({"max_cost_usd": 0.3}, {"everyone": cost_of(CENTS_30)}, 0.3, True),
        ({"max_cost_usd": 0.299999999}, {"everyone": cost_of(CENTS_30)}, 0.3, False),
        pytest.param({"max_cost_usd": 0}, {"everyone": cost_of("0")}, 0, True, id="cost: nothing"),
        ({"max_cost_usd": 1}, {"everyone": cost_of(None)}, None, None),
        ({"max_cost_usd": 1}, {"everyone": cost_of("1.1", None)}, None, False),
    ],
)
def test_a_gate_is_compared_with_what_was_measured(
    gate: dict[str, float], measured: dict[str, Any], actual: float | None, *, holds: bool | None
) -> None:
    (summary,) = check_gates(GatesSpec.model_validate(gate), **(UNMEASURED | measured))

    ((name, limit),) = gate.items()
    assert (summary.name, summary.limit, summary.actual, summary.passed) == (
        name,
        limit,
        actual,
        holds,
    )
    assert bool(summary.reason) is (actual is None)


VERDICTS = {"P": PASSED, "F": FAILED, "E": ERRORED, ".": None}


@pytest.mark.parametrize(
    ("gate", "cases", "holds"),
    [
        pytest.param({"min_pass_rate": 0.5}, "PPPPPEEEEE", True, id="rate: kept anyway"),
        pytest.param({"min_pass_rate": 0.51}, "PPPPPEEEEE", None, id="rate: could fall"),
        pytest.param({"min_pass_rate": 0.51}, "PPPPP.....", None, id="rate: not run"),
        pytest.param({"min_pass_rate": 0.8}, "PPFFE", False, id="rate: missed anyway"),
        pytest.param({"min_pass_rate": 0.6}, "PPFFE", None, id="rate: could rise"),
        pytest.param({"min_pass_rate": 0.6}, "PPFFF", False, id="rate: all graded"),
        pytest.param({"min_pass_rate": 0.5}, "EEE", None, id="rate: nothing graded"),
        pytest.param({"min_score": 0.5}, "PPPPPEEEEE", True, id="score: kept anyway"),
        pytest.param({"min_score": 0.6}, "PPPPPEEEEE", None, id="score: could fall"),
        pytest.param({"min_score": 0.8}, "PPFFE", False, id="score: missed anyway"),
        pytest.param({"min_score": 0.55}, "PPFFE", None, id="score: could rise"),
        pytest.param({"max_p95_ms": 100}, "P" * 20 + "E", True, id="p95: kept anyway"),
        pytest.param({"max_p95_ms": 100}, "P" * 18 + "E", None, id="p95: could be slower"),
        pytest.param({"max_p95_ms": 99}, "P" * 18 + "E", False, id="p95: too slow anyway"),
        pytest.param({"max_cost_per_call_usd": 1}, "PP", True, id="call: all graded"),
        pytest.param({"max_cost_per_call_usd": 1}, "PPE", None, id="call: could cost more"),
        pytest.param({"max_cost_per_call_usd": 0.01}, "PPE", False, id="call: too much anyway"),
        pytest.param({"max_cost_usd": 1}, "PPE", True, id="cost: what was spent is spent"),
    ],
)
def test_a_gate_that_ungraded_cases_could_turn_is_not_decided(
    gate: dict[str, float], cases: str, *, holds: bool | None
) -> None:
    trials = [
        Fact(f"{number}", *result, (100.0,), Decimal("0.1"), Decimal(0))
        for number, letter in enumerate(cases)
        for result in [(VERDICTS[letter], {"P": 1.0, "F": 0.0}.get(letter))]
    ]

    summary = summarise_run(trials, suite=make_suite(run_rule="gates", gates=gate))

    (result,) = summary.gates
    assert result.passed is holds
    assert (result.actual is None) is (set(cases) <= {"E"})
    if "cost" not in result.name:
        graded = cases.count("P") + cases.count("F")
        assert (result.graded, result.not_graded) == (graded, len(cases) - graded)
    if holds is None:
        assert result.reason
        assert summary.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("trials", "min_pass_rate", "holds"),
    [
        pytest.param("PE", 1.0, None, id="the case could fail by its other trial"),
        pytest.param("PPPE", 0.5, True, id="it cannot"),
        pytest.param("FFE", 0.5, False, id="it cannot pass either"),
    ],
)
def test_a_trial_that_is_not_graded_leaves_a_gate_open_if_it_could_turn_its_case(
    trials: str, min_pass_rate: float, *, holds: bool | None
) -> None:
    suite = make_suite(min_pass_rate=min_pass_rate, gates={"min_pass_rate": 1.0})

    (gate,) = summarise_run(facts(trials), suite=suite).gates

    assert gate.passed is holds


def test_a_share_is_of_the_cases_that_are_graded_and_the_others_are_counted_beside_it() -> None:
    cases = [fact for n, letter in enumerate("PPPFEE.") for fact in facts(letter, case=f"{n}")]

    summary = summarise_run(cases, suite=make_suite())

    assert summary.pass_rate == 0.75
    assert (summary.cases_passed, summary.cases_failed, summary.cases_not_graded) == (3, 1, 3)


def test_what_is_measured_counts_in_scores_and_times_and_in_no_rate() -> None:
    measured = Fact("a", Verdict.MEASURED, 0.4, (300.0,))
    passed = Fact("b", PASSED, 1.0, (100.0,))

    summary = summarise_run([measured, passed], suite=make_suite(gates={"min_score": 0.7}))

    assert (summary.score, summary.p95_ms) == (0.7, 300.0)
    assert (summary.pass_rate, summary.cases_passed, summary.cases_measured) == (1.0, 1, 1)
    assert (summary.verdict, summary.cases_not_graded) == ("passed", 0)
    assert "1 of 2" in " ".join(summary.notes)


def test_gates_that_are_not_set_are_not_checked() -> None:
    assert check_gates(GatesSpec(), **UNMEASURED) == ()


def test_a_gate_says_how_many_costs_are_unknown() -> None:
    suite = make_suite(gates={"max_cost_per_call_usd": 1})

    (gate,) = summarise_run([costly(PASSED, "0.1"), costly(FAILED, None)], suite=suite).gates

    assert (gate.actual, gate.passed) == (None, None)
    assert "1 of 2" in gate.reason


def cost_gates(*summary: Fact) -> dict[str, float | None]:
    gates = {"max_cost_per_call_usd": 1, "max_cost_usd": 1}
    return {
        gate.name: gate.actual
        for gate in summarise_run(summary, suite=make_suite(gates=gates)).gates
    }


def costly(
    verdict: Verdict | None, usd: str | None, judge: str | None = "0", turns: int = 2
) -> Fact:
    cost, judged = (None if amount is None else Decimal(amount) for amount in (usd, judge))
    return Fact("a", verdict, None, (100.0,) * turns, cost, judged)


def test_a_call_costs_what_graded_executions_cost_for_each_turn_that_was_measured() -> None:
    summary = cost_gates(
        costly(PASSED, "0.1", turns=1),
        costly(FAILED, "0.2"),
        costly(ERRORED, "0.9"),
        costly(ERRORED, "9", turns=0),
        costly(None, "9"),
    )

    assert summary["max_cost_per_call_usd"] == 0.1


def test_a_conversation_that_is_graded_again_and_again_took_and_cost_its_agent_once() -> None:
    gradings = [
        Fact("a", verdict, 1.0, (slow,), Decimal("0.1"), Decimal("0.01"), source=source)
        for source, slow, verdicts in [(7, 10.0, (ERRORED, PASSED, PASSED)), (8, 30.0, (PASSED,))]
        for verdict in verdicts
    ]

    summary = summarise_run(
        gradings, suite=make_suite(gates={"max_cost_per_call_usd": 1, "max_cost_usd": 1})
    )

    assert (summary.median_ms, summary.p95_ms) == (10.0, 30.0)
    assert [gate.actual for gate in summary.gates] == [0.1, pytest.approx(0.24)]


def test_a_run_costs_what_agent_and_judge_cost_in_all_that_ended() -> None:
    summary = cost_gates(
        costly(PASSED, "0.1", "0.02"), costly(ERRORED, "0.2", "0.003"), costly(None, "9", "9")
    )

    assert summary["max_cost_usd"] == 0.323


@pytest.mark.parametrize(
    ("summary", "actual"),
    [
        pytest.param([costly(PASSED, None)], (None, None), id="of the agent"),
        pytest.param([costly(PASSED, "0.2", None)], (0.1, None), id="of the judge"),
        ([costly(PASSED, "0.2"), costly(ERRORED, None)], (0.1, None)),
        ([costly(PASSED, "0.2"), costly(ERRORED, None, turns=0)], (0.1, None)),
        pytest.param([costly(PASSED, "0.2"), costly(None, None)], (0.1, 0.2), id="of what waits"),
        pytest.param([costly(PASSED, "0", turns=0)], (None, 0.0), id="without a turn"),
        pytest.param([costly(None, None)], (None, None), id="nothing has ended"),
        pytest.param([], (None, None), id="nothing at all"),
    ],
)
def test_one_cost_that_is_unknown_makes_the_sum_unknown(
    summary: list[Fact], actual: tuple[float | None, ...]
) -> None:
    assert tuple(cost_gates(*summary).values()) == actual
