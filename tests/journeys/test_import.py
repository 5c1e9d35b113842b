"""A person imports files in a browser: sees a mistake beside its line, mends it, looks, imports."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from evals_app.formats.importing import SourceFile
from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent, Run, Suite
from evals_app.runs.process.worker_loop import work
from tests.elsewhere import elsewhere
from tests.journeys.actions import count_actions
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AGENT = "agent: Echo\nslug: echo\ndriver: scripted\nrules: [{reply: Hello}]\n"
LONG = "Hello, I would like to know where my order is and when it is going to arrive, please"
SUITE = f"""suite: Greetings
slug: greetings
agent: echo
cases:
  - name: Hello
    turns: [{{user: "{LONG}", assertions: [{{type: contains, value: Hello}}]}}]
"""


@pytest.fixture
def import_page(visit: Visit) -> Page:
    return visit("evals_app_suite_import")


def choose(page: Page, folder: Path, **texts: str) -> None:
    files = []
    for name, text in texts.items():
        file = folder / f"{name.replace('__', '.')}.yaml"
        file.write_text(text)
        files.append(file)
    page.get_by_label("Files", exact=True).set_input_files(files)


def test_a_mistake_is_mended_and_the_files_are_imported(import_page: Page, tmp_path: Path) -> None:
    page = import_page
    wrong = SUITE.replace("type: contains", "type: contans")
    choose(page, tmp_path, greetings__suite=wrong, echo__agent=AGENT)
    page.get_by_role("button", name="Check files").click()
    expect(page.get_by_role("heading", name="1 error to fix")).to_be_focused()
    expect(page.locator(".import-line")).to_contain_text("{type: contans, value: Hello}")
    expect(page.locator(".import-line mark")).to_have_text("contans")
    expect(page.get_by_role("button", name="Import")).to_have_count(0)

    choose(page, tmp_path, greetings__suite=SUITE, echo__agent=AGENT)
    page.get_by_role("button", name="Check files").click()
    expect(page.get_by_text("New: 1 suite and 1 agent")).to_be_visible()
    page.get_by_role("button", name="Import 1 suite and 1 agent").click()

    page.wait_for_url("**/evals_app/suite/*/cases/")
    expect(page.get_by_text("Imported: 1 suite and 1 agent.")).to_be_visible()
    assert Suite.objects.get().slug == "greetings"


def tab_to(page: Page, target: Locator) -> None:
    """Press Tab until something is focused: between are the columns of the table."""
    for _ in range(12):
        page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    expect(target).to_be_focused()


TABLE = "Question;Expected answer\nWhat is the capital of France?;Hello\nAnd of Spain?;Hello\n"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    import_files([SourceFile("echo.agent.yaml", AGENT.encode())])
    Agent.objects.create(slug="other", name="Other", driver="scripted")
    (tmp_path / "capitals.csv").write_text(TABLE)
    return tmp_path


def test_a_spreadsheet_is_imported_by_keyboard_its_agent_chosen_when_asked(
    import_page: Page, tables: Path
) -> None:
    page = import_page
    page.get_by_label("Files", exact=True).set_input_files(tables / "capitals.csv")
    page.get_by_role("button", name="Check files").press("Enter")
    expect(page.get_by_role("heading", name="Which agent should answer?")).to_be_focused()

    page.keyboard.press("Tab")
    expect(page.get_by_label("Agent", exact=True)).to_be_focused()
    page.keyboard.type("Echo")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ready to import")).to_be_focused()
    expect(page.get_by_text("2 cases for the agent echo")).to_be_visible()
    tab_to(page, page.get_by_role("button", name="Import 1 suite"))
    page.keyboard.press("Enter")

    page.wait_for_url("**/evals_app/suite/*/cases/")
    expect(page.get_by_text("Imported: 1 suite.")).to_be_visible()
    assert Suite.objects.get().agent.slug == "echo"


def test_unknown_columns_are_chosen_by_keyboard_on_a_phone(import_page: Page, tables: Path) -> None:
    page = import_page
    page.set_viewport_size({"width": 390, "height": 844})
    (tables / "foreign.csv").write_text("Anliegen;Expected anser;Owner\nHi?;Hello;Ana\n")
    page.get_by_label("Files", exact=True).set_input_files(tables / "foreign.csv")
    page.get_by_role("button", name="Check files").press("Enter")
    expect(page.get_by_role("heading", name="What are these columns?")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    tab_to(page, page.get_by_label("Anliegen"))
    page.keyboard.type("user")
    expect(page.get_by_label("Expected anser")).to_have_value("expected")
    tab_to(page, page.get_by_role("button", name="Check again"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Which agent should answer?")).to_be_focused()
    page.get_by_label("Agent", exact=True).select_option("echo")
    page.get_by_role("button", name="Continue").press("Enter")
    expect(page.get_by_text("Left out, as you chose: Owner (1 filled)")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Import 1 suite").press("Enter")

    page.wait_for_url("**/evals_app/suite/*/cases/")
    turn = Suite.objects.get().cases.get().turns.get()
    assert (turn.user, turn.expected) == ("Hi?", "Hello")


def test_the_cell_of_a_mistake_is_in_sight_on_a_phone(import_page: Page, tables: Path) -> None:
    page = import_page
    page.set_viewport_size({"width": 390, "height": 844})
    row = "A long name of a case,And a long question?,An answer,a,b,c,oops"
    header = "case,user,expected,tags,channel,description,trials"
    (tables / "wide.csv").write_text(f"{header}\n{row}\n")

    page.get_by_label("Files", exact=True).set_input_files(tables / "wide.csv")
    page.get_by_role("button", name="Check files").click()

    mark = page.locator(".import-row mark")
    expect(mark).to_have_text("oops")
    box = mark.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] < 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_who_comes_back_can_check_again_and_a_second_click_does_not_import_again(
    import_page: Page, tables: Path
) -> None:
    page = import_page
    button = page.get_by_role("button", name="Import 1 agent")
    for is_back in (False, True):
        if is_back:
            page.go_back()
            expect(page.get_by_text("Nothing is saved yet.")).to_be_visible()
        choose(page, tables, echo__agent=AGENT.replace("Hello", "Bye"))
        page.get_by_role("button", name="Check files").click()
        expect(button).to_be_visible()
    # The page stays, as while the server works.
    page.evaluate(
        "window.sent = []; addEventListener('submit', (event) => {"
        "  sent.push(!event.defaultPrevented); event.preventDefault(); })"
    )

    button.dispatch_event("click")
    button.dispatch_event("click")

    expect(page.get_by_role("status").filter(has_text="Importing…")).to_be_visible()
    assert page.evaluate("window.sent") == [True, False]


KATALOG = """\
Fragenkatalog Kundendienst 2026 (Stand 14.11.);;;;;;
Nr.;Kundenfrage;Musterantwort;Betrag in €;NICHT sagen!;Art;gepr. durch
1;Was kostet der Expressversand?;Expressversand;6,90;kostenlos;Auskunft;Team 2
2;Mein Paket ist drei Tage zu spät. Was jetzt?;Gutschrift;-;"selbst schuld
geht nicht";Beschwerde;Team 2
3;Wann öffnet das Depot am Samstag?;Wir öffnen am Samstag um neun Uhr;n/a;-;Auskunft;
"""
DESK = """\
agent: Parcel desk
slug: parcel-desk
driver: scripted
rules:
  - {when: Expressversand, reply: "Der Expressversand kostet 6,90 €."}
  - {when: Paket, reply: "Das geht nicht."}
  - {when: Depot, reply: "Wir öffnen am Samstag um neun Uhr."}
"""


def test_a_german_table_with_odd_headers_gets_a_verdict_by_clicking_alone(
    import_page: Page, tmp_path: Path
) -> None:
    page = import_page
    actions = count_actions(page)
    page.set_viewport_size({"width": 390, "height": 844})
    import_files([SourceFile("parcel-desk.agent.yaml", DESK.encode())])
    (tmp_path / "Fragenkatalog 2026.csv").write_text(KATALOG)
    page.get_by_label("Files", exact=True).set_input_files(tmp_path / "Fragenkatalog 2026.csv")
    page.get_by_role("button", name="Check files").click()

    expect(page.get_by_role("heading", name="What are these columns?")).to_be_focused()
    expect(page.get_by_role("button", name="Import 1 suite")).to_have_count(0)
    expect(page.get_by_label("Headers are in row")).to_have_value("2")
    rows = page.get_by_role("region", name="The first rows")
    expect(rows).to_contain_text("left out: above the headers")
    rows.focus()
    expect(rows).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Betrag in €", exact=True).select_option("number")
    page.get_by_label("Art", exact=True).select_option("tags")
    page.get_by_label("sentence: how it is compared").select_option("contains")
    page.get_by_role("button", name="Check again").click()

    expect(page.get_by_role("heading", name="Which agent should answer?")).to_be_focused()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("Left out, as you chose: gepr. durch (2 filled)")).to_be_visible()
    expect(page.get_by_text("“The answer is 6,90.”")).to_be_visible()
    expect(page.get_by_text("“The answer is 7,90.”")).to_be_visible()
    expect(page.get_by_label("sentence: how it is compared")).to_have_value("contains")
    page.get_by_role("button", name="Import 1 suite").click()

    page.wait_for_url("**/evals_app/suite/*/cases/")
    page.get_by_label("This page").check()
    page.get_by_role("button", name="Run these").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/evals_app/run/**")
    elsewhere(work)
    run = elsewhere(Run.objects.get)
    assert (run.total, run.passed, run.failed) == (3, 2, 1)
    page.reload()
    expect(page.get_by_role("region", name="2 of 3 cases passed")).to_be_visible()
    page.get_by_role("link", name="Mein Paket").first.click()
    page.wait_for_url("**/evals_app/execution/**")
    assert len(actions) <= 12, actions  # and the choice of the file
    expect(page.get_by_role("main")).to_contain_text("Failed")
    turn = page.locator("#turn-1")
    expect(turn.locator(".bubble.is-agent")).to_contain_text("Das geht nicht.")
    checks = page.get_by_role("region", name="Checks")
    for words in ("does not contain “geht nicht”", "the expected text"):
        expect(checks.locator(".grades > li", has_text=words)).to_contain_text("Failed")
    passed = checks.get_by_role("list", name="Checks without a problem")
    expect(passed).to_contain_text("does not contain “selbst schuld”")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
