"""The ceiling of a run: reserved before a call, settled after it, by many processes at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from random import Random

import pytest
from django.db import connections

from evals_app.engine.llm.budget import BudgetAccount, ModelUse
from evals_app.models import Lease, Run
from evals_app.runs.ending.reap import reap
from evals_app.runs.money.budget import settle_and_reserve
from evals_app.runs.starting.start_run import start_run
from evals_app.runs.work.lease import HeldLease
from tests.runs.settlements import settle, two_runs
from tests.runs.suites import lease_of, make_suite

pytestmark = pytest.mark.django_db

NOTHING = Decimal(0)
AGENT, JUDGE = ModelUse("agent", "openai/small"), ModelUse("judge", "openai/large")


def account(reserved: str | Decimal, spent: str | Decimal, use: ModelUse = AGENT) -> BudgetAccount:
    return BudgetAccount(Decimal(reserved), {use: Decimal(spent)})


def opened(ceiling: str | None) -> tuple[Run, HeldLease]:
    run = start_run(make_suite(cases=30, concurrency=1000))
    Run.objects.filter(pk=run.pk).update(max_cost_usd=ceiling)
    return run, lease_of(run)


def money(run: Run) -> tuple[Decimal, Decimal, Decimal]:
    run.refresh_from_db()
    return run.spent_usd, run.reserved_usd, run.unsettled_usd


def usd(*amounts: str) -> list[Decimal]:
    return [Decimal(amount) for amount in amounts]


def test_what_fits_below_the_ceiling_is_reserved_and_the_rest_refused() -> None:
    run, lease = opened("1.00")

    granted = settle_and_reserve(lease.token, BudgetAccount(), usd("0.60", "0.50", "0.40"))

    assert granted == [True, False, True]  # exactly the ceiling is allowed
    assert money(run) == (NOTHING, Decimal("1.00"), NOTHING)
    assert run.stop_reason == ""  # others may settle for less


def test_an_account_reported_twice_counts_once() -> None:
    run, lease = opened("1.00")
    settle_and_reserve(lease.token, BudgetAccount(), usd("0.60"))

    for _ in range(2):
        settle_and_reserve(lease.token, account("0.20", "0.10"), [])

    assert money(run) == (Decimal("0.10"), Decimal("0.20"), NOTHING)


def test_the_run_stops_when_nothing_is_reserved_and_a_call_does_not_fit() -> None:
    run, lease = opened("1.00")
    settle_and_reserve(lease.token, BudgetAccount(), usd("0.60"))

    granted = settle_and_reserve(lease.token, account(NOTHING, "0.55"), usd("0.60"))

    assert granted == [False]
    assert money(run) == (Decimal("0.55"), NOTHING, NOTHING)
    assert run.stop_reason == "budget"


@pytest.mark.parametrize(
    ("spent", "stop_reason"),
    [
        pytest.param("0.75", "", id="exactly the ceiling"),
        pytest.param("0.76", "budget", id="above"),
    ],
)
def test_the_run_stops_when_agents_outside_have_spent_too_much(
    spent: str, stop_reason: str
) -> None:
    run, lease = opened("1.00")
    Run.objects.filter(pk=run.pk).update(unsettled_usd="0.25")

    settle_and_reserve(lease.token, account(NOTHING, spent), [])

    run.refresh_from_db()
    assert run.stop_reason == stop_reason


def test_what_a_dead_worker_had_reserved_counts_as_perhaps_spent() -> None:
    run, lease = opened("1.00")
    settle_and_reserve(lease.token, account(NOTHING, "0.25"), usd("0.60"))
    Lease.objects.update(until="2020-01-01T00:00:00Z")

    reap()
    late = settle_and_reserve(lease.token, account(NOTHING, "0.40"), usd("0.01"))

    assert late is None  # somebody else owns the work: what it says changes nothing
    assert money(run) == (Decimal("0.25"), NOTHING, Decimal("0.60"))


def test_without_a_ceiling_everything_is_granted_and_still_counted() -> None:
    run, lease = opened(None)

    granted = settle_and_reserve(lease.token, account(NOTHING, "7.5"), usd("1000"))

    assert granted == [True]
    assert money(run) == (Decimal("7.5"), Decimal(1000), NOTHING)


def test_the_runs_of_a_settlement_share_one_ceiling() -> None:
    settlement = settle(*two_runs(), max_cost_usd=Decimal("1.00"))
    runs = settlement.runs.order_by("pk")
    of_base, of_head = (lease_of(run) for run in runs)

    assert settle_and_reserve(of_base.token, BudgetAccount(), usd("0.60")) == [True]
    assert settle_and_reserve(of_head.token, BudgetAccount(), usd("0.50", "0.40")) == [False, True]
    spent = account(NOTHING, "0.55")
    assert settle_and_reserve(of_base.token, spent, usd("0.06")) == [False]
    assert [run.stop_reason for run in runs.all()] == ["", ""]  # 0.40 are still reserved
    spent = account(NOTHING, "0.40")
    assert settle_and_reserve(of_head.token, spent, usd("0.06")) == [False]
    assert [run.stop_reason for run in runs.all()] == ["", "budget"]


@pytest.mark.django_db(transaction=True)
def test_many_drainers_at_once_never_exceed_the_ceiling() -> None:
    run, lease = opened("2.00")
    leases = [lease, *(lease_of(run) for _ in range(7))]
    seen: list[Decimal] = []

    with ThreadPoolExecutor(8) as pool:
        paid = sum(pool.map(_payer(seen), enumerate(leases)))
    for lease in leases:
        lease.release()

    spent, reserved, unsettled = money(run)
    assert max(seen) <= 2
    assert reserved == unsettled == 0
    assert Decimal("1.80") < spent <= 2  # a call of at most 0.20 no longer fitted
    assert 0 < paid < 8 * 60
    assert run.stop_reason == "budget"


def _payer(seen: list[Decimal]) -> Callable[[tuple[int, HeldLease]], int]:
    def pay(numbered: tuple[int, HeldLease]) -> int:
        number, lease = numbered
        random = Random(number)
        paid, spent = 0, NOTHING
        for _ in range(60):
            bound = Decimal(random.randint(1, 200)) / 1000
            granted = settle_and_reserve(lease.token, account(NOTHING, spent), [bound])
            run = Run.objects.get(pk=lease.run_id)
            seen.append(run.spent_usd + run.reserved_usd + run.unsettled_usd)
            if granted == [True]:
                paid += 1
                spent += bound * random.randint(0, 100) / 100
            elif run.stop_reason:
                break
        settle_and_reserve(lease.token, account(NOTHING, spent), [])
        connections.close_all()
        return paid

    return pay
