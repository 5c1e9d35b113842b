"""Whether the pass rates of two runs differ by more than chance: one test over the trials of all cases."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_CERTAIN = 0.05  # the usual level
_MAX_STEPS = 500_000  # of the exact sum: a tenth of a second
_FINEST = 1_000_000  # parts of a rate in which floating-point numbers are exact enough
_COARSE = 60  # parts where exact ones are too many: still exact for 10, 12, 15, 20 and 30 trials
_NOISE = 1e-9


class Stratum(NamedTuple):
    """The graded trials of a case in both runs."""

    base_passed: int
    base_graded: int
    head_passed: int
    head_graded: int

    @property
    def difference(self) -> float:
        """The pass rate in the head minus that in the base."""
        return self.head_passed / self.head_graded - self.base_passed / self.base_graded


@dataclass(frozen=True, slots=True)
class RateTest:
    """The result: `fell` and `rose` are cases whose rate differs, `mean` the mean difference.

    `p` is two-sided. Both are None if no case can be compared.
    """

    cases: int
    fell: int
    rose: int
    mean: float | None
    p: float | None

    @property
    def differing(self) -> int:
        return self.fell + self.rose

    @property
    def is_certain(self) -> bool:
        """Whether chance alone would give such a difference in fewer than 5 of 100 comparisons."""
        return self.p is not None and self.p < _CERTAIN

    @property
    def is_one_way(self) -> bool:
        """Whether all cases that differ do so in the same direction."""
        return bool(self.differing) and not (self.fell and self.rose)


def compare_rates(strata: Mapping[Stratum, int]) -> RateTest:
    """Test whether the mean difference of pass rates is 0; `strata` counts each kind of case.

    If both versions pass each case equally often, every way to deal the passed trials of a case to
    the two runs is equally likely. So the difference of a case is hypergeometric, given how many of
    its trials passed; that of all cases is their sum. It is summed exactly; where that would take
    too long, it has enough terms to be treated as normal. With one trial each this is the test that
    flips signs.

    Source: Birch, Journal of the Royal Statistical Society B 26 (1964), 313-324, for the conditional
    test; Mantel and Haenszel, Journal of the National Cancer Institute 22 (1959), 719-748, for its
    normal limit.
    """
    cases = sum(strata.values())
    if not cases:
        return RateTest(0, 0, 0, None, None)
    fell = sum(count for stratum, count in strata.items() if stratum.difference < -_NOISE)
    rose = sum(count for stratum, count in strata.items() if stratum.difference > _NOISE)
    mean = math.fsum(stratum.difference * count for stratum, count in strata.items()) / cases
    return RateTest(cases, fell, rose, mean, _p_of(strata) if fell or rose else 1.0)


@dataclass(frozen=True, slots=True)
class _Term:
    """The differences that a case may have, as whole steps with their chances; `count` such cases."""

    chances: Mapping[int, float]
    observed: int
    count: int

    @property
    def mean(self) -> float:
        return math.fsum(step * chance for step, chance in self.chances.items())

    @property
    def variance(self) -> float:
        mean = self.mean
        return math.fsum((step - mean) ** 2 * chance for step, chance in self.chances.items())


def _p_of(strata: Mapping[Stratum, int]) -> float:
    trials = {n for stratum in strata for n in (stratum.base_graded, stratum.head_graded)}
    parts = math.lcm(*trials)
    terms = list(_terms(strata, parts)) if parts <= _FINEST else []
    if not terms or _steps_of(terms) > _MAX_STEPS:
        terms = list(_terms(strata, _COARSE))
    centre = math.fsum(term.mean * term.count for term in terms)
    reached = abs(sum(term.observed * term.count for term in terms) - centre)
    is_short = _steps_of(terms) <= _MAX_STEPS
    p = _exact(terms, centre, reached) if is_short else _normal(terms, reached)
    return min(1.0, p)


def _terms(strata: Mapping[Stratum, int], parts: int) -> Iterator[_Term]:
    """Return the terms of the sum; a case whose trials all ended alike cannot differ."""
    for (base_passed, base, head_passed, head), count in strata.items():
        passed = base_passed + head_passed
        ways = {
            of_head: math.comb(head, of_head) * math.comb(base, passed - of_head)
            for of_head in range(max(0, passed - base), min(passed, head) + 1)
        }
        in_all = math.comb(base + head, passed)
        steps = {
            of_head: round(parts * (of_head / head - (passed - of_head) / base)) for of_head in ways
        }
        chances: dict[int, float] = {}
        for of_head, number in ways.items():
            chances[steps[of_head]] = chances.get(steps[of_head], 0.0) + number / in_all
        if len(chances) > 1:
            yield _Term(chances, steps[head_passed], count)


def _steps_of(terms: list[_Term]) -> int:
    """Return roughly how many products the exact sum takes, or a number that is too large."""
    spacing = _spacing(terms)
    sums, width, done = 1, 0, 0
    for term in terms:
        reach = (max(term.chances) - min(term.chances)) // spacing
        for _ in range(term.count):
            done += len(term.chances) * sums
            if done > _MAX_STEPS:
                return done
            width += reach
            sums = min(sums * len(term.chances), width + 1)
    return done


def _spacing(terms: list[_Term]) -> int:
    """Return how far possible sums are apart."""
    return math.gcd(*(step - min(term.chances) for term in terms for step in term.chances)) or 1


def _exact(terms: list[_Term], centre: float, reached: float) -> float:
    sums = {0: 1.0}
    for term in terms:
        for _ in range(term.count):
            sums = _add_chances(sums, term.chances)
    return math.fsum(
        chance for total, chance in sums.items() if abs(total - centre) >= reached - _NOISE
    )


def _add_chances(sums: Mapping[int, float], chances: Mapping[int, float]) -> dict[int, float]:
    more: dict[int, float] = {}
    for total, chance in sums.items():
        for step, weight in chances.items():
            more[total + step] = more.get(total + step, 0.0) + chance * weight
    return more


def _normal(terms: list[_Term], reached: float) -> float:
    deviation = math.sqrt(math.fsum(term.variance * term.count for term in terms))
    # Continuity correction: half a step less, because the sum is discrete.
    return math.erfc(max(0.0, reached - _spacing(terms) / 2) / deviation / math.sqrt(2))
