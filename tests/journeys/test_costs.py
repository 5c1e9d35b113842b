"""A person says what models cost, and what a run may cost: in a real browser."""

import re
from decimal import Decimal

import pytest
from playwright.sync_api import expect

from evals_app.models import ModelPrice, Provider, Run, Suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.runs.suites import make_agent, make_suite

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A suite of two cases for a model that has a price."""
    monkeypatch.setenv("PROVIDER_LOCAL_KEY", "x")
    provider = Provider.objects.create(
        slug="local", name="Local", kind="anthropic", api_key_env="PROVIDER_LOCAL_KEY"
    )
    ModelPrice.objects.create(
        provider=provider, model="*", valid_from="2026-05-01", input_usd=1, output_usd=5
    )
    agent = make_agent("clerk", driver="model", rules=[], model="local/claude")
    return make_suite(["hello", "bye"], agent=agent)


def test_the_dialog_keeps_the_focus_foresees_what_a_run_costs_and_takes_a_ceiling(
    visit: Visit, suite: Suite
) -> None:
    page = visit("evals_app_suite_change", suite.pk)
    opener = page.get_by_role("link", name="Run", exact=True)
    opener.press("Enter")
    dialog = page.get_by_role("dialog")
    run_button, options = dialog.get_by_role("button", name="Run"), dialog.locator("summary")
    expect(run_button).to_be_focused()
    page.keyboard.press("Tab")
    expect(options).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(run_button).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()

    opener.press("Enter")
    ceiling = dialog.get_by_label("Cost ceiling (USD)")
    expect(dialog).to_contain_text(
        re.compile(r"Conversations\s+2\s.*about 2 model calls", re.DOTALL)
    )
    expect(dialog).to_contain_text("a guess from the text of the cases")

    options.press("Enter")
    dialog.get_by_label("Trials per case").fill("3")
    expect(dialog).to_contain_text("about 6 model calls")
    dialog.get_by_label("Filter by case name").fill("case 2")
    expect(dialog).to_contain_text("about 3 model calls")
    ceiling.fill("0.0001")
    expect(dialog).to_contain_text("limit of $0.0001.")
    ceiling.fill("-1")
    dialog.get_by_role("button", name="Run").click()
    expect(dialog).to_contain_text("above 0")
    expect(ceiling).to_be_focused()
    ceiling.fill("5")
    page.keyboard.press("Enter")

    page.wait_for_url("**/evals_app/run/**")
    expect(page.get_by_text("Spent so far: $0 of at most $5.00.")).to_be_visible()
    run = elsewhere(Run.objects.get)
    assert (run.total, run.max_cost_usd) == (3, Decimal(5))
