"""Two runs compared case by case: what got worse, what got better, what cannot be compared.

The first run is the *base*, the other one the *head*. Cases are matched by name, and compared only if
their content is the same.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from evals_app.engine.statistics import fisher_exact
from evals_app.engine.trial import Verdict

MOST_RUNS = 10  # compared at once

# How rarely chance must explain a fall from trials that disagreed already: where the verdict of the
# case changed, and where it failed before, too. Most cases with such trials fail in both runs, and
# at the first level every second comparison of 200 cases with 20 trials would accuse one of them.
BY_CHANCE = 0.05
BY_CHANCE_UNSEEN = 0.001

_EXACT = 12  # differences: all 2 ** 12 choices of signs are counted
_FLIPS = 5_000
_SEED = 20261  # fixed, so that the same runs always give the same answer
_NOISE = 1e-9


class Change(StrEnum):
    """What happened to a case, in the order in which pages show them."""

    WORSE = "worse"  # it fails now, and chance does not explain the fall
    FLAKY = (
        "flaky"  # its verdict differs, but chance may be the reason: its trials disagreed before
    )
    BETTER = "better"
    UNDECIDED = "undecided"  # one of its verdicts is missing
    CHANGED = "changed"  # its content differs: the results cannot be compared
    NEW = "new"
    MISSING = "missing"
    SAME = "same"

    # Equal to its text, found by it in a mapping; that of enumerations is slow, too.
    __hash__ = str.__hash__


class CaseOutcome(NamedTuple):  # made much faster than a frozen dataclass; runs are large
    """The result of a case in one run.

    `digest` is that of its content, empty if unknown; `verdict` is None while nothing is decided;
    `score` is in 0..1.
    """

    name: str
    digest: str
    verdict: Verdict | None
    passed: int
    failed: int
    errored: int
    score: float | None

    @property
    def graded(self) -> int:
        return self.passed + self.failed

    @property
    def pass_rate(self) -> float | None:
        graded = self.passed + self.failed
        return self.passed / graded if graded else None

    @property
    def is_decided(self) -> bool:
        # Not a set: this is asked for every case of large runs.
        return self.verdict is Verdict.PASSED or self.verdict is Verdict.FAILED

    @property
    def is_mixed(self) -> bool:
        """Whether some of its trials passed and some failed."""
        return bool(self.passed and self.failed)


def change_of(base: CaseOutcome | None, head: CaseOutcome | None) -> Change:
    """Return what happened to a case from one run to the other; one of them may lack it.

    Raises:
        ValueError: both are None.
    """
    if base is None or head is None:
        if base is head:
            raise ValueError("Neither run has this case.")
        return Change.NEW if base is None else Change.MISSING
    # Runs of older versions did not note the content.
    if base.digest and head.digest and base.digest != head.digest:
        return Change.CHANGED
    if not (base.is_decided and head.is_decided):
        return Change.UNDECIDED
    if base.verdict is head.verdict:
        return _change_of_failed(base, head) if base.verdict is Verdict.FAILED else Change.SAME
    is_worse = head.verdict is Verdict.FAILED
    low, high = (head, base) if is_worse else (base, head)
    if base.is_mixed and _chance_of(low, high) > BY_CHANCE:
        return Change.FLAKY
    return Change.WORSE if is_worse else Change.BETTER


def _change_of_failed(base: CaseOutcome, head: CaseOutcome) -> Change:
    """Return what happened to a case that failed before and fails now."""
    if base.passed == head.passed == 0:  # as most of them
        return Change.SAME
    if _chance_of(head, base) <= BY_CHANCE_UNSEEN:
        return Change.WORSE
    return Change.BETTER if _chance_of(base, head) <= BY_CHANCE_UNSEEN else Change.SAME


def _chance_of(low: CaseOutcome, high: CaseOutcome) -> float:
    """Return how likely the first passes so seldom, or more seldom, if both pass equally often."""
    return fisher_exact(low.passed, low.graded, high.passed, high.graded)


def matched(
    base: Mapping[str, CaseOutcome], head: Mapping[str, CaseOutcome]
) -> Iterator[tuple[str, CaseOutcome | None, CaseOutcome | None]]:
    """Return each case with its outcome in both runs, in the order of the head, then of the base."""
    for name, outcome in head.items():
        yield name, base.get(name), outcome
    for name, outcome in base.items():
        if name not in head:
            yield name, outcome, None


def rate_differences(
    base: Mapping[str, CaseOutcome], head: Mapping[str, CaseOutcome]
) -> Counter[float]:
    """Count the differences of pass rates, head minus base, over the cases that can be compared."""
    differences: Counter[float] = Counter()
    for _, before, after in matched(base, head):
        if before is None or after is None or change_of(before, after) is Change.CHANGED:
            continue
        if before.pass_rate is not None and after.pass_rate is not None:
            differences[round(after.pass_rate - before.pass_rate, 9)] += 1
    return differences


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The result of the paired test; `p` is two-sided, None if no case can be compared."""

    cases: int
    differing: int
    mean: float | None
    p: float | None

    @property
    def is_certain(self) -> bool:
        """Whether chance alone would give such a difference in fewer than 5 of 100 comparisons."""
        return self.p is not None and self.p < 0.05  # noqa: PLR2004 - the usual level


def sign_flip(differences: Mapping[float, int]) -> SignFlip:
    """Test whether the mean of paired differences is 0; `differences` counts each value.

    If the runs are equally good, each difference could as well have the other sign. All choices of
    signs are counted for up to 12 differences, else 5,000 drawn with a fixed seed.

    Source: Pitman, Supplement to the Journal of the Royal Statistical Society 4 (1937), 119-130;
    drawn at random as in Dwass, Annals of Mathematical Statistics 28 (1957), 181-187.
    """
    cases = sum(differences.values())
    total = sum(value * count for value, count in differences.items())
    if not cases:
        return SignFlip(0, 0, None, None)
    sizes: Counter[float] = Counter()
    for value, count in differences.items():
        if value:
            sizes[abs(value)] += count
    differing = sum(sizes.values())
    if not differing:
        return SignFlip(cases, 0, 0.0, 1.0)
    reached = abs(total) - _NOISE
    if differing <= _EXACT:
        sums = list(_all_sums(sizes))
        p = sum(abs(value) >= reached for value in sums) / len(sums)
    else:
        extreme = sum(abs(value) >= reached for value in _drawn_sums(sizes))
        p = (1 + extreme) / (1 + _FLIPS)
    return SignFlip(cases, differing, total / cases, p)


def _all_sums(sizes: Mapping[float, int]) -> Iterator[float]:
    listed = [size for size, count in sizes.items() for _ in range(count)]
    for signs in product((-1, 1), repeat=len(listed)):
        yield sum(sign * size for sign, size in zip(signs, listed, strict=True))


def _drawn_sums(sizes: Mapping[float, int]) -> Iterable[float]:
    # The set bits of a random number are the positive signs of equal differences, all at once.
    draw = random.Random(_SEED).getrandbits
    for _ in range(_FLIPS):
        yield sum(size * (2 * draw(count).bit_count() - count) for size, count in sizes.items())
