"""A person writes a case from a template, searches a check and tries it, with the keyboard alone."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Assertion, Case
from tests.authored import a_case, write_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import search_kind
from tests.makers import make_execution, make_run, make_trial

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_check_is_searched_tried_on_the_last_reply_and_saved(visit: Visit) -> None:
    def write() -> Case:
        case = write_case(turns=[{"user": "Hi", "assertions": []}])
        make_execution(
            make_run({}, suite=case.suite), case.name, trial=make_trial(reply="At 2 PM.")
        )
        return case

    page = visit("evals_app_case_change", elsewhere(write).pk)
    add = page.locator(".ew-turn").get_by_role("button", name="Add a check")
    add.press("Enter")
    page.keyboard.type("zzz")
    options = page.locator("#ew-check-picker").get_by_role("option")
    expect(options).to_have_count(0)
    page.keyboard.press("Escape")
    expect(add).to_be_focused()
    expect(page.locator(".ew-check-row")).to_have_count(0)

    add.press("Enter")
    page.keyboard.type("contain text")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    row = page.locator(".ew-check-row")
    expect(row.get_by_label("Text to look for")).to_be_focused()
    page.keyboard.type("3 pm")

    row.locator("summary", has_text="Try it").press("Enter")
    expect(row.get_by_label("Reply of the agent")).to_have_value("At 2 PM.")
    row.get_by_role("button", name="Try", exact=True).press("Enter")
    tried = row.get_by_role("status")
    expect(tried).to_contain_text("Failed")
    row.get_by_label("Text to look for").fill("2 pm")
    row.get_by_role("button", name="Try", exact=True).press("Enter")
    expect(tried).to_contain_text("Passed")

    row.locator("[data-pick-kind]").press("Enter")
    search_kind(page, "A judge finds the criteria met")
    expect(row.get_by_label("Reply of the agent")).to_be_hidden()
    row.locator("[data-pick-kind]").press("Enter")
    page.keyboard.type("reply contains")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    page.wait_for_load_state()

    assert elsewhere(Assertion.objects.get).options == {"value": "2 pm"}


def test_tags_are_completed_from_those_that_exist(visit: Visit) -> None:
    def write() -> Case:
        cases = [a_case("One", tags=["smoke", "refunds"]), a_case("Two")]
        return write_suite(cases, tags=["nightly"]).cases.get(name="Two")

    page = visit("evals_app_case_change", elsewhere(write).pk)
    tags = page.get_by_label("Tags")
    offered = page.locator("#known-tags option")
    tags.focus()
    expect(offered).to_have_count(3)
    assert [tag.get_attribute("value") for tag in offered.all()] == ["nightly", "refunds", "smoke"]
    tags.press_sequentially("refunds, sm")
    expect(offered).to_have_count(2)
    assert [tag.get_attribute("value") for tag in offered.all()] == [
        "refunds, nightly",
        "refunds, smoke",
    ]
    tags.fill("refunds, smoke")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()

    assert elsewhere(lambda: Case.objects.get(name="Two")).tags == ["refunds", "smoke"]
