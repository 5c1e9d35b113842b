"""Plans, and the caller of `execute`: what tests of executions share."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from evals_app.engine.agents.external.connected import CallState, OfferedCall
from evals_app.engine.judging import Recipe
from evals_app.engine.llm.budget import BudgetAccount
from evals_app.engine.record.trial import Verdict
from evals_app.engine.running.execution import execute
from evals_app.engine.running.run_gateway import (
    ExecutionJob,
    InterruptedConversation,
    Orders,
    Outcome,
    Plan,
    Signal,
    WorkerReport,
)
from evals_app.engine.running.spans import ReceivedSpans
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.engine.verdicts.execution_verdict import Decision
from tests.engine.makers import CRASH, ECHO, LATE, make_agent, make_case, make_suite, make_world


def cases_of(*messages: str, contains: str | None = "o") -> list[CaseSpec]:
    """Write a case for each message, named after it."""
    return [
        make_case(message, name=f"{number} {message}", contains=contains)
        for number, message in enumerate(messages, 1)
    ]


def make_plan(*cases: CaseSpec, agent: AgentSpec | None = None, **changes: Any) -> Plan:
    suite = {name: changes.pop(name) for name in list(changes) if name in {"assertions", "trials"}}
    options: dict[str, Any] = {
        "suite": make_suite(*cases, **suite, **changes.pop("suite", {})),
        "agent": agent or make_agent(LATE, CRASH, ECHO),
        "open_world": make_world,
    }
    return Plan(**(options | changes))


class MemoryGateway:
    """The caller of `execute`: gives jobs out, and remembers what came back."""

    def __init__(self, plan: Plan) -> None:
        jobs = [
            (case, trial)
            for case in plan.suite.cases
            for trial in range(1, plan.suite.trials_of(case) + 1)
        ]
        self.plan = plan
        self.waiting = [ExecutionJob(number, *job) for number, job in enumerate(jobs)]
        self.claims: list[int] = []
        self.begun: list[list[int]] = []
        self.batches: list[list[Outcome]] = []
        self.signal = Signal.GO
        self.refused: set[int] = set()
        self.files: dict[str, bytes] = {}
        self.traces: dict[str, int] = {}
        self.on_look: Callable[[Mapping[str, int]], Mapping[str, ReceivedSpans]] | None = None
        self.is_ours = True
        self.on_begin: Callable[[], Awaitable[object]] | None = None
        self.on_record: Callable[[], Awaitable[object]] | None = None
        self.on_claim: Callable[[], Awaitable[object]] | None = None
        self.on_heartbeat: Callable[[], Signal] | None = None
        self.most = 1000
        self.reports: list[WorkerReport] = []
        self.accounts: list[BudgetAccount] = []
        self.kept: dict[int, InterruptedConversation] = {}
        self.calls: dict[tuple[int, int], OfferedCall] = {}
        self.on_call: Callable[[OfferedCall], CallState | None] = lambda _: None
        self.steps: dict[str, Sequence[str]] = {}

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[ExecutionJob] | None:
        if self.on_claim is not None:
            await self.on_claim()
        return self.give(count)

    def give(self, count: int) -> Sequence[ExecutionJob]:
        self.claims.append(count)
        count = min(count, self.most)
        jobs, self.waiting = self.waiting[:count], self.waiting[count:]
        return jobs

    async def begin(self, ids: Sequence[int]) -> set[int]:
        self.begun.append(list(ids))
        if self.on_begin is not None:
            await self.on_begin()
        return set(ids) - self.refused

    async def record(self, outcomes: Sequence[Outcome]) -> bool:
        self.batches.append(list(outcomes))
        if self.on_record is not None:
            await self.on_record()
        return self.is_ours

    async def send_heartbeat(self, report: WorkerReport) -> Orders:
        self.reports.append(report)
        return Orders(self.signal if self.on_heartbeat is None else self.on_heartbeat())

    async def reserve_amounts(
        self, account: BudgetAccount, amounts: Sequence[Decimal]
    ) -> Sequence[bool]:
        self.accounts.append(account)
        return [True] * len(amounts)

    async def book(self, provider: str, count: int) -> float:
        return 0.0

    async def keep(self, begun: Mapping[int, InterruptedConversation]) -> None:
        self.kept |= begun

    async def open_trace(self, job_id: int, trace_id: str) -> None:
        self.traces[trace_id] = job_id

    async def read_spans(self, known: Mapping[str, int]) -> Mapping[str, ReceivedSpans]:
        return {} if self.on_look is None else self.on_look(known)

    async def offer_call(self, call: OfferedCall) -> None:
        self.calls.setdefault((call.job_id, call.turn), call)

    async def read_calls(
        self, keys: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], CallState]:
        known = ((key, self.on_call(self.calls[key])) for key in keys)
        return {key: state for key, state in known if state is not None}

    async def read_file(self, sha256: str) -> bytes:
        return self.files[sha256]

    async def keep_steps(
        self, recipe: Recipe, proposal: Sequence[str] | None
    ) -> Sequence[str] | None:
        if proposal is not None:
            self.steps.setdefault(recipe.key, proposal)
        return self.steps.get(recipe.key)

    async def run(self, *, slots: int = 4, heartbeat_s: float = 0.005) -> None:
        async with asyncio.timeout(30):  # a test that hangs says so
            await execute(self.plan, self, slots=slots, heartbeat_s=lambda: heartbeat_s)

    def signals(self, signal: Signal) -> Callable[[], Awaitable[object]]:
        """Return what makes the gateway want this from then on."""

        async def change() -> None:
            self.signal = signal

        return change

    @property
    def outcomes(self) -> list[Outcome]:
        recorded = [outcome for batch in self.batches for outcome in batch]
        return sorted(recorded, key=lambda outcome: outcome.job.id)

    @property
    def verdicts(self) -> list[Verdict | None]:
        return [outcome.decision.verdict if outcome.decision else None for outcome in self.outcomes]


def decision_of(outcome: Outcome) -> Decision:
    assert outcome.decision is not None
    return outcome.decision


async def execute_in_memory(
    plan: Plan, *, slots: int = 10, contents: Mapping[str, bytes] | None = None
) -> list[Outcome]:
    """Carry out a whole suite; outcomes come in the order of the cases.

    `contents` are those of the files that cases show, by SHA-256.
    """
    gateway = MemoryGateway(plan)
    gateway.files.update(contents or {})
    await gateway.run(slots=slots)
    return gateway.outcomes
