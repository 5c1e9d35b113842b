"""The test whether two runs differ as a whole: its numbers, its false alarms, and what it finds."""

import random
from collections import Counter
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from scipy.stats import fisher_exact, permutation_test

from evals_app.engine.statistics import stratified
from evals_app.engine.statistics.stratified import RateTest, Stratum, compare_rates


def result_of(*strata: tuple[int, int, int, int]) -> RateTest:
    return compare_rates(Counter(Stratum(*counts) for counts in strata))


@pytest.mark.parametrize(
    ("strata", "p"),
    [
        pytest.param([(10, 10, 0, 10)] * 5, 2**5 * 2 / (2 * comb(20, 10)) ** 5, id="50, then 0"),
        pytest.param([(1, 1, 0, 1)] * 5, 2 / 2**5, id="five cases of one trial"),
        pytest.param([(1, 1, 0, 1)] * 6, 2 / 2**6, id="six cases of one trial"),
        pytest.param([(1, 1, 0, 1)] * 6 + [(1, 1, 1, 1)] * 90, 2 / 2**6, id="others are equal"),
        pytest.param([(3, 3, 2, 3)], 1.0, id="one trial of three"),
        pytest.param([(2, 2, 0, 2), (0, 1, 1, 1)], 1.0, id="both ways"),
    ],
)
def test_small_numbers_are_those_of_counting(
    strata: list[tuple[int, int, int, int]], p: float
) -> None:
    assert result_of(*strata).p == pytest.approx(p)


def _by_counting(strata: list[tuple[int, int, int, int]]) -> float:
    """Return the share of all ways to deal the passed trials that differ as much, or more."""
    observed = abs(sum(h / n - b / m for b, m, h, n in strata))
    ways: list[list[tuple[float, int]]] = [
        [
            (x / n - (b + h - x) / m, comb(n, x) * comb(m, b + h - x))
            for x in range(max(0, b + h - m), min(b + h, n) + 1)
        ]
        for b, m, h, n in strata
    ]
    extreme = sum(
        prod(weight for _, weight in dealt)
        for dealt in product(*ways)
        if abs(sum(difference for difference, _ in dealt)) >= observed - 1e-9
    )
    return extreme / prod(comb(m + n, b + h) for b, m, h, n in strata)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("cases", "sizes"),
    [
        pytest.param(5, (1, 2, 3, 4, 5), id="few trials"),
        pytest.param(4, (4, 5, 7, 8, 9, 11), id="trials that share no steps"),
    ],
)
def test_it_counts_every_way_to_deal_the_trials(
    seed: int, cases: int, sizes: tuple[int, ...]
) -> None:
    draw = random.Random(seed)
    trials = [(draw.choice(sizes), draw.choice(sizes)) for _ in range(cases)]
    strata = [(draw.randint(0, m), m, draw.randint(0, n), n) for m, n in trials]

    assert result_of(*strata).p == pytest.approx(_by_counting(strata))


@pytest.mark.parametrize("seed", range(4))
def test_with_one_trial_each_it_flips_signs(seed: int) -> None:
    draw = random.Random(seed)
    strata = [(draw.randint(0, 1), 1, draw.randint(0, 1), 1) for _ in range(14)]

    by_signs = permutation_test(
        (np.array([float(head - base) for base, _, head, _ in strata]),),
        lambda sample, axis: np.sum(sample, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )

    assert result_of(*strata).p == pytest.approx(float(by_signs.pvalue))


@pytest.mark.parametrize(("passed", "of_head"), [(8, 3), (10, 7), (4, 9)])
def test_of_one_case_it_is_fishers(passed: int, of_head: int) -> None:
    expected = fisher_exact([[of_head, 10 - of_head], [passed, 10 - passed]]).pvalue

    assert result_of((passed, 10, of_head, 10)).p == pytest.approx(float(expected))


@pytest.mark.parametrize("most", [3, 9], ids=["few kinds", "trials that share no steps"])
def test_where_the_sum_is_long_the_curve_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    draw = random.Random(7)
    trials = [(draw.randint(1, most), draw.randint(1, most)) for _ in range(60)]
    strata = [(draw.randint(0, m), m, draw.randint(0, n), n) for m, n in trials]
    strata += [(3, 3, 2, 3)] * 12

    exact = result_of(*strata).p
    monkeypatch.setattr(stratified, "_MAX_STEPS", 0)

    assert result_of(*strata).p == pytest.approx(exact, abs=0.01)


def test_nothing_to_compare_proves_nothing() -> None:
    assert result_of() == RateTest(0, 0, 0, None, None)
    assert not result_of().is_certain
    assert result_of(*[(2, 3, 2, 3)] * 40) == RateTest(40, 0, 0, 0.0, 1.0)


def _compare(draw: random.Random, rates: list[float], fall: float, trials: int) -> RateTest:
    def passes(rate: float) -> int:
        return sum(draw.random() < rate for _ in range(trials))

    return result_of(
        *((passes(rate), trials, passes(max(0.0, rate - fall)), trials) for rate in rates)
    )


def _rates(draw: random.Random, cases: int) -> list[float]:
    kinds = draw.choices([(0.95, 1.0), (0.8, 0.95), (0.3, 0.8)], [60, 25, 15], k=cases)
    return [draw.uniform(*kind) for kind in kinds]


@pytest.mark.parametrize(
    ("cases", "trials", "fall", "least"),
    [
        pytest.param(5, 10, 0.3, 0.9, id="few cases, many trials"),
        pytest.param(10, 5, 0.3, 0.9, id="ten cases"),
        pytest.param(60, 3, 0.15, 0.9, id="many cases, few trials"),
    ],
)
def test_equal_versions_raise_few_alarms_and_a_fall_is_seen(
    cases: int, trials: int, fall: float, least: float
) -> None:
    draw = random.Random(13)
    equal = [_compare(draw, _rates(draw, cases), 0.0, trials) for _ in range(400)]
    fallen = [_compare(draw, _rates(draw, cases), fall, trials) for _ in range(50)]

    assert sum(found.is_certain for found in equal) <= 20
    seen = [found for found in fallen if found.is_certain and (found.mean or 0) < 0]
    assert len(seen) >= least * 50
