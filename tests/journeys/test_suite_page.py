"""A person arranges and runs a suite in a browser."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.models import Run
from tests.authored import a_case, write_suite
from tests.signed_in import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def suite_page(page: Page, live_server: LiveServer, admin_user: User) -> Page:
    cases = [a_case("Order late", tags=["slow"]), a_case("Order"), a_case("Hello")]
    suite = write_suite(cases, trials=2)
    sign_in(page, live_server, admin_user)
    page.goto(live_server.url + reverse("admin:evals_app_suite_change", args=[suite.pk]))
    return page


def test_the_dialog_counts_while_one_chooses_and_starts_the_run(suite_page: Page) -> None:
    suite_page.get_by_role("link", name="Run", exact=True).click()
    dialog = suite_page.get_by_role("dialog")
    expect(dialog).to_contain_text("Runs 6 conversations.")
    expect(dialog.get_by_label("Filter by case name")).to_be_focused()

    suite_page.keyboard.type("order")
    expect(dialog).to_contain_text("Runs 4 conversations.")
    dialog.get_by_label("Trials per case").fill("1")
    expect(dialog).to_contain_text("Runs 2 conversations.")
    dialog.get_by_role("button", name="Run").click()

    suite_page.wait_for_url("**/evals_app/run/**")
    assert {each.case for each in Run.objects.get().executions.all()} == {"Order late", "Order"}


def test_a_mistake_in_the_dialog_is_told_there(suite_page: Page) -> None:
    suite_page.get_by_role("link", name="Run", exact=True).click()
    dialog = suite_page.get_by_role("dialog")

    dialog.get_by_label("Trials per case").fill("500")
    dialog.get_by_role("button", name="Run").click()

    expect(dialog).to_contain_text("Ensure this value is less than or equal to 100.")
    expect(dialog).to_contain_text("a whole number from 1 to 100")
    assert not Run.objects.exists()


def test_cases_move_by_their_buttons(suite_page: Page) -> None:
    suite_page.get_by_role("button", name="Move Hello up").click()
    suite_page.wait_for_load_state()

    names = suite_page.locator(".ts-case-name a").all_inner_texts()
    assert names == ["Order late", "Hello", "Order"]
