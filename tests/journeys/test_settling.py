"""A person finds out whether a run is really worse: in a real browser, with the keyboard."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Run
from evals_app.runs.process.worker_loop import work
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import open_more
from tests.runs.settlements import rewrite, two_runs

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def two_runs_with_an_unlucky_case() -> tuple[Run, Run]:
    base, head = two_runs()
    rewrite(head, {"case 1": (2, 1)})
    return base, head


def test_a_run_is_settled_against_an_earlier_one(visit: Visit) -> None:
    base, head = elsewhere(two_runs_with_an_unlucky_case)
    page = visit("evals_app_run_change", head.pk)

    open_more(page)
    page.get_by_role("button", name="Retest").press("Enter")
    dialog = page.get_by_role("dialog", name=f"Is run {head.pk} really worse?")
    expect(dialog).to_be_focused()
    expect(dialog.get_by_label("Compare with")).to_contain_text(f"Run {base.pk}")
    price = dialog.locator("#settle-price")
    expect(price).to_contain_text("Runs 2 cases")
    dialog.get_by_label("Also test cases that seem better").press("Space")
    expect(price).to_contain_text("at most 80 conversations")
    dialog.get_by_label("Cost ceiling (USD)").fill("-1")
    dialog.get_by_label("Cost ceiling (USD)").press("Enter")
    expect(dialog).to_contain_text("Enter an amount above 0.")
    dialog.get_by_label("Cost ceiling (USD)").fill("2")
    page.keyboard.press("Enter")

    title = f"is run {head.pk} really worse than run {base.pk}?"
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("Look 1 of 3: 2 cases")
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    elsewhere(work)

    expect(page.get_by_role("status")).to_contain_text("1 case is really worse")
    worse = page.get_by_role("row", name="case 2")
    expect(worse).to_contain_text("Really worse")
    expect(worse.get_by_role("cell")).to_contain_text(["", "3 of 3", "0 of 3", "5 of 5", "0 of 5"])
    expect(page.get_by_role("row", name="case 1")).to_contain_text("Cannot tell yet")
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)
    page.get_by_role("link", name=f"Run {base.pk}", exact=True).click()
    page.get_by_role("heading", name="Belongs to this run").click()
    page.get_by_role("link", name=f"run {head.pk} against run {base.pk}").click()
    expect(page.get_by_role("heading", name=title)).to_be_visible()
