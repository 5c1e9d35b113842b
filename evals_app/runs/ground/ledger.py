"""The ledger: what each run spent, by day, model and role."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

from django.utils import timezone

from evals_app.engine.llm.budget import UNKNOWN_USE, ModelUse
from evals_app.models import Run, Spending

ZERO = Decimal(0)


def today() -> date:
    """Return the day on which money is spent now (UTC)."""
    return timezone.now().date()


def book_spent(run: Run, spent: Mapping[ModelUse, Decimal]) -> None:
    """Add amounts to what a run has spent; the caller has locked the run."""
    _add(run, {use: (amount, ZERO) for use, amount in spent.items()})


def book_unsettled(run: Run, amount: Decimal) -> None:
    """Add what a run may have spent; the caller has locked the run."""
    _add(run, {UNKNOWN_USE: (ZERO, amount)})


def _add(run: Run, amounts: Mapping[ModelUse, tuple[Decimal, Decimal]]) -> None:
    if not amounts:
        return
    day = today()
    rows = {ModelUse(row.role, row.model): row for row in run.spending.filter(day=day)}  # type: ignore[arg-type]  # a role
    for use, (spent_usd, unsettled_usd) in amounts.items():
        row = rows.get(use) or Spending(
            day=day,
            run=run,
            person_id=run.created_by_id,
            agent_slug=run.agent_slug,
            agent_name=run.agent_name,
            role=use.role,
            model=use.model,
        )
        row.spent_usd += spent_usd
        row.unsettled_usd += unsettled_usd
        row.save()
