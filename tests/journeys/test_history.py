"""A person asks since when a case fails, and what was changed before that: in a real browser."""

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from playwright.sync_api import Page, ViewportSize, expect

from evals_app.models import Execution
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.test_accessibility import violations
from tests.runs.suites import finished, make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


def write() -> Execution:
    """Let somebody edit the agent between two runs; return the first execution after that."""
    suite = make_suite()
    finished(suite, trials=2)
    suite.agent.connection["rules"] = [{"reply": "Go away."}]
    suite.agent.save()
    owner = User.objects.create_user("grace")
    LogEntry.objects.log_actions(owner.pk, [suite.agent], CHANGE, "Edited.", single_object=True)
    run = finished(suite)
    finished(suite)
    return run.executions.select_related("run__suite").get(case="case 1")


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_from_a_failure_to_who_changed_what(visit: Visit) -> None:
    execution = elsewhere(write)
    suite = execution.run.suite
    assert suite is not None
    page = visit("evals_app_execution_change", execution.pk)

    strip = page.get_by_role("navigation", name="Last results")
    expect(strip.get_by_role("listitem")).to_have_count(3)
    expect(strip.locator("[aria-current]")).to_contain_text(f"Run {execution.run_id}")
    assert violations(page) == []
    page.locator(".review-actions summary").press("Enter")
    page.get_by_role("link", name="What happened before").press("Enter")

    run_link = page.get_by_role("link", name=f"Run {execution.run_id}", exact=True)
    entry = page.get_by_role("listitem").filter(has=run_link)
    expect(entry).to_contain_text("Worse")
    expect(entry).to_contain_text("grace")
    expect(entry.locator("ins").first).to_contain_text("Go away.")
    page.get_by_role("link", name="Edit the case").press("Enter")

    fold = page.locator("#history")
    fold.locator("summary").first.press("Enter")
    expect(fold.get_by_text("grace")).to_be_visible()
    page.set_viewport_size(PHONE)
    assert fits(page)
    assert violations(page) == []

    page = visit("evals_app_suite_results", suite.pk)
    page.locator("#notable > summary").press("Enter")
    expect(page.get_by_role("heading", name="Flaky cases")).to_be_visible()
    assert fits(page)
    assert violations(page) == []
