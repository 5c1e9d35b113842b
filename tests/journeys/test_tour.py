"""A newcomer takes the tour on the examples as the guide describes it, and removes them."""

import pytest
from playwright.sync_api import Page, expect

from evals_app.library.importing.examples import import_examples
from evals_app.models import Run, Suite
from evals_app.runs.process.worker_loop import work
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def run_the_suite(page: Page, visit: Visit) -> None:
    visit("evals_app_suite_changelist")
    page.get_by_role("link", name="Customer support").click()
    page.locator("#content").get_by_role("link", name="Run", exact=True).first.click()
    page.locator("#dialog").get_by_role("button", name="Run").click()
    page.wait_for_url("**/evals_app/run/*/change/")
    elsewhere(work)
    page.reload()


def test_the_tour_leads_from_a_failure_to_a_comparison(visit: Visit) -> None:
    elsewhere(import_examples)
    page = visit("index")
    page.get_by_role("link", name="Take the five-minute tour").click()
    expect(page.locator("h1#the-five-minute-tour")).to_be_visible()

    run_the_suite(page, visit)
    page.get_by_role("link", name="Delivery promise").first.click()
    expect(page.locator(".grade", has_text="entity.query")).to_contain_text("Failed")

    visit("evals_app_agent_changelist", query="?q=juniper")
    page.locator("tr", has_text="Scripted").get_by_role("link", name="Juniper").click()
    rule = page.locator(".ew-rule-row").nth(4)  # its summary changes with it
    expect(rule).to_contain_text("1043")
    rule.locator("summary, [aria-expanded]").first.click()
    rule.get_by_role("button", name="+ Add a tool call").click()
    call = rule.locator("[data-row=Call]")
    call.get_by_role("combobox", name="Tool", exact=True).fill("entity.query")
    call.get_by_label("Argument", exact=True).fill("type")
    call.get_by_label("Value", exact=True).fill("order")
    rule.get_by_label("Then answer").fill("Order 1043 arrives on Friday.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/evals_app/agent/*")

    run_the_suite(page, visit)
    first, second = elsewhere(lambda: list(Run.objects.order_by("pk")))
    assert (first.verdict, second.verdict) == ("failed", "passed")
    page.get_by_role("button", name="Compare with").click()
    expect(
        page.locator("#dialog, #modal-content").get_by_text(f"Run {first.pk}").first
    ).to_be_visible()

    page = visit("index")
    page.get_by_role("link", name="Remove the examples").click()
    expect(page.get_by_text("Agent Juniper")).to_be_visible()  # edited
    page.get_by_role("button", name="Remove the examples").click()
    page.wait_for_url("**/admin/")
    assert {suite.slug for suite in elsewhere(lambda: list(Suite.objects.all()))} == set()
