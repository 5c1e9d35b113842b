"""Statistics of trials: how certain a rate is, and how steady an agent is."""

import math
import statistics
from collections.abc import Iterable, Sequence
from functools import lru_cache

_NOISE = 1e-9  # of binary fractions: 0.7 + 0.1 is less than 0.8


def at_least(value: float, bound: float) -> bool:
    """Return whether a value reaches a bound, to within what floating-point sums are off."""
    return value >= bound - _NOISE


def wilson_interval(passed: float, total: float, *, z: float = 1.959964) -> tuple[float, float]:
    """Return the lower and upper bound of a pass rate, each in 0..1; `z` 1.96 means 95 %.

    Raises:
        ValueError: `total` is 0; the rate of nothing is not 0.

    Source: Wilson, Journal of the American Statistical Association 22 (1927), 209-212.
    """
    if total == 0:
        raise ValueError("The pass rate of no trials is unknown.")
    rate = passed / total
    centre = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(rate * (1 - rate) / total + (z / total / 2) ** 2)
    # Rounding must not put the rate itself outside.
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))


@lru_cache(maxsize=4096)  # the same few counts recur
def fisher_exact(passed: int, graded: int, others_passed: int, others_graded: int) -> float:
    """Return the chance that this few of `graded` trials pass if the others pass equally often.

    One-sided: the caller knows which of the two may be worse.

    Source: Fisher, Journal of the Royal Statistical Society 98 (1935), 39-82.
    """
    in_all = passed + others_passed
    least = max(0, in_all - others_graded)
    ways = sum(
        math.comb(graded, count) * math.comb(others_graded, in_all - count)
        for count in range(least, passed + 1)
    )
    return ways / math.comb(graded + others_graded, in_all)


def pass_at_k(passed: int, total: int, k: int) -> float:
    """Estimate, unbiased, the chance that at least one of k trials passes.

    Source: Chen et al., Evaluating Large Language Models Trained on Code (2021), section 2.1.
    """
    return 1.0 - math.comb(total - passed, k) / math.comb(total, k)


def pass_hat_k(passed: int, total: int, k: int) -> float:
    """Estimate, unbiased, the chance that all of k trials pass.

    Source: Yao et al., tau-bench (2024), section 3.
    """
    return math.comb(passed, k) / math.comb(total, k)


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, None of nothing."""
    return statistics.fmean(values) if values else None


def deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation, None of fewer than two."""
    return statistics.stdev(values) if len(values) > 1 else None


def percentile(values: Sequence[float], rank: float) -> float | None:
    """Return the nearest-rank percentile, `rank` in 0..1; None of nothing."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(rank * len(values)) - 1)]


def flip_rate(verdicts: Iterable[tuple[int, int]]) -> float | None:
    """Return how often a judge gives the less common of its two verdicts on the same thing.

    `verdicts` are how often each conversation passed and failed: the result is the mean over the
    conversations of the share of the rarer verdict, from 0 (always the same) to 0.5 (a coin).
    None if none was graded twice.
    """
    shares = [
        min(passes, fails) / (passes + fails) for passes, fails in verdicts if passes + fails > 1
    ]
    return mean(shares)
