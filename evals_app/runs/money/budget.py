"""The money of a run: reserved before a call, settled after it, never above a ceiling.

Locks are taken in the order Lease, Executions by id, Run, monthly ceilings by id. Amounts are read
under these locks and added up in Python: SQLite would add floats. The runs of a retest share one
ceiling, and are locked together, by id.
"""

import uuid
from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import F

from evals_app.engine.llm.budget import BudgetAccount, CallMetric, ModelUse
from evals_app.models import Lease, Run
from evals_app.runs.ground.ledger import ZERO, book_spent, book_unsettled
from evals_app.runs.ground.tallies import count_calls
from evals_app.runs.money.ceilings import MonthlyLimit, limits_of, lock_ceilings

_COLUMNS = (
    *("max_cost_usd", "spent_usd", "reserved_usd", "unsettled_usd"),
    *("created_by", "agent_slug", "agent_name"),
)


def settle_and_reserve(
    token: uuid.UUID, account: BudgetAccount, amounts: Sequence[Decimal]
) -> list[bool] | None:
    """Record a worker's totals and reserve what fits on top of them; None if its lease is gone.

    They are totals, so that reporting them twice changes nothing. The run stops where a call does
    not fit though nothing is reserved, and once agents outside have spent too much.
    """
    with transaction.atomic():
        leases = Lease.objects.select_for_update(of=("self",)).filter(pk=token)
        lease = leases.annotate(settlement_id=F("run__settlement")).first()
        if lease is None:
            return None
        runs = _lock_runs(lease.run_id, lease.settlement_id)
        run = next(run for run in runs if run.pk == lease.run_id)
        spent = _spent_since(lease, account)
        run.spent_usd += sum(spent.values(), ZERO)
        run.reserved_usd += account.reserved_usd - lease.reserved_usd
        ceilings = lock_ceilings(run)
        book_spent(run, spent)
        limits = [
            *_own_limits(run, runs),
            *limits_of(ceilings, but=lease, reserved_usd=account.reserved_usd),
        ]
        granted, refusing = _grant(limits, amounts)
        won = sum((amount for amount, ok in zip(amounts, granted, strict=True) if ok), ZERO)
        run.reserved_usd += won
        lease.spent = [[*use, str(usd)] for use, usd in account.spent.items()]
        lease.reserved_usd = account.reserved_usd + won
        # Not at every call: workers that count the same model would wait for each other.
        counts = {} if amounts else _counts_since(lease, account)
        lease.save(update_fields=["spent", "reserved_usd", "counted"])
        run.save(update_fields=["spent_usd", "reserved_usd"])
        for limit in limits:
            is_stuck = limit in refusing and not limit.reserved_usd
            if is_stuck or limit.is_passed:
                run.stop_at(limit.ceiling)
                break
        count_calls(counts)
    return granted


def _spent_since(lease: Lease, account: BudgetAccount) -> dict[ModelUse, Decimal]:
    """Return what was spent since a worker's last report."""
    before = {ModelUse(role, model): Decimal(usd) for role, model, usd in lease.spent}
    since = {use: usd - before.get(use, ZERO) for use, usd in account.spent.items()}
    return {use: usd for use, usd in since.items() if usd}


def _counts_since(lease: Lease, account: BudgetAccount) -> dict[CallMetric, int]:
    """Return what was counted since a worker's last report, which this one replaces."""
    before = {CallMetric(*key): number for *key, number in lease.counted}
    lease.counted = [[*key, number] for key, number in account.counts.items()]
    since = {key: number - before.get(key, 0) for key, number in account.counts.items()}
    return {key: number for key, number in since.items() if number}


def _own_limits(run: Run, runs: Sequence[Run]) -> list[MonthlyLimit]:
    """Return the run's own ceiling, if it has one; the runs of a retest share theirs."""
    if run.max_cost_usd is None:
        return []
    spent_usd = sum((row.spent_usd + row.unsettled_usd for row in runs), ZERO)
    reserved_usd = sum((row.reserved_usd for row in runs), ZERO)
    return [MonthlyLimit(Run.Ceiling.RUN, run.max_cost_usd, spent_usd, reserved_usd)]


def _grant(
    limits: list[MonthlyLimit], amounts: Sequence[Decimal]
) -> tuple[list[bool], list[MonthlyLimit]]:
    """Reserve the amounts that fit all limits; return them, and the limits that were exceeded."""
    granted: list[bool] = []
    refusing: list[MonthlyLimit] = []
    for amount in amounts:
        against = [limit for limit in limits if not limit.fits(amount)]
        granted.append(not against)
        refusing += against
        for limit in () if against else limits:
            limit.reserved_usd += amount
    return granted, refusing


def leave_unsettled(lease: Lease) -> None:
    """Count what a lease still reserves as possibly spent: its worker can no longer report."""
    if lease.reserved_usd:
        (run,) = _lock_runs(lease.run_id)
        lock_ceilings(run)  # what is reserved and what is spent change together
        run.reserved_usd -= lease.reserved_usd
        run.unsettled_usd += lease.reserved_usd
        run.save(update_fields=["reserved_usd", "unsettled_usd"])
        book_unsettled(run, lease.reserved_usd)


def _lock_runs(run_id: int, settlement_id: int | None = None) -> list[Run]:
    """Lock a run, and all others of its retest."""
    rows = Run.objects.select_for_update().only(*_COLUMNS).order_by("pk")
    chosen = (
        rows.filter(pk=run_id) if settlement_id is None else rows.filter(settlement=settlement_id)
    )
    return list(chosen)
