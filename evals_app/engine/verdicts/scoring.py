"""From grades to verdicts: of an execution, of a case over its trials, of a run."""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from itertools import groupby
from typing import Any, Literal

from evals_app.engine.record.trial import (
    Cause,
    GradedAssertion,
    GradeStatus,
    Trial,
    Verdict,
    total_cost,
)
from evals_app.engine.statistics.check_counts import UNKNOWN
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.engine.statistics.deciding import case_verdict
from evals_app.engine.statistics.rates import (
    at_least,
    deviation,
    mean,
    pass_at_k,
    pass_hat_k,
    wilson_interval,
)
from evals_app.engine.statistics.scored_reasons import without_score
from evals_app.engine.statistics.trust import ONLY_INFORMS
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.engine.verdicts.gates import (
    P95,
    GateResult,
    Regressions,
    RunCost,
    RunMeasure,
    TurnTimes,
    check_gates,
)

RunVerdict = Literal["passed", "failed", "inconclusive", "measured"]

NOT_GRADED = frozenset({GradeStatus.UNGRADED, GradeStatus.ERROR})

NOT_COMPARED = (
    "The suite never had a baseline, so its gates that compare with one do not apply yet."
)
NONE_PASSED = "No conversation passed, and such a run never passes."
ONLY_MEASURED = "No check could pass or fail: all of them only inform."
ONLY_EFFORT = "This suite measures only speed and cost, not what the agent says."
SOME_SKIPPED = "Scores, times and costs are those of the trials that ran; others were skipped."


@dataclass(frozen=True, slots=True)
class Decision:
    """How an execution ended; `cause` is None exactly when it passed or was only measured.

    An errored execution has no score, because part of it is unknown.
    """

    verdict: Verdict
    score: float | None
    cause: Cause | None = None
    reason: str = ""


def decide(
    trial: Trial,
    graded: Sequence[GradedAssertion],
    *,
    suite: SuiteSpec,
    case: CaseSpec | None = None,
) -> Decision:
    """Return the verdict of an execution; `case` only explains why there may be nothing to check."""
    if trial.failure is not None:
        return Decision(Verdict.ERRORED, None, trial.failure.cause, trial.failure.message)
    score = execution_score(graded)
    causes = _causes(trial, graded, suite=suite)
    if not causes:
        is_decided = any(check.decides and check.grade.passed is not None for check in graded)
        if not is_decided and not (suite.scores_decide and score is not None):
            causes += _unmeasured_checks(graded)
            if not causes and _is_measured(graded):
                return Decision(Verdict.MEASURED, score, reason=ONLY_MEASURED)
            if not causes:
                causes.append((Cause.CASE, _why_undecided(graded, suite, case)))
    if not causes:
        return Decision(Verdict.PASSED, score)
    cause, reason = _gravest(causes)
    if cause.is_error:
        return Decision(Verdict.ERRORED, None, cause, reason)
    if undecided := [problem for problem in causes if problem[0].is_error]:
        reason = f"{reason} Also not graded: {_gravest(undecided)[1]}"
    # A conversation that broke off, or exceeded a limit, gets nothing for what went before.
    is_void = cause in {Cause.AGENT, Cause.LIMIT}
    return Decision(Verdict.FAILED, 0.0 if is_void else score, cause, reason)


def _is_measured(graded: Sequence[GradedAssertion]) -> bool:
    """Return whether checks that only inform by design were graded."""
    has_measured = any(check.grade.status is GradeStatus.OK for check in graded)
    # A judge that the suite does not trust was meant to decide.
    return has_measured and not any(ONLY_INFORMS in check.grade.details for check in graded)


def _unmeasured_checks(graded: Sequence[GradedAssertion]) -> list[tuple[Cause, str]]:
    """Return why checks that only inform could not be graded; nothing else is to be decided."""
    return [
        _why_ungraded(check)
        for check in graded
        if check.grade.status in NOT_GRADED
        and check.weight > 0
        and ONLY_INFORMS not in check.grade.details
    ]


def _why_ungraded(check: GradedAssertion) -> tuple[Cause, str]:
    grade = check.grade
    cause = Cause.ASSERTION if check.fail_on_error else grade.cause or Cause.HARNESS
    label = "" if check.family == "limit" else f"{check.label.rstrip('.')}: "
    return cause, f"{label}{grade.reason}"


def _gravest(causes: Sequence[tuple[Cause, str]]) -> tuple[Cause, str]:
    """Return the cause that decides.

    A check that could not be graded cannot make up for a failure of another one; only an internal
    error casts doubt on that failure, too.
    """
    failures = [problem for problem in causes if not problem[0].is_error]
    broken = [problem for problem in causes if problem[0] is Cause.HARNESS]
    return min(broken or failures or causes, key=lambda problem: list(Cause).index(problem[0]))


def _causes(
    trial: Trial, graded: Sequence[GradedAssertion], *, suite: SuiteSpec
) -> list[tuple[Cause, str]]:
    causes = [(Cause.AGENT, turn.error) for turn in trial.turns if turn.error]
    for check in graded:
        grade = check.grade
        if grade.status in NOT_GRADED:
            # Where scores decide, the missing score would have counted.
            if check.decides or (suite.scores_decide and check.weight > 0):
                causes.append(_why_ungraded(check))
        elif (
            check.decides
            and grade.passed is False
            and (check.family == "limit" or not suite.passes_by_score)
        ):
            causes.append((grade.cause or Cause.ASSERTION, grade.reason))
    if suite.passes_by_score and (missed := _score_missed(graded, suite.pass_threshold)):
        causes.append((Cause.ASSERTION, missed))
    return causes


def _score_missed(graded: Sequence[GradedAssertion], threshold: float) -> str:
    """Explain that the score is too low even if all ungraded checks had passed; else empty."""
    score = execution_score(graded)
    best = execution_score([_at_best(check) for check in graded])
    if score is None or best is None or at_least(best, threshold):
        return ""
    misses = (
        without_score(g.grade.reason)[0] for g in graded if g.decides and g.grade.passed is False
    )
    return f"The score {score:.4g} is below {threshold:.4g}. {next(misses, '')}".rstrip()


def _at_best(check: GradedAssertion) -> GradedAssertion:
    if check.fail_on_error or check.grade.status not in NOT_GRADED:
        return check
    return replace(check, grade=check.grade.but(score=1.0))


def _why_undecided(
    graded: Sequence[GradedAssertion], suite: SuiteSpec, case: CaseSpec | None
) -> str:
    """Explain why no check decided: not applicable, an untrusted judge, or no checks."""
    reasons = (
        check.grade.reason
        if check.decides and check.grade.status is GradeStatus.NOT_APPLICABLE
        else check.grade.details.get(ONLY_INFORMS)
        for check in graded
    )
    passed_over = [
        f"{check.label.rstrip('.')}: {reason}"
        for check, reason in zip(graded, reasons, strict=True)
        if reason
    ]
    if not passed_over:
        written = [*suite.assertions, *(case.assertions() if case else ())]
        if not graded and any(not check.enabled for check in written):
            return "There is nothing to check: all checks are disabled."
        return "There is nothing to check."
    return " ".join(["No check could decide.", *passed_over])


def execution_score(graded: Sequence[GradedAssertion]) -> float | None:
    """Return the score of the checks combined with that of the suite's rubric, by its share.

    If one of them has no score, the other counts alone; None if neither has one.
    """
    checks = _weighted_score([check for check in graded if not check.is_rubric])
    rubric = next(
        (g for g in graded if g.is_rubric and g.weight and g.grade.score is not None), None
    )
    if rubric is None or rubric.grade.score is None or checks is None:
        return checks if rubric is None else rubric.grade.score
    return (1 - rubric.weight) * checks + rubric.weight * rubric.grade.score


def _score_of(check: GradedAssertion) -> float | None:
    """Return the score of a check; one with `fail_on_error` that could not be graded has 0."""
    is_failed = check.fail_on_error and check.grade.status in NOT_GRADED
    return 0.0 if is_failed else check.grade.score


def _weighted_score(graded: Sequence[GradedAssertion]) -> float | None:
    """Return the weighted mean of all grades that have a score, None if none has."""
    scored = [(score, g.weight) for g in graded if (score := _score_of(g)) is not None and g.weight]
    weight = math.fsum(weight for _, weight in scored)
    return math.fsum(score * weight for score, weight in scored) / weight if weight else None


# What each part of a summary is about: a type of limit, or families of checks.
_SUMMARIZED: Mapping[str, frozenset[str]] = {
    "prompt_tokens_passed": frozenset({"max_prompt_tokens"}),
    "response_tokens_passed": frozenset({"max_response_tokens"}),
    "time_passed": frozenset({"max_time_ms"}),
    "response_criteria_passed": frozenset({"judged"}),
    "trajectory_criteria_passed": frozenset({"tools", "retrieval"}),
}


def summarized_checks(part: str, checks: Iterable[Any]) -> list[Any]:
    """Return the checks, or their rows, that a part is about, without those that are shown only."""
    about = _SUMMARIZED.get(part, frozenset())
    return [c for c in checks if c.weight > 0 and not about.isdisjoint((c.type, c.family))]


def execution_summary(
    trial: Trial, graded: Sequence[GradedAssertion], decision: Decision
) -> dict[str, Any]:
    """Return which kinds of criteria passed: true, false, or null where none is set."""
    judged = summarized_checks("response_criteria_passed", graded)
    reasons = [g.grade.reason for g in judged if _is_passed(g) is False]
    return {
        "overall_passed": _overall(decision),
        **{part: _all_passed(summarized_checks(part, graded)) for part in _SUMMARIZED},
        "response_criteria_failure_reason": " ".join(reasons) or None,
        "prompt_tokens": trial.usage.prompt_tokens,
        "response_tokens": trial.usage.response_tokens,
        "execution_time_ms": trial.time_ms,
        "tool_calls": [call.name for call in trial.tool_calls] if trial.reports_calls else None,
        "cached_answers": None,
    }


def _overall(decision: Decision) -> bool | None:
    """Return whether an execution passed; None where nothing in it could pass or fail."""
    return None if decision.verdict is Verdict.MEASURED else decision.verdict is Verdict.PASSED


def _is_passed(check: GradedAssertion) -> bool | None:
    # A criterion that could not be graded did not pass.
    if check.grade.status in NOT_GRADED:
        return False
    return check.grade.passed


def _all_passed(graded: Sequence[GradedAssertion]) -> bool | None:
    verdicts = [passed for check in graded if (passed := _is_passed(check)) is not None]
    return all(verdicts) if verdicts else None


@dataclass(frozen=True, slots=True)
class Fact:
    """What the summary of a run needs from an execution; `verdict` None if it has not ended.

    `turn_ms` are the turns that ended by themselves; None is one that the agent failed. `cost_usd`
    is the agent's; a cost that is None is unknown. `is_skipped`: its case was decided before. `source`
    names the conversation that it grades again: the agent had it once, however often it is graded.
    """

    case: str
    verdict: Verdict | None
    score: float | None = None
    turn_ms: tuple[float | None, ...] = ()
    cost_usd: Decimal | None = None
    judge_cost_usd: Decimal | None = None
    is_skipped: bool = False
    source: int | None = None

    @property
    def is_graded(self) -> bool:
        """Whether it counts in rates and means: it has a verdict, and did not error."""
        return self.verdict is not None and self.verdict is not Verdict.ERRORED


def turn_times(trial: Trial) -> list[float | None]:
    """Return how long each turn took, None where the agent failed.

    A turn that something else broke off is left out: it shows nothing about the agent.
    """
    turns = trial.turns
    if trial.failure is not None and turns and turns[-1].error is not None:
        turns = turns[:-1]
    return [None if turn.error else turn.latency_ms for turn in turns]


@dataclass(frozen=True, slots=True)
class CaseSummary:
    """A case over its trials. Errored trials count in no rate and no mean, measured ones in no rate.

    `verdict` is None while nothing could be decided: trials errored or were not run. Where trials
    were skipped, the results decided how long the series was: it has no interval and no pass@k.
    """

    name: str
    verdict: Verdict | None
    trials: int
    passed: int
    failed: int
    errored: int
    skipped: int
    pass_rate: float | None
    score: float | None
    deviation: float | None
    interval: tuple[float, float] | None
    pass_at_k: tuple[float, ...]
    pass_hat_k: tuple[float, ...]
    measured: int = 0

    @property
    def scored_trials(self) -> int:
        """How many trials its score is of."""
        return self.passed + self.failed + self.measured

    @property
    def open(self) -> int:
        """How many trials errored or were not run, though they could change something."""
        return self.trials - self.scored_trials - self.skipped


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


def outcome_of(
    case: CaseSummary, digests: Mapping[str, str], checks: Mapping[str, str]
) -> CaseOutcome:
    """Return a case as comparisons take it; its content and its checks are known by its name."""
    return CaseOutcome(
        case.name,
        digests.get(case.name, ""),
        case.verdict,
        case.passed,
        case.failed,
        case.errored,
        case.score,
        checks.get(case.name, UNKNOWN),
    )


def summarise_case(name: str, trials: Sequence[Fact], *, min_pass_rate: float) -> CaseSummary:
    """Sum up the trials of a case."""
    verdicts = [fact.verdict for fact in trials]
    passed, failed, errored, measured = map(verdicts.count, Verdict)
    skipped = sum(fact.is_skipped for fact in trials)
    graded = passed + failed
    is_whole = graded > 0 and not skipped
    scores = [fact.score for fact in trials if fact.is_graded and fact.score is not None]
    each_k = range(1, graded + 1) if is_whole else ()
    return CaseSummary(
        name=name,
        verdict=case_verdict(passed, failed, errored, measured, min_pass_rate=min_pass_rate),
        trials=len(trials),
        passed=passed,
        failed=failed,
        errored=errored,
        skipped=skipped,
        pass_rate=passed / graded if graded else None,
        score=mean(scores),
        deviation=deviation(scores),
        interval=wilson_interval(passed, graded) if is_whole else None,
        pass_at_k=tuple(pass_at_k(passed, graded, k) for k in each_k),
        pass_hat_k=tuple(pass_hat_k(passed, graded, k) for k in each_k),
        measured=measured,
    )
