"""A person pins a baseline, and the next run says which cases got worse: in a real browser."""

from functools import partial

import pytest
from playwright.sync_api import expect

from evals_app.models import Run, Suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import open_more, save_and_stay
from tests.runs.suites import finished, make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def suite_with_a_run() -> tuple[Suite, Run]:
    suite = make_suite(["hello one", "hello two", "hello three"])
    return suite, finished(suite)


def worse_run(suite: Suite) -> Run:
    agent = suite.agent
    agent.connection["rules"] = [{"when": "two", "reply": "Nonsense."}, *agent.connection["rules"]]
    agent.save()
    return finished(Suite.objects.get(pk=suite.pk))


def test_a_later_run_names_the_cases_that_got_worse(visit: Visit) -> None:
    suite, base = elsewhere(suite_with_a_run)
    page = visit("evals_app_suite_change", suite.pk)
    page.get_by_label("Cases that got worse, at most").fill("0")
    save_and_stay(page)
    expect(page.get_by_text("No version is released yet")).to_be_visible()

    page = visit("evals_app_run_change", base.pk)
    open_more(page)
    page.get_by_role("button", name="Use as released version").first.press("Enter")
    expect(
        page.locator("#content-main").get_by_text("Released version", exact=True)
    ).to_be_visible()

    worse = elsewhere(partial(worse_run, suite))
    page = visit("evals_app_run_change", worse.pk)
    gate = page.get_by_role("region", name="We may ship if").get_by_role("listitem")
    expect(gate).to_contain_text("Not met")
    expect(gate).to_contain_text("“case 2”")
    expect(gate).not_to_contain_text("case 1")

    page = visit("evals_app_run_change", base.pk)
    open_more(page)
    expect(page.get_by_role("button", name="Stop using as released version")).to_be_visible()
    page = visit("evals_app_suite_change", suite.pk)
    page.get_by_text("Released version:").get_by_role("link").click()
    open_more(page)
    page.get_by_role("button", name="Stop using as released version").press("Enter")
    open_more(page)
    expect(page.get_by_role("button", name="Use as released version").first).to_be_visible()
    assert elsewhere(lambda: Suite.objects.get().baseline_id) is None
