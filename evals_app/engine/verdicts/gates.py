"""Gates: conditions on a run as a whole, and the values they are compared with."""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from evals_app.engine.statistics.effort import P95, FigureChange
from evals_app.engine.statistics.rates import at_least, percentile
from evals_app.engine.suites.suite_spec import GatesSpec
from evals_app.engine.verdicts.regressions import Regressions, count_text

# The gates on times and costs: no verdict changes what they measure.
OF_EFFORT = frozenset(
    {
        *("max_p95_ms", "max_cost_per_call_usd", "max_cost_usd"),
        *("max_p95_increase", "max_cost_increase"),
    }
)


@dataclass(slots=True)
class RunCost:
    """Costs added up: what is known, and how many of them are not."""

    known_usd: Decimal = Decimal(0)
    count: int = 0
    unknown: int = 0

    def add(self, cost_usd: Decimal | None) -> None:
        self.count += 1
        if cost_usd is None:
            self.unknown += 1
        else:
            self.known_usd += cost_usd


@dataclass(frozen=True, slots=True)
class RunMeasure:
    """A value over the cases of a run, and the range in which it will be once all is graded.

    `graded` cases have it and `not_graded` could; `open` ones have a trial that is not graded.
    """

    actual: float | None
    lowest: float | None
    highest: float | None
    graded: int = 0
    not_graded: int = 0
    open: int = 0


class TurnTimes:
    """The times of turns; one without an answer is slower than any limit.

    `open` counts conversations of which no turn counts, because they are not graded.
    """

    def __init__(self) -> None:
        self._ms = array("d")
        self.failed = 0
        self.graded = 0
        self.open = 0

    def __len__(self) -> int:
        return len(self._ms)

    def add(self, times: Sequence[float | None]) -> None:
        """Add the turns of a graded conversation."""
        self.graded += bool(times)
        for ms in times:
            self.failed += ms is None
            self._ms.append(math.inf if ms is None else ms)

    def percentile(self, rank: float) -> float | None:
        """Return the nearest-rank percentile; None without turns, or if it falls on a failed turn."""
        ms = percentile(self._ms, rank)
        return None if ms is None or math.isinf(ms) else ms

    def range_of(self, rank: float) -> tuple[float, float]:
        """Return the percentile if each open conversation had a turn that is fast, or one that is slow."""
        fast, slow = (percentile([*self._ms, *[ms] * self.open], rank) for ms in (0.0, math.inf))
        return fast or 0.0, math.inf if slow is None else slow


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate with its limit, what was measured, and whether it passed (None: unknown).

    A gate that compares with a baseline does not apply, and fails no run, before there is one.
    `reason` is why nothing was measured, why a gate is not decided although something was, or what
    was compared. `graded` cases have what was measured, `not_graded` do not; of times and costs they
    are conversations.
    """

    name: str
    limit: float
    actual: float | None
    passed: bool | None
    reason: str = ""
    graded: int | None = None
    not_graded: int | None = None
    is_applied: bool = True

    @property
    def is_undecided(self) -> bool:
        return self.passed is None and self.is_applied


def check_gates(
    gates: GatesSpec,
    *,
    score: RunMeasure,
    pass_rate: RunMeasure,
    times: TurnTimes,
    agent: RunCost,
    everyone: RunCost,
    regressions: Regressions | None = None,
    had_baseline: bool = True,
) -> tuple[GateResult, ...]:
    """Compare each gate that is set with what was measured.

    `regressions` None: there is no baseline, and if the suite never `had_baseline`, nothing to compare
    with yet.
    """
    lacks = partial(GateResult, actual=None, passed=None, reason=NO_BASELINE)
    if not had_baseline:
        lacks = partial(lacks, reason=NOTHING_YET, is_applied=False)
    results = (
        _least("min_score", gates.min_score, score),
        _least("min_pass_rate", gates.min_pass_rate, pass_rate),
        _fast_enough(gates.max_p95_ms, times),
        _cheap_enough(
            "max_cost_per_call_usd",
            gates.max_cost_per_call_usd,
            agent,
            len(times),
            unmeasured=times.open,
        ),
        _cheap_enough("max_cost_usd", gates.max_cost_usd, everyone, min(1, everyone.count)),
        _compare_gate("max_regressions", gates.max_regressions, regressions, _not_worse, lacks),
        _compare_gate("max_score_drop", gates.max_score_drop, regressions, _not_lower, lacks),
        _compare_gate("max_p95_increase", gates.max_p95_increase, regressions, _not_slower, lacks),
        _compare_gate(
            "max_cost_increase", gates.max_cost_increase, regressions, _not_dearer, lacks
        ),
    )
    return tuple(gate for gate in results if gate is not None)


def _least(name: str, limit: float | None, measured: RunMeasure) -> GateResult | None:
    if limit is None:
        return None
    actual, lowest, highest = measured.actual, measured.lowest, measured.highest
    result = partial(
        GateResult, name, limit, actual, graded=measured.graded, not_graded=measured.not_graded
    )
    if actual is None or lowest is None or highest is None:
        return result(None, "No conversation could be graded.")
    if at_least(lowest, limit) != at_least(highest, limit):
        return result(None, _could_turn(measured.open, "case"))
    return result(at_least(actual, limit))


def _could_turn(number: int, noun: str) -> str:
    """Explain that ungraded cases could decide a gate."""
    verb = "is" if number == 1 else "are"
    return f"{count_text(number, noun)} {verb} not fully graded, which could change the answer."


def _fast_enough(limit: float | None, times: TurnTimes) -> GateResult | None:
    if limit is None:
        return None
    actual = times.percentile(P95)
    result = partial(
        GateResult, "max_p95_ms", limit, actual, graded=times.graded, not_graded=times.open
    )
    if not len(times):
        return result(None, "No turn was measured.")
    fastest, slowest = times.range_of(P95)
    if at_least(limit, fastest) != at_least(limit, slowest):
        return result(None, _could_turn(times.open, "conversation"))
    if actual is None:
        verb = "was" if times.failed == 1 else "were"
        reason = f"{times.failed:,} of {count_text(len(times), 'turn')} {verb} never answered."
        return result(passed=False, reason=reason)
    return result(at_least(limit, actual))


def _cheap_enough(
    name: str, limit: Decimal | None, spent: RunCost, shares: int, *, unmeasured: int = 0
) -> GateResult | None:
    """Compare the cost, divided by `shares`; money is compared exactly, without floats or tolerance.

    `unmeasured` conversations could still cost anything, or nothing.
    """
    if limit is None:
        return None
    if not shares:
        return GateResult(name, float(limit), None, None, "No cost was measured.")
    # The known part alone may exceed the limit.
    is_too_much = spent.known_usd / (shares + unmeasured) > limit
    if spent.unknown:
        of_all = f"{spent.unknown:,} of {count_text(spent.count, 'conversation')}"
        reason = f"The cost of {of_all} is unknown."
        return GateResult(name, float(limit), None, False if is_too_much else None, reason)
    known = spent.known_usd / shares
    if unmeasured and not is_too_much:
        reason = _could_turn(unmeasured, "conversation")
        return GateResult(name, float(limit), float(known), None, reason)
    return GateResult(name, float(limit), float(known), known <= limit)


def _compare_gate(
    name: str,
    limit: float | None,
    regressions: Regressions | None,
    compare: Callable[[str, Any, Regressions], GateResult],
    lacks: Callable[[str, float], GateResult],
) -> GateResult | None:
    if limit is None:
        return None
    return lacks(name, limit) if regressions is None else compare(name, limit, regressions)


def _not_worse(name: str, limit: int, regressions: Regressions) -> GateResult:
    reason, worse, undecided = regressions.in_words(), regressions.worse, regressions.undecided_now
    if not regressions.judged + undecided:
        first = f"No case that passed in {regressions.baseline} can be compared with this run."
        return GateResult(name, limit, None, None, f"{first} {regressions.apart()}".rstrip())
    if worse <= limit < worse + undecided:
        first = f"{count_text(undecided, 'case')} that passed in {regressions.baseline} could not be decided."
        return GateResult(name, limit, None, None, f"{first} {reason}")
    return GateResult(name, limit, worse, worse <= limit, reason)


def _not_lower(name: str, limit: float, regressions: Regressions) -> GateResult:
    drop, reason = regressions.score_drop, regressions.of_scores()
    if drop is None:
        reason = f"No case has a score both here and in {regressions.baseline}."
        return GateResult(name, limit, None, None, reason)
    result = partial(
        GateResult,
        name,
        limit,
        drop,
        graded=regressions.scored_cases,
        not_graded=regressions.unscored_cases,
    )
    least, greatest = regressions.drop_range
    if at_least(limit, least) != at_least(limit, greatest):
        return result(None, f"What is not graded could change the answer. {reason}")
    return result(at_least(limit, drop), reason)


def _not_slower(name: str, limit: float, regressions: Regressions) -> GateResult:
    figure = regressions.effort.p95_ms
    return _not_higher(name, limit, figure, regressions, "reply times")


def _not_dearer(name: str, limit: float, regressions: Regressions) -> GateResult:
    figure = regressions.effort.cost_usd
    return _not_higher(name, limit, figure, regressions, "costs")


def _not_higher(
    name: str, limit: float, figure: FigureChange | None, regressions: Regressions, what: str
) -> GateResult:
    if figure is None:
        reason = f"There are no {what} to compare with those in {regressions.baseline}."
        return GateResult(name, limit, None, None, reason)
    rise, unmeasured = figure.times - 1, regressions.unmeasured_cases
    result = partial(
        GateResult, name, limit, rise, graded=figure.cases, not_graded=unmeasured or None
    )
    reason = f"Compared over {count_text(figure.cases, 'case')} with {regressions.baseline}."
    if unmeasured:
        return result(None, f"{_could_turn(unmeasured, 'case')} {reason}")
    return result(at_least(limit, rise), reason)


NOTHING_YET = "Nothing to compare with yet."
NO_BASELINE = (
    "There is no released version to compare with. Open a good run of the suite and press “Use as"
    " released version”, or call set_baseline; later runs are compared with it."
)
