"""A person starts several runs at once: two models of one suite, and several suites."""

from typing import Any

import pytest
from playwright.sync_api import expect

from evals_app.models import Run
from evals_app.runs.process.worker_loop import work
from evals_app.runs.starting.select import Variant
from evals_app.runs.starting.start_run import start_runs
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.model_server import KEY, ModelServer
from tests.runs.suites import make_agent, make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_suite_runs_with_two_models(
    visit: Visit, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model_server.url)
    agent = make_agent(driver="model", model="anthropic/claude-haiku-5-5", rules=[])
    suite = make_suite(["hello", "bye"], agent=agent)
    page = visit("evals_app_suite_change", suite.pk)

    page.get_by_role("button", name="Run", exact=True).or_(
        page.get_by_role("link", name="Run", exact=True)
    ).first.click()
    dialog = page.locator("#dialog")
    dialog.get_by_text("Options", exact=True).click()
    dialog.get_by_label("Other models").fill("anthropic/claude-haiku-5-5")
    dialog.get_by_label("Another model").first.fill("anthropic/claude-sonnet-5")
    dialog.get_by_role("button", name="Run 4 conversations").click()

    page.wait_for_url("**/run/models/?group=*")
    table = page.locator("#models-table")
    expect(table.get_by_role("columnheader", name="anthropic/claude-sonnet-5")).to_be_visible()
    expect(table.get_by_text("Queued")).to_have_count(2)


def test_a_double_click_starts_one_run(visit: Visit) -> None:
    suite = make_suite(["hello", "bye"], agent=make_agent())
    page = visit("evals_app_suite_change", suite.pk)

    page.get_by_role("button", name="Run", exact=True).or_(
        page.get_by_role("link", name="Run", exact=True)
    ).first.click()
    page.get_by_role("button", name="Run 2 conversations").dblclick()

    page.wait_for_url("**/run/*/change/")
    assert elsewhere(Run.objects.count) == 1


def test_runs_started_together_are_followed_and_become_one_table(visit: Visit) -> None:
    agent = make_agent()
    mute = make_agent("mute", name="Mute", rules=[{"reply": "Nothing."}])
    suite = make_suite(["hello", "bye"], agent=agent)
    other = make_suite(["hello"], agent=agent, slug="second", name="Second suite")
    variants = [Variant(), Variant(agent=mute)]
    run = elsewhere(lambda: start_runs([suite, other], variants=variants)[0])

    page = visit("evals_app_run_models", query=f"?group={run.group}")
    expect(page.get_by_text("0 of 4 runs have ended")).to_be_visible()
    first = page.locator(f"#models-run-{run.pk}")
    first.focus()
    elsewhere(work)

    expect(page.locator("#models-status")).to_contain_text("All 4 runs have ended.")
    expect(page.get_by_role("heading", name="What each one misses")).to_be_visible()
    expect(first).to_be_focused()
    page.locator(".models-fold summary", has_text="Greetings").click()
    page.get_by_role("link", name="Read case 1 with Mute").click()
    expect(page.get_by_text("Nothing.", exact=True).first).to_be_visible()


def test_several_suites_run_from_the_list_and_skip_what_is_not_needed(visit: Visit) -> None:
    agent = make_agent()
    stopping: dict[str, Any] = {
        "trials": 4,
        "min_pass_rate": 0.5,
        "stop_when_decided": True,
        "concurrency": 1,
    }
    make_suite(["hello"], agent=agent, **stopping)
    make_suite(["hello"], agent=agent, slug="second", name="Second suite")
    make_suite(["hello"], agent=agent, slug="third", name="Third suite")
    page = visit("evals_app_suite_changelist")

    page.get_by_role("link", name="Run suites").click()
    expect(page.get_by_role("button", name="Run 6 conversations")).to_be_visible()
    page.get_by_label("Third suite").uncheck()
    page.get_by_role("button", name="Run 5 conversations").click()

    expect(page.get_by_text("2 runs started.")).to_be_visible()
    elsewhere(work)
    run = elsewhere(lambda: Run.objects.get(suite_slug="greetings"))
    page = visit("evals_app_run_change", run.pk)
    expect(page.get_by_role("heading", name="decided after 2 of 4")).to_be_visible()
    page.get_by_role("link", name="trial 4: Skipped").click()
    expect(page.get_by_text("This conversation was skipped")).to_be_visible()
