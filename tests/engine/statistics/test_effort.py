"""How much slower or more expensive a run is, over the cases that both have."""

import random

import pytest

from evals_app.engine.statistics.effort import (
    MIN_CASES,
    CaseEffort,
    EffortPair,
    FigureChange,
    compare_efforts,
)


def made_up(cases: int, *, seed: int, times: float = 1.0) -> list[EffortPair]:
    """Return cases of two replies each, which take and cost so many times as much in the head."""
    chance = random.Random(seed)

    def effort(usual_ms: float, times: float) -> CaseEffort:
        ms = tuple(times * usual_ms * chance.lognormvariate(0, 0.3) for _ in range(2))
        return CaseEffort(ms, times * chance.lognormvariate(-5, 0.3))

    usual = [chance.lognormvariate(6.5, 0.5) for _ in range(cases)]
    return [(effort(ms, 1.0), effort(ms, times)) for ms in usual]


def test_times_and_costs_are_those_of_the_same_cases() -> None:
    pairs = [
        (CaseEffort((100.0, 200.0), 0.01), CaseEffort((300.0, 600.0), 0.02)),
        (CaseEffort((100.0,), None), CaseEffort((300.0,), 0.5)),
        (CaseEffort(), CaseEffort((9000.0,))),
    ]

    change = compare_efforts(pairs)

    assert change.median_ms == FigureChange(100.0, 300.0, 2)
    assert change.p95_ms == FigureChange(200.0, 600.0, 2)
    assert change.cost_usd == FigureChange(0.01, 0.02, 1)
    assert not change.is_slower  # too few to be sure
    assert not change.is_dearer


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([], id="no case"),
        pytest.param([(CaseEffort((None,)), CaseEffort((5.0,)))], id="never answered before"),
        pytest.param([(CaseEffort((5.0,)), CaseEffort((None,)))], id="never answered now"),
        pytest.param([(CaseEffort((0.0,), 0.0), CaseEffort((5.0,), 0.1))], id="nothing before"),
    ],
)
def test_what_has_no_ratio_is_unknown(pairs: list[EffortPair]) -> None:
    change = compare_efforts(pairs)

    assert (change.median_ms, change.p95_ms, change.cost_usd) == (None, None, None)


def test_an_interval_needs_five_cases_and_is_the_same_each_time() -> None:
    few, enough = (compare_efforts(made_up(cases, seed=1)) for cases in (MIN_CASES - 1, MIN_CASES))

    assert few.p95_ms is not None
    assert few.p95_ms.interval is None
    assert enough.p95_ms is not None
    assert enough.p95_ms.interval is not None
    assert compare_efforts(made_up(MIN_CASES, seed=1)) == enough


@pytest.mark.parametrize("cases", [10, 40, 1000])
def test_what_takes_three_times_as_long_is_found_and_the_interval_has_it(cases: int) -> None:
    change = compare_efforts(made_up(cases, seed=2, times=3.0))

    assert change.is_slower
    assert change.is_dearer
    for figure in (change.median_ms, change.p95_ms, change.cost_usd):
        assert figure is not None
        assert figure.interval is not None
        assert figure.interval[0] < 3.0 < figure.interval[1]
        assert figure.interval[0] < figure.times < figure.interval[1]


def test_what_differs_by_some_milliseconds_is_not_slower() -> None:
    pairs = [(CaseEffort((0.5,)), CaseEffort((1.5,)))] * 40

    change = compare_efforts(pairs)

    assert change.median_ms is not None
    assert change.median_ms.is_clear
    assert not change.is_slower


@pytest.mark.slow
@pytest.mark.parametrize("cases", [10, 40])
def test_two_equal_versions_rarely_differ_clearly(cases: int) -> None:
    changes = [compare_efforts(made_up(cases, seed=seed)) for seed in range(200)]

    for figures in zip(
        *((one.median_ms, one.p95_ms, one.cost_usd) for one in changes), strict=True
    ):
        alarms = sum(figure is not None and figure.is_clear for figure in figures)
        assert alarms <= 18  # 5 % of 200 are 10; more than 18 come by chance once in 150 times
