"""Work on a run: its conversations run in this process until there is a reason to stop."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from ctypes import c_double
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils.crypto import salted_hmac

from evals_app.engine.agents.external.connected import CallState, OfferedCall
from evals_app.engine.judging import Recipe
from evals_app.engine.llm.answer_cache import AnswerCache, secret_in
from evals_app.engine.llm.budget import BudgetAccount
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
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import Attachment, EvaluationSteps, Run
from evals_app.reports.renderers.otlp import SpanSource
from evals_app.runs.ground.connections import offer_call, read_calls
from evals_app.runs.ground.patience import patiently
from evals_app.runs.ground.traces import open_trace, read_spans
from evals_app.runs.money.budget import settle_and_reserve
from evals_app.runs.money.ceilings import ceilings_for
from evals_app.runs.providers.shared_limits import book_calls, provider_states
from evals_app.runs.work.heartbeat import Heartbeat
from evals_app.runs.work.lease import HeldLease
from evals_app.runs.work.telemetry import Exporter
from fixtures_app.ground.storable import storable
from fixtures_app.tools import ToolWorld

P = ParamSpec("P")
T = TypeVar("T")


def plan_of(run: Run) -> Plan:
    """Return what the executions of a run share, from its snapshot."""
    frozen = SnapshotSpec.read(run.snapshot.content)
    types = {kind.slug: kind.json_schema for kind in frozen.entity_types}
    first = run.grades_of or run  # the run of the conversations
    started_at = first.created_at.isoformat()
    secret = salted_hmac("evals_app.judge", str(first.pk)).digest()
    folder = Path(settings.ANSWER_CACHE) if settings.ANSWER_CACHE else None
    return Plan(
        suite=frozen.suite,
        agent=frozen.agent,
        open_world=lambda clock: ToolWorld(frozen.fixtures, types, clock=clock or started_at),
        providers=frozen.providers,
        judge=frozen.judge,
        similarity=frozen.similarity,
        steps=frozen.evaluation_steps,
        scripted={agent.slug: agent for agent in frozen.scripted},
        secret=secret if folder is None else secret_in(folder),  # equal prompts in each run
        cache=None if folder is None else AnswerCache(folder, frozen.providers),
        execution_s=settings.EVALS_EXECUTION_S,
        has_ceiling=run.max_cost_usd is not None or ceilings_for(run.created_by_id).exists(),
        inventory=frozen.inventory,
        stops_when_decided=run.stops_when_decided,
        trust=frozen.judge_trust,
    )


async def work_on_run(
    lease: HeldLease,
    *,
    grace: c_double,
    is_closing: Callable[[], bool],
    pulse_s: Callable[[], float],
    exporter: Exporter | None = None,
) -> None:
    """Work on the run of a lease; `grace` and `is_closing` are those of its heartbeat."""
    plan = await sync_to_async(_plan_of_run)(lease.run_id)
    heartbeat = Heartbeat(lease, plan.rate_limited, grace=grace, is_closing=is_closing)
    gateway = DatabaseGateway(lease, plan, heartbeat, exporter)
    await execute(plan, gateway, slots=lease.slots, heartbeat_s=pulse_s)


def _plan_of_run(run_id: int) -> Plan:
    plan = plan_of(Run.objects.select_related("snapshot", "grades_of").get(pk=run_id))
    provider_states(limited.slug for limited in plan.rate_limited)
    return plan


# A file is shown by many executions at about the same time.
_read_content = lru_cache(maxsize=8)(Attachment.objects.read)


class DatabaseGateway:
    """A lease as the engine sees it.

    Everything that touches the database runs in the thread of the task, one call after the other,
    and again on a new connection while the database is unavailable and the lease lasts.
    """

    def __init__(
        self, lease: HeldLease, plan: Plan, heartbeat: Heartbeat, exporter: Exporter | None = None
    ) -> None:
        self._exporter = exporter
        self._source = SpanSource(lease.run_id, plan.suite.suite, plan.agent.agent)
        self._lease = lease
        self._limited = {limited.slug: limited for limited in plan.rate_limited}
        self._heartbeat = heartbeat

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[ExecutionJob] | None:
        return await self._retrying(self._lease.claim, [])(count, free=free, in_hand=in_hand)

    async def begin(self, ids: Sequence[int]) -> set[int]:
        return await self._retrying(self._lease.begin, set())(ids)

    async def record(self, outcomes: Sequence[Outcome]) -> bool:
        is_ours = await self._retrying(self._lease.record, lost=False)(outcomes)
        if is_ours and self._exporter is not None:
            self._exporter.add(outcomes, self._source)
        return is_ours

    async def send_heartbeat(self, report: WorkerReport) -> Orders:
        return await self._retrying(self._heartbeat.beat, Orders(Signal.LOST))(report)

    async def reserve_amounts(
        self, account: BudgetAccount, amounts: Sequence[Decimal]
    ) -> Sequence[bool]:
        granted = await self._retrying(settle_and_reserve, None)(
            self._lease.token, account, amounts
        )
        # Without the lease nothing is reserved; the next heartbeat reports the end.
        return [False] * len(amounts) if granted is None else granted

    async def book(self, provider: str, count: int) -> float:
        return await self._retrying(book_calls, 0.0)(self._limited[provider], count)

    async def open_trace(self, job_id: int, trace_id: str) -> None:
        await self._retrying(open_trace, None)(job_id, trace_id)

    async def read_spans(self, known: Mapping[str, int]) -> Mapping[str, ReceivedSpans]:
        return await self._retrying(read_spans, {})(known)

    async def offer_call(self, call: OfferedCall) -> None:
        await self._retrying(offer_call, None)(call)

    async def read_calls(
        self, keys: Sequence[tuple[int, int]]
    ) -> Mapping[tuple[int, int], CallState]:
        return await self._retrying(read_calls, {})(keys)

    async def read_file(self, sha256: str) -> bytes:
        return await self._retrying(_read_content, b"")(sha256)

    async def keep_steps(
        self, recipe: Recipe, proposal: Sequence[str] | None
    ) -> Sequence[str] | None:
        return await self._retrying(EvaluationSteps.objects.keep, None)(recipe, storable(proposal))

    async def keep(self, begun: Mapping[int, InterruptedConversation]) -> None:
        await self._retrying(self._lease.keep, None)(begun)

    def _retrying(self, operation: Callable[P, T], lost: T) -> Callable[P, Awaitable[T]]:
        again = patiently(operation, until=lambda: self._lease.valid_until, lost=lost)
        return sync_to_async(again)  # thread-sensitive: runs in this very thread
