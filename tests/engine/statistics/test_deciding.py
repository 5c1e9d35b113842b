"""Trials that are left out because the verdict of their case is certain: nothing else changes."""

import random
from collections.abc import Sequence

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.deciding import case_verdict, is_certain
from evals_app.engine.verdicts.case_summary import CaseSummary, Fact
from evals_app.engine.verdicts.run_summary import RunSummary, summarise_run
from tests.engine.makers import make_suite

PASSED, FAILED, ERRORED = Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED
WORDS = {"P": PASSED, "F": FAILED, "E": ERRORED, ".": None}


@pytest.mark.parametrize(
    ("ended", "left", "min_pass_rate", "certain"),
    [
        pytest.param("P", 9, 1.0, False, id="one passed, all must"),
        pytest.param("PPPPPPPPP", 1, 1.0, False, id="all but one passed, all must"),
        pytest.param("F", 9, 1.0, True, id="one failed, all must pass"),
        pytest.param("EF", 8, 1.0, True, id="an error saves no failure"),
        pytest.param("PPPPPPP", 3, 0.7, True, id="enough passed, but for rounding"),
        pytest.param("PPPPPP", 4, 0.7, False, id="one too few passed"),
        pytest.param("FFF", 7, 0.7, False, id="the rest could pass"),
        pytest.param("FFFF", 6, 0.7, True, id="the rest cannot save it"),
        pytest.param("PPPPPPE", 3, 0.7, False, id="an errored trial has not passed"),
        pytest.param("PPPPPPE", 2, 0.7, True, id="it makes the others count more"),
        pytest.param("FFE", 8, 0.8, False, id="nor has it failed"),
        pytest.param("FFE", 7, 0.8, True, id="so fewer can save the case"),
        pytest.param("", 3, 0.5, False, id="none ended"),
        pytest.param("EE", 1, 0.5, False, id="none was graded"),
        pytest.param("EEE", 0, 0.5, False, id="none was ever graded"),
    ],
)
def test_a_case_is_certain_once_no_ending_could_change_it(
    *, ended: str, left: int, min_pass_rate: float, certain: bool
) -> None:
    passed, failed = ended.count("P"), ended.count("F")

    assert is_certain(passed, failed, left=left, min_pass_rate=min_pass_rate) is certain


def run_until_certain(trials: str, *, at_once: int, min_pass_rate: float) -> str:
    """Run trials a few at a time, and write an `s` for each that is skipped."""
    ended = ""
    while len(ended) < len(trials):
        left = len(trials) - len(ended)
        passed, failed = ended.count("P"), ended.count("F")
        if is_certain(passed, failed, left=left, min_pass_rate=min_pass_rate):
            return ended + "s" * left
        ended = trials[: len(ended) + at_once]
    return ended


def summaries(cases: Sequence[str], **suite: object) -> tuple[list[CaseSummary], RunSummary]:
    facts = [
        Fact(str(number), WORDS.get(letter), is_skipped=letter == "s")
        for number, trials in enumerate(cases)
        for letter in trials
    ]
    kept: list[CaseSummary] = []
    return kept, summarise_run(facts, suite=make_suite(**suite), keep=kept.append)


def draw_trials(draw: random.Random) -> str:
    """Return trials of a case: steady, flaky or hopeless, and sometimes errored."""
    passes = draw.choice([0.0, 0.05, 0.3, 0.5, 0.8, 0.95, 1.0])
    errs = draw.choice([0.0, 0.0, 0.1, 0.5])
    return "".join(
        "E" if draw.random() < errs else "P" if draw.random() < passes else "F"
        for _ in range(draw.choice([1, 2, 3, 5, 10, 20]))
    )


def test_10000_simulated_cases_have_the_verdict_of_all_their_trials() -> None:
    draw = random.Random(6)
    saved = 0
    for _ in range(10_000):
        trials, min_pass_rate = (
            draw_trials(draw),
            draw.choice([0.1, 1 / 3, 0.5, 0.7, 0.8, 0.9, 1.0]),
        )

        ran = run_until_certain(
            trials, at_once=draw.choice([1, 1, 2, 4]), min_pass_rate=min_pass_rate
        )

        counts = [[letters.count(letter) for letter in "PFE"] for letters in (trials, ran)]
        whole, early = (case_verdict(*counted, min_pass_rate=min_pass_rate) for counted in counts)
        assert early is whole, (trials, ran, min_pass_rate)
        saved += ran.count("s")
    assert saved > 10_000  # else it would show nothing


@pytest.mark.parametrize(
    "rules",
    [{}, {"gates": {"min_pass_rate": 0.6}}, {"run_rule": "gates", "gates": {"min_pass_rate": 0.6}}],
    ids=["all cases", "all cases and a gate", "a gate"],
)
def test_a_run_without_errors_has_the_verdict_of_all_its_trials(rules: dict[str, object]) -> None:
    draw = random.Random(7)
    verdicts = set()
    for _ in range(300):
        low = draw.random()
        cases = [
            "".join("P" if draw.random() < max(low, 0.02) else "F" for _ in range(5))
            for _ in range(4)
        ]
        early = [run_until_certain(trials, at_once=1, min_pass_rate=0.6) for trials in cases]

        _, whole = summaries(cases, min_pass_rate=0.6, **rules)
        _, run = summaries(early, min_pass_rate=0.6, **rules)

        assert (run.verdict, run.pass_rate) == (whole.verdict, whole.pass_rate)
        verdicts.add(run.verdict)
    assert verdicts == {"passed", "failed"}


def test_a_case_with_skipped_trials_has_no_interval_and_no_rates_over_k() -> None:
    (stopped_case, whole_case), run = summaries(["PPs", "PPF"], min_pass_rate=0.5)

    assert (stopped_case.trials, stopped_case.skipped, stopped_case.passed) == (3, 1, 2)
    assert (stopped_case.interval, stopped_case.pass_at_k, stopped_case.pass_hat_k) == (
        None,
        (),
        (),
    )
    assert whole_case.interval is not None
    assert len(whole_case.pass_hat_k) == 3
    # Those of the other cases would be no fair sample.
    assert (run.pass_at_k, run.pass_hat_k) == ((), ())


def test_a_skipped_trial_leaves_nothing_open() -> None:
    assert summaries(["PPs"], min_pass_rate=0.5)[1].verdict == "passed"
    assert summaries(["PP."], min_pass_rate=0.5)[1].verdict == "inconclusive"


def test_a_run_says_that_trials_were_skipped() -> None:
    assert summaries(["Fs"])[1].notes != summaries(["FF"])[1].notes


@pytest.mark.parametrize(
    ("changes", "stops"),
    [
        ({}, True),
        ({"stop_when_decided": False}, False),
        ({"pass_rule": "score"}, True),
        ({"gates": {"min_pass_rate": 0.9}}, True),
        ({"gates": {"max_cost_usd": 5}}, True),
        ({"gates": {"min_score": 0.9}}, False),
        ({"gates": {"max_p95_ms": 900}}, False),
        ({"gates": {"max_cost_per_call_usd": 0.01}}, False),
        ({"gates": {"max_regressions": 0}}, False),
        ({"gates": {"max_score_drop": 0.1}}, False),
        ({"run_rule": "gates", "gates": {"min_pass_rate": 0.9}}, True),
        # A trial that comes later could be the first that passes.
        ({"run_rule": "gates", "gates": {"max_cost_usd": 5}}, False),
    ],
    ids=str,
)
def test_all_trials_run_where_something_measures_them(
    *, changes: dict[str, object], stops: bool
) -> None:
    suite = make_suite(**{"stop_when_decided": True} | changes)

    assert suite.stops_when_decided is stops
