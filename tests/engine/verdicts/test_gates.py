"""Gates that compare a run with its baseline."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.check_counts import CheckCount, counts_text
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.engine.statistics.effort import CaseEffort
from evals_app.engine.verdicts.case_summary import Fact
from evals_app.engine.verdicts.gates import GateResult
from evals_app.engine.verdicts.regressions import MAX_NAMED, Regressions
from evals_app.engine.verdicts.run_summary import NOT_COMPARED, RunSummary, summarise_run
from tests.engine.makers import make_suite

VERDICTS = {"P": Verdict.PASSED, "F": Verdict.FAILED, "E": Verdict.ERRORED, ".": None}


def outcome(name: str, trials: str, score: float | None, digest: str) -> CaseOutcome:
    passed, failed, errored = map(trials.count, "PFE")
    verdict = Verdict.ERRORED if errored else None
    if passed + failed:
        verdict = Verdict.FAILED if failed else Verdict.PASSED
    return CaseOutcome(name, digest, verdict, passed, failed, errored, score)


def summary(
    base: dict[str, str] | None,
    head: dict[str, str],
    *,
    scores: tuple[list[float | None], list[float | None]] | None = None,
    edited: tuple[str, ...] = (),
    gates: dict[str, float],
    **suite: Any,
) -> RunSummary:
    """Sum up a run of these cases by name: their trials as P passed, F failed, E errored, . not run."""
    before, after = scores or ([None] * len(base or ()), [None] * len(head))
    facts = [
        Fact(name, VERDICTS[letter], score)
        for (name, trials), score in zip(head.items(), after, strict=True)
        for letter in trials
    ]
    regressions = None
    if base is not None:
        cases = zip(base.items(), before, strict=True)
        regressions = Regressions(
            "run 7",
            {name: outcome(name, trials, score, name) for (name, trials), score in cases},
            digests={name: f"new {name}" if name in edited else name for name in head},
            checks={},
            remarks=["The judge differs."],
        )
    spec = make_suite(gates=gates, run_rule="gates", **suite)
    return summarise_run(facts, suite=spec, regressions=regressions)


def gate_of(*args: Any, **given: Any) -> GateResult:
    (gate,) = summary(*args, **given).gates
    return gate


@pytest.mark.parametrize(
    ("base", "head", "limit", "actual", "passed", "words"),
    [
        pytest.param({"a": "P", "b": "P"}, {"a": "P", "b": "P"}, 0, 0, True, "0 of 2", id="same"),
        pytest.param({"a": "P", "b": "P"}, {"a": "P", "b": "F"}, 0, 1, False, "“b”", id="worse"),
        pytest.param({"a": "P", "b": "P"}, {"a": "P", "b": "F"}, 1, 1, True, "“b”", id="allowed"),
        pytest.param({"a": "P", "b": "F"}, {"a": "P", "b": "P"}, 0, 0, True, "1 case", id="better"),
        ({"a": "P", "b": "PF"}, {"a": "P", "b": "P"}, 0, 0, True, "1 flaky before"),
        pytest.param({"a": "P"}, {"a": "P", "b": "F"}, 0, 0, True, "1 new", id="new"),
        pytest.param({"a": "P", "b": "P"}, {"a": "P"}, 0, 0, True, "1 not in this", id="missing"),
        ({"a": "P", "b": "P"}, {"a": "F", "b": "E"}, 0, 1, False, "1 not decided"),
        ({"a": "P", "b": "P"}, {"a": "P", "b": "E"}, 0, None, None, "1 case"),
        ({"a": "P", "b": "P"}, {"a": "P", "b": "."}, 1, 0, True, "1 not"),
        ({"a": "F"}, {"a": "F"}, 0, None, None, "No case that passed"),
        ({"a": "PF"}, {"a": "F"}, 0, None, None, "No case that passed"),
        pytest.param({"x": "P"}, {"a": "P"}, 0, None, None, "1 new", id="no case in common"),
        pytest.param({}, {"a": "P"}, 0, None, None, "1 new", id="empty baseline"),
        pytest.param(None, {"a": "P"}, 0, None, None, "no released version", id="no baseline"),
    ],
)
def test_only_cases_that_passed_and_fail_now_are_regressions(
    base: dict[str, str] | None,
    head: dict[str, str],
    limit: int,
    actual: int | None,
    *,
    passed: bool | None,
    words: str,
) -> None:
    gate = gate_of(base, head, gates={"max_regressions": limit})

    assert (gate.name, gate.limit) == ("max_regressions", limit)
    assert (gate.actual, gate.passed) == (actual, passed)
    assert words in gate.reason


def test_a_case_that_passes_in_both_is_compared_though_one_of_its_checks_got_worse() -> None:
    before, after = (
        counts_text({"check": CheckCount(passed, 1 - passed), "other": CheckCount(1, 0)})
        for passed in (1, 0)
    )
    base = outcome("a", "P", 1.0, "old")._replace(checks=before)
    regressions = Regressions("run 7", {"a": base}, digests={"a": "old"}, checks={"a": after})
    facts = [Fact("a", Verdict.PASSED, 0.8)]
    spec = make_suite(gates={"max_regressions": 0}, run_rule="gates")

    (gate,) = summarise_run(facts, suite=spec, regressions=regressions).gates

    assert (gate.actual, gate.passed) == (0, True)
    assert "1 with a worse check" in gate.reason


def test_an_edited_case_is_not_compared() -> None:
    gate = gate_of(
        {"a": "P", "b": "P"}, {"a": "P", "b": "F"}, edited=("b",), gates={"max_regressions": 0}
    )

    assert gate.passed is True
    assert "1 edited since" in gate.reason


def test_a_run_whose_gate_cannot_be_measured_does_not_pass() -> None:
    alone = summary(None, {"a": "P"}, gates={"max_regressions": 0})
    worse = summary({"a": "P", "b": "P"}, {"a": "P", "b": "F"}, gates={"max_regressions": 0})
    fine = summary({"a": "P", "b": "F"}, {"a": "P", "b": "F"}, gates={"max_regressions": 0})

    assert [alone.verdict, worse.verdict, fine.verdict] == ["inconclusive", "failed", "passed"]


def test_of_many_regressions_the_first_are_named() -> None:
    names = [f"case {number:03}" for number in range(MAX_NAMED + 5)]

    gate = gate_of(
        dict.fromkeys(names, "P"), dict.fromkeys(names, "F"), gates={"max_regressions": 0}
    )

    named = [name for name in names if f"“{name}”" in gate.reason]
    assert named == names[:MAX_NAMED]
    assert "5 more" in gate.reason
    assert gate.actual == MAX_NAMED + 5


def test_what_was_measured_differently_is_in_the_reason() -> None:
    result = summary(
        {"a": "P"},
        {"a": "P"},
        scores=([1.0], [1.0]),
        gates={"max_regressions": 0, "max_score_drop": 0.1},
    )

    assert all("The judge differs." in gate.reason for gate in result.gates)


@pytest.mark.parametrize(
    ("before", "after", "limit", "drop", "passed"),
    [
        pytest.param([0.8, 0.6], [0.7, 0.6], 0.05, 0.05, True, id="inclusive"),
        pytest.param([0.8, 0.6], [0.7, 0.5], 0.05, 0.1, False, id="below"),
        pytest.param([0.8, 0.6], [0.9, 0.6], 0.0, -0.05, True, id="rose"),
        pytest.param([0.8, None], [0.8, 0.0], 0.05, 0.0, True, id="no score before"),
        pytest.param([0.8, 0.6], [0.8, None], 0.05, 0.0, True, id="no score now"),
        pytest.param([None, None], [0.8, 0.6], 0.05, None, None, id="nothing in common"),
    ],
)
def test_scores_fall_over_the_cases_that_both_have(
    before: list[float | None],
    after: list[float | None],
    limit: float,
    drop: float | None,
    *,
    passed: bool | None,
) -> None:
    cases = {"a": "P", "b": "F"}

    gate = gate_of(cases, cases, scores=(before, after), gates={"max_score_drop": limit})

    assert gate.actual == (None if drop is None else pytest.approx(drop))
    assert gate.passed is passed


@pytest.mark.parametrize(
    ("head", "scores", "limit", "passed"),
    [
        pytest.param({"a": "P", "b": "E"}, [1.0, None], 0.6, True, id="cannot fall so far"),
        pytest.param({"a": "P", "b": "E"}, [1.0, None], 0.1, None, id="could fall"),
        pytest.param({"a": "F", "b": "E"}, [0.0, None], 0.1, False, id="fell anyway"),
        pytest.param({"a": "P", "b": "PE"}, [1.0, 1.0], 0.1, None, id="by one of its trials"),
        pytest.param({"a": "P", "b": "."}, [1.0, None], 0.1, None, id="not run"),
    ],
)
def test_a_fall_that_ungraded_cases_could_turn_is_not_decided(
    head: dict[str, str], scores: list[float | None], limit: float, *, passed: bool | None
) -> None:
    before: list[float | None] = [1.0, 1.0]

    gate = gate_of(
        {"a": "P", "b": "P"}, head, scores=(before, scores), gates={"max_score_drop": limit}
    )

    assert gate.passed is passed
    assert gate.actual is not None


def test_new_and_edited_cases_move_no_mean() -> None:
    gate = gate_of(
        {"a": "P", "b": "P"},
        {"a": "P", "b": "P", "c": "F"},
        scores=([0.9, 1.0], [0.9, 0.0, 0.0]),
        edited=("b",),
        gates={"max_score_drop": 0},
    )

    assert (gate.actual, gate.passed) == (0.0, True)
    assert "1 case" in gate.reason


@pytest.mark.parametrize(
    ("head", "had_baseline", "verdict"),
    [
        pytest.param({"a": "P", "b": "P"}, False, "passed", id="the first run"),
        pytest.param({"a": "P", "b": "F"}, False, "passed", id="the first run, by its other rules"),
        pytest.param({"a": "F", "b": "F"}, False, "failed", id="nothing passed"),
        pytest.param({"a": "P", "b": "E"}, False, "inconclusive", id="something errored"),
        pytest.param({"a": "P", "b": "P"}, True, "inconclusive", id="a lost baseline"),
    ],
)
def test_a_suite_that_never_had_a_baseline_is_judged_by_its_other_rules(
    head: dict[str, str], verdict: str, *, had_baseline: bool
) -> None:
    gates = {"max_regressions": 0, "max_score_drop": 0.1}
    facts = [Fact(name, VERDICTS[letter]) for name, letter in head.items()]

    result = summarise_run(
        facts, suite=make_suite(gates=gates, run_rule="gates"), had_baseline=had_baseline
    )

    assert result.verdict == verdict
    for gate in result.gates:
        assert (gate.passed, gate.is_applied, bool(gate.reason)) == (None, had_baseline, True)
    assert (NOT_COMPARED in result.notes) is not had_baseline


@pytest.mark.parametrize(
    ("base", "head", "gates", "actual", "passed", "words"),
    [
        pytest.param([100, 200], [110, 220], {"max_p95_increase": 0.1}, 0.1, True, "", id="in it"),
        pytest.param([100, 200], [90, 150], {"max_p95_increase": 0}, -0.25, True, "", id="faster"),
        pytest.param(
            [20, 20], [2000, 2000], {"max_p95_increase": 0.2}, 99, False, "2 cases", id="slower"
        ),
        pytest.param(
            [100, 200], [100, None], {"max_p95_increase": 0.2}, 0, None, "1 case is", id="ungraded"
        ),
        pytest.param([], [100], {"max_p95_increase": 0.2}, None, None, "no reply", id="unknown"),
        pytest.param([100], [150], {"max_cost_increase": 0.4}, 0.5, False, "1 case", id="dearer"),
        pytest.param([100], [50], {"max_cost_increase": 0}, -0.5, True, "", id="cheaper"),
        pytest.param([0], [50], {"max_cost_increase": 0}, None, None, "no costs", id="free before"),
    ],
)
def test_times_and_costs_rise_over_the_cases_that_both_have(
    base: list[int],
    head: list[int | None],
    gates: dict[str, float],
    actual: float | None,
    words: str,
    *,
    passed: bool | None,
) -> None:
    """A number is a case: the ms of its reply, and its cost in thousandths of a USD."""
    before = {
        str(n): outcome(str(n), "P", None, str(n))._replace(effort=CaseEffort((ms,), ms / 1000))
        for n, ms in enumerate(base)
    }
    names = [*map(str, range(len(head))), "a slow new one"]
    facts = [
        Fact(name, Verdict.ERRORED)
        if ms is None
        else Fact(name, Verdict.PASSED, turn_ms=(ms,), cost_usd=Decimal(ms) / 1000)
        for name, ms in zip(names, [*head, 9000], strict=True)
    ]
    known = Regressions("run 7", before, digests={name: name for name in names}, checks={})
    spec = make_suite(gates=gates, run_rule="gates")

    (gate,) = summarise_run(facts, suite=spec, regressions=known).gates

    assert gate.actual == (None if actual is None else pytest.approx(actual))
    assert gate.passed is passed
    assert words in gate.reason


def test_a_fall_without_a_baseline_is_unknown() -> None:
    gate = gate_of(None, {"a": "P"}, gates={"max_score_drop": 0.1})

    assert (gate.actual, gate.passed) == (None, None)
