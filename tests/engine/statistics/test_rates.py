"""Statistics, against published values and by their laws."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evals_app.engine.statistics.rates import (
    at_least,
    deviation,
    fisher_exact,
    mean,
    pass_at_k,
    pass_hat_k,
    percentile,
    wilson_interval,
)

FEW = st.integers(0, 25)
COUNTS = st.integers(1, 100).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [
        pytest.param(8, 10, 0.4901, 0.9433, id="8 of 10"),
        # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        pytest.param(81, 263, 0.2553, 0.3662, id="81 of 263"),
        pytest.param(15, 148, 0.0624, 0.1605, id="15 of 148"),
        pytest.param(0, 20, 0.0, 0.1611, id="0 of 20"),
        pytest.param(1, 29, 0.0061, 0.1718, id="1 of 29"),
        pytest.param(1, 1, 0.2065, 1.0, id="1 of 1"),
    ],
)
def test_the_interval_is_wilsons(passed: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(passed, total) == pytest.approx((low, high), abs=1e-4)


@given(COUNTS)
def test_the_interval_holds_the_rate_and_mirrors(counts: tuple[int, int]) -> None:
    passed, total = counts

    low, high = wilson_interval(passed, total)

    assert 0 <= low <= passed / total <= high <= 1
    assert wilson_interval(total - passed, total) == pytest.approx((1 - high, 1 - low))


@given(COUNTS)
def test_more_trials_at_the_same_rate_narrow_the_interval(counts: tuple[int, int]) -> None:
    passed, total = counts

    low, high = wilson_interval(passed, total)
    low_10, high_10 = wilson_interval(10 * passed, 10 * total)

    assert high_10 - low_10 < high - low


def test_the_rate_of_nothing_is_unknown() -> None:
    with pytest.raises(ValueError, match="no trials"):
        wilson_interval(0, 0)


@pytest.mark.parametrize(
    ("passed", "total", "k", "at_k", "hat_k"),
    [
        pytest.param(3, 5, 1, 0.6, 0.6, id="once: the rate"),
        pytest.param(3, 5, 2, 0.9, 0.3, id="twice: 1 - 1/10, 3/10"),
        pytest.param(3, 5, 3, 1.0, 0.1, id="only two failed"),
        pytest.param(3, 5, 4, 1.0, 0.0, id="only three passed"),
        pytest.param(0, 3, 2, 0.0, 0.0, id="never"),
        pytest.param(3, 3, 3, 1.0, 1.0, id="always"),
    ],
)
def test_pass_at_k_and_pass_hat_k(
    passed: int, total: int, k: int, at_k: float, hat_k: float
) -> None:
    assert pass_at_k(passed, total, k) == pytest.approx(at_k)
    assert pass_hat_k(passed, total, k) == pytest.approx(hat_k)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_both_are_the_share_of_all_choices_of_k_trials(
    trials: list[bool], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(trials)))
    chosen = list(itertools.combinations(trials, k))

    passed = sum(trials)

    assert pass_at_k(passed, len(trials), k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(passed, len(trials), k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


@pytest.mark.parametrize(
    ("values", "average", "spread"),
    [
        pytest.param([], None, None, id="nothing"),
        pytest.param([0.5], 0.5, None, id="one value has no spread"),
        pytest.param([0.0, 1.0], 0.5, math.sqrt(0.5), id="two"),
        # NIST/SEMATECH e-Handbook, sample standard deviation of 2, 4, 4, 4, 5, 5, 7, 9.
        pytest.param([2, 4, 4, 4, 5, 5, 7, 9], 5.0, math.sqrt(32 / 7), id="of a sample"),
    ],
)
def test_mean_and_deviation(
    values: list[float], average: float | None, spread: float | None
) -> None:
    assert mean(values) == average
    assert deviation(values) == (None if spread is None else pytest.approx(spread))


@pytest.mark.parametrize(
    ("values", "rank", "expected"),
    [
        pytest.param([], 0.95, None, id="nothing"),
        pytest.param([7], 0.95, 7, id="one"),
        pytest.param(list(range(1, 20)), 0.95, 19, id="19: the last"),
        pytest.param(list(range(1, 21)), 0.95, 19, id="20: the last but one"),
        pytest.param(list(range(1, 22)), 0.95, 20, id="21: still the last but one"),
        pytest.param([5, 1, 3], 0.5, 3, id="in any order"),
        pytest.param([1, 2, 3, 4], 0.5, 2, id="a value that occurred, no mean of two"),
        pytest.param([3, 1], 0.0, 1, id="the smallest"),
    ],
)
def test_percentiles_are_by_nearest_rank(
    values: list[float], rank: float, expected: float | None
) -> None:
    assert percentile(values, rank) == expected


@given(st.integers(1, 5000))
def test_the_rank_is_exact_whatever_the_number_of_values(count: int) -> None:
    rank = math.ceil(Fraction(95, 100) * count)

    assert percentile(range(1, count + 1), 0.95) == rank


@pytest.mark.parametrize(
    ("value", "bound", "reaches"),
    [
        pytest.param(0.8, 0.8, True, id="inclusive"),
        pytest.param(0.7 + 0.1, 0.8, True, id="off by a rounding"),
        pytest.param(0.7999, 0.8, False, id="below"),
        pytest.param(1.0, 0.8, True, id="above"),
    ],
)
def test_a_bound_is_reached_but_for_rounding(value: float, bound: float, *, reaches: bool) -> None:
    assert at_least(value, bound) is reaches


@given(FEW, FEW, FEW, FEW)
def test_fisher_agrees_with_scipy(
    passed: int, failed: int, others: int, others_failed: int
) -> None:
    expected = stats.fisher_exact([[passed, failed], [others, others_failed]], "less").pvalue

    p = fisher_exact(passed, passed + failed, others, others + others_failed)

    assert p == pytest.approx(expected, abs=1e-12)
