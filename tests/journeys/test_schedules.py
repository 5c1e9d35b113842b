"""A person lets a suite run every night, it runs, and the result is on its page: in a real browser."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from evals_app.models import Schedule
from evals_app.runs.process.worker_loop import work
from evals_app.runs.schedules import start_due_runs
from tests.authored import a_case, write_suite
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def _one_night_later() -> None:
    Schedule.objects.update(next_at=timezone.now())
    start_due_runs()
    work()


def test_a_suite_runs_every_night(visit: Visit) -> None:
    suite = elsewhere(lambda: write_suite([a_case()]))
    page = visit("evals_app_suite_cases", suite.pk)
    page.get_by_role("link", name="Run it every night").click()
    expect(page.get_by_label("Refunds (Shop)")).to_be_checked()
    page.get_by_label("Time", exact=True).fill("02:30")
    expect(page.get_by_text("every day at 02:30")).to_be_visible()
    expect(page.locator("[hx-get] ol li")).to_have_count(5)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#result_list")).to_contain_text("Every day at 02:30")

    elsewhere(_one_night_later)

    page.reload()
    page.get_by_role("link", name=re.compile(r"run \d+: passed")).click()
    page.wait_for_url("**/evals_app/run/**")
