"""A person repairs a check and tries it on yesterday's conversation, without asking the agent."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Case, Run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.start_run import start_run
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import save_and_stay
from tests.runs.suites import make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_repaired_check_is_tried_on_the_last_conversation(visit: Visit) -> None:
    run = elsewhere(lambda: start_run(make_suite(["hello", "bye"])))
    elsewhere(work)
    page = visit("evals_app_case_change", elsewhere(lambda: Case.objects.get(name="case 2").pk))

    page.locator("summary", has_text="Reply contains “hello”").press("Enter")
    page.get_by_label("Text to look for").fill("bye")
    save_and_stay(page)
    page.get_by_role("link", name="Try them on its conversations").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_focused()
    expect(dialog.get_by_role("listitem")).to_have_text("case “case 2”")
    expect(dialog.get_by_text("Grades 1 conversation;")).to_be_visible()
    dialog.get_by_role("button", name="Grade again").press("Enter")

    page.wait_for_url(lambda url: "/execution/" in url)
    elsewhere(work)
    expect(page.locator("#execution-verdict")).to_contain_text("Passed")
    before = page.get_by_role("link", name="Its verdict there")
    expect(page.locator(".review-note", has=before)).to_contain_text("Failed")
    page.get_by_role("link", name=f"Run {run.pk + 1} of").press("Enter")
    changed = page.get_by_role("region", name="What changed")
    expect(changed).to_contain_text("1 from failed to passed")
    changed.get_by_role("link", name="case 2 before").press("Enter")
    expect(page.get_by_text("Graded again:")).to_be_visible()
    assert elsewhere(lambda: Run.objects.get(pk=run.pk).failed) == 1
