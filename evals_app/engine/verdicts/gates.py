"""Gates: conditions on a whole run, and the values they are compared with."""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import (
    CaseOutcome,
    ChangeKind,
    change_of,
    digests_of,
    match_names,
)
from evals_app.engine.statistics.rates import at_least, mean, percentile
from evals_app.engine.suites.suite_spec import GatesSpec

P95 = 0.95
MAX_NAMED = 20  # cases that a reason names
# The gates on times and costs: no verdict changes what they measure.
OF_EFFORT = frozenset({"max_p95_ms", "max_cost_per_call_usd", "max_cost_usd"})


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


class Regressions:
    """How the cases of a run, added one by one, differ from those of its baseline.

    `baseline` names that run, `base` has its cases, `digests` the content of this run's cases by name
    and `checks` the counts of their checks (see `comparison.CaseOutcome`), `remarks` are sentences on what was
    measured differently. What counts as worse is what `comparison.change_of` says; where only a check
    did, that is noted.
    """

    def __init__(
        self,
        baseline: str,
        base: Mapping[str, CaseOutcome],
        *,
        digests: Mapping[str, str],
        checks: Mapping[str, str],
        remarks: Sequence[str] = (),
    ) -> None:
        self.baseline = baseline
        self.digests = digests
        self.checks = checks
        self.judged = 0  # cases that got worse, or passed before and did not
        self.undecided_now = 0  # passed before, too
        self._base = base
        self._names = match_names(digests_of(base), digests)
        self._remarks = remarks
        self._changes: Counter[ChangeKind] = Counter()
        self._worse: list[str] = []
        self._scores = array("d"), array("d")
        # Of the base, and of the head at its lowest and its highest.
        self._ranges = array("d"), array("d"), array("d")

    def add(self, head: CaseOutcome) -> None:
        """Compare the next case."""
        base = self._base.get(self._names.get(head.name, ""))
        change = change_of(base, head)
        self._changes[change] += 1
        if change is ChangeKind.WORSE and len(self._worse) < MAX_NAMED:
            self._worse.append(head.name)
        if base is None or change is ChangeKind.CHANGED:
            return
        if base.verdict is Verdict.PASSED:
            self.undecided_now += not head.is_decided
        self.judged += _is_judged(base, head, change)
        if base.score is not None and head.score is not None:
            for scores, score in zip(self._scores, (base.score, head.score), strict=True):
                scores.append(score)
        if base.score is not None and (bounds := _score_bounds(head)) is not None:
            for ends, score in zip(self._ranges, (base.score, *bounds), strict=True):
                ends.append(score)

    @property
    def worse(self) -> int:
        return self._changes[ChangeKind.WORSE]

    @property
    def scored_cases(self) -> int:
        """How many cases have a score in both runs."""
        return len(self._scores[0])

    @property
    def score_drop(self) -> float | None:
        """How far the mean score of these cases fell; negative if it rose, None without any."""
        before, after = map(mean, self._scores)
        return None if before is None or after is None else before - after

    @property
    def unscored_cases(self) -> int:
        """How many more cases have a score in the baseline, and are not graded in this run."""
        return len(self._ranges[0]) - self.scored_cases

    @property
    def drop_range(self) -> tuple[float, float]:
        """The least and the greatest drop that there will be once all is graded."""
        before, lowest, highest = (mean(ends) or 0.0 for ends in self._ranges)
        return before - highest, before - lowest

    def in_words(self) -> str:
        """Name the cases that got worse, and count those that were not compared."""
        names = ", ".join(f"“{name}”" for name in self._worse)
        more = self.worse - len(self._worse)
        named = f": {names}{f' and {more:,} more' if more else ''}" if names else ""
        first = (
            f"{self.worse:,} of {_count_text(self.judged, 'case')} got worse than in {self.baseline}"
            f"{named}."
        )
        return f"{first} {self.apart()}".rstrip()

    def of_scores(self) -> str:
        """State which cases the scores are of."""
        cases = _count_text(self.scored_cases, "case")
        first = f"Compared over {cases} with a score both here and in {self.baseline}."
        return " ".join([first, *self._remarks])

    def apart(self) -> str:
        """Count the cases that were not compared, and say what was measured differently."""
        missing = len(self._base) - (self._changes.total() - self._changes[ChangeKind.NEW])
        counts = self._changes | Counter({ChangeKind.MISSING: missing})
        parts = [
            f"{counts[change]:,} {words}" for change, words in _APART.items() if counts[change]
        ]
        first = [f"Not counted: {', '.join(parts)}."] if parts else []
        return " ".join([*first, *self._remarks])


def _is_judged(base: CaseOutcome, head: CaseOutcome, change: ChangeKind) -> bool:
    """Return whether a case got worse, or passed in the baseline and did not."""
    if change is ChangeKind.CHECK_WORSE:  # apart, unless it passes in both
        return base.verdict is head.verdict is Verdict.PASSED
    return change is ChangeKind.WORSE or (base.verdict is Verdict.PASSED and change not in _APART)


def _score_bounds(case: CaseOutcome) -> tuple[float, float] | None:
    """Return the lowest and the highest score that a case can have; None if it has none."""
    graded = case.graded_count
    is_open = case.errored > 0 or case.verdict is None
    if case.score is None:
        return (0.0, 1.0) if is_open and not graded else None
    if not is_open:
        return case.score, case.score
    trials = graded + case.errored  # their number is unknown for cases that are only measured
    known = case.score * graded
    return known / trials, (known + case.errored) / trials


# Cases that neither got worse nor show that nothing did.
_APART = {
    ChangeKind.CHECK_WORSE: "with a worse check but no worse verdict",
    ChangeKind.FLAKY: "flaky before",
    ChangeKind.UNDECIDED: "not decided in both runs",
    ChangeKind.CHANGED: "edited since",
    ChangeKind.NEW: "new",
    ChangeKind.MISSING: "not in this run",
}


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
    return f"{_count_text(number, noun)} {verb} not fully graded, which could change the answer."


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
        reason = f"{times.failed:,} of {_count_text(len(times), 'turn')} {verb} never answered."
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
        of_all = f"{spent.unknown:,} of {_count_text(spent.count, 'conversation')}"
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
        first = f"{_count_text(undecided, 'case')} that passed in {regressions.baseline} could not be decided."
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


NOTHING_YET = "Nothing to compare with yet."
NO_BASELINE = (
    "This run has no baseline. Open a good run of the suite and press “Use as baseline”, or call"
    " set_baseline; later runs are compared with it."
)


def _count_text(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
