"""Two runs compared case by case: what got worse, what got better, what cannot be compared.

The first run is the *base*, the other one the *head*. Cases are matched by name and content, so that
a renamed case is still the same one, and compared only if their content is the same.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.check_counts import UNKNOWN, turned_checks
from evals_app.engine.statistics.effort import NO_EFFORT, CaseEffort
from evals_app.engine.statistics.rates import fisher_exact

MAX_RUNS = 10  # compared at once

# The significance level of a fall from trials that already disagreed: where the verdict of the
# case changed, and where it failed before, too. Most cases with such trials fail in both runs, and
# at the first level every second comparison of 200 cases with 20 trials would accuse one of them.
BY_CHANCE = 0.05
BY_CHANCE_UNSEEN = 0.001


class ChangeKind(StrEnum):
    """What happened to a case, in the order in which pages show them."""

    WORSE = "worse"  # it fails now, and chance does not explain it
    CHECK_WORSE = "check_worse"  # only one of its checks: all passed, now all fail
    FLAKY = "flaky"  # its verdict differs, but its trials disagreed before: it may be chance
    BETTER = "better"
    CHECK_BETTER = "check_better"
    UNDECIDED = "undecided"  # one of its verdicts is missing
    CHANGED = "changed"  # its content differs: the results cannot be compared
    NEW = "new"
    MISSING = "missing"
    FEWER = "fewer"  # the same verdict, but fewer of its trials passed
    MORE = "more"
    SAME = "same"

    @property
    def is_worse(self) -> bool:
        """Whether the case got worse, be it only in one of its checks."""
        return self is ChangeKind.WORSE or self is ChangeKind.CHECK_WORSE

    # Compared and hashed as text, because enumerations are slow.
    __hash__ = str.__hash__


class CaseOutcome(NamedTuple):  # created much faster than a frozen dataclass; runs are large
    """The result of a case in one run.

    `digest` is that of its content, empty if unknown; `verdict` is None while nothing is decided;
    `score` is in 0..1; `checks` are the counts of its checks (`check_counts`), empty if unknown;
    `effort` is what it took, empty if unknown or not needed.
    """

    name: str
    digest: str
    verdict: Verdict | None
    passed: int
    failed: int
    errored: int
    score: float | None
    checks: str = UNKNOWN
    effort: CaseEffort = NO_EFFORT

    @property
    def graded_count(self) -> int:
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
    def is_open(self) -> bool:
        """Whether it was not graded."""
        return self.verdict is None or self.verdict is Verdict.ERRORED

    @property
    def is_mixed(self) -> bool:
        """Whether some of its trials passed and some failed."""
        return bool(self.passed and self.failed)


def change_of(base: CaseOutcome | None, head: CaseOutcome | None) -> ChangeKind:
    """Return what happened to a case from one run to the other; one of them may lack it.

    Raises:
        ValueError: both are None.
    """
    if base is None or head is None:
        if base is head:
            raise ValueError("Neither run has this case.")
        return ChangeKind.NEW if base is None else ChangeKind.MISSING
    # Runs of older versions did not note the content.
    if base.digest and head.digest and base.digest != head.digest:
        return ChangeKind.CHANGED
    if base.verdict is head.verdict is Verdict.MEASURED:
        return ChangeKind.SAME  # only the scores can differ
    if not (base.is_decided and head.is_decided):
        return ChangeKind.UNDECIDED
    change = _change_of_verdict(base, head)
    if change is ChangeKind.WORSE or base.checks == head.checks:
        return _finer(base, head) if change is ChangeKind.SAME else change
    turned = turned_checks(base.checks, head.checks)
    if turned.worse:
        return ChangeKind.CHECK_WORSE
    if change is not ChangeKind.SAME:
        return change
    return ChangeKind.CHECK_BETTER if turned.better else _finer(base, head)


def _finer(base: CaseOutcome, head: CaseOutcome) -> ChangeKind:
    """Return whether more or fewer trials passed of a case that kept its verdict."""
    before, after = base.passed * head.graded_count, head.passed * base.graded_count
    if before == after:
        return ChangeKind.SAME
    return ChangeKind.FEWER if after < before else ChangeKind.MORE


def _change_of_verdict(base: CaseOutcome, head: CaseOutcome) -> ChangeKind:
    if base.verdict is head.verdict:
        return _change_of_failed(base, head) if base.verdict is Verdict.FAILED else ChangeKind.SAME
    is_worse = head.verdict is Verdict.FAILED
    low, high = (head, base) if is_worse else (base, head)
    if base.is_mixed and _chance_of(low, high) > BY_CHANCE:
        return ChangeKind.FLAKY
    return ChangeKind.WORSE if is_worse else ChangeKind.BETTER


def _change_of_failed(base: CaseOutcome, head: CaseOutcome) -> ChangeKind:
    """Return what happened to a case that failed before and fails now."""
    if base.passed == head.passed == 0:  # the usual case
        return ChangeKind.SAME
    if _chance_of(head, base) <= BY_CHANCE_UNSEEN:
        return ChangeKind.WORSE
    return ChangeKind.BETTER if _chance_of(base, head) <= BY_CHANCE_UNSEEN else ChangeKind.SAME


def _chance_of(low: CaseOutcome, high: CaseOutcome) -> float:
    """Return the chance that the first passes this rarely if both pass equally often."""
    return fisher_exact(low.passed, low.graded_count, high.passed, high.graded_count)


class CasePair(NamedTuple):
    """A case in the base and in the head; None where one of them lacks it."""

    base: CaseOutcome | None
    head: CaseOutcome | None

    @property
    def name(self) -> str:
        """Its name in the head, if that has it."""
        outcome = self.head or self.base
        return outcome.name if outcome else ""

    @property
    def change(self) -> ChangeKind:
        return change_of(self.base, self.head)


def match_cases(
    base: Mapping[str, CaseOutcome], head: Mapping[str, CaseOutcome]
) -> Iterator[CasePair]:
    """Return each case with its outcome in both runs, in the order of the head, then of the base."""
    known = match_names(digests_of(base), digests_of(head))
    for name, outcome in head.items():
        yield CasePair(base[known[name]] if name in known else None, outcome)
    matched = set(known.values())
    for name, outcome in base.items():
        if name not in matched:
            yield CasePair(outcome, None)


def digests_of(cases: Mapping[str, CaseOutcome]) -> dict[str, str]:
    """Return the digest of the content of each case, by name."""
    return {name: outcome.digest for name, outcome in cases.items()}


def match_names(base: Mapping[str, str], head: Mapping[str, str]) -> dict[str, str]:
    """Return by its name in the head what a case is called in the base; new cases are left out.

    Both are the digests of the content of cases by name, empty where unknown. A case with the same
    name and content is the same; then one with the same content was renamed; then one with the same
    name was edited.
    """
    matched = {name: name for name, digest in head.items() if _is_alike(base.get(name), digest)}
    if len(matched) == len(head):  # the usual case
        return matched
    by_content: dict[str, list[str]] = {}
    for name, digest in reversed(list(base.items())):
        if digest and name not in matched:
            by_content.setdefault(digest, []).append(name)
    for name, digest in head.items():
        if name not in matched and by_content.get(digest):
            matched[name] = by_content[digest].pop()
    taken = set(matched.values())
    edited = (name for name in head if name in base and name not in matched and name not in taken)
    return matched | {name: name for name in edited}


def _is_alike(one: str | None, other: str) -> bool:
    """Whether two digests can be of the same content; None is that of no case."""
    return one is not None and (one == other or not (one and other))
