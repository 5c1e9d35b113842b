"""Picking from lists and menus by keyboard: kinds of checks, buttons of a run."""

from playwright.sync_api import Locator, Page, expect


def pick_kind(opener: Locator, kind: str) -> None:
    """Open the list by a button that has it, search the kind and take it."""
    page = opener.page
    opener.press("Enter")
    search_kind(page, kind)


def search_kind(page: Page, kind: str) -> None:
    """Search a kind in the open list and take it."""
    expect(page.get_by_role("combobox", name="Search checks")).to_be_focused()
    page.keyboard.type(kind)
    expect(page.locator("#ew-check-picker [aria-selected=true] strong")).to_have_text(kind)
    page.keyboard.press("Enter")


def add_check(within: Locator, kind: str) -> Locator:
    """Add a check after those of a turn, or of the conversation, and return its row."""
    pick_kind(within.get_by_role("button", name="Add a check").last, kind)
    return within.locator(".ew-check-row").last


def change_kind(row: Locator, kind: str) -> None:
    """Make a check one of another kind, and wait for the inputs of that kind."""
    before = row.locator("[data-options]").get_attribute("data-options") or ""
    pick_kind(row.locator("[data-pick-kind]"), kind)
    expect(row.locator("[data-options]")).not_to_have_attribute("data-options", before)


def open_more(page: Page) -> None:
    """Open the menu with the rarer buttons of a run."""
    page.locator("#run-actions").get_by_label("More").press("Enter")


def in_menu(row: Locator, entry: str) -> None:
    """Choose something in the menu of a row."""
    row.get_by_role("button", name="More for this").first.click()
    row.get_by_role("menuitem", name=entry).click()


def save_and_stay(page: Page) -> None:
    """Save by the menu beside the button."""
    page.get_by_role("button", name="More ways to save").click()
    page.get_by_role("button", name="Save and continue editing").click()
    page.wait_for_load_state()
