"""A person finds cases in a suite, disables one, and runs the rest: in a browser."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Run
from tests.authored import CONTAINS, a_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.makers import make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def write() -> int:
    suite = write_suite(
        [a_case(f"case {number}", tags=["smoke"] if number % 2 else []) for number in range(60)]
    )
    make_run({"case 1": ["failed"], "case 2": ["passed"]}, suite=suite)
    make_run({"case 1": ["failed"], "case 2": ["passed"]}, suite=suite)
    return suite.pk


def test_cases_are_found_disabled_and_run_by_keyboard(visit: Visit) -> None:
    page = visit("evals_app_suite_cases", elsewhere(write))
    expect(page.get_by_role("link", name="Cases", exact=True).last).to_have_attribute(
        "aria-current", "page"
    )
    cases = page.locator("#content-main li[id^=case-]")
    expect(cases).to_have_count(50)
    expect(page.get_by_role("button", name="Run these")).to_be_hidden()

    # All of the page, or all there are.
    page.get_by_label("This page").press("Space")
    expect(page.get_by_text("50 selected")).to_be_visible()
    page.get_by_label("Select case 0").press("Space")
    expect(page.get_by_text("49 selected")).to_be_visible()
    page.get_by_label("All 60 that match").press("Space")
    expect(page.get_by_label("Select case 0")).to_be_disabled()

    # Only failed ones.
    page.get_by_label("Last verdict").select_option("Failed")
    page.get_by_role("button", name="Filter").press("Enter")
    expect(cases).to_have_count(1)
    page.get_by_label("Select case 1").press("Space")
    page.get_by_role("button", name="Disable").press("Enter")
    expect(cases).to_contain_text("Disabled")
    expect(page.get_by_role("status").filter(has_text="1 disabled")).to_be_visible()

    # What asks first comes back with the same filter.
    page.get_by_label("Select case 1").check()
    page.locator(".ew-bulk summary").press("Enter")
    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_role("heading", name="Delete 1 case?")).to_be_visible()
    page.get_by_role("link", name="Cancel").press("Enter")
    expect(cases).to_have_count(1)

    page.get_by_role("link", name="Show all").press("Enter")
    page.get_by_label("Tag").select_option("smoke")
    page.get_by_role("button", name="Filter").press("Enter")
    page.get_by_label("This page").check()
    page.get_by_role("button", name="Run these").press("Enter")
    expect(page.get_by_text("Runs 29 conversations.")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    page.wait_for_url("**/evals_app/run/**")
    assert not elsewhere(lambda: Run.objects.latest("pk").is_whole)


def test_a_deleted_case_is_back_with_its_checks_after_undo(visit: Visit) -> None:
    def write_case() -> int:
        suite = write_suite([a_case("Late parcel", final_assertions=[CONTAINS])])
        return suite.cases.get().pk

    page = visit("evals_app_case_change", elsewhere(write_case))
    checks = page.locator(".ew-check:visible")
    count = checks.count()

    page.get_by_role("link", name="Delete").press("Enter")
    expect(page.get_by_role("heading", name="Delete “Late parcel”?")).to_be_visible()
    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_role("link", name="Late parcel")).to_have_count(0)

    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.get_by_text("Restored “Late parcel”.")).to_be_visible()
    page.get_by_role("link", name="Late parcel").press("Enter")
    expect(checks).to_have_count(count)
