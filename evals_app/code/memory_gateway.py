"""The caller's side of the engine in memory: jobs, outcomes, and a budget."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from evals_app.code.freezing import FrozenRun
from evals_app.engine.agents.external.connected import CallState, OfferedCall
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.judging import Recipe
from evals_app.engine.llm.budget import BudgetAccount
from evals_app.engine.record.trial import Verdict
from evals_app.engine.running.run_gateway import (
    ExecutionJob,
    InterruptedConversation,
    Orders,
    Outcome,
    Signal,
    WorkerReport,
)
from evals_app.engine.running.spans import ReceivedSpans
from evals_app.engine.statistics.deciding import is_certain

_ZERO = Decimal(0)


@dataclass(slots=True)
class Purse:
    """The money of one run, or of several that share it: reserved before each call, charged after it.

    `max_usd` None: no limit. `is_used_up`: a call did not fit.
    """

    max_usd: Decimal | None = None
    spent_usd: Decimal = _ZERO
    reserved_usd: Decimal = _ZERO
    is_used_up: bool = False

    def reserve(self, amount: Decimal) -> bool:
        """Reserve an amount if it fits; one that can never fit means that the purse is used up."""
        if self.max_usd is None or self.spent_usd + self.reserved_usd + amount <= self.max_usd:
            self.reserved_usd += amount
            return True
        # What is reserved may be released; without that no later call would fit either.
        self.is_used_up |= not self.reserved_usd
        return False

    def settle(self, spent_usd: Decimal, reserved_usd: Decimal) -> None:
        """Add what changed: what was spent since, and what is reserved now beyond before."""
        self.spent_usd += spent_usd
        self.reserved_usd += reserved_usd
        self.is_used_up |= self.max_usd is not None and self.spent_usd > self.max_usd


@dataclass(slots=True)
class InMemoryGateway:
    """A run in memory, as the engine sees it."""

    frozen: FrozenRun
    purse: Purse
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    skipped: set[int] = field(default_factory=set)
    began_at: dict[int, float] = field(default_factory=dict)
    ended_at: dict[int, float] = field(default_factory=dict)
    jobs: list[ExecutionJob] = field(init=False)
    _waiting: list[ExecutionJob] = field(init=False)
    _account: BudgetAccount = field(default_factory=BudgetAccount)
    _next_call: dict[str, float] = field(default_factory=dict)
    _steps: dict[str, Sequence[str]] = field(default_factory=dict)
    _verdicts: dict[str, Counter[Verdict]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        planned = [(case, n) for case, trials in self.frozen.cases for n in range(1, trials + 1)]
        self.jobs = [ExecutionJob(number, *job) for number, job in enumerate(planned, 1)]
        by_trial = self.frozen.plan.stops_when_decided
        self._waiting = sorted(self.jobs, key=lambda job: job.trial if by_trial else 0)

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[ExecutionJob]:
        if self.purse.is_used_up:
            return []
        jobs, self._waiting = self._waiting[:count], self._waiting[count:]
        return jobs

    async def begin(self, ids: Sequence[int]) -> set[int]:
        decided = {number for number in ids if self._is_decided(self._job(number).case.name)}
        self.skipped |= decided
        now = time.time()
        self.began_at |= {number: now for number in ids if number not in decided}
        return set(ids) - decided

    async def record(self, outcomes: Sequence[Outcome]) -> bool:
        now = time.time()
        for outcome in outcomes:
            self.outcomes[outcome.job.id] = outcome
            self.ended_at[outcome.job.id] = now
            if outcome.decision is not None:
                counts = self._verdicts.setdefault(outcome.job.case.name, Counter())
                counts[outcome.decision.verdict] += 1
        return True

    async def send_heartbeat(self, report: WorkerReport) -> Orders:
        places = {
            limited.slug: limited.max_concurrency
            for limited in self.frozen.plan.rate_limited
            if limited.max_concurrency is not None and limited.slug in report.providers
        }
        return Orders(Signal.RELEASE if self.purse.is_used_up else Signal.GO, places)

    async def reserve_amounts(
        self, account: BudgetAccount, amounts: Sequence[Decimal]
    ) -> Sequence[bool]:
        before = self._account
        self.purse.settle(
            account.spent_usd - before.spent_usd, account.reserved_usd - before.reserved_usd
        )
        granted = [self.purse.reserve(amount) for amount in amounts]
        won = sum((amount for amount, ok in zip(amounts, granted, strict=True) if ok), _ZERO)
        self._account = BudgetAccount(account.reserved_usd + won, account.spent)
        return granted

    async def book(self, provider: str, count: int) -> float:
        limits = {limited.slug: limited for limited in self.frozen.plan.rate_limited}
        per_minute = limits[provider].requests_per_minute
        if per_minute is None:
            return 0.0
        now = time.monotonic()
        first = max(now, self._next_call.get(provider, now))
        self._next_call[provider] = first + 60 * count / per_minute
        return first - now

    async def keep_steps(
        self, recipe: Recipe, proposal: Sequence[str] | None
    ) -> Sequence[str] | None:
        if proposal is not None:
            self._steps.setdefault(recipe.key, proposal)
        return self._steps.get(recipe.key)

    async def keep(self, begun: Mapping[int, InterruptedConversation]) -> None:
        """Keep nothing: a run in memory is not resumed."""

    async def open_trace(self, job_id: int, trace_id: str) -> None:
        """Keep nothing: no spans arrive here."""

    async def read_spans(self, known: Mapping[str, int]) -> Mapping[str, ReceivedSpans]:
        return {}

    async def offer_call(self, call: OfferedCall) -> None:
        raise ConfigurationError(
            f"{call.agent} answers from a computer that connects to a site (driver: connected). Here,"
            " pass its function or program as the agent."
        )

    async def read_calls(
        self,
        keys: Sequence[tuple[int, int]],
    ) -> Mapping[tuple[int, int], CallState]:
        return {}

    async def read_file(self, sha256: str) -> bytes:
        try:
            return self.frozen.contents[sha256]
        except KeyError:
            raise ConfigurationError("A file that a case shows was never read.") from None

    def _job(self, number: int) -> ExecutionJob:
        return self.jobs[number - 1]

    def _is_decided(self, case: str) -> bool:
        plan = self.frozen.plan
        if not plan.stops_when_decided or case not in self._verdicts:
            return False
        counts = self._verdicts[case]
        planned = sum(job.case.name == case for job in self.jobs)
        return is_certain(
            counts[Verdict.PASSED],
            counts[Verdict.FAILED],
            left=planned - counts.total(),
            min_pass_rate=plan.suite.min_pass_rate,
        )
