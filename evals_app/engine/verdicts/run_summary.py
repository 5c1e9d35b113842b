"""A run over its cases: its verdict, score, gates and rates."""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import Any, Literal

from evals_app.engine.record.trial import Verdict
from evals_app.engine.record.usage import total_cost
from evals_app.engine.statistics.deciding import case_verdict
from evals_app.engine.statistics.effort import P95
from evals_app.engine.statistics.rates import wilson_interval
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.case_summary import CaseSummary, Fact, outcome_of, summarise_case
from evals_app.engine.verdicts.gates import (
    GateResult,
    RunCost,
    RunMeasure,
    TurnTimes,
    check_gates,
)
from evals_app.engine.verdicts.regressions import Regressions

RunVerdict = Literal["passed", "failed", "inconclusive", "measured"]


NOT_COMPARED = (
    "The suite never had a released version, so its gates that compare with one do not apply yet."
)
NONE_PASSED = "No conversation passed, and such a run never passes."
SOME_SKIPPED = "Scores, times and costs are those of the trials that ran; others were skipped."


@dataclass(frozen=True, slots=True)
class RunSummary:
    """The result of a run, without that of each case.

    `pass_rate` is of the cases that passed or failed, and `pass_rate_interval` how far it may be off
    by chance (Wilson, 95 %); `cases_not_graded` did neither. `pass_at_k` and `pass_hat_k` are means over the cases, for k up to the
    fewest trials that a case has. `notes` are sentences shown with the verdict.
    """

    verdict: RunVerdict
    score: float | None
    pass_rate: float | None
    median_ms: float | None
    p95_ms: float | None
    gates: tuple[GateResult, ...]
    notes: tuple[str, ...] = ()
    pass_at_k: tuple[float, ...] = ()
    pass_hat_k: tuple[float, ...] = ()
    pass_rate_interval: tuple[float, float] | None = None
    cases_passed: int = 0
    cases_failed: int = 0
    cases_measured: int = 0
    cases_not_graded: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def summarise_run(
    facts: Iterable[Fact],
    *,
    suite: SuiteSpec,
    keep: Callable[[CaseSummary], object] | None = None,
    notes: Sequence[str] = (),
    regressions: Regressions | None = None,
    had_baseline: bool = True,
) -> RunSummary:
    """Sum up a run that has ended; `keep` receives the summary of each case, `notes` are existing ones.

    `facts` come in the order of the cases. There may be many: only a few numbers are kept of each.
    `regressions` compares each case with the baseline, if the run has one; without it, gates that
    compare apply only if the suite once `had_baseline`.
    """
    sums = _Sums(regressions, min_pass_rate=suite.min_pass_rate)
    for name, trials in groupby(facts, key=lambda fact: fact.case):
        of_case = list(trials)
        case = summarise_case(name, of_case, min_pass_rate=suite.min_pass_rate)
        sums.add(case, of_case)
        if keep is not None:
            keep(case)
    return sums.end(suite, notes, had_baseline=had_baseline)


class _MeansByK:
    """Means over cases of a value for each k from 1, up to the k that every case has."""

    def __init__(self) -> None:
        self._sums: list[float] | None = None
        self._cases = 0

    def add(self, values: Sequence[float]) -> None:
        """Add a case; one without values does not count."""
        if values:
            self._cases += 1
            known = self._sums or [0.0] * len(values)
            self._sums = [total + value for total, value in zip(known, values, strict=False)]

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(total / self._cases for total in self._sums or ())


@dataclass(slots=True)
class VerdictCounts:
    """Cases counted by verdict, and their trials; `open` ones errored or did not run.

    `could_pass` and `must_pass` are the cases that pass if all of their open trials pass, or fail.
    """

    min_pass_rate: float = 1.0
    cases: int = 0
    cases_passed: int = 0
    cases_failed: int = 0
    cases_errored: int = 0
    cases_measured: int = 0
    cases_open: int = 0
    could_pass: int = 0
    must_pass: int = 0
    passed: int = 0
    failed: int = 0
    errored: int = 0
    measured: int = 0
    open: int = 0

    def add(self, case: CaseSummary) -> None:
        """Count a case."""
        self.cases += 1
        self.cases_passed += case.verdict is Verdict.PASSED
        self.cases_failed += case.verdict is Verdict.FAILED
        self.cases_errored += case.verdict is Verdict.ERRORED
        self.passed += case.passed
        self.failed += case.failed
        self.errored += case.errored
        self.measured += case.measured
        self.open += case.open
        if case.verdict is Verdict.MEASURED:
            self.cases_measured += 1
            return
        self.cases_open += case.open > 0
        self.could_pass += self._passes(case.passed + case.open, case.failed)
        self.must_pass += self._passes(case.passed, case.failed + case.open)

    def _passes(self, passed: int, failed: int) -> bool:
        verdict = case_verdict(passed, failed, 0, min_pass_rate=self.min_pass_rate)
        return verdict is Verdict.PASSED

    @property
    def decided_count(self) -> int:
        return self.cases_passed + self.cases_failed

    @property
    def not_graded(self) -> int:
        return self.to_decide - self.decided_count

    @property
    def to_decide(self) -> int:
        """How many cases can pass or fail."""
        return self.cases - self.cases_measured

    @property
    def pass_rate(self) -> float | None:
        return self.cases_passed / self.decided_count if self.decided_count else None

    @property
    def rate(self) -> RunMeasure:
        """The pass rate, and what the open trials could make it."""
        return RunMeasure(
            self.pass_rate,
            self.must_pass / self.to_decide if self.to_decide else None,
            self.could_pass / self.to_decide if self.to_decide else None,
            graded=self.decided_count,
            not_graded=self.not_graded,
            open=self.cases_open,
        )

    @property
    def is_dead(self) -> bool:
        """Whether all trials are decided and none passed: such a run passes no gate."""
        return self.cases > self.cases_measured and not (self.passed or self.open)

    def verdict(self, gates: Sequence[GateResult], suite: SuiteSpec) -> RunVerdict:
        """Return the verdict of a run with these cases and gates."""
        if self.is_dead or is_failed(self, gates, suite):
            return "failed"
        is_open = not self.cases or self.open > 0
        is_open |= any(gate.is_undecided for gate in gates)
        is_open |= suite.run_rule == "gates" and not suite.gates.can_fail
        if is_open:
            return "inconclusive"
        # Gates may also judge measured cases.
        return "passed" if self.to_decide or suite.gates.can_fail else "measured"

    @property
    def note(self) -> str:
        """Return how many cases were only measured; empty if none was."""
        if not self.cases_measured:
            return ""
        number, verb = f"{self.cases_measured:,}", "was" if self.cases_measured == 1 else "were"
        return (
            f"{number} of {self.cases:,} cases {verb} only measured: none of their checks can pass or fail."
            " They count towards the score, but not towards pass rates."
        )


def is_failed(counts: VerdictCounts, gates: Sequence[GateResult], suite: SuiteSpec) -> bool:
    """Return whether a gate failed, or a case where all must pass."""
    by_cases = suite.run_rule == "all_cases" and counts.cases_failed > 0
    return by_cases or any(gate.passed is False for gate in gates)


class RunEffort:
    """What the executions of a run took and cost, as its gates and averages count it.

    Averages leave out what errored; `everyone` includes them.
    """

    def __init__(self) -> None:
        self.times = TurnTimes()
        self.agent, self.everyone = RunCost(), RunCost()

    def add(self, trials: Sequence[Fact]) -> None:
        """Add the trials of a case."""
        ended = [fact for fact in trials if fact.verdict is not None and not fact.is_skipped]
        for fact in _each_conversation_once(ended):
            self.everyone.add(total_cost([fact.cost_usd, fact.judge_cost_usd]))
        for fact in _each_conversation_once(fact for fact in ended if fact.is_graded):
            self.times.add(fact.turn_ms)
            if fact.turn_ms:
                self.agent.add(fact.cost_usd)
        self.times.open += _count_unmeasured(trials)


def _count_unmeasured(trials: Sequence[Fact]) -> int:
    """Count conversations that no trial graded, and that are not skipped."""
    graded = {fact.source for fact in trials if fact.is_graded} - {None}
    left = [fact for fact in trials if not (fact.is_graded or fact.is_skipped)]
    sources = {fact.source for fact in left} - graded - {None}
    return len(sources) + sum(fact.source is None for fact in left)


def _each_conversation_once(gradings: Iterable[Fact]) -> Iterator[Fact]:
    """Return gradings; only the first of each conversation includes the agent's effort."""
    seen: set[int] = set()
    for fact in gradings:
        is_repeated = fact.source in seen
        if fact.source is not None:
            seen.add(fact.source)
        yield replace(fact, turn_ms=(), cost_usd=Decimal(0)) if is_repeated else fact


class Scores:
    """The scores of cases, and the lowest and highest that they could be with all trials graded.

    `rest` is the sum of the scores of `of_rest` more cases, which are graded.
    """

    def __init__(self, rest: float = 0.0, of_rest: int = 0) -> None:
        self._rest, self._of_rest = rest, of_rest
        self._known, self._lowest, self._highest = array("d"), array("d"), array("d")
        self._open = 0

    def add(self, case: CaseSummary) -> None:
        """Add a case; one that was graded and has no score does not count."""
        if case.score is not None:
            self._known.append(case.score)
        if case.score is not None or (case.open and not case.scored_trials):
            trials = case.scored_trials + case.open
            known = (case.score or 0.0) * case.scored_trials
            self._lowest.append(known / trials)
            self._highest.append((known + case.open) / trials)
            self._open += case.open > 0

    @property
    def mean(self) -> RunMeasure:
        """The mean, and what the open trials could make it."""
        return RunMeasure(
            self._mean(self._known),
            self._mean(self._lowest),
            self._mean(self._highest),
            graded=len(self._known) + self._of_rest,
            not_graded=len(self._lowest) - len(self._known),
            open=self._open,
        )

    def _mean(self, scores: Sequence[float]) -> float | None:
        count = len(scores) + self._of_rest
        return math.fsum([self._rest, *scores]) / count if count else None


class _Sums:
    """The sums of a run so far."""

    def __init__(self, regressions: Regressions | None, *, min_pass_rate: float) -> None:
        self._regressions = regressions
        self._counts = VerdictCounts(min_pass_rate)
        self._scores = Scores()
        self._effort = RunEffort()
        self._has_skipped = False
        self._pass_at_k, self._pass_hat_k = _MeansByK(), _MeansByK()

    def add(self, case: CaseSummary, trials: Sequence[Fact]) -> None:
        self._counts.add(case)
        if self._regressions is not None:
            known = self._regressions
            known.add(outcome_of(case, known.digests, known.checks))
        self._scores.add(case)
        self._has_skipped |= case.skipped > 0
        self._pass_at_k.add(case.pass_at_k)
        self._pass_hat_k.add(case.pass_hat_k)
        self._effort.add(trials)

    def end(self, suite: SuiteSpec, notes: Sequence[str], *, had_baseline: bool) -> RunSummary:
        score, counts = self._scores.mean, self._counts
        gates = check_gates(
            suite.gates,
            score=score,
            pass_rate=counts.rate,
            times=self._effort.times,
            agent=self._effort.agent,
            everyone=self._effort.everyone,
            regressions=self._regressions,
            had_baseline=had_baseline,
        )
        none_passed = counts.is_dead and not is_failed(counts, gates, suite)
        more = {
            SOME_SKIPPED: self._has_skipped,
            NONE_PASSED: none_passed,
            NOT_COMPARED: not all(gate.is_applied for gate in gates),
        }
        return RunSummary(
            verdict=counts.verdict(gates, suite),
            score=score.actual,
            pass_rate=counts.pass_rate,
            median_ms=self._effort.times.percentile(0.5),
            p95_ms=self._effort.times.percentile(P95),
            gates=gates,
            notes=(
                *notes,
                *filter(None, [counts.note]),
                *(note for note, applies in more.items() if applies),
            ),
            # The cases whose trials all ran are not a fair sample.
            pass_at_k=() if self._has_skipped else self._pass_at_k.means,
            pass_hat_k=() if self._has_skipped else self._pass_hat_k.means,
            pass_rate_interval=wilson_interval(counts.cases_passed, counts.decided_count)
            if counts.decided_count
            else None,
            cases_passed=counts.cases_passed,
            cases_failed=counts.cases_failed,
            cases_measured=counts.cases_measured,
            cases_not_graded=counts.not_graded,
        )
