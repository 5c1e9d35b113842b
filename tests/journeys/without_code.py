"""The steps of `docs/without-code.md` in a browser: a journey takes them, and so do the guide's pictures."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.journeys.picking import search_kind

# As a spreadsheet copies cells.
ORDERS = """number\tcustomer\ttotal\tordered_on\tstate
1001\tAda\t40\t2026-05-01\tshipped
1002\tBen\t12.5\t2026-05-02\topen
1003\tCleo\t80\t2026-05-03\tshipped
1004\tDan\t7\t2026-05-04\topen
1005\tEve\t99\t2026-05-05\topen"""
QUESTIONS = """Question\tExpected answer
Is order 1002 still open?\topen
1002: any news?\tOrder 1002
1002?\topen"""
PATIENCE_MS = 60_000.0
PASSWORD = "long-enough-1"


def field(place: Page | Locator, name: str) -> Locator:
    """Return the inputs of a name; those with suggestions are combo boxes."""
    text = place.get_by_role("textbox", name=name, exact=True)
    return text.or_(place.get_by_role("combobox", name=name, exact=True))


def go_to(page: Page, name: str, *, fold: str = "") -> None:
    menu = page.locator("#nav-sidebar")
    entry = menu.get_by_role("link", name=name, exact=True)
    if fold and not entry.is_visible():
        menu.get_by_text(fold, exact=True).click()
    entry.click()


def save(page: Page, lands: str) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url(lands)


def paste_the_data(page: Page) -> None:
    go_to(page, "Test data")
    page.get_by_role("link", name="From a spreadsheet").first.click()
    field(page, "Name").fill("Shop data")
    field(page, "What is one row?").fill("order")
    field(page, "Rows, with their headings").fill(ORDERS)


def add_the_agent(page: Page) -> None:
    go_to(page, "Agents")
    page.get_by_role("link", name="Add your first agent").click()


def begin_the_agent(page: Page) -> None:
    page.get_by_role("link", name="I just want to try").click()
    page.get_by_label("Name*").fill("Shop bot")


def write_a_rule(page: Page | Locator, words: str, call: tuple[str, str, str], answer: str) -> None:
    """Fill in a rule, or the last one of a page, which calls one tool with one argument."""
    tool, argument, value = call
    field(page, "Words").last.fill(words)
    field(page, "Tool").last.fill(tool)
    field(page, "Argument").last.fill(argument)
    field(page, "Value").last.fill(value)
    field(page, "Then answer").last.fill(answer)


def add_a_rule(page: Page, words: str, call: tuple[str, str, str], answer: str) -> None:
    page.get_by_role("button", name="Add a rule").click()
    rules = page.locator(".ew-rule-row")
    rule = rules.nth(rules.count() - 2)  # above the rule for any message
    rule.get_by_role("button", name="Add a tool call").click()
    write_a_rule(rule, words, call, answer)


def write_the_rules(page: Page) -> None:
    call = ("entity.get", "id", "order-2")
    write_a_rule(page, "1002", call, "Order 1002 is {{result.1.data.state}}.")
    call = ("entity.query", "type", "order")
    add_a_rule(page, "how many", call, "There are {{result.1.total}} orders.")


def open_agent(page: Page) -> None:
    go_to(page, "Agents")
    page.get_by_role("main").get_by_role("link", name="Shop bot").first.click()


def talk(page: Page, message: str, reply: str) -> None:
    """Ask the agent whose page is open."""
    page.get_by_role("link", name="Talk to it").click()
    page.get_by_label("Test data").select_option(label="Shop data")
    page.get_by_label("Your message").fill(message)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text(reply, exact=True)).to_be_visible(timeout=PATIENCE_MS)


def write_the_first_suite(page: Page) -> None:
    """Write a suite for the agent whose page is open."""
    page.get_by_role("link", name="New suite for this agent").click()
    page.get_by_label("Name*").fill("Shop questions")
    page.get_by_label("Shop data").check()


def add_several_cases(page: Page) -> None:
    """Paste questions and answers on the page of a suite."""
    page.get_by_role("link", name="Add several from a spreadsheet").click()
    page.get_by_label("Rows that you copied").fill(QUESTIONS)
    page.get_by_role("button", name="Check them").click()
    page.get_by_role("button", name="Add them to").click()
    page.wait_for_url("**/cases/")


def start_case(page: Page, template: str, message: str) -> None:
    page.get_by_role("link", name="Add a case").click()
    fill_in_case(page, template, message)


def fill_in_case(page: Page, template: str, message: str) -> None:
    page.get_by_role("link", name=template).click()
    field(page, "User message").fill(message)


def add_check(page: Page, kind: str) -> None:
    page.get_by_role("button", name="Add a check").first.click()
    search_kind(page, kind)


def copy_case(page: Page, original: str, message: str, expected: str) -> None:
    """Duplicate a case from the page of its suite, and change what it asks and expects."""
    page.get_by_role("link", name=re.compile(f"{re.escape(original)}$")).click()
    address = page.url
    page.get_by_role("link", name="Duplicate").click()
    page.get_by_role("dialog").get_by_role("button", name="Duplicate").click()
    expect(page).not_to_have_url(address)
    page.get_by_placeholder("Name, or blank").fill("")
    field(page, "User message").fill(message)
    field(page, "Expected answer").fill(expected)


def try_a_check(check: Locator, reply: str) -> None:
    check.locator("summary").first.click()
    check.locator("summary", has_text="Try it on a reply").click()
    field(check, "Reply of the agent").fill(reply)
    check.get_by_role("button", name="Try", exact=True).click()
    expect(check.get_by_role("status")).to_contain_text("ed")  # passed or failed


def open_suite(page: Page) -> None:
    go_to(page, "Suites")
    page.get_by_role("main").get_by_role("link", name="Shop questions").first.click()


def ask_to_run(page: Page) -> None:
    page.get_by_role("link", name="Run", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()


def run_the_suite(page: Page) -> None:
    page.get_by_role("dialog").get_by_role("button", name="Run").click()
    page.wait_for_url("**/evals_app/run/*/change/")


def correct_the_agent(page: Page) -> None:
    """Give the agent the rule that the failed case needs."""
    open_agent(page)
    add_a_rule(
        page, "1003", ("entity.get", "id", "order-3"), "Order 1003 is {{result.1.data.state}}."
    )


def compare(page: Page) -> None:
    page.get_by_role("button", name="Compare with").click()
    page.get_by_role("dialog").get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url(lambda url: "/run/compare/" in url)


def invite(page: Page) -> str:
    """Invite a colleague and return the link for them."""
    go_to(page, "People", fold="Settings")
    page.get_by_role("link", name="Invite a colleague").click()
    page.get_by_label("Name").first.fill("Ann Smith")
    page.get_by_label("E-mail").focus()
    page.get_by_role("checkbox", name=re.compile("^Viewer")).check()
    page.get_by_role("button", name="Save").click()
    return page.get_by_label("Link").input_value()


def export_spreadsheet(page: Page, folder: Path) -> Path:
    """Download the suite that is open, as a workbook."""
    page.locator(".suite-head summary").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export spreadsheet").click()
    table = folder / download.value.suggested_filename
    download.value.save_as(table)
    return table


def check_files(page: Page, table: Path) -> None:
    go_to(page, "Suites")
    page.get_by_role("link", name="Import files").click()
    page.get_by_label("Files", exact=True).set_input_files(table)
    page.get_by_role("button", name="Check files").click()
    page.get_by_role("button", name=re.compile("^Import")).wait_for()
