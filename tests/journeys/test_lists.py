"""Lists in a browser: on a phone, with rows that change, and with views that a person keeps."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from evals_app.models import Run
from tests.authored import a_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.makers import make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Pairs of cells of one row that cover each other.
OVERLAPS = """rows => rows.flatMap((row) => {
  const cells = [...row.querySelectorAll("td")].map((cell) => cell.getBoundingClientRect()).filter((box) => box.width);
  return cells.flatMap((one, place) => cells.slice(place + 1).filter((two) =>
    one.left < two.right - 1 && two.left < one.right - 1 && one.top < two.bottom - 1 && two.top < one.bottom - 1));
}).length"""


def write() -> None:
    suite = write_suite([a_case("Late parcel", tags=["smoke"])])
    first = make_run({"Late parcel": ["failed"]}, suite=suite)
    make_run({"Late parcel": ["passed"]}, suite=suite, rerun_of=first)


def shown_cells(page: Page) -> int:
    return page.locator("#result_list .data-row").first.locator("> :visible").count()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        pytest.param("evals_app_run", 3, id="tick, run, verdict"),
        pytest.param("evals_app_suite", 3, id="tick, suite, verdict"),
        pytest.param("evals_app_agent", 3, id="tick, agent, last results"),
        pytest.param("evals_app_execution", 3, id="tick, conversation, time"),
        pytest.param("evals_app_case", 5, id="tick, case, what it has"),
    ],
)
def test_on_a_phone_a_row_is_a_name_a_verdict_and_a_grey_line(
    visit: Visit, name: str, cells: int
) -> None:
    elsewhere(write)
    page = visit(f"{name}_changelist")
    page.set_viewport_size({"width": 390, "height": 844})

    assert shown_cells(page) == cells
    assert page.locator("#result_list .data-row").evaluate_all(OVERLAPS) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    if page.locator("input.action-select").count():
        action = page.get_by_label("Select action to run")
        expect(action).to_be_hidden()
        page.locator("input.action-select").first.check()
        expect(action).to_be_visible()


def test_a_row_changes_while_its_run_goes_on_and_a_view_is_kept(visit: Visit) -> None:
    elsewhere(write)
    run = elsewhere(lambda: make_run({"Late parcel": ["running"]}))
    page = visit("evals_app_run_changelist", query="?verdict__exact=passed&which=all")
    expect(page.locator("#result_list .data-row")).to_have_count(1)

    page.get_by_text("Save this view").press("Enter")
    page.get_by_label("Name").fill("Passed")
    page.get_by_role("button", name="Save", exact=True).press("Enter")
    views = page.get_by_role("navigation", name="Your views")
    expect(views.get_by_role("link", name="Passed")).to_have_attribute("aria-current", "true")
    views.get_by_role("link", name="All").press("Enter")

    row = page.locator(f"#row-{run.pk}")
    expect(row).to_contain_text("Running")
    ended = {"status": "finished", "verdict": "passed", "finished_at": timezone.now()}
    elsewhere(lambda: Run.objects.filter(pk=run.pk).update(**ended))
    expect(row).to_contain_text("Passed")
    expect(page.locator("#live-rows[hx-get]")).to_have_count(0)

    views.get_by_role("link", name="Passed").press("Enter")
    expect(page.locator("#result_list .data-row")).to_have_count(2)
    page.get_by_role("button", name="Remove this view").press("Enter")
    expect(views).to_have_count(0)
