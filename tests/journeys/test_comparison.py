"""A person finds out what got worse between two runs, and reads why: in a real browser."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from evals_app.engine.record.trial import ToolCall
from evals_app.models import Run
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.makers import make_execution, make_grade, make_run, make_trial

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}
CASE = "Refund within 30 days"


def two_runs() -> tuple[Run, Run]:
    """Return a run, and one in which the agent looks up another order and names another time."""
    runs = []
    for state, order, days in (("passed", "1042", "30"), ("failed", "1043", "14")):
        run = make_run({"Greeting": ["passed"], CASE: [state]})
        run.executions.filter(case=CASE).delete()
        call = ToolCall("order.get", {"id": order}, {"status": "paid"})
        grade = make_grade(passed=state == "passed", score=float(state == "passed"))
        trial = make_trial(reply=f"Your refund takes {days} days.", calls=[call])
        make_execution(
            run, CASE, state=state, position=1, trial=trial, grades=[grade], counts=False
        )
        runs.append(run)
    base, head = runs
    return base, head


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the link or button with this name has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if name in (page.evaluate("document.activeElement.textContent") or "").strip():
            return
    raise AssertionError(f"Tab does not lead to {name!r}.")


def test_from_the_list_to_what_was_said_in_both_runs_by_keyboard(visit: Visit) -> None:
    base, head = elsewhere(two_runs)
    page = visit("evals_app_run_changelist")

    for run in (base, head):
        box = page.locator(f"input.action-select[value='{run.pk}']")
        box.focus()
        page.keyboard.press("Space")
        expect(box).to_be_checked()
    choice = page.locator("select[name=action]")
    choice.focus()
    choice.press("C")  # "Compare ..."
    expect(choice).to_have_value("compare_chosen")
    tab_to(page, "Apply")
    page.keyboard.press("Enter")

    page.wait_for_url(lambda url: "/run/compare/" in url)
    expect(page.get_by_role("heading", name=f"Run {head.pk} compared")).to_be_visible()
    worse = page.get_by_role("region", name="Worse").get_by_role("listitem").filter(has_text=CASE)
    expect(worse).to_contain_text("1 of 1")
    row = worse.get_by_role("button", name=CASE)
    expect(worse.locator(".bubble ins")).to_contain_text("14")
    for is_open in ("false", "true"):
        row.press("Enter")
        expect(row).to_have_attribute("aria-expanded", is_open)
    tab_to(page, "Whole conversation")
    page.keyboard.press("Enter")

    page.wait_for_url(lambda url: "/run/compare/case/" in url)
    expect(page.get_by_role("heading", name=CASE, level=2)).to_be_visible()
    talk = page.get_by_role("region", name="Conversation")
    expect(talk.locator(".bubble del")).to_contain_text("30")
    expect(talk.locator(".bubble ins")).to_contain_text("14")
    expect(talk.locator(".call del").first).to_contain_text("1042")
    expect(talk.locator(".call ins").first).to_contain_text("1043")
    tab_to(page, "All cases of both runs")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/run/compare/?" in url)


def test_the_page_of_a_run_offers_its_previous_one_on_a_phone(visit: Visit) -> None:
    base, head = elsewhere(two_runs)
    page = visit("evals_app_run_change", head.pk)
    page.set_viewport_size(PHONE)

    page.get_by_role("button", name="Compare with").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_focused()
    expect(dialog.get_by_role("radio", name=f"Run {base.pk}")).to_be_checked()
    dialog.get_by_role("button", name="Compare", exact=True).press("Enter")

    page.wait_for_url(lambda url: url.endswith(f"?run={base.pk}&run={head.pk}"))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("link", name="trial 1: failed").click()
    sides = page.locator(".is-pair").last.locator(".ew-side")
    first, second = sides.nth(0).bounding_box(), sides.nth(1).bounding_box()
    assert first
    assert second
    assert second["y"] >= first["y"] + first["height"]  # one below the other
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_charts_are_drawn_and_have_their_numbers_beside_them(visit: Visit) -> None:
    base, head = elsewhere(two_runs)
    page = visit("evals_app_run_compare", query=f"?run={base.pk}&run={head.pk}")

    page.locator("summary", has_text="How the scores are spread").press("Enter")
    expect(page.get_by_role("img", name="scores")).to_be_visible()
    assert (
        page.evaluate("Chart.getChart(document.querySelector('canvas')).data.datasets.length") == 2
    )
    page.get_by_text("The numbers in a table").first.press("Enter")
    expect(page.get_by_role("cell", name="1", exact=True).first).to_be_visible()
