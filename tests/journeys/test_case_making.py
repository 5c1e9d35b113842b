"""A person makes a case of a conversation, by keyboard: in a real browser."""

import pytest
from playwright.sync_api import expect

from evals_app.models import Agent, Case, Execution
from tests.authored import a_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.library.making.test_case_making import FIND, found, run_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def talked() -> Execution:
    suite = write_suite([a_case()])
    Agent.objects.update(tools=["entity.query", FIND])
    return run_of(suite, found("RF-1"), found("RF-2"))[0]


def test_from_a_conversation_to_a_case_that_runs_offline(visit: Visit) -> None:
    execution = elsewhere(talked)
    page = visit("evals_app_execution_change", execution.pk)
    page.locator(".review-actions summary").press("Enter")
    page.get_by_role("link", name="Make a case of this").press("Enter")

    tally = page.locator("[data-tally]")
    expect(tally).to_have_text("2 checks")
    page.get_by_role("checkbox", name="Calls orders.find").press("Space")
    expect(tally).to_have_text("1 check")
    expect(page.get_by_role("checkbox", name="id = A-1")).to_be_hidden()
    page.get_by_role("checkbox", name="At most 1 tool call").press("Space")
    expect(tally).to_have_text("1 check and 1 limit")

    copy = page.get_by_label("Suite of the copy")
    expect(copy).to_be_hidden()
    page.get_by_role("checkbox", name="Answer tools").press("Space")
    expect(copy).to_be_visible()
    page.get_by_role("textbox", name="Name").fill("Was sent")
    page.get_by_role("button", name="Make the case").press("Enter")

    expect(page.get_by_text("was added to the suite")).to_be_visible()
    case = elsewhere(lambda: Case.objects.select_related("suite__agent").get(name="Was sent"))
    expect(page).to_have_url(
        page.url.partition("/admin/")[0] + f"/admin/evals_app/case/{case.pk}/change/"
    )
    assert case.suite.agent.slug == "shop-recorded"
    assert case.max_tool_calls == 1
