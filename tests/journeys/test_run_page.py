"""A person brings a run that stands still to its end: in a real browser."""

import uuid
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import ViewportSize, expect

from evals_app.models import Execution, Run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.runs.suites import make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


def run_at_its_ceiling() -> Run:
    """Start a run of two conversations; it stops before the first, having spent 97 cents of 1 USD."""
    run = start_run(make_suite(["hello", "hello"]))
    Run.objects.update(
        status="finished",
        verdict="inconclusive",
        stop_reason="budget",
        max_cost_usd=1,
        spent_usd=Decimal("0.97"),
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )
    return run


def run_without_a_lease() -> Run:
    run = start_run(make_suite(["hello", "hello"]))
    Run.objects.update(status="running", started_at=timezone.now())
    Execution.objects.filter(case="case 1").update(
        status="running", lease_token=uuid.uuid4(), attempts=1, started_at=timezone.now()
    )
    return run


def test_a_run_at_its_ceiling_goes_on_under_a_higher_one(visit: Visit) -> None:
    run = elsewhere(run_at_its_ceiling)
    page = visit("evals_app_run_change", run.pk)
    expect(page.get_by_role("status")).to_contain_text("Stopped at a cost ceiling")

    page.get_by_role("button", name="Resume 2 conversations").press("Enter")
    dialog = page.get_by_role("dialog", name="Resume 2 conversations?")
    expect(dialog).to_be_focused()
    page.keyboard.press("Tab")
    ceiling = dialog.get_by_label("Cost ceiling (USD)")
    expect(ceiling).to_be_focused()
    page.keyboard.type("0.5")
    page.keyboard.press("Enter")

    expect(dialog).to_contain_text("needs a ceiling above")
    expect(ceiling).to_be_focused()
    ceiling.fill("2.5")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"Run {run.pk} resumed.")).to_be_visible()
    expect(page.get_by_text("Spent so far: $0.97 of at most $2.50.")).to_be_visible()
    elsewhere(work)
    expect(page.get_by_role("status")).to_have_text("Finished: passed. 2 of 2 cases passed.")


def test_what_nobody_holds_is_put_back_on_a_phone(visit: Visit) -> None:
    page = visit("evals_app_run_change", elsewhere(run_without_a_lease).pk)
    page.set_viewport_size(PHONE)
    expect(page.get_by_text("Something is stuck.")).to_be_visible()
    place = page.get_by_text("No worker has it").bounding_box()
    assert place is not None
    assert place["x"] + place["width"] <= PHONE["width"]

    page.get_by_role("button", name="Requeue").press("Enter")
    dialog = page.get_by_role("dialog", name="Requeue stuck conversations?")
    expect(dialog).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(dialog.get_by_role("button", name="Requeue")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_text("1 conversation requeued.")).to_be_visible()
    expect(page.get_by_text("Something is stuck.")).to_have_count(0)
    elsewhere(work)
    expect(page.get_by_role("status")).to_have_text("Finished: passed. 2 of 2 cases passed.")
