"""The cases of two or more runs side by side, in the order in which people read them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, NamedTuple

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import (
    CaseOutcome,
    ChangeKind,
    change_of,
    digests_of,
    match_names,
)
from evals_app.engine.statistics.effort import NO_CHANGE, EffortChange, compare_efforts
from evals_app.engine.statistics.rates import wilson_interval
from evals_app.engine.statistics.stratified import RateTest, Stratum, compare_rates
from evals_app.reports.words.shares import share_text

Outcomes = Mapping[str, CaseOutcome]
RateOf = Callable[[CaseOutcome], float | None]
HeadVerdict = Literal["worse", "better", "no_clear_difference", "not_comparable"]


class Step(NamedTuple):
    """What happened to a case from the base to a head.

    The differences of pass rate (or verdict) and score are head minus base, None if the results
    cannot be compared.
    """

    change: ChangeKind
    rate: float | None
    score: float | None


_PASS_RATE: RateOf = attrgetter("pass_rate")
_SAME = Step(ChangeKind.SAME, 0.0, 0.0)
_ONE_SAME = (_SAME,)
_CHANGED = Step(ChangeKind.CHANGED, None, None)
_RISES = frozenset({ChangeKind.BETTER, ChangeKind.CHECK_BETTER, ChangeKind.MORE})
_BY_RATE = frozenset({ChangeKind.FEWER, ChangeKind.MORE})
_ORDER = {change: position for position, change in enumerate(ChangeKind)}


class ComparedCase(NamedTuple):  # made much faster than a frozen dataclass; runs are large
    """A case in all runs, the base first; a run that does not have it has no outcome.

    `steps` has an entry for each head, None where neither it nor the base has the case; `change` is
    the gravest of them.
    """

    name: str  # in the last run that has it
    change: ChangeKind
    outcomes: tuple[CaseOutcome | None, ...]
    steps: tuple[Step | None, ...]

    @property
    def old_name(self) -> str:
        """What it was called in the base, if it was renamed since; else empty."""
        base = self.outcomes[0]
        return base.name if base is not None and base.name != self.name else ""

    @property
    def changes(self) -> list[ChangeKind | None]:
        """What happened to it in each head."""
        return [step and step.change for step in self.steps]

    @property
    def rate_differences(self) -> list[float | None]:
        """The pass rate in each head minus that in the base."""
        return [step and step.rate for step in self.steps]

    @property
    def score_differences(self) -> list[float | None]:
        """The score in each head minus that in the base."""
        return [step and step.score for step in self.steps]


@dataclass(frozen=True, slots=True)
class RunCases:
    """How many cases a run has, by result; the others are undecided."""

    total: int
    passed: int
    failed: int
    measured: int = 0

    @property
    def decided(self) -> int:
        return self.passed + self.failed

    @property
    def undecided_count(self) -> int:
        return self.total - self.measured - self.decided

    @property
    def share(self) -> str:
        """The share of the decided cases that passed, in words."""
        return share_text(self.passed, self.decided, not_graded=self.undecided_count)

    @property
    def pass_rate(self) -> float | None:
        return self.passed / self.decided if self.decided else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the pass rate, both in 0..1."""
        return wilson_interval(self.passed, self.decided) if self.decided else None


@dataclass(frozen=True, slots=True)
class HeadCases:
    """The cases of a head against those of the base.

    `unknown_content` is how many cases both have whose content was not noted in one of the runs,
    as runs of older versions did not: they are matched by name only. `by_verdict` is whether the test
    compared verdicts instead of pass rates. `effort` is empty if times and costs were not read.
    `is_mixed`: a model played the user in one of the runs only.
    """

    counts: Mapping[ChangeKind, int]
    test: RateTest
    unknown_content: int
    by_verdict: bool = False
    effort: EffortChange = NO_CHANGE
    is_mixed: bool = False

    def as_mixed(self) -> "HeadCases":
        """Return the same of runs only one of which is simulated: neither is better or worse."""
        return replace(self, is_mixed=True, effort=NO_CHANGE)

    @property
    def is_worse(self) -> bool:
        """Whether a case or one of its checks got worse, or the suite certainly did."""
        if self.is_mixed:
            return False
        return self.verdict == "worse" or any(change.is_worse for change in self.counts)

    @property
    def has_turned_checks(self) -> bool:
        """Whether a check got worse or better where the verdict did not."""
        return bool({ChangeKind.CHECK_WORSE, ChangeKind.CHECK_BETTER} & self.counts.keys())

    @property
    def is_too_small(self) -> bool:
        """Whether all cases that differ do so in one direction, but too few to be sure of the suite."""
        return not self.is_mixed and self.test.is_one_way and not self.test.is_certain

    @property
    def verdict(self) -> HeadVerdict:
        """Return what the test found: worse, better, no clear difference, or nothing comparable."""
        if self.is_mixed or self.test.mean is None:
            return "not_comparable"
        if not self.test.is_certain:
            return "no_clear_difference"
        return "worse" if self.test.mean < 0 else "better"


@dataclass(frozen=True, slots=True)
class ComparedCases:
    """All cases, the gravest changes first; each run, the base first; and each head against it.

    `counts` counts cases by their gravest change.
    """

    cases: tuple[ComparedCase, ...]
    runs: tuple[RunCases, ...]
    heads: tuple[HeadCases, ...]
    counts: Mapping[ChangeKind, int]

    def filter_by(
        self, *, change: ChangeKind | None = None, text: str = ""
    ) -> Sequence[ComparedCase]:
        """Return the cases with this change whose name contains the text, in any case."""
        if change is None and not text:
            return self.cases
        wanted = text.casefold()
        return [
            case
            for case in self.cases
            if change in {None, case.change} and wanted in case.name.casefold()
        ]


def compare_cases(base: Outcomes, *heads: Outcomes, by_verdict: bool = False) -> ComparedCases:
    """Compare the cases of runs with those of the base.

    With `by_verdict` a case counts 1 if it passed, else 0: where trials were skipped because the
    verdict was certain, the pass rate of the others says too little or too much.
    """
    rate_of = _rate_of_verdict if by_verdict else _PASS_RATE
    cases = sorted(_compare_cases(base, heads, rate_of), key=_gravest_first)
    return ComparedCases(
        cases=tuple(cases),
        runs=tuple(map(_run, (base, *heads))),
        heads=tuple(_head(cases, head, by_verdict=by_verdict) for head in range(len(heads))),
        counts=Counter(case.change for case in cases),
    )


def _rate_of_verdict(outcome: CaseOutcome) -> float | None:
    return float(outcome.verdict is Verdict.PASSED) if outcome.is_decided else None


def _compare_cases(
    base: Outcomes, heads: Sequence[Outcomes], rate_of: RateOf
) -> Iterator[ComparedCase]:
    for before, *after in _match_all(base, heads):
        steps = [_step(before, outcome, rate_of) for outcome in after]
        known = [step.change for step in steps if step is not None]
        gravest = known[0] if len(known) == 1 else min(known, key=_ORDER.__getitem__)
        name = next(outcome.name for outcome in (*reversed(after), before) if outcome is not None)
        yield ComparedCase(name, gravest, (before, *after), tuple(steps))


def _match_all(base: Outcomes, heads: Sequence[Outcomes]) -> Iterable[list[CaseOutcome | None]]:
    """Return each case with its outcome in all runs, the base first, in the order of the heads."""
    # By the name in the base; cases that it does not have by their own.
    rows: dict[tuple[bool, str], list[CaseOutcome | None]] = {}
    known = digests_of(base)
    for place, head in enumerate(heads, 1):
        names = match_names(known, digests_of(head))
        for name, outcome in head.items():
            key = (True, names[name]) if name in names else (False, name)
            if key not in rows:
                rows[key] = [base[key[1]] if key[0] else None, *[None] * len(heads)]
            rows[key][place] = outcome
    for name, outcome in base.items():
        rows.setdefault((True, name), [outcome, *[None] * len(heads)])
    return rows.values()


def _step(before: CaseOutcome | None, after: CaseOutcome | None, rate_of: RateOf) -> Step | None:
    if before is None or after is None:
        return None if before is after else Step(change_of(before, after), None, None)
    is_equal = before[:-1] == after[:-1]  # but for what they took
    if is_equal and before.is_decided and before.score is not None:
        return _SAME  # as most cases of most comparisons
    change = change_of(before, after)
    if change is ChangeKind.CHANGED:
        return _CHANGED
    if change in _BY_RATE and rate_of is not _PASS_RATE:
        change = ChangeKind.SAME  # of other trials than those that were skipped
    rate = _difference(rate_of(before), rate_of(after))
    return Step(change, rate, _difference(before.score, after.score))


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _gravest_first(case: ComparedCase) -> tuple[int, float, float]:
    """Sort by change, then by the largest fall; what got better by the largest rise."""
    order = _ORDER[case.change]
    if case.steps == _ONE_SAME:  # soon decided, because most are this very object
        return order, 0.0, 0.0
    rates = [step.rate or 0.0 for step in case.steps if step is not None]
    scores = [step.score or 0.0 for step in case.steps if step is not None]
    if case.change in _RISES:
        return order, -max(rates), -max(scores)
    return order, min(rates), min(scores)


def _run(outcomes: Outcomes) -> RunCases:
    passed = sum(outcome.verdict is Verdict.PASSED for outcome in outcomes.values())
    failed = sum(outcome.verdict is Verdict.FAILED for outcome in outcomes.values())
    measured = sum(outcome.verdict is Verdict.MEASURED for outcome in outcomes.values())
    return RunCases(len(outcomes), passed, failed, measured)


def _head(cases: Sequence[ComparedCase], head: int, *, by_verdict: bool) -> HeadCases:
    steps = [step for case in cases if (step := case.steps[head]) is not None]
    stratum_of = _stratum_of_verdicts if by_verdict else _stratum
    strata = Counter(
        stratum_of(before, after)
        for case in cases
        if (step := case.steps[head]) and step.rate is not None
        if (before := case.outcomes[0]) and (after := case.outcomes[head + 1])
    )
    unknown_content = sum(
        not (before.digest and after.digest)
        for case in cases
        if (before := case.outcomes[0]) and (after := case.outcomes[head + 1])
    )
    counts = Counter([step.change for step in steps])
    efforts = [
        (before.effort, after.effort)
        for case in cases
        if (step := case.steps[head]) and step.change is not ChangeKind.CHANGED
        if (before := case.outcomes[0]) and (after := case.outcomes[head + 1])
    ]
    return HeadCases(
        counts, compare_rates(strata), unknown_content, by_verdict, compare_efforts(efforts)
    )


def _stratum(before: CaseOutcome, after: CaseOutcome) -> Stratum:
    return Stratum(before.passed, before.graded_count, after.passed, after.graded_count)


def _stratum_of_verdicts(before: CaseOutcome, after: CaseOutcome) -> Stratum:
    """Return a case as if it had one trial, which ended with its verdict."""
    passed = (int(outcome.verdict is Verdict.PASSED) for outcome in (before, after))
    return Stratum(next(passed), 1, next(passed), 1)
