"""The dialogs in which people decide: shipped or not, and which cases may fail."""

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.models import AcceptedFailure, Run, ShipDecision, Suite
from tests.admin.run_pages import page_of, url
from tests.authored import client_who_may
from tests.makers import make_run

pytestmark = pytest.mark.django_db

FAILS = {"A": ["failed"], "B": ["passed"]}


def decide_url(run: Run, what: str) -> str:
    return reverse("admin:evals_app_run_decide", args=[run.pk, what])


def text_of(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_a_person_decides_and_the_decision_stands_beside_the_answer(admin_client: Client) -> None:
    run = make_run(FAILS)
    dialog = decide_url(run, "shipped")
    assert dialog in text_of(admin_client, page_of(run))
    assert "No (scripted): 1 case failed" in text_of(admin_client, dialog)

    refused = admin_client.post(dialog, {"reason": ""})
    answer = admin_client.post(dialog, {"reason": "The fix of A follows."})

    assert "This field is required." in refused.content.decode()
    assert answer.headers["HX-Redirect"] == page_of(run)
    assert Suite.objects.get().baseline == run
    results = reverse("admin:evals_app_suite_results", args=[run.suite_id])
    for page in (page_of(run), results):
        assert "by admin: “The fix of A follows.”" in text_of(admin_client, page)
    assert "Last decisions" in text_of(admin_client, results)


def test_after_a_yes_nobody_asks_for_a_reason(admin_client: Client) -> None:
    run = make_run(["passed"])

    admin_client.post(decide_url(run, "shipped"), {"reason": ""})

    assert ShipDecision.objects.get().reason == ""


def test_a_decision_that_no_one_knows_is_not_found(admin_client: Client) -> None:
    assert admin_client.get(decide_url(make_run(), "maybe")).status_code == 404


def test_failures_are_accepted_with_a_reason_and_withdrawn(admin_client: Client) -> None:
    run = make_run(FAILS)
    dialog = url(run, "accept")
    assert "Accept it" in text_of(admin_client, page_of(run))

    refused = admin_client.post(dialog, {"cases": ["B"], "reason": ""}).content.decode()
    admin_client.post(dialog, {"cases": ["A"], "reason": "Known.", "until": ""})

    assert "B is not one of the available choices" in refused
    page = text_of(admin_client, page_of(run))
    assert "1 known failure, accepted until it passes again." in page
    (accepted,) = AcceptedFailure.objects.all()
    withdraw = reverse("admin:evals_app_acceptance_withdraw", args=[accepted.pk])
    assert withdraw in page
    after = admin_client.post(withdraw, follow=True).content.decode()
    assert "“A” counts again." in after
    assert "accepted until" not in text_of(admin_client, page_of(run))


def test_a_day_that_is_over_is_refused_at_its_field(admin_client: Client) -> None:
    dialog = url(make_run(FAILS), "accept")
    given = {"cases": ["A"], "reason": "Known.", "until": "2020-01-01"}

    page = admin_client.post(dialog, given).content.decode()

    assert "2020-01-01 is over. Choose today or a later day." in page
    assert not AcceptedFailure.objects.exists()


def test_who_may_only_read_runs_sees_decisions_but_no_buttons(admin_client: Client) -> None:
    run = make_run(FAILS)
    admin_client.post(decide_url(run, "not-shipped"), {"reason": "A fails."})

    page = text_of(client_who_may("view_run"), page_of(run))

    assert "by admin: “A fails.”" in page
    assert decide_url(run, "shipped") not in page
    assert url(run, "accept") not in page
    assert Run.objects.get().suite is not None
