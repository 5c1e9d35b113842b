"""From an empty site to a passed run that a colleague reads: without YAML, JSON, patterns or a shell."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.models import Run, Suite
from evals_app.runs.workers import live_workers
from fixtures_app.models import Entity
from tests.elsewhere import elsewhere
from tests.journeys.conftest import Visit
from tests.journeys.picking import search_kind

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
FIELDS = [
    ("number", "Whole number"),
    ("customer", "Text"),
    ("total", "Number"),
    ("ordered_on", "Date"),
    ("state", "One of choices"),
]
# As a spreadsheet copies cells.
ORDERS = """1001\tAda\t40\t2026-05-01\tshipped
1002\tBen\t12.5\t2026-05-02\topen
1003\tCleo\t80\t2026-05-03\tshipped
1004\tDan\t7\t2026-05-04\topen
1005\tEve\t99\t2026-05-05\topen"""
COPIES = [
    ("Open or not", "Is order 1002 still open?", "open"),
    ("Number first", "1002: any news?", "Order 1002"),
    ("Short question", "1002?", "open"),
]
PASSWORD = "long-enough-1"


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


def field(place: Page | Locator, name: str) -> Locator:
    """Return the inputs of a name; those with suggestions are combo boxes."""
    text = place.get_by_role("textbox", name=name, exact=True)
    return text.or_(place.get_by_role("combobox", name=name, exact=True))


def go_to(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()


def save(page: Page, lands: str) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(lands)


def paste(cell: Locator, text: str) -> None:
    cell.evaluate(
        """(cell, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text", text);
            cell.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
        }""",
        text,
    )


def describe_orders(page: Page) -> None:
    go_to(page, "Entity types")
    page.get_by_role("link", name="Add the first").click()
    page.get_by_label("Name*").fill("order")
    table = page.get_by_role("table")
    for row, (name, kind) in enumerate(FIELDS):
        if row:
            page.get_by_role("button", name="Add a field").click()
        table.get_by_label("Name").nth(row).fill(name)
        table.get_by_label("Kind").nth(row).select_option(label=kind)
    field(table, "Choices").fill("open\nshipped")
    save(page, "**/entitytype/")


def write_the_data(page: Page) -> None:
    go_to(page, "Fixtures")
    page.get_by_role("link", name="Add the first fixture").click()
    page.get_by_label("Name*").press_sequentially("Shop data")
    page.get_by_role("button", name="Add an entity").click()
    paste(field(page.get_by_role("table"), "number"), ORDERS)
    save(page, "**/fixture/")


def write_the_agent(page: Page) -> None:
    go_to(page, "Agents")
    page.get_by_role("link", name="Add the first agent").click()
    page.get_by_role("link", name="Scripted").click()
    page.get_by_label("Name*").fill("Shop bot")

    page.get_by_text("Message contains").click()
    field(page, "Words").fill("1002")
    field(page, "Tool").fill("entity.get")
    field(page, "Argument").fill("id")
    field(page, "Value").fill("order-2")
    field(page, "Then answer").fill("Order 1002 is {{result.1.data.state}}.")

    page.get_by_role("button", name="Add a rule").click()
    field(page, "Words").last.fill("how many")
    page.get_by_role("button", name="Add a tool call").last.click()
    field(page, "Tool").last.fill("entity.query")
    field(page, "Argument").last.fill("type")
    field(page, "Value").last.fill("order")
    field(page, "Then answer").last.fill("There are {{result.1.total}} orders.")
    page.get_by_role("button", name="Move rule up").last.click()  # above the rule for any message

    page.get_by_role("button", name="Remove tool").click()  # the example's
    page.get_by_role("checkbox", name="entity.query").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="entity.get")).to_be_visible()  # an error, as a link
    expect(field(page, "Tool").first).to_be_focused()
    page.get_by_role("checkbox", name="entity.get").check()
    save(page, "**/agent/")


def write_the_suite(page: Page) -> None:
    go_to(page, "Suites")
    page.get_by_role("link", name="Add the first suite").click()
    page.get_by_label("Name*").press_sequentially("Shop questions")
    page.get_by_role("combobox", name="Agent").select_option(index=1)
    page.get_by_label("Shop data").check()
    save(page, "**/cases/")


def start_case(page: Page, template: str, name: str, message: str) -> None:
    page.get_by_role("link", name="Add a case").click()
    page.get_by_role("link", name=template).click()
    page.get_by_label("Name*").fill(name)
    field(page, "User message").fill(message)


def write_six_cases(page: Page) -> None:
    start_case(page, "Look-up", "State of an order", "Where is order 1002?")
    field(page, "Expected answer").fill("shipped")  # it is not: this case will fail
    save(page, "**/cases/")

    start_case(page, "Numeric answer", "Number of orders", "How many orders are there?")
    field(page, "Expected answer").fill("5")
    page.get_by_role("button", name="Add a check").first.click()
    search_kind(page, "Tool was called")
    field(page, "Tool").fill("entity.query")
    save(page, "**/cases/")

    start_case(page, "Must not call", "Greeting", "Hello!")
    page.get_by_text("Does not call").click()
    field(page, "Tool").fill("entity.get")
    save(page, "**/cases/")

    for name, message, expected in COPIES:
        page.get_by_role("link", name="State of an order").click()
        original = page.url
        page.get_by_role("link", name="Duplicate").click()
        page.get_by_role("dialog").get_by_role("button", name="Duplicate").click()
        expect(page).not_to_have_url(original)
        page.get_by_label("Name*").fill(name)
        field(page, "User message").fill(message)
        field(page, "Expected answer").fill(expected)
        save(page, "**/cases/")


def run_the_suite(page: Page) -> None:
    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/evals_app/run/*/change/")


def read_why_and_fix(page: Page) -> None:
    failed = page.get_by_role("link", name="State of an order", exact=True)
    expect(failed).to_be_visible(timeout=PATIENCE_S * 1000)
    failed.click()
    reason = page.get_by_text("does not contain").first
    expect(reason).to_contain_text("Order 1002 is open.")
    page.get_by_role("link", name="Edit the case").click()
    field(page, "Expected answer").fill("open")
    page.get_by_role("button", name="Save and run").click()
    page.wait_for_url("**/evals_app/execution/**")
    checks = page.get_by_text("entity.get was called once.")
    expect(checks).to_be_visible(timeout=PATIENCE_S * 1000)
    expect(page.get_by_text("Failed", exact=True)).to_have_count(0)


def invite(page: Page) -> str:
    go_to(page, "People")
    page.get_by_role("link", name="Invite a colleague").click()
    page.get_by_label("Name").first.fill("Ann Smith")
    page.get_by_label("E-mail").focus()
    page.get_by_role("checkbox", name=re.compile("^Viewer")).check()
    page.get_by_role("button", name="Save").click()
    return page.get_by_label("Link").input_value()


def accept(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_label("New password").first.fill(PASSWORD)
    page.get_by_label("New password confirmation").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/login/")
    page.get_by_label("Username").fill("ann-smith")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/admin/")


@pytest.mark.usefixtures("worker")
def test_a_person_who_writes_no_code_evaluates_an_agent_and_shows_it(
    visit: Visit, live_server: LiveServer
) -> None:
    page = visit("index")
    describe_orders(page)
    write_the_data(page)
    assert elsewhere(Entity.objects.count) == 5
    write_the_agent(page)
    write_the_suite(page)
    write_six_cases(page)
    run_the_suite(page)
    read_why_and_fix(page)

    go_to(page, "Suites")
    page.get_by_role("main").get_by_role("link", name="Shop questions").first.click()
    run_the_suite(page)
    expect(page.get_by_text("6 passed")).to_be_visible(timeout=PATIENCE_S * 1000)
    runs = elsewhere(lambda: list(Run.objects.order_by("pk").values_list("passed", "failed")))
    assert runs == [(5, 1), (1, 0), (6, 0)]

    link = invite(page)
    browser = page.context.browser
    assert browser is not None
    theirs = browser.new_context().new_page()
    accept(theirs, link)
    go_to(theirs, "Runs")
    run = elsewhere(lambda: Run.objects.latest("pk"))
    theirs.get_by_role("link", name=f"run {run.pk}").click()
    expect(theirs.get_by_text("6 passed")).to_be_visible()
    expect(theirs.get_by_role("button", name="Re-run")).to_have_count(0)
    suite = elsewhere(Suite.objects.get)
    theirs.goto(f"{live_server.url}/admin/evals_app/suite/{suite.pk}/cases/")
    theirs.get_by_role("link", name="State of an order").click()
    expect(theirs.get_by_role("button", name="Save")).to_have_count(0)
    expect(field(theirs, "User message")).to_be_disabled()
    theirs.context.close()
