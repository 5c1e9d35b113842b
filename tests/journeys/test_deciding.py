"""A QA manager decides whether a new version may be shipped: from sign-in to the page that is sent."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from evals_app.models import Agent, Run, ShipDecision, Suite
from evals_app.runs.process.worker_loop import work
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.runs.settlements import rewrite
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]

QUESTIONS = [f"question {number}" for number in range(1, 41)]
WORSE, BETTER, FLAKY = range(1, 6), range(6, 9), range(9, 13)


def rules(silent_on: range) -> list[dict[str, Any]]:
    """Return the replies of a version that does not know some answers."""
    unknown = "|".join(map(str, silent_on))
    return [{"when": rf"question ({unknown})\b", "reply": "Pardon?"}, {"reply": "hello"}]


def two_versions_and_another_agent() -> Suite:
    """Run a suite of 40 cases with two versions of its agent, and a suite of another agent."""
    other = make_suite(slug="other", name="Other", agent=make_agent("other", rules=rules(range(0))))
    finished(other)
    agent = make_agent("desk", name="Desk", rules=rules(BETTER))
    suite = make_suite(QUESTIONS, slug="orders", name="Orders", agent=agent, trials=3)
    released = finished(suite)
    Suite.objects.filter(pk=suite.pk).update(baseline=released)
    Agent.objects.filter(pk=agent.pk).update(connection={"rules": rules(WORSE)})
    run = finished(Suite.objects.get(pk=suite.pk))
    rewrite(run, {f"case {number}": (2, 1) for number in FLAKY})
    return suite


def answer(page: Page) -> Any:
    return page.get_by_role("region", name="May we ship?")


def test_a_manager_settles_accepts_ships_and_sends(visit: Visit) -> None:
    elsewhere(two_versions_and_another_agent)
    page = visit("index")
    page.get_by_role("link", name="Orders").first.click()

    box = answer(page)
    expect(box).to_contain_text("Not yet (scripted): 9 cases got worse, 3 better.")
    box.get_by_role("link", name="9 cases got worse").click()
    expect(page.get_by_role("list", name="Cases").get_by_role("link", name="worse")).to_have_count(
        9
    )
    box.get_by_text("Retest", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Retest").click()
    expect(page.get_by_role("status")).to_contain_text("Look 1 of 3")
    elsewhere(work)
    expect(page.get_by_role("status")).to_contain_text("5 cases are really worse")

    visit("index")
    page.get_by_role("link", name="Orders").first.click()
    expect(box).to_contain_text("No (scripted): 5 cases are really worse, 3 better.")
    box.get_by_text("Accept these 5").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("The new wording is on its way.")
    dialog.get_by_role("button", name="Accept").click()
    expect(box).to_contain_text("Yes (scripted): 5 known failures, accepted until they pass again.")

    box.get_by_role("button", name="Shipped", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Shipped").click()
    expect(box).to_contain_text("Shipped on")
    decision = elsewhere(ShipDecision.objects.get)
    run = elsewhere(lambda: Run.objects.filter(settlement=None).latest("pk"))
    assert (decision.shipped, decision.run_number) == (True, run.pk)

    with page.expect_download() as sent:
        box.get_by_role("link", name="Send this decision").click()
    written = Path(sent.value.path()).read_text()
    for words in ("5 known failures", "The new wording is on its way.", "case 1", "Pardon?"):
        assert words in written
