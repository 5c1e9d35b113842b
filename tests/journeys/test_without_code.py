"""From an empty site to a passed run that a colleague reads: without YAML, JSON, patterns or a shell."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.models import Run, Suite
from evals_app.runs.ground.workers import live_workers
from fixtures_app.models import Entity
from tests.elsewhere import elsewhere
from tests.journeys import without_code as steps
from tests.journeys.actions import count_actions
from tests.journeys.conftest import Visit
from tests.journeys.without_code import field, go_to, save, start_case

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
MAX_ACTIONS = 60


@pytest.fixture
def worker(child_environment: dict[str, str]) -> Iterator[None]:
    """A real worker beside the test."""
    command = [sys.executable, "manage.py", "worker", "--grace", "0"]
    process = subprocess.Popen(command, cwd=ROOT, env=child_environment, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not elsewhere(live_workers().exists):
            assert process.poll() is None, "the worker died"
            assert time.monotonic() < deadline, "the worker did not come"
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_S)


def write_the_agent(page: Page) -> None:
    steps.add_the_agent(page)
    steps.begin_the_agent(page)
    steps.write_the_rules(page)
    expect(page.get_by_role("checkbox", name="entity.get")).to_be_checked()  # a rule calls it
    save(page, "**/agent/*/change/")


def write_six_cases(page: Page) -> None:
    steps.fill_in_case(page, "Look-up", "Where is order 1002?")
    field(page, "Expected answer").fill("shipped")  # it is not: this case will fail
    save(page, "**/cases/")

    start_case(page, "Numeric answer", "How many orders are there?")
    field(page, "Expected answer").fill("5")
    save(page, "**/cases/")

    start_case(page, "Must not call", "Hello!")
    field(page, "Tool").fill("entity.get")
    save(page, "**/cases/")

    steps.add_several_cases(page)


def read_why_and_fix(page: Page) -> None:
    wrong = page.get_by_role("region", name="What went wrong")
    failed = wrong.get_by_role("link", name="Where is order 1002?", exact=True)
    expect(failed).to_be_visible(timeout=steps.PATIENCE_MS)
    failed.click()
    reason = page.get_by_text("does not contain").first
    expect(reason).to_contain_text("Order 1002 is open.")
    page.get_by_role("link", name="Edit the case").click()
    field(page, "Expected answer").fill("open")
    page.get_by_role("button", name="Save and run").click()
    page.wait_for_url("**/evals_app/execution/**")
    verdict = page.locator("#execution-verdict")
    expect(verdict).to_contain_text("Passed", timeout=steps.PATIENCE_MS)
    before = page.locator(".review-before")
    expect(before).to_contain_text("Before the edit")
    expect(before).to_contain_text("does not contain")


def accept(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_label("New password").first.fill(steps.PASSWORD)
    page.get_by_label("New password confirmation").fill(steps.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/login/")
    page.get_by_label("Username").fill("ann-smith")
    page.get_by_label("Password").fill(steps.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/")


@pytest.mark.usefixtures("worker")
def test_a_person_who_writes_no_code_evaluates_an_agent_and_shows_it(
    visit: Visit, live_server: LiveServer
) -> None:
    page = visit("index")
    actions = count_actions(page)
    steps.paste_the_data(page)
    save(page, "**/fixture/*/change/")
    assert elsewhere(Entity.objects.count) == 5
    write_the_agent(page)
    steps.write_the_first_suite(page)
    save(page, "**/case/add/**")
    write_six_cases(page)
    steps.ask_to_run(page)
    steps.run_the_suite(page)
    read_why_and_fix(page)

    page.get_by_role("navigation", name="You are here").get_by_role(
        "link", name="Shop questions"
    ).click()
    steps.ask_to_run(page)
    steps.run_the_suite(page)
    expect(page.get_by_text("6 passed")).to_be_visible(timeout=steps.PATIENCE_MS)
    runs = elsewhere(lambda: list(Run.objects.order_by("pk").values_list("passed", "failed")))
    assert runs == [(5, 1), (1, 0), (6, 0)]

    link = steps.invite(page)
    assert len(actions) <= MAX_ACTIONS, "\n".join(f"{n} {one}" for n, one in enumerate(actions, 1))
    browser = page.context.browser
    assert browser is not None
    theirs = browser.new_context().new_page()
    accept(theirs, link)
    go_to(theirs, "Results")
    run = elsewhere(lambda: Run.objects.latest("pk"))
    theirs.get_by_role("link", name=f"run {run.pk}").click()
    expect(theirs.get_by_text("6 passed")).to_be_visible()
    expect(theirs.get_by_role("button", name="Re-run")).to_have_count(0)
    suite = elsewhere(Suite.objects.get)
    theirs.goto(f"{live_server.url}/admin/evals_app/suite/{suite.pk}/cases/")
    theirs.get_by_role("link", name="Where is order 1002?").first.click()
    expect(theirs.get_by_role("button", name="Save")).to_have_count(0)
    expect(field(theirs, "User message")).to_be_disabled()
    theirs.context.close()
