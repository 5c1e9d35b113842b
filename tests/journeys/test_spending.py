"""A person limits what may be spent in a month, a run stops there, and the page says so: in a real browser."""

from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from evals_app.models import MonthlyCeiling, Run, Spending, Suite
from evals_app.runs.process.worker_loop import work
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.model_server import ModelServer
from tests.runs.priced import MODEL, make_priced_suite, one_cent

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def suite(model_server: ModelServer, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Suite:
    settings.EVALS_PULSE_S = 0.05
    model_server.answers(one_cent)
    return make_priced_suite(model_server, monkeypatch)


def test_a_run_stops_at_the_ceiling_of_the_month_and_goes_on_when_it_is_higher(
    visit: Visit, suite: Suite, admin_user: User
) -> None:
    page = visit("evals_app_monthlyceiling_add")
    page.get_by_label("Person").select_option(label=admin_user.username)
    page.get_by_label("Ceiling per month (USD)").fill("0.105")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("cell", name="$0.105").first).to_be_visible()

    # The forecast warns before the run starts.
    page = visit("evals_app_suite_change", suite.pk)
    page.get_by_role("link", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("monthly ceiling")
    dialog.get_by_role("button", name="Run").click()
    page.wait_for_url("**/evals_app/run/**")

    elsewhere(work)
    run = elsewhere(Run.objects.get)
    assert (run.stop_reason, run.reached_ceiling) == ("budget", "person")
    page = visit("evals_app_run_change", run.pk)
    note = page.locator(".review-note", has_text="monthly ceiling of the person")
    expect(note).to_contain_text("$0.105")

    # While it is used up, it cannot be resumed.
    elsewhere(lambda: MonthlyCeiling.objects.update(max_usd=run.spent_usd))
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_role("dialog")).to_contain_text("is spent this month")
    elsewhere(lambda: MonthlyCeiling.objects.update(max_usd=Decimal(5)))
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    elsewhere(work)

    page = visit("evals_app_spending_changelist")
    expect(page.get_by_role("region", name="By model").first).to_contain_text(MODEL)
    total = page.get_by_role("region", name="Total")
    expect(total).to_contain_text("$0.24")
    expect(total).to_contain_text("$4.76 left")
    # A chart needs more days.
    expect(page.locator("canvas")).to_have_count(0)
    expect(page.get_by_role("region", name="By day").first.get_by_role("table")).to_be_visible()
    assert elsewhere(Spending.objects.get).spent_usd == Decimal("0.24")
