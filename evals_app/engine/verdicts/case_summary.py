"""A case over its trials: how often it passed, its verdict and its score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from evals_app.engine.record.trial import Trial, Verdict
from evals_app.engine.statistics.check_counts import UNKNOWN
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.engine.statistics.deciding import case_verdict
from evals_app.engine.statistics.effort import NO_EFFORT, CaseEffort
from evals_app.engine.statistics.rates import (
    deviation,
    mean,
    pass_at_k,
    pass_hat_k,
    wilson_interval,
)


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
    """Return how long each turn took, None where the agent failed; none if a time is unknown.

    A turn that something else broke off is left out: it shows nothing about the agent.
    """
    turns = trial.turns
    if trial.failure is not None and turns and turns[-1].error is not None:
        turns = turns[:-1]
    if any(turn.latency_ms is None for turn in turns):
        return []
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
    effort: CaseEffort = NO_EFFORT

    @property
    def scored_trials(self) -> int:
        """How many trials its score is of."""
        return self.passed + self.failed + self.measured

    @property
    def open(self) -> int:
        """How many trials errored or were not run, though they could change something."""
        return self.trials - self.scored_trials - self.skipped


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
        case.effort,
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
        effort=_effort(trials),
    )


def _effort(trials: Sequence[Fact]) -> CaseEffort:
    """Return what the graded conversations of a case took; each counts once, however often graded."""
    graded = {
        (fact.source, place if fact.source is None else 0): fact
        for place, fact in enumerate(trials)
        if fact.is_graded and fact.turn_ms
    }
    costs = [fact.cost_usd for fact in graded.values()]
    known = [float(cost) for cost in costs if cost is not None]
    return CaseEffort(
        tuple(ms for fact in graded.values() for ms in fact.turn_ms),
        mean(known) if len(known) == len(costs) else None,
    )
