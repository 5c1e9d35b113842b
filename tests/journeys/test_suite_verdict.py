"""A part of a suite that passes does not hide that the suite failed: in a real browser."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.models import Case, Run, Suite
from evals_app.runs.shift import work
from tests.elsewhere import elsewhere
from tests.runs.suites import make_suite
from tests.signed_in import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def run_suite(page: Page, address: str, *, cases: str = "") -> Run:
    """Press Run on the page of a suite, and let the run come to its end."""
    page.goto(address)
    page.get_by_role("link", name="Run", exact=True).click()
    dialog = page.locator("#modal-content")
    dialog.get_by_label("Filter by case name").fill(cases)
    dialog.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/evals_app/run/**")
    elsewhere(work)
    return elsewhere(lambda: Run.objects.latest("pk"))


def test_a_part_that_passes_is_named_beside_the_verdict_of_the_whole(
    page: Page, live_server: LiveServer, admin_user: User
) -> None:
    suite: Suite = elsewhere(lambda: make_suite(["hello", "goodbye"]))
    sign_in(page, live_server, admin_user)
    address = live_server.url + reverse("admin:evals_app_suite_change", args=[suite.pk])
    dashboard = live_server.url + reverse("admin:index")

    whole = run_suite(page, address)
    expect(page.get_by_role("status")).to_contain_text("1 failed")
    part = run_suite(page, address, cases="case 1")
    expect(page.get_by_text("1 of 2 cases")).to_be_visible()
    assert (whole.verdict, part.verdict) == ("failed", "passed")

    lists = reverse("admin:evals_app_suite_changelist")
    for each in (dashboard, live_server.url + lists, address):
        page.goto(each)
        content = page.locator("#content, #main").first
        expect(content.locator(f"a[href*='/run/{whole.pk}/'] .badge").first).to_have_text(
            "cancelFailed"
        )
        expect(content.get_by_role("link", name=part.in_short)).to_be_visible()
    page.goto(dashboard)
    expect(page.get_by_role("row", name="Greetings").first).to_contain_text("50")
    page.get_by_role("link", name=part.in_short).click()
    page.wait_for_url(f"**/run/{part.pk}/**")


def test_a_case_that_was_tried_leads_to_its_result_and_is_no_verdict(
    page: Page, live_server: LiveServer, admin_user: User
) -> None:
    suite: Suite = elsewhere(lambda: make_suite(["hello", "goodbye"]))
    case: Case = elsewhere(lambda: suite.cases.get(name="case 1"))
    sign_in(page, live_server, admin_user)
    page.goto(live_server.url + reverse("admin:evals_app_case_change", args=[case.pk]))

    page.get_by_role("button", name="Save and run").click()
    page.wait_for_url("**/evals_app/execution/**")
    elsewhere(work)
    expect(page.locator(".review-verdict")).to_contain_text("Passed")

    page.goto(live_server.url + reverse("admin:index"))
    expect(page.get_by_text("Never run as a whole")).to_be_visible()
    page.get_by_role("link", name="trial run, 1 of 2 cases: passed").click()
    page.wait_for_url("**/evals_app/run/**")
    page.goto(live_server.url + reverse("admin:evals_app_case_change", args=[case.pk]))
    page.get_by_role("link", name="1 result of this case").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
