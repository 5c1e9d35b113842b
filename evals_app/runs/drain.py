"""Drain a run: hold its conversations in this process until there is a reason to stop."""

import multiprocessing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.utils.crypto import salted_hmac

from evals_app.engine.desk import Begun, Job, Orders, Outcome, Plan, Report, Signal
from evals_app.engine.execution import execute
from evals_app.engine.judging import Recipe
from evals_app.engine.llm.purse import Account
from evals_app.formats.snapshot import SnapshotSpec
from evals_app.models import Attachment, Run
from evals_app.runs.budget import settle_and_reserve
from evals_app.runs.heart import Heart
from evals_app.runs.lease import HeldLease, hold_lease
from evals_app.runs.limits import limited_memory, standing_still_kills
from evals_app.runs.patience import patiently
from evals_app.runs.providers import book_calls, know
from evals_app.runs.steps import keep_steps
from fixtures_app.tools import open_world

# Seconds that conversations may still take once the worker is told to stop; negative: not told.
# Made by the worker command before it forks. A RawValue has no lock that a death could keep.
GRACE = multiprocessing.RawValue("d", -1.0)

P = ParamSpec("P")
T = TypeVar("T")


def drain(run_id: int) -> dict[str, int]:
    """Work on a run for as long as there is something to do here; gives a few counts."""
    if GRACE.value >= 0:
        return {}  # this worker is on its way out: the reaper of the next one asks again
    with hold_lease(run_id) as lease:
        if lease is None:
            return {}
        run = Run.objects.select_related("snapshot").get(pk=run_id)
        plan = plan_of(run)
        know(provider.slug for provider in plan.providers)
        with limited_memory(settings.EVALS_MEMORY_MB):
            async_to_sync(_execute)(plan, DrainDesk(lease, plan), slots=lease.slots)
        return lease.counts


async def _execute(plan: Plan, desk: "DrainDesk", *, slots: int) -> None:
    # Past a lease time without a sign of life others have its rows, and it would only be in the way.
    async with standing_still_kills(after_s=settings.EVALS_LEASE_S):
        await execute(plan, desk, slots=slots, pulse_s=settings.EVALS_PULSE_S)


def plan_of(run: Run) -> Plan:
    """Give what the executions of a run share, from its snapshot."""
    frozen = SnapshotSpec.read(run.snapshot.content)
    types = {each.slug: each.json_schema for each in frozen.entity_types}
    started_at = run.created_at.isoformat()
    return Plan(
        suite=frozen.suite,
        agent=frozen.agent,
        open_world=lambda clock: open_world(frozen.fixtures, types, clock=clock or started_at),
        providers=frozen.providers,
        judge=frozen.judge,
        similarity=frozen.similarity,
        steps=frozen.evaluation_steps,
        scripted={agent.slug: agent for agent in frozen.scripted},
        secret=salted_hmac("evals_app.judge", str(run.pk)).digest(),
        execution_s=settings.EVALS_EXECUTION_S,
        has_ceiling=run.max_cost_usd is not None,
    )


# A file is shown by many executions at about the same time.
_read_content = lru_cache(maxsize=8)(Attachment.objects.read)


class DrainDesk:
    """A lease as the engine sees it.

    Everything that touches the database runs in the thread of the task, one call after the other,
    and again on a new connection while the database is away and the lease lasts.
    """

    def __init__(self, lease: HeldLease, plan: Plan) -> None:
        self._lease = lease
        self._providers = {provider.slug: provider for provider in plan.providers}
        self._heart = Heart(lease, plan.providers, grace=GRACE)

    async def claim(self, count: int, *, free: int, in_hand: int) -> Sequence[Job] | None:
        return await self._here(self._lease.claim, [])(count, free=free, in_hand=in_hand)

    async def begin(self, ids: Sequence[int]) -> set[int]:
        return await self._here(self._lease.begin, set())(ids)

    async def record(self, outcomes: Sequence[Outcome]) -> bool:
        return await self._here(self._lease.record, lost=False)(outcomes)

    async def pulse(self, report: Report) -> Orders:
        return await self._here(self._heart.beat, Orders(Signal.LOST))(report)

    async def bank(self, account: Account, amounts: Sequence[Decimal]) -> Sequence[bool]:
        told = await self._here(settle_and_reserve, None)(self._lease.token, account, amounts)
        # Without the lease nothing is reserved; the next pulse says that all is over.
        return [False] * len(amounts) if told is None else told

    async def book(self, provider: str, count: int) -> float:
        return await self._here(book_calls, 0.0)(self._providers[provider], count)

    async def read_file(self, sha256: str) -> bytes:
        return await self._here(_read_content, b"")(sha256)

    async def keep_steps(
        self, recipe: Recipe, proposal: Sequence[str] | None
    ) -> Sequence[str] | None:
        return await self._here(keep_steps, None)(recipe, proposal)

    async def keep(self, begun: Mapping[int, Begun]) -> None:
        await self._here(self._lease.keep, None)(begun)

    def _here(self, operation: Callable[P, T], lost: T) -> Callable[P, Awaitable[T]]:
        again = patiently(operation, until=lambda: self._lease.valid_until, lost=lost)
        return sync_to_async(again)  # thread-sensitive: runs in this very thread
