"""A run against its baseline, case by case, as its gates need it."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import (
    CaseOutcome,
    ChangeKind,
    change_of,
    digests_of,
    match_names,
)
from evals_app.engine.statistics.effort import (
    EffortChange,
    EffortPair,
    compare_efforts,
)
from evals_app.engine.statistics.rates import mean

MAX_NAMED = 20  # cases that a reason names


class Regressions:
    """How the cases of a run, added one by one, differ from those of its baseline.

    `baseline` names that run, `base` has its cases, `digests` the content of this run's cases by name
    and `checks` the counts of their checks (see `comparison.CaseOutcome`), `remarks` are sentences on
    what was measured differently. What counts as worse is what `comparison.change_of` says; where only
    a check did, that is noted.
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
        self._efforts: list[EffortPair] = []

    def add(self, head: CaseOutcome) -> None:
        """Compare the next case."""
        base = self._base.get(self._names.get(head.name, ""))
        change = change_of(base, head)
        self._changes[change] += 1
        if change is ChangeKind.WORSE and len(self._worse) < MAX_NAMED:
            self._worse.append(head.name)
        if base is None or change is ChangeKind.CHANGED:
            return
        self._efforts.append((base.effort, head.effort))
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

    @cached_property
    def effort(self) -> EffortChange:
        """How what the cases took differs, once all are added."""
        return compare_efforts(self._efforts)

    @property
    def unmeasured_cases(self) -> int:
        """How many cases have times in the baseline, and are not graded in this run."""
        return sum(bool(base.turn_ms and not head.turn_ms) for base, head in self._efforts)

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
            f"{self.worse:,} of {count_text(self.judged, 'case')} got worse than in {self.baseline}"
            f"{named}."
        )
        return f"{first} {self.apart()}".rstrip()

    def of_scores(self) -> str:
        """State which cases the scores are of."""
        cases = count_text(self.scored_cases, "case")
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


def count_text(number: int, noun: str) -> str:
    """Write a number of things: 1 case, 2 cases."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
