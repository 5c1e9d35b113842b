"""The money of a run: reserved before a call, settled after it, never above the ceiling.

Amounts are read under the lock of the run's row and added up in Python: SQLite would add floats.
"""

import uuid
from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction

from evals_app.engine.llm.purse import Account
from evals_app.models import Lease, Run

MONEY = ("max_cost_usd", "spent_usd", "reserved_usd", "unsettled_usd")


def settle_and_reserve(
    token: uuid.UUID, account: Account, amounts: Sequence[Decimal]
) -> list[bool] | None:
    """Take down a drainer's account and reserve what fits beside it; None if its lease is gone.

    The account consists of totals, so that reporting it twice changes nothing. The run stops where a
    call does not fit though nothing is reserved, and once agents outside have spent too much.
    """
    with transaction.atomic():
        lease = Lease.objects.select_for_update().filter(pk=token).first()
        if lease is None:
            return None
        run = _locked(lease.run_id)
        run.spent_usd += account.spent_usd - lease.spent_usd
        run.reserved_usd += account.reserved_usd - lease.reserved_usd
        granted, won = _grant(run, amounts)
        lease.spent_usd, lease.reserved_usd = account.spent_usd, account.reserved_usd + won
        lease.save(update_fields=["spent_usd", "reserved_usd"])
        run.save(update_fields=["spent_usd", "reserved_usd"])
        is_stuck = not all(granted) and not run.reserved_usd
        spent_usd, ceiling = run.spent_usd + run.unsettled_usd, run.max_cost_usd
        if is_stuck or (ceiling is not None and spent_usd > ceiling):
            run.stop(Run.StopReason.BUDGET)
    return granted


def _grant(run: Run, amounts: Sequence[Decimal]) -> tuple[list[bool], Decimal]:
    granted, won = [], Decimal(0)
    for amount in amounts:
        committed = run.spent_usd + run.unsettled_usd + run.reserved_usd + amount
        fits = run.max_cost_usd is None or committed <= run.max_cost_usd
        granted.append(fits)
        if fits:
            run.reserved_usd += amount
            won += amount
    return granted, won


def leave_unsettled(lease: Lease) -> None:
    """Count what a lease still has reserved as perhaps spent: its worker cannot report any more."""
    if lease.reserved_usd:
        run = _locked(lease.run_id)
        run.reserved_usd -= lease.reserved_usd
        run.unsettled_usd += lease.reserved_usd
        run.save(update_fields=["reserved_usd", "unsettled_usd"])


def _locked(run_id: int) -> Run:
    return Run.objects.select_for_update().only(*MONEY).get(pk=run_id)
