"""How much slower or more expensive a run is than another one, over the cases that both have."""

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

P95 = 0.95
MIN_CASES = 5  # with fewer there is no interval
MIN_MS = 10  # what differs by less is not slower

_RESAMPLES = 400
_DRAWN = 200  # cases in a resample, at most
_SEED = 7


class CaseEffort(NamedTuple):
    """What the graded conversations of a case took in one run.

    `turn_ms` are the times of their turns, None for one that the agent did not answer; `cost_usd` is
    the mean cost of a conversation, None if it is unknown.
    """

    turn_ms: tuple[float | None, ...] = ()
    cost_usd: float | None = None


NO_EFFORT = CaseEffort()  # unknown, or not needed
EffortPair = tuple[CaseEffort, CaseEffort]  # of the base and of the head


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure of the base and of the head over the same `cases`, in ms or USD.

    `interval` is the 95 % interval of how many times the base's the head's is; None with fewer than
    MIN_CASES cases.
    """

    base: float
    head: float
    cases: int
    interval: tuple[float, float] | None = None

    @property
    def times(self) -> float:
        """How many times the base's the head's figure is."""
        return self.head / self.base

    @property
    def is_clear(self) -> bool:
        """Whether chance does not explain the difference."""
        return self.interval is not None and not self.interval[0] <= 1 <= self.interval[1]


@dataclass(frozen=True, slots=True)
class EffortChange:
    """The median and 95th percentile of reply times, and the mean cost of a conversation.

    None where a figure is unknown in one of the runs, or 0 in the base.
    """

    median_ms: FigureChange | None = None
    p95_ms: FigureChange | None = None
    cost_usd: FigureChange | None = None

    @property
    def is_slower(self) -> bool:
        """Whether replies clearly take longer, by the median or by the 95th percentile."""
        return any(
            figure is not None
            and figure.is_clear
            and figure.times > 1
            and figure.head - figure.base >= MIN_MS
            for figure in (self.median_ms, self.p95_ms)
        )

    @property
    def is_dearer(self) -> bool:
        """Whether conversations clearly cost more."""
        return self.cost_usd is not None and self.cost_usd.is_clear and self.cost_usd.times > 1


NO_CHANGE = EffortChange()  # nothing is known


def compare_efforts(pairs: Sequence[EffortPair]) -> EffortChange:
    """Compare what the same cases took in two runs.

    The intervals come from resampling the cases, and are expanded because they are few: Efron, The
    Annals of Statistics 7 (1979), 1-26; Hesterberg, The American Statistician 69 (2015), 371-386. Of
    many cases a resample has only some, and the interval is narrowed accordingly: Bickel, Götze and
    van Zwet, Statistica Sinica 7 (1997), 1-31.
    """
    timed = [(base, head) for base, head in pairs if base.turn_ms and head.turn_ms]
    priced = [
        (base, head)
        for base, head in pairs
        if base.cost_usd is not None and head.cost_usd is not None
    ]
    return EffortChange(*_changes(timed, _times), *_changes(priced, _cost))


_Figures = Callable[[Sequence[CaseEffort]], tuple[float, ...]]  # of some cases; NaN is unknown


def _times(cases: Sequence[CaseEffort]) -> tuple[float, ...]:
    """Return the median and the 95th percentile of all turns; one without an answer is the slowest."""
    ms = sorted(math.inf if ms is None else ms for case in cases for ms in case.turn_ms)
    return tuple(ms[max(0, math.ceil(rank * len(ms)) - 1)] for rank in (0.5, P95)) if ms else _NONE


def _cost(cases: Sequence[CaseEffort]) -> tuple[float, ...]:
    return (statistics.fmean(case.cost_usd or 0.0 for case in cases),) if cases else _NONE[:1]


_NONE = (math.nan, math.nan)


def _changes(pairs: Sequence[EffortPair], figures: _Figures) -> list[FigureChange | None]:
    ends = list(zip(*_sides(pairs, figures), strict=True))
    resamples = _resamples(pairs, figures) if len(pairs) >= MIN_CASES else []
    changes: list[FigureChange | None] = []
    for place, (base, head) in enumerate(ends):
        found = _log_ratio(base, head)
        ratios = sorted(_log_ratio(before[place], after[place]) for before, after in resamples)
        bounds = _interval(ratios, found, len(pairs)) if ratios else None
        changes.append(FigureChange(base, head, len(pairs), bounds) if found < math.inf else None)
    return changes


def _sides(pairs: Sequence[EffortPair], figures: _Figures) -> tuple[tuple[float, ...], ...]:
    return figures([base for base, _ in pairs]), figures([head for _, head in pairs])


def _resamples(
    pairs: Sequence[EffortPair], figures: _Figures
) -> list[tuple[tuple[float, ...], ...]]:
    """Return the figures of base and head over each resample."""
    chance, drawn = random.Random(_SEED), min(len(pairs), _DRAWN)
    return [_sides(chance.choices(pairs, k=drawn), figures) for _ in range(_RESAMPLES)]


def _log_ratio(base: float, head: float) -> float:
    """Return the logarithm of how many times the base's the head's figure is; inf means nothing."""
    is_known = 0 < base < math.inf and 0 < head < math.inf
    return math.log(head / base) if is_known else math.inf


def _interval(ratios: Sequence[float], found: float, cases: int) -> tuple[float, float] | None:
    """Return the 95 % interval of the ratio over `cases`, whose logarithm is `found`."""
    spread = math.sqrt(min(cases, _DRAWN) / (cases - 1)) * _t_quantile(cases - 1) / _Z
    last = len(ratios) - 1
    low, high = (found + spread * (ratios[round(rank * last)] - found) for rank in (0.025, 0.975))
    return (math.exp(low), math.exp(high)) if math.isfinite(high - low) else None


_Z = 1.959964


def _t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, to within 0.5 % from 4 degrees of freedom.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.7.5.
    """
    z = _Z
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
