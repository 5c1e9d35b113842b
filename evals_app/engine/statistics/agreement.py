"""How far the verdicts of a judge agree with those of people who graded the same answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evals_app.engine.statistics.rates import at_least, wilson_interval

MIN_LABELS = 20  # below this, kappa means little, and nothing is said about the judge
_Z = 1.959964  # 95 %

# The grades of a scale, the lowest and the highest; scores 0..1 lie between them.
SCALES = {"1-5": (1, 5), "0-10": (0, 10), "0-1": (0, 10)}


@dataclass(frozen=True, slots=True)
class Label:
    """The verdicts of people and judge on one answer; scores in 0..1, if any."""

    person: bool
    judge: bool
    person_score: float | None = None
    judge_score: float | None = None


@dataclass(frozen=True, slots=True)
class Proportion:
    """A count out of a total; `interval` is Wilson's, 95 %. With a total of 0 the rate is unknown."""

    count: int
    total: int

    @property
    def share(self) -> float | None:
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson_interval(self.count, self.total) if self.total else None


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement beyond chance: 0 is that of chance, 1 is full; `interval` 95 %, None if unknown."""

    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class OnScale:
    """How near the grades of judge and people are, of the labels that have both.

    `same` are equal grades, `near` those that are one grade apart. `kappa` is weighted by squares.
    """

    scale: str
    n: int
    same: int
    near: int
    kappa: Kappa | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Judge and people compared: the four numbers of the table, and what follows from them."""

    both_passed: int = 0
    only_judge_passed: int = 0
    only_people_passed: int = 0
    both_failed: int = 0
    on_scale: OnScale | None = None

    @property
    def n(self) -> int:
        """How many labels there are."""
        return self.people_passed + self.people_failed

    @property
    def people_passed(self) -> int:
        return self.both_passed + self.only_people_passed

    @property
    def people_failed(self) -> int:
        return self.both_failed + self.only_judge_passed

    @property
    def is_enough(self) -> bool:
        return self.n >= MIN_LABELS

    @property
    def same_verdict(self) -> Proportion:
        """The labels with the same verdict."""
        return Proportion(self.both_passed + self.both_failed, self.n)

    @property
    def commoner_passes(self) -> bool:
        """Whether people's commoner verdict is a pass."""
        return self.people_passed >= self.people_failed

    @property
    def commoner(self) -> Proportion:
        """The agreement of a judge that always gives people's commoner verdict."""
        return Proportion(max(self.people_passed, self.people_failed), self.n)

    @property
    def passes_noticed(self) -> Proportion:
        """Of what people passed, what the judge passed: the true positive rate, or sensitivity.

        Source: Yerushalmy, Public Health Reports 62 (1947), 1432-1449.
        """
        return Proportion(self.both_passed, self.people_passed)

    @property
    def failures_noticed(self) -> Proportion:
        """Of what people failed, what the judge failed: the true negative rate, or specificity.

        Source: Yerushalmy, Public Health Reports 62 (1947), 1432-1449.
        """
        return Proportion(self.both_failed, self.people_failed)

    @property
    def kappa(self) -> Kappa | None:
        """Cohen's kappa of the verdicts; None below 20 labels, or if chance alone agrees always."""
        table = [
            [self.both_failed, self.only_judge_passed],
            [self.only_people_passed, self.both_passed],
        ]
        return weighted_kappa(table) if self.is_enough else None


def majority(verdicts: Sequence[bool | None]) -> bool | None:
    """Return the verdict of most people; None if tied. People who cannot tell have no vote."""
    passed, failed = verdicts.count(True), verdicts.count(False)
    return None if passed == failed else passed > failed


def compare(labels: Sequence[Label], *, scale: str = "") -> Agreement:
    """Compare a judge with people, label by label; `scale` is that of their scores."""
    pairs = [(label.person, label.judge) for label in labels]
    return Agreement(
        both_passed=pairs.count((True, True)),
        only_judge_passed=pairs.count((False, True)),
        only_people_passed=pairs.count((True, False)),
        both_failed=pairs.count((False, False)),
        on_scale=_on_scale(labels, scale) if scale in SCALES else None,
    )


def grade_on(scale: str, score: float) -> int:
    """Return the nearest grade of a scale to a score in 0..1."""
    lowest, highest = SCALES[scale]
    return lowest + round(score * (highest - lowest))


def _on_scale(labels: Sequence[Label], scale: str) -> OnScale | None:
    """Compare the grades of the labels that have two; None if there are none."""
    pairs = [
        (grade_on(scale, label.person_score), grade_on(scale, label.judge_score))
        for label in labels
        if label.person_score is not None and label.judge_score is not None
    ]
    if not pairs:
        return None
    apart = [abs(person - judge) for person, judge in pairs]
    lowest, highest = SCALES[scale]
    grades = range(lowest, highest + 1)
    table = [[pairs.count((person, judge)) for judge in grades] for person in grades]
    kappa = weighted_kappa(table) if len(pairs) >= MIN_LABELS else None
    return OnScale(scale, len(pairs), apart.count(0), apart.count(1), kappa)


def weighted_kappa(table: Sequence[Sequence[int]]) -> Kappa | None:
    """Return kappa of a square table of counts, weighted by squares; None if it is undefined.

    With two categories it is Cohen's unweighted kappa.
    Sources: Cohen, Educational and Psychological Measurement 20 (1960), 37-46, and Psychological
    Bulletin 70 (1968), 213-220; the interval, of large samples, from Fleiss, Cohen & Everitt,
    Psychological Bulletin 72 (1969), 323-327.
    """
    n, places = sum(map(sum, table)), range(len(table))
    if not n:
        return None
    widest = (len(table) - 1) ** 2
    weights = [[1 - (row - column) ** 2 / widest for column in places] for row in places]
    shares = [[count / n for count in row] for row in table]
    rows = [math.fsum(row) for row in shares]
    columns = [math.fsum(row[place] for row in shares) for place in places]
    cells = [(row, column) for row in places for column in places]
    observed = math.fsum(weights[r][c] * shares[r][c] for r, c in cells)
    by_chance = math.fsum(weights[r][c] * rows[r] * columns[c] for r, c in cells)
    if at_least(by_chance, 1):  # both always gave the same verdict
        return None
    kappa = (observed - by_chance) / (1 - by_chance)
    of_rows = [math.fsum(weights[r][c] * columns[c] for c in places) for r in places]
    of_columns = [math.fsum(weights[r][c] * rows[r] for r in places) for c in places]
    spread = math.fsum(
        shares[r][c] * (weights[r][c] - (of_rows[r] + of_columns[c]) * (1 - kappa)) ** 2
        for r, c in cells
    )
    variance = (spread - (kappa - by_chance * (1 - kappa)) ** 2) / (n * (1 - by_chance) ** 2)
    half = _Z * math.sqrt(max(0.0, variance))
    # With full agreement the formula gives no interval, although some doubt remains.
    interval = (max(-1.0, kappa - half), min(1.0, kappa + half)) if half else None
    return Kappa(kappa, interval)
