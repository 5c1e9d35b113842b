"""The ledger: every cent is in it once, on its day, with the model and the person."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User

from evals_app.engine.llm.budget import BudgetAccount, ModelUse
from evals_app.models import Lease, Spending
from evals_app.runs.ending.reap import reap
from evals_app.runs.money.budget import settle_and_reserve
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.model_server import ModelServer
from tests.runs.priced import MODEL, make_priced_suite, one_cent
from tests.runs.suites import finished, lease_of, make_suite

pytestmark = pytest.mark.django_db

AGENT, JUDGE = ModelUse("agent", "openai/small"), ModelUse("judge", "openai/large")


def entries(*columns: str) -> set[tuple[Any, ...]]:
    return set(Spending.objects.values_list(*columns))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the time."""

    def set_to(moment: str) -> None:
        now = datetime.fromisoformat(moment)
        monkeypatch.setattr("evals_app.runs.ground.ledger.timezone.now", lambda: now)

    return set_to


def test_a_report_that_comes_twice_is_entered_once_by_role_and_model() -> None:
    run = start_run(make_suite())
    token = lease_of(run).token
    first = BudgetAccount(spent={AGENT: Decimal("0.10")})
    second = BudgetAccount(spent={AGENT: Decimal("0.15"), JUDGE: Decimal("0.02")})

    for account in (first, first, second, second):
        settle_and_reserve(token, account, [])

    assert entries("role", "model", "spent_usd") == {
        ("agent", "openai/small", Decimal("0.15")),
        ("judge", "openai/large", Decimal("0.02")),
    }


def test_two_drainers_of_a_run_add_to_the_same_entry() -> None:
    run = start_run(make_suite(cases=30, concurrency=1000))

    for lease in (lease_of(run), lease_of(run)):
        settle_and_reserve(lease.token, BudgetAccount(spent={AGENT: Decimal("0.10")}), [])

    assert entries("model", "spent_usd") == {("openai/small", Decimal("0.20"))}


def test_money_is_entered_on_the_day_on_which_it_is_spent(clock: Any) -> None:
    run = start_run(make_suite())
    token = lease_of(run).token

    clock("2026-11-30T23:59:00+00:00")
    settle_and_reserve(token, BudgetAccount(spent={AGENT: Decimal("0.10")}), [])
    clock("2026-12-01T00:01:00+00:00")
    settle_and_reserve(token, BudgetAccount(spent={AGENT: Decimal("0.30")}), [])

    assert entries("day", "spent_usd") == {
        (date(2026, 11, 30), Decimal("0.10")),
        (date(2026, 12, 1), Decimal("0.20")),
    }


def test_what_a_dead_worker_had_reserved_is_entered_as_perhaps_spent() -> None:
    run = start_run(make_suite(), max_cost_usd=Decimal(1))
    token = lease_of(run).token
    settle_and_reserve(token, BudgetAccount(), [Decimal("0.60")])
    settle_and_reserve(token, BudgetAccount(Decimal("0.60"), {AGENT: Decimal("0.10")}), [])
    Lease.objects.update(until="2020-01-01T00:00:00Z")

    reap()

    assert entries("model", "spent_usd", "unsettled_usd") == {
        ("openai/small", Decimal("0.10"), Decimal(0)),
        ("", Decimal(0), Decimal("0.60")),
    }


def test_the_ledger_of_a_real_run_has_what_the_run_spent_and_who_started_it(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_server.answers(one_cent)
    ann = User.objects.create(username="ann")
    run = start_run(make_priced_suite(model_server, monkeypatch, cases=3), by=ann)
    work()

    run.refresh_from_db()
    assert run.spent_usd == Decimal("0.06")
    assert entries("run", "person", "agent_slug", "role", "model", "spent_usd") == {
        (run.pk, ann.pk, "echo", "agent", MODEL, Decimal("0.06"))
    }


def test_a_run_that_costs_nothing_has_no_entry() -> None:
    finished(make_suite())

    assert not Spending.objects.exists()


def test_entries_outlive_the_run_and_the_person() -> None:
    ann = User.objects.create(username="ann")
    run = start_run(make_suite(), by=ann)
    settle_and_reserve(lease_of(run).token, BudgetAccount(spent={AGENT: Decimal("0.10")}), [])

    ann.delete()
    run.delete()

    assert entries("run", "person", "agent_name", "spent_usd") == {
        (None, None, "Echo", Decimal("0.10"))
    }
