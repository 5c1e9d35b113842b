"""Runs of older versions are entered in the ledger when a site is upgraded."""

from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from evals_app.models import Spending
from tests.makers import make_run

pytestmark = pytest.mark.django_db

BEGAN_AT = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)


def brought_in() -> set[tuple[Any, ...]]:
    import_module("evals_app.migrations.0004_spending").bring_in(apps, None)
    return set(Spending.objects.values_list("day", "role", "model", "spent_usd", "unsettled_usd"))


@pytest.mark.parametrize(
    ("columns", "entries"),
    [
        pytest.param({}, set(), id="free"),
        pytest.param(
            {"agent_cost_usd": "0.50", "judge_cost_usd": "0.20", "spent_usd": "0.75"},
            {("agent", "a/x", "0.50", "0"), ("judge", "b/y", "0.20", "0"), ("", "", "0.05", "0")},
            id="some calls were repeated",
        ),
        pytest.param(
            {"spent_usd": "0.75", "unsettled_usd": "0.10"},
            {("", "", "0.75", "0.10")},
            id="shares are unknown",
        ),
        pytest.param(
            {"judge": "b/y, c/z", "judge_cost_usd": "0.20", "spent_usd": "0.20"},
            {("judge", "", "0.20", "0")},
            id="several judges",
        ),
        pytest.param(
            {"agent_cost_usd": "0.50", "judge_cost_usd": "0.20", "spent_usd": "0.30"},
            {("agent", "a/x", "0.30", "0")},
            id="never more than was spent",
        ),
    ],
)
def test_a_run_is_entered_on_the_day_it_began(
    columns: dict[str, str], entries: set[tuple[str, ...]]
) -> None:
    make_run(**{"model": "a/x", "judge": "b/y", "started_at": BEGAN_AT} | columns)  # type: ignore[arg-type]

    assert brought_in() == {
        (date(2026, 3, 31), role, model, Decimal(spent), Decimal(unsettled))
        for role, model, spent, unsettled in entries
    }
