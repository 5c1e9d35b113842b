"""What changed from one run of a suite to the next, counted over the cases that can be compared."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome, ChangeKind, match_cases

MAX_NAMED = 5  # cases that got worse

_JUDGED = {
    ChangeKind.WORSE: "worse",
    ChangeKind.CHECK_WORSE: "with a worse check",
    ChangeKind.FLAKY: "flaky before",
    ChangeKind.BETTER: "better",
    ChangeKind.CHECK_BETTER: "with a better check",
    ChangeKind.FEWER: "with fewer trials passed",
    ChangeKind.MORE: "with more trials passed",
}
_LEFT_OUT = {
    ChangeKind.CHANGED: "edited",
    ChangeKind.NEW: "new",
    ChangeKind.MISSING: "removed",
    ChangeKind.UNDECIDED: "not decided in both",
}


@dataclass(frozen=True, slots=True)
class ChangedCases:
    """Cases of two runs, counted by what happened to them.

    Only `compared` cases say how much better or worse the later run is: both runs have them, with the
    same content and a verdict. `lost` passed before, have the same content, and did not pass now.
    """

    counts: Mapping[ChangeKind, int]
    compared: int
    gained: int  # how many more of the compared cases pass
    lost: int
    worse_names: tuple[str, ...]  # the first ones

    @property
    def worse(self) -> int:
        return sum(count for change, count in self.counts.items() if change.is_worse)

    @property
    def points(self) -> float:
        """By how many percentage points the share of the compared cases that pass changed."""
        return round(100 * self.gained / self.compared, 1) if self.compared else 0.0

    @property
    def in_short(self) -> str:
        """Return how much changed; empty if nothing was decided in both runs."""
        if not self.compared:
            return "not comparable" if any(map(self.counts.get, _EDITS)) else ""
        if self.points:
            unit = "point" if abs(self.points) == 1 else "points"
            return f"{abs(self.points):g} {unit} {'up' if self.points > 0 else 'down'}"
        return self._list_counts(_JUDGED) or "same as before"

    @property
    def in_words(self) -> str:
        """Return how many cases changed which way, and how many are left out."""
        judged = self._list_counts(_JUDGED)
        if not judged:
            judged = "no case changed" if self.compared else "no case can be compared"
        left_out = self._list_counts(_LEFT_OUT)
        return f"{judged}. Left out: {left_out}" if left_out else judged

    @property
    def details(self) -> str:
        """Return which way cases went, and what the change leaves out; may be empty."""
        left_out = self._list_counts(_LEFT_OUT)
        of = "1 case" if self.compared == 1 else f"{self.compared:,} cases"
        parts = [
            self._list_counts(_JUDGED) if self.points else "",
            f"over {of} in both runs; left out: {left_out}" if left_out else "",
        ]
        return "; ".join(filter(None, parts))

    @property
    def edits(self) -> str:
        """Return which cases were edited, added or removed: `2 edited, 1 removed`; may be empty."""
        return self._list_counts({kind: _LEFT_OUT[kind] for kind in _EDITS})

    def _list_counts(self, words: Mapping[ChangeKind, str]) -> str:
        counts = self.counts
        return ", ".join(
            f"{counts[kind]:,} {word}" for kind, word in words.items() if kind in counts
        )


_EDITS = (ChangeKind.CHANGED, ChangeKind.NEW, ChangeKind.MISSING)


def changes_between(
    before: Mapping[str, CaseOutcome], now: Mapping[str, CaseOutcome]
) -> ChangedCases:
    """Count what happened to the cases of two runs, given by name."""
    counts: Counter[ChangeKind] = Counter()
    compared = gained = lost = 0
    worse: list[str] = []
    for pair in match_cases(before, now):
        base, head = pair
        change = pair.change
        counts[change] += 1
        if base is None or head is None or change is ChangeKind.CHANGED:
            continue
        if change.is_worse and len(worse) < MAX_NAMED:
            worse.append(pair.name)
        passed_before, passes = (case.verdict is Verdict.PASSED for case in (base, head))
        lost += passed_before and not passes
        if base.is_decided and head.is_decided:
            compared += 1
            gained += passes - passed_before
    return ChangedCases(dict(counts), compared, gained, lost, tuple(worse))
