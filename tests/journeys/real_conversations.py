"""The steps of `docs/real-conversations.md` in a browser, for a journey and for the guide's pictures."""

import csv
import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.journeys.without_code import PATIENCE_MS, field, go_to

CONVERSATIONS = 500  # of two rows each
NAME = "Parcel desk"
SUITE = "Parcel help"
WRONG_PRICE, NO_HELP = "Says an old price", "Sends people away"
CRITERION = "Every price is on the price list: 6.90 euros to France, 12.50 euros for express."
FILES = {
    "judge.agent.yaml": """agent: Parcel judge
slug: parcel-judge
driver: scripted
rules:
  - {when: "9 euros", reply: "fail"}
  - {reply: "pass"}
""",
    "desk.agent.yaml": """agent: Parcel desk
slug: parcel-desk
driver: scripted
rules: [{reply: "It is 6.90 euros."}]
""",
    "parcels.suite.yaml": f"""suite: {SUITE}
slug: parcel-help
agent: parcel-desk
judge_model: scripted/parcel-judge
assertions: [{{type: not_contains, value: I do not know}}]
cases:
  - name: To France
    turns: [{{user: What is a parcel to France?, assertions: [{{type: contains, value: It is 6.90 euros}}]}}]
""",
}
_PEOPLE = ("Anna Keller", "Ben Moreau", "Carla Rossi", "David Lopez", "Eva Novak")
# A topic, a question, what the desk says, and what it should not have said.
_ASKED = (
    ("prices", "What does a parcel to France cost?", "It is 6.90 euros.", "It is 9 euros."),
    ("prices", "How much is express?", "Express is 12.50 euros.", "Express is 9 euros."),
    ("delivery", "Where is my parcel?", "It arrives tomorrow.", "I do not know."),
)


def write_export(folder: Path) -> Path:
    """Write 1,000 rows as a help desk exports them: each fourth conversation goes wrong."""
    file = folder / "help-desk.csv"
    with file.open("w", newline="") as out:
        rows = csv.writer(out, delimiter=";")
        rows.writerow(["Ticket", "Created at", "Tags", "Author", "Message"])
        for number in range(CONVERSATIONS):
            topic, question, right, wrong = _ASKED[number % len(_ASKED)]
            name = _PEOPLE[number % len(_PEOPLE)]
            day = f"2026-11-{number % 28 + 1:02d} 09:{number % 60:02d}"
            start = [f"T-{4000 + number}", day, topic]
            mail = f"{name.lower().replace(' ', '.')}@example.org"
            rows.writerow([*start, "Customer", f"{question} Write to {mail}. Regards, {name}"])
            rows.writerow([*start, "Agent", right if number % 4 else wrong])
    return file


def choose_export(page: Page, file: Path) -> None:
    go_to(page, "Real conversations", fold="More")
    page.get_by_role("link", name="Add").first.click()
    field(page, "Set").fill(NAME)
    page.get_by_label("File").set_input_files(file)
    page.get_by_text("Masked:").wait_for(timeout=PATIENCE_MS)


def import_export(page: Page) -> None:
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url("**/conversationset/*/change/")


def ask_to_grade(page: Page) -> None:
    page.get_by_role("link", name="Grade", exact=True).click()
    page.get_by_label("Suite").select_option(label=SUITE)
    page.get_by_text("Applied:").wait_for(timeout=PATIENCE_MS)


def grade(page: Page) -> None:
    page.get_by_role("button", name="Grade", exact=True).click()
    page.wait_for_url("**/run/*/change/")


def begin_to_read(page: Page, count: int) -> None:
    page.get_by_role("link", name="Read", exact=True).click()
    page.get_by_label("How many").fill(str(count))
    page.get_by_role("button", name="Start reading").click()
    page.wait_for_url(re.compile(r"/reading/\d+/1/$"))


def answer(page: Page) -> None:
    """Write what went wrong in this conversation, or that it is fine, by keys alone."""
    said, here = page.locator(".review-chat").inner_text(), page.url
    note = WRONG_PRICE if " 9 euros" in said else NO_HELP if "do not know" in said else ""
    if note:
        page.keyboard.press("n")
        page.keyboard.type(note)
        page.keyboard.press("Enter")
    else:
        page.keyboard.press("f")
    page.wait_for_url(lambda url: url != here)


def read_all(page: Page) -> None:
    while not page.url.endswith("/groups/"):
        answer(page)


def group_notes(page: Page) -> None:
    for note, group in ((WRONG_PRICE, "Old price"), (NO_HELP, "No help")):
        cards = page.locator("section[data-group='']").get_by_role("checkbox", name=note)
        while cards.and_(page.locator(":not(:checked)")).count():
            cards.and_(page.locator(":not(:checked)")).first.check()
        field(page, "Put the chosen notes into").fill(group)
        page.get_by_role("button", name="Move", exact=True).click()
        expect(page.get_by_role("heading", name=group, exact=True)).to_be_visible()


def try_check(page: Page) -> None:
    group = page.get_by_role("region", name="Old price")
    group.get_by_role("link", name="Make a check").click()
    field(page, "What must be met").fill(CRITERION)
    page.get_by_label("Suite").select_option(label=SUITE)
    page.get_by_role("button", name="Try it").click()
    page.wait_for_load_state()


def save_check(page: Page) -> None:
    page.get_by_role("button", name="Save the check").click()
    page.get_by_text("The check is saved in").wait_for()
