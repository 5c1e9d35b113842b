"""From the login to the reason of a failure: by keyboard, in one go."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.library.saving import save_agent
from evals_app.models import Run, Suite
from evals_app.runs.process.worker_loop import work
from tests.authored import write_suite
from tests.elsewhere import elsewhere
from tests.journeys.picking import search_kind

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MAX_TABS = 150
SHOP = {
    "agent": "Shop",
    "slug": "shop",
    "driver": "scripted",
    "tools": ["entity.query"],
    "rules": [
        {
            "when": "order",
            "calls": [{"tool": "entity.query", "args": {"type": "order"}}],
            "reply": "Your order has shipped.",
        },
        {"when": "cost", "reply": "It costs 20 EUR."},
    ],
}
JUDGE = {
    "agent": "Mild judge",
    "slug": "mild-judge",
    "driver": "scripted",
    "rules": [{"when": "polite", "reply": '{"critique": "No harsh word.", "verdict": "pass"}'}],
}


@pytest.fixture
def strangers(page: Page, live_server: LiveServer) -> Iterator[list[str]]:
    """What the page must not do: complain, or ask another host for anything."""
    complaints: list[str] = []

    def look_at(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"} and parts.netloc != home:
            complaints.append(request.url)

    home = urlsplit(live_server.url).netloc
    page.on("request", look_at)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    # Violations of the content security policy are errors of the console.
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    yield complaints
    assert complaints == []


def write_the_shop() -> Suite:
    suite = write_suite(slug="shop-questions", judge_model="scripted/mild-judge")
    save_agent(AgentSpec.model_validate(SHOP))
    save_agent(AgentSpec.model_validate(JUDGE))
    return suite


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until the target has the focus."""
    for _ in range(MAX_TABS):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{MAX_TABS} tabs do not lead to {target}")


def press(page: Page, target: Locator) -> None:
    tab_to(page, target)
    page.keyboard.press("Enter")


def write(page: Page, target: Locator, text: str) -> None:
    tab_to(page, target)
    page.keyboard.type(text)


def add_check(page: Page, within: Locator, kind: str) -> Locator:
    """Add a check by keyboard; the letters that are typed search its kind."""
    press(page, within.get_by_role("button", name="Add a check"))
    search_kind(page, kind)
    row = within.locator(".ew-check-row").last
    expect(row.locator("[data-kind-label]")).to_have_text(kind)
    return row


def log_in(page: Page, site: str) -> None:
    page.goto(site)
    write(page, page.get_by_label("Username"), "ada")
    write(page, page.get_by_label("Password"), "difference-engine")
    page.keyboard.press("Enter")
    page.wait_for_url(site + "/admin/")  # not a pattern: the page before ends in it too, as ?next=


def test_from_the_login_to_the_reason_of_a_failed_check(
    page: Page, live_server: LiveServer, strangers: list[str]
) -> None:
    User.objects.create_superuser("ada", password="difference-engine")
    elsewhere(write_the_shop)

    log_in(page, live_server.url)
    press(page, page.locator("#content").get_by_role("link", name="Shop-questions", exact=True))
    press(page, page.get_by_role("link", name="Add your first case"))

    write(page, page.get_by_placeholder("Name, or blank"), "Order and price")
    first = page.locator(".ew-turn").first
    write(page, first.get_by_label("User message"), "Where is my order?")
    contains = add_check(page, first, "Reply contains text")
    write(page, contains.get_by_label("Text to look for"), "shipped")
    called = add_check(page, first, "Tool was called")
    write(page, called.locator("[name$=opt-value]"), "entity.query")
    press(page, page.get_by_role("button", name="Add a turn"))
    second = page.locator(".ew-turn").nth(1)
    expect(second.get_by_label("User message")).to_be_focused()
    page.keyboard.type("What does it cost?")
    number = add_check(page, second, "Reply gives a number")
    write(page, number.get_by_label("Expected number"), "25")
    tab_to(page, number.get_by_label("Which number"))
    page.keyboard.press("End")
    judged = add_check(page, second, "A judge finds the criteria met")
    write(page, judged.get_by_role("textbox", name="Criteria"), "Stays polite")
    press(page, page.get_by_role("button", name="Save and run"))

    page.wait_for_url("**/evals_app/execution/**")
    page.evaluate("window.notReloaded = true")
    elsewhere(work)
    checks = page.get_by_role("region", name="Checks")
    expect(checks).to_contain_text("1 failed")
    assert page.evaluate("window.notReloaded")

    turn = page.locator("#turn-2")
    expect(turn.locator(".bubble.is-agent")).to_contain_text("It costs 20 EUR.")
    failed = checks.locator(".grades > li")
    expect(failed).to_have_count(1)
    expect(failed).to_contain_text("25")
    expect(failed).to_contain_text("20")
    passed = checks.get_by_role("list", name="Checks without a problem").get_by_role("listitem")
    expect(passed).to_have_count(3)
    expect(page.locator("#turn-1 .call")).to_contain_text("entity.query")
    run = elsewhere(Run.objects.get)
    assert (run.is_tryout, run.total, run.failed) == (True, 1, 1)


# On a phone, in light and dark
# The contrast of each text with the first ground that is not see-through, by the formula of WCAG;
# a canvas turns every notation of a colour into bytes.
