"""The page of what was spent, and monthly ceilings."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from evals_app.models import MonthlyCeiling, Spending
from tests.authored import client_who_may

pytestmark = pytest.mark.django_db

PAGE = "/admin/evals_app/spending/"
CEILINGS = "/admin/evals_app/monthlyceiling/"


def spend(day: date, usd: str, **columns: Any) -> None:
    given = {"agent_slug": "shop", "agent_name": "Shop", "role": "agent", "model": "a/x"}
    Spending.objects.create(**given | {"day": day, "spent_usd": Decimal(usd)} | columns)


@pytest.fixture
def ann() -> User:
    return User.objects.create(username="ann")


@pytest.fixture
def november(ann: User) -> None:
    """Three entries of November, and one of another month."""
    spend(date(2026, 10, 31), "9")
    spend(date(2026, 11, 1), "0.50", person=ann)
    spend(date(2026, 11, 1), "0.20", person=ann, role="judge", model="b/y")
    spend(date(2026, 11, 30), "1", unsettled_usd=Decimal("0.25"))


@pytest.mark.usefixtures("november")
def test_a_month_by_day_agent_model_and_person(admin_client: Client) -> None:
    context = admin_client.get(PAGE, {"month": "2026-11"}).context

    assert context["total"]["spent"] == "$1.70"
    assert context["total"]["unsettled"] == "$0.25"
    days = [(row["name"], row["agent"], row["judge"]) for row in context["days"]]
    assert days == [("1 Nov 2026", "$0.50", "$0.20"), ("30 Nov 2026", "$1.00", "$0")]
    tables = {
        head: [(row["name"], row["spent"]) for row in rows] for head, rows, _ in context["tables"]
    }
    assert tables["Agent"] == [("Shop", "$1.70")]
    assert tables["Model"] == [("a/x", "$1.50"), ("b/y", "$0.20")]
    assert [spent for _, spent in tables["Person"]] == ["$1.00", "$0.70"]
    assert tables["Person"][1][0] == "ann"


@pytest.mark.usefixtures("november")
def test_the_chart_has_a_place_for_each_day_and_the_numbers_of_the_table(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals_app.runs.money.spending.today", lambda: date(2027, 1, 5))

    chart = json.loads(admin_client.get(PAGE, {"month": "2026-11"}).context["chart"].data)

    assert chart["labels"] == [str(day) for day in range(1, 31)]
    agents, judges = chart["datasets"]
    assert (agents["data"][0], agents["data"][1], agents["data"][29]) == (0.5, 0, 1)
    assert (judges["data"][0], sum(judges["data"])) == (0.2, 0.2)


@pytest.mark.parametrize(
    ("until", "labels"),
    [(16, ["12", "13", "14", "15", "16"]), pytest.param(15, None, id="a table says it better")],
)
def test_the_chart_begins_with_the_first_day_of_spending_and_has_five_days(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, until: int, labels: list[str] | None
) -> None:
    monkeypatch.setattr("evals_app.runs.money.spending.today", lambda: date(2026, 11, until))
    spend(date(2026, 11, 12), "0.50")

    page = admin_client.get(PAGE, {"month": "2026-11"})

    chart = page.context["chart"]
    assert (json.loads(chart.data)["labels"] if chart else None) == labels
    assert ("<canvas" in page.text) is bool(labels)


@pytest.mark.usefixtures("november")
def test_what_others_spent_needs_the_right_to_see_people() -> None:
    client = client_who_may("view_run")
    spend(date(2026, 11, 2), "0.30", person=User.objects.get(username="writer"))

    context = client.get(PAGE, {"month": "2026-11"}).context

    assert context["total"]["spent"] == "$0.30"
    assert [row["name"] for row in context["days"]] == ["2 Nov 2026"]
    people = {head: rows for head, rows, _ in context["tables"]}["Person"]
    assert [row["name"] for row in people] == ["writer"]


def test_the_months_to_choose_from_begin_with_the_first_entry(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals_app.runs.money.spending.today", lambda: date(2027, 1, 5))
    spend(date(2026, 11, 30), "1")

    months = [text for text, _ in admin_client.get(PAGE, {"month": "2020-02"}).context["months"]]

    assert months == ["2027-01", "2026-12", "2026-11", "2020-02"]


@pytest.mark.parametrize("month", ["2026-13", "November", "9999-12", "0", "2026-11-01", "x" * 5000])
def test_a_month_that_does_not_exist_is_refused_in_words(admin_client: Client, month: str) -> None:
    page = admin_client.get(PAGE, {"month": month})

    assert page.status_code == 200
    assert "is not a month" in page.content.decode()
    assert page.context["month"] == timezone.now().date().replace(day=1)


def test_this_month_shows_what_is_left_of_the_ceilings_that_apply(
    admin_client: Client, admin_user: User, ann: User
) -> None:
    spend(timezone.now().date(), "1", person=admin_user)
    MonthlyCeiling.objects.create(max_usd=Decimal(5))
    MonthlyCeiling.objects.create(max_usd=Decimal("0.50"), person=admin_user)
    MonthlyCeiling.objects.create(max_usd=Decimal(7), person=ann)

    now, before = (admin_client.get(PAGE, query).context for query in ({}, {"month": "2020-01"}))

    assert [left for _, left in now["limits"]] == ["$5.00, $4.00 left", "used up"]
    assert before["limits"] == []


def test_of_much_that_was_spent_the_page_shows_the_largest_amounts(admin_client: Client) -> None:
    for number in range(300):
        spend(timezone.now().date(), "1", agent_slug=f"agent-{number}", model=f"a/{number}")
    MonthlyCeiling.objects.create(max_usd=Decimal(5))

    context = admin_client.get(PAGE).context

    assert [len(rows) for _, rows, _ in context["tables"]] == [101, 101, 1]


# Ceilings


def test_the_list_says_what_is_left_of_each_ceiling(admin_client: Client) -> None:
    for number in range(20):
        person = User.objects.create(username=f"person-{number}")
        MonthlyCeiling.objects.create(max_usd=Decimal(5), person=person)
        spend(timezone.now().date(), "1", person=person)
    MonthlyCeiling.objects.create(max_usd=Decimal(50))

    rows = admin_client.get(CEILINGS).context["cl"].result_list

    left = [(str(row.person), row.limit.left_usd) for row in rows]
    assert left[0] == ("person-0", Decimal(4))
    assert left[-1] == ("None", Decimal(30))


def test_a_second_ceiling_for_the_same_is_refused(admin_client: Client, ann: User) -> None:
    answers = [
        admin_client.post(f"{CEILINGS}add/", {"person": person, "max_usd": "5"}).status_code
        for person in ("", "", ann.pk, ann.pk)
    ]

    assert answers == [302, 200, 302, 200]
    assert MonthlyCeiling.objects.count() == 2


@pytest.mark.parametrize("amount", ["0", "-1", "", "NaN", "x", "1e99", "0.0000000001"])
def test_an_amount_that_is_none_is_refused(admin_client: Client, amount: str) -> None:
    page = admin_client.post(f"{CEILINGS}add/", {"person": "", "max_usd": amount})

    assert page.context["adminform"].form.errors.keys() == {"max_usd"}


def test_changes_of_ceilings_are_in_the_history(admin_client: Client) -> None:
    admin_client.post(f"{CEILINGS}add/", {"person": "", "max_usd": "5"})
    ceiling = MonthlyCeiling.objects.get()
    url = f"{CEILINGS}{ceiling.pk}/"
    admin_client.post(f"{url}change/", {"person": "", "max_usd": "7.5"})

    entries = admin_client.get(f"{url}history/").context["action_list"]
    assert len(entries) == 2
    ceiling.refresh_from_db()
    assert ceiling.max_usd == Decimal("7.5")
