"""From the login to the reason of a failure: by keyboard, in one go."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Locator, Page, Request, expect
from pytest_django.live_server_helper import LiveServer

from evals_app.engine.record.trial import ToolCall
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.library.saving import save_agent
from evals_app.models import Agent, Run, Suite
from evals_app.runs.process.worker_loop import work
from fixtures_app.models import Fixture
from tests.authored import write_suite
from tests.elsewhere import elsewhere
from tests.journeys.picking import search_kind
from tests.makers import make_execution, make_grade, make_run, make_trial
from tests.signed_in import sign_in

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
    press(page, page.get_by_role("link", name="Add the first case"))

    write(page, page.get_by_role("textbox", name="Name*", exact=True), "Order and price")
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
    verdict = page.locator(".review-verdict")
    expect(verdict).to_contain_text("Failed")
    assert page.evaluate("window.notReloaded")

    turn = page.locator("#turn-2")
    expect(turn.locator(".bubble.is-agent")).to_contain_text("It costs 20 EUR.")
    failed = turn.locator(".grade", has_text="Failed")
    expect(failed).to_have_count(1)
    expect(failed).to_contain_text("25")
    expect(failed).to_contain_text("20")
    expect(turn.locator(".grade", has_text="No harsh word.")).to_contain_text("Passed")
    expect(page.locator("#turn-1 .grade", has_text="Passed")).to_have_count(2)
    expect(page.locator("#turn-1 .call")).to_contain_text("entity.query")
    run = elsewhere(Run.objects.get)
    assert (run.is_tryout, run.total, run.failed) == (True, 1, 1)


# On a phone, in light and dark

PHONE = {"width": 390, "height": 844}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
READABLE = 4.5
# The contrast of each text with the first ground that is not see-through, by the formula of WCAG;
# a canvas turns every notation of a colour into bytes.
CONTRASTS = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const bytes = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = ([...rgb]) => {
    const [r, g, b] = rgb.slice(0, 3).map((each) => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = bytes(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
      if (found[3] > 0) return null; // mixed with what lies below: not worth the arithmetic
    }
    return bytes(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "#000" : "#fff");
  };
  const found = [];
  const texts = document.createTreeWalker(document.querySelector("#content") ?? document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.data.trim();
    if (!text || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest("script, style, template, .material-symbols-outlined, :disabled")) continue;
    const under = ground(element);
    if (!under) continue;
    const over = bytes(getComputedStyle(element).color);
    if (over[3] < 255) continue;
    const [high, low] = [light(over), light(under)].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    found.push([text.slice(0, 40), Math.round(100 * contrast) / 100]);
  }
  return found;
}
"""


def write_everything() -> list[str]:
    """Write a row of each kind that has a page; give the addresses."""
    suite = write_suite(
        [
            {
                "name": "A case",
                "turns": [
                    {
                        "user": "Where is it? " * 30,
                        "expected": "On its way. " * 60,
                        "assertions": [{"type": "contains", "value": "w" * 200}],
                    }
                ],
            }
        ]
    )
    fixture = Fixture.objects.create(name="A shop with a long name " * 4, slug="a-shop")
    call = ToolCall("entity.query", {"type": "order", "text": "x" * 120}, result={"total": 0})
    grades = [
        make_grade(passed=False, score=0.0, reason="Expected " + "y" * 200),
        make_grade(family="judged", type="llm_judge", label="Judge: Stays polite"),
    ]
    run = make_run(["passed", "failed", "errored"], suite=suite, gates={"min_pass_rate": 0.9})
    trial = make_trial(turns=2, calls=[call], expected="On its way. " * 60)
    execution = make_execution(run, "talk", state="failed", trial=trial, grades=grades)
    going_on = make_run(["running", "queued"], suite=suite)
    pages: list[tuple[str, Any]] = [
        ("evals_app_suite", suite),
        ("evals_app_case", suite.cases.get()),
        ("evals_app_run", run),
        ("evals_app_run", going_on),
        ("evals_app_execution", execution),
        ("fixtures_app_fixture", fixture),
        ("evals_app_agent", Agent.objects.get(slug="shop")),
    ]
    lists = [f"admin:{name}_changelist" for name in dict.fromkeys(name for name, _ in pages)]
    return [
        reverse("admin:index"),
        reverse("admin:evals_app_suite_import"),
        reverse("admin:evals_app_case_add"),
        reverse("admin:evals_app_suite_cases", args=[suite.pk]),
        reverse("admin:evals_app_suite_results", args=[suite.pk]),
        *(reverse(f"admin:{name}_change", args=[row.pk]) for name, row in pages),
        *map(reverse, lists),
    ]


def test_every_page_fits_a_phone_and_can_be_read_in_light_and_dark(
    page: Page, live_server: LiveServer, admin_user: User, strangers: list[str]
) -> None:
    addresses = elsewhere(write_everything)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    sign_in(page, live_server, admin_user)

    too_wide, unreadable, looked_at = [], [], 0
    for scheme, address in product(SCHEMES, addresses):
        page.emulate_media(color_scheme=scheme)
        page.goto(live_server.url + address)
        expect(page.locator("html.dark")).to_have_count(int(scheme == "dark"))
        for fold in page.locator("#content details:not([open]) > summary").all():
            if fold.is_visible():
                fold.click()
        if page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
            too_wide.append(address)
        contrasts = page.evaluate(CONTRASTS)
        looked_at += len(contrasts)
        unreadable += [(address, scheme, *text) for text in contrasts if text[1] < READABLE]

    assert too_wide == []
    assert unreadable == []
    assert looked_at > 40 * len(addresses)
