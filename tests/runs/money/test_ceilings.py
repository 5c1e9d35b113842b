"""Monthly ceilings: of the site and of people, kept by all runs together."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import connections
from django.utils import timezone

from evals_app.engine.llm.budget import BudgetAccount, ModelUse
from evals_app.models import Lease, MonthlyCeiling, Provider, Run, Spending, Suite
from evals_app.runs.ending.reap import reap
from evals_app.runs.ending.resume import resume_run
from evals_app.runs.money.budget import settle_and_reserve
from evals_app.runs.money.ceilings import limits_of, month_left, next_month
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.forecast import forecast
from evals_app.runs.starting.freeze import CannotStartError
from evals_app.runs.starting.rerun import rerun
from evals_app.runs.starting.start_run import start_run
from evals_app.runs.work.lease import HeldLease
from tests.model_server import ModelServer
from tests.runs.priced import MODEL, make_priced_suite, one_cent
from tests.runs.suites import finished, lease_of, make_agent, make_suite

pytestmark = pytest.mark.django_db

AGENT = ModelUse("agent", "openai/small")


def usd(*amounts: str) -> list[Decimal]:
    return [Decimal(amount) for amount in amounts]


def account(reserved: str = "0", spent: str = "0") -> BudgetAccount:
    return BudgetAccount(Decimal(reserved), {AGENT: Decimal(spent)})


@pytest.fixture
def ann() -> User:
    return User.objects.create(username="ann")


def ceiling(max_usd: str, person: User | None = None) -> MonthlyCeiling:
    return MonthlyCeiling.objects.create(person=person, max_usd=Decimal(max_usd))


def spent_before(usd: str, *, person: User | None = None, days_ago: int = 0) -> None:
    day = timezone.now().date() - timedelta(days=days_ago)
    Spending.objects.create(day=day, person=person, spent_usd=Decimal(usd))


def opened(by: User | None = None) -> tuple[Run, HeldLease]:
    suite = Suite.objects.first() or make_suite(cases=30, concurrency=1000)
    run = start_run(suite, by=by)
    return run, lease_of(run)


def stopped(run: Run) -> tuple[str, str]:
    run.refresh_from_db()
    return run.stop_reason, run.reached_ceiling


@pytest.mark.parametrize(
    ("site", "own", "granted"),
    [
        pytest.param("1.00", None, [True, False, True], id="site"),
        pytest.param(None, "1.00", [True, False, True], id="person"),
        pytest.param("5.00", "0.70", [True, False, False], id="the lower of both"),
        pytest.param("0.70", "5.00", [True, False, False], id="the lower of both, the site's"),
    ],
)
def test_what_fits_below_all_ceilings_is_reserved(
    ann: User, site: str | None, own: str | None, granted: list[bool]
) -> None:
    run, lease = opened(ann)
    if site:
        ceiling(site)
    if own:
        ceiling(own, ann)

    assert settle_and_reserve(lease.token, account(), usd("0.60", "0.50", "0.40")) == granted
    assert stopped(run) == ("", "")  # what is reserved may cost less


def test_runs_share_the_ceiling_of_the_site_and_each_person_has_their_own(ann: User) -> None:
    bob = User.objects.create(username="bob")
    _, first = opened(ann)
    _, second = opened(ann)
    _, third = opened(bob)
    ceiling("1.00", ann)
    ceiling("1.50")

    assert settle_and_reserve(first.token, account(), usd("0.60")) == [True]
    assert settle_and_reserve(second.token, account(), usd("0.60")) == [False]
    assert settle_and_reserve(third.token, account(), usd("0.60")) == [True]
    assert settle_and_reserve(third.token, account("0.60"), usd("0.60")) == [False]


def test_a_run_waits_for_what_another_has_reserved_and_stops_when_nothing_is(ann: User) -> None:
    run, lease = opened(ann)
    _, other = opened()
    ceiling("1.00")
    settle_and_reserve(other.token, account(), usd("0.60"))

    settle_and_reserve(lease.token, account(), usd("0.60"))
    waiting = stopped(run)
    settle_and_reserve(other.token, account(spent="0.55"), [])
    settle_and_reserve(lease.token, account(), usd("0.60"))

    assert waiting == ("", "")
    assert stopped(run) == ("budget", "site")


def test_the_runs_own_ceiling_is_named_where_it_is_the_one_that_stops() -> None:
    run, lease = opened()
    Run.objects.update(max_cost_usd="0.50")
    ceiling("1.00")

    settle_and_reserve(lease.token, account(), usd("0.60"))

    assert stopped(run) == ("budget", "run")


def test_a_run_stops_when_it_reports_that_more_was_spent_than_allowed(ann: User) -> None:
    run, lease = opened(ann)
    ceiling("1.00", ann)

    settle_and_reserve(lease.token, account(spent="1.00"), [])
    exactly = stopped(run)
    settle_and_reserve(lease.token, account(spent="1.01"), [])

    assert exactly == ("", "")
    assert stopped(run) == ("budget", "person")


def test_only_this_month_counts_with_what_was_perhaps_spent(ann: User) -> None:
    ceiling("1.00")
    spent_before("7", days_ago=40)
    Spending.objects.create(day=timezone.now().date(), unsettled_usd=Decimal("0.30"))
    spent_before("0.20", person=ann)

    assert month_left(ann.pk) == Decimal("0.50")


def test_what_a_dead_worker_had_reserved_still_counts() -> None:
    _, lease = opened()
    ceiling("1.00")
    settle_and_reserve(lease.token, account(), usd("0.60"))
    Lease.objects.update(until="2020-01-01T00:00:00Z")
    before = month_left(None)

    reap()

    assert before == month_left(None) == Decimal("0.40")
    assert not Lease.objects.exists()


@pytest.mark.parametrize(("year", "month", "after"), [(2026, 1, (2026, 2)), (2026, 12, (2027, 1))])
def test_the_month_after(year: int, month: int, after: tuple[int, int]) -> None:
    following = next_month(datetime(year, month, 1, tzinfo=UTC).date())

    assert (following.year, following.month, following.day) == (*after, 1)


@pytest.mark.parametrize("has_person", [True, False])
def test_there_is_one_ceiling_each(ann: User, has_person: bool) -> None:  # noqa: FBT001 - a case
    person = ann if has_person else None
    ceiling("1.00", person)

    with pytest.raises(ValidationError):
        MonthlyCeiling(person=person, max_usd=Decimal(2)).full_clean()


# Runs that pay for real calls


@pytest.fixture
def priced(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Suite:
    settings.EVALS_PULSE_S = 0.05
    model_server.answers(one_cent)
    return make_priced_suite(model_server, monkeypatch)


def test_a_run_stops_at_the_ceiling_of_the_month_and_goes_on_when_it_is_raised(
    priced: Suite, model_server: ModelServer, ann: User
) -> None:
    # More than a request of a few kB may cost, so that some fit.
    month = ceiling("0.105", ann)
    run = start_run(priced, by=ann)

    work()
    first = stopped(run)
    paid = len(model_server.requests)
    MonthlyCeiling.objects.update(max_usd=run.spent_usd)
    with pytest.raises(CannotStartError):
        resume_run(run)
    month.max_usd = Decimal(5)
    month.save()
    resume_run(run)
    work()

    assert first == ("budget", "person")
    assert 0 < paid <= 10
    assert stopped(run) == ("", "")
    assert run.passed == 12
    assert run.spent_usd == Decimal("0.24")  # no call was paid for twice
    (limit,) = limits_of([month])
    assert (limit.spent_usd, limit.reserved_usd) == (run.spent_usd, Decimal(0))


def test_with_a_monthly_ceiling_every_model_needs_a_price(priced: Suite) -> None:
    ceiling("5")
    Provider.objects.get(slug="anthropic").prices.all().delete()

    with pytest.raises(CannotStartError, match=f"{MODEL} has no price"):
        start_run(priced)


@pytest.mark.parametrize("has_person", [True, False])
def test_nothing_that_costs_money_starts_when_the_month_is_used_up(
    priced: Suite,
    ann: User,
    has_person: bool,  # noqa: FBT001 - a case
) -> None:
    run = start_run(priced, by=ann)
    work()
    person = ann if has_person else None
    ceiling("0.10", person)
    spent_before("0.12", person=person)

    for start in (
        lambda: start_run(priced, by=ann),
        lambda: forecast(priced, by=ann.pk),
        lambda: rerun(run, only="all", version="frozen", by=ann),
        lambda: rerun(run, only="all", by=ann),
    ):
        with pytest.raises(CannotStartError, match=r"\$0\.10.*\$0\.\d+ of it is spent"):
            start()


def test_what_is_free_runs_though_the_month_is_used_up() -> None:
    ceiling("0.10")
    spent_before("0.12")

    assert finished(make_suite()).verdict == "passed"


# Many processes at once


@pytest.mark.django_db(transaction=True)
def test_many_runs_at_once_never_exceed_a_monthly_ceiling(ann: User) -> None:
    make_suite(cases=30, concurrency=1000, agent=make_agent())
    ceiling("2.00", ann)
    ceiling("3.00")
    leases = [opened(ann)[1] for _ in range(4)] + [opened()[1] for _ in range(4)]
    seen: list[tuple[Decimal, ...]] = []

    with ThreadPoolExecutor(8) as pool:
        paid = sum(pool.map(_payer(seen), enumerate(leases)))
    for lease in leases:
        lease.release()

    anns, sites = limits_of(list(MonthlyCeiling.objects.order_by("pk")))
    assert all(of_ann <= 2 and of_site <= 3 for of_ann, of_site in seen)
    assert anns.reserved_usd == sites.reserved_usd == 0
    assert Decimal("2.60") < sites.spent_usd <= 3  # a call of at most 0.20 no longer fitted
    assert sites.spent_usd == sum(run.spent_usd for run in Run.objects.all())
    assert 0 < paid < 8 * 60


def _payer(seen: list[tuple[Decimal, ...]]) -> Callable[[tuple[int, HeldLease]], int]:
    def pay(numbered: tuple[int, HeldLease]) -> int:
        number, lease = numbered
        random = Random(number)
        paid, spent = 0, Decimal(0)
        for _ in range(60):
            bound = Decimal(random.randint(1, 200)) / 1000
            granted = settle_and_reserve(lease.token, account(spent=str(spent)), [bound])
            limits = limits_of(list(MonthlyCeiling.objects.order_by("pk")))
            seen.append(tuple(limit.spent_usd for limit in limits))
            if granted == [True]:
                paid += 1
                spent += bound * random.randint(0, 100) / 100
            elif Run.objects.get(pk=lease.run_id).stop_reason:
                break
        settle_and_reserve(lease.token, account(spent=str(spent)), [])
        connections.close_all()
        return paid

    return pay
