"""Verdicts of cases over their trials, of runs, and their gates."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.scoring import (
    CaseSummary,
    Fact,
    GateResult,
    check_gates,
    summarise_run,
)
from evals_app.engine.suite import GatesSpec
from evals_app.engine.trial import (
    Verdict,
)
from tests.engine.makers import make_suite

PASSED, FAILED, ERRORED = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED


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
