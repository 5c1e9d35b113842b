"""Settlements on pages: offered where runs differ, priced before they start, read case by case."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client, TestCase
from django.urls import reverse

from evals_app.models import Settlement, Suite
from evals_app.runs.ending.cancel import cancel_run
from evals_app.runs.process.worker_loop import work
from tests.admin.run_pages import page_of
from tests.admin.run_pages import url as run_part
from tests.authored import client_who_may
from tests.makers import make_run
from tests.runs.settlements import settle, settled, two_runs

pytestmark = pytest.mark.django_db


def url(what: str, pk: int) -> str:
    return reverse(f"admin:evals_app_settlement_{what}", args=[pk])


def post(client: Client, address: str, **data: Any) -> Any:
    with TestCase.captureOnCommitCallbacks(execute=True):
        return client.post(address, data)


# Starting


def test_the_dialog_suggests_the_last_whole_run_and_its_price(admin_client: Client) -> None:
    base, head = two_runs()

    form = admin_client.get(url("start", head.pk)).context["form"]

    assert [key for key, _ in form.fields["base"].choices] == [str(base.pk)]
    assert form.fields["base"].initial == str(base.pk)
    assert "at most 40 conversations" in form.price_sentence
    assert not Settlement.objects.exists()


def test_the_dialog_suggests_the_baseline_of_the_suite_and_what_the_link_names(
    admin_client: Client,
) -> None:
    base, head = two_runs()
    later, last = (make_run(["passed"], suite=Suite.objects.get()) for _ in range(2))
    Suite.objects.update(baseline=base)

    usual = admin_client.get(url("start", head.pk)).context["form"].fields["base"]
    of_last = admin_client.get(url("start", last.pk)).context["form"].fields["base"]
    named = admin_client.get(f"{url('start', last.pk)}?base={later.pk}").context["form"]

    assert (usual.initial, of_last.initial) == (str(base.pk), str(base.pk))
    assert named.fields["base"].initial == str(later.pk)


def test_the_ceiling_is_what_it_can_cost(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, head = two_runs()
    price = "evals_app.runs.retests.candidates.SettlementPrice.most_usd"
    monkeypatch.setattr(price, Decimal("0.1234"))

    form = admin_client.get(f"{url('start', head.pk)}?base={base.pk}").context["form"]

    assert form.fields["max_cost_usd"].initial == "0.13"


def test_the_price_follows_what_is_chosen(admin_client: Client) -> None:
    head, base = two_runs()  # it got better
    address = url("price", head.pk)

    def price(**chosen: Any) -> str:
        return admin_client.get(address, {"base": base.pk, **chosen}).content.decode()

    assert "nothing to retest" in price()
    assert "at most 40 conversations" in price(with_better="on")
    assert "Choose" in admin_client.get(address, {"base": "x"}).content.decode()


def test_a_settlement_starts_and_its_page_follows(admin_client: Client) -> None:
    base, head = two_runs()

    response = post(
        admin_client, url("start", head.pk), base=base.pk, max_cost_usd="2.50", with_better="on"
    )

    settlement = Settlement.objects.get()
    assert response.headers["HX-Redirect"] == url("change", settlement.pk)
    assert (settlement.base, settlement.head) == (base, head)
    assert (settlement.max_cost_usd, settlement.with_better) == (Decimal("2.5"), True)
    assert settlement.created_by is not None
    running = admin_client.get(url("change", settlement.pk))
    assert url("cancel", settlement.pk) in running.content.decode()
    work()
    ended = admin_client.get(url("change", settlement.pk))
    (case,) = ended.context["page"]
    assert (case["case"], case["finding"]) == ("case 2", "really_worse")
    assert "Really worse</span>" in ended.content.decode()
    assert "hx-trigger" not in admin_client.get(url("live", settlement.pk)).content.decode()


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"base": "999999"}, "999999"),
        ({"base": "x"}, "x is not"),
        ({}, "required"),
        ({"max_cost_usd": "0"}, "above 0"),
    ],
)
def test_what_does_not_fit_is_named_in_the_dialog(
    admin_client: Client, data: dict[str, str], word: str
) -> None:
    base, head = two_runs()

    usual = {"base": str(base.pk)} if data.keys() == {"max_cost_usd"} else {}
    response = post(admin_client, url("start", head.pk), **usual | data)

    assert word in str(response.context["form"].errors)
    assert not Settlement.objects.exists()


def test_what_cannot_be_settled_is_named_in_the_dialog(admin_client: Client) -> None:
    base, _ = two_runs()
    again = make_run(["passed"], suite=Suite.objects.get())

    response = post(admin_client, url("start", again.pk), base=base.pk)

    assert "nothing to retest" in str(response.context["form"].errors)
    lonely = admin_client.get(url("start", base.pk)).context["form"]
    assert "no earlier run" in lonely.price_sentence


@pytest.mark.parametrize("permissions", [["view_run"], ["add_run"]])
def test_only_who_may_run_is_offered_it(permissions: list[str]) -> None:
    base, head = two_runs()
    client = client_who_may(*permissions)

    assert client.get(url("start", head.pk)).status_code == 403
    if permissions == ["view_run"]:
        assert url("start", head.pk) not in client.get(page_of(head)).content.decode()
    assert base.pk != head.pk


# Reading


def test_the_pages_of_both_runs_and_of_its_own_lead_to_it(admin_client: Client) -> None:
    settlement = settled(*two_runs())
    address = url("change", settlement.pk)

    for run in (settlement.base, settlement.head, settlement.runs.earliest("pk")):
        assert address in admin_client.get(run_part(run, "related")).content.decode()
    assert "for retest" in admin_client.get("/admin/evals_app/run/?which=all").content.decode()


def test_many_cases_are_shown_page_by_page(admin_client: Client) -> None:
    settlement = settled(*two_runs())
    Settlement.objects.update(
        cases=[{**settlement.cases[0], "name": f"case {number}"} for number in range(1_000)]
    )

    page = admin_client.get(f"{url('change', settlement.pk)}?p=2").context["page"]

    assert (page.number, len(page), page.paginator.count) == (2, 100, 1_000)
    assert page[0]["case"] == "case 100"


def test_cancelling_asks_first(admin_client: Client) -> None:
    settlement = settle(*two_runs())
    address = url("cancel", settlement.pk)

    asked = admin_client.get(address)
    settlement.refresh_from_db()
    assert (asked.status_code, settlement.status) == (200, "running")
    response = post(admin_client, address)

    settlement.refresh_from_db()
    assert settlement.status == "cancelled"
    assert response.headers["HX-Redirect"] == url("change", settlement.pk)
    assert address not in admin_client.get(url("change", settlement.pk)).content.decode()


def test_a_run_of_a_settlement_is_neither_resumed_nor_settled(admin_client: Client) -> None:
    settlement = settle(*two_runs())
    run = settlement.runs.earliest("pk")
    cancel_run(run)

    page = admin_client.get(page_of(run)).content.decode()

    assert reverse("admin:evals_app_run_resume", args=[run.pk]) not in page
    assert url("start", run.pk) not in page


def test_a_settlement_that_does_not_exist_is_not_found(admin_client: Client) -> None:
    for what in ("live", "cancel", "start", "price"):
        assert admin_client.get(url(what, 999_999)).status_code == 404
