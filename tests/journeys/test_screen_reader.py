"""What a screen reader gets from the case editor: names, roles, descriptions and announcements."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.authored import CONTAINS, write_case
from tests.journeys.conftest import Visit
from tests.journeys.picking import add_check, in_menu

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def editor_of_two_turns(visit: Visit) -> Page:
    turns = [{"user": "Hi", "assertions": [CONTAINS]}, {"user": "Bye", "assertions": []}]
    return visit("evals_app_case_change", write_case(turns=turns).pk)


def test_turns_and_checks_are_named_groups(visit: Visit) -> None:
    page = editor_of_two_turns(visit)

    expect(page.get_by_role("group", name="Turns", exact=True)).to_match_aria_snapshot("""
        - group "Turns":
          - group "Turn 1":
            - heading "Turn 1" [level=3]
            - button "Move turn"
            - button "More for this turn"
            - textbox "User message": Hi
            - textbox "Expected answer"
            - group "Check 1":
              - group
              - button "Move check"
              - button "More for this check"
            - button "+ Add a check"
            - combobox "Checks after this turn"
          - group "Turn 2":
            - heading "Turn 2" [level=3]
            - textbox "User message": Bye
          - button "+ Add a turn"
        """)
    message = page.get_by_role("textbox", name="User message").first
    expect(message).to_have_attribute("aria-required", "true")
    page.locator(".ew-check-row summary").first.click()
    expect(page.locator("[data-pick-kind]").first).to_have_accessible_name(
        re.compile("^Kind of check: Reply contains")
    )
    expect(page.get_by_role("region", name="Save")).to_match_aria_snapshot("""
        - region "Save":
          - link "Delete case"
          - button "Save"
          - button "Save and run"
          - button "More ways to save"
        """)


def test_what_happens_to_rows_is_announced(visit: Visit) -> None:
    page = editor_of_two_turns(visit)
    announced = page.locator("[data-announce]")
    expect(announced).to_have_attribute("aria-live", "polite")
    first = page.locator(".ew-turn").first

    first.get_by_role("button", name="Move turn").press("ArrowUp")
    expect(announced).to_have_text("Turn is already first.")
    in_menu(first, "Remove")
    expect(announced).to_have_text("Turn 1 removed.")
    expect(page.get_by_role("heading", name="Turn 1", exact=True)).to_have_count(1)
    expect(page.get_by_label("User message").last).to_have_value("Bye")
    page.keyboard.press("Enter")  # on Undo
    expect(announced).to_have_text("Turn 1 restored.")
    expect(first.get_by_role("button", name="More for this turn")).to_be_focused()
    page.get_by_role("button", name="Add a turn").press("Enter")
    expect(announced).to_have_text("Turn 3 added.")
    expect(page.get_by_role("group", name="Turn 3").get_by_label("User message")).to_be_focused()


def test_an_error_is_in_the_title_and_read_with_its_input(visit: Visit) -> None:
    page = editor_of_two_turns(visit)
    row = add_check(page.locator(".ew-turn").first, "Reply matches a pattern")
    row.get_by_role("textbox", name="Pattern", exact=True).fill("order (")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()

    expect(page).to_have_title(re.compile("^Error: "))
    expect(page.get_by_role("alert").get_by_role("link")).to_have_count(1)
    pattern = page.get_by_role("textbox", name="Pattern", exact=True)
    expect(pattern).to_be_focused()
    expect(pattern).to_have_attribute("aria-invalid", "true")
    expect(pattern).to_have_accessible_description(re.compile("group"))


def test_check_boxes_are_in_a_group_with_a_name(visit: Visit) -> None:
    suite = write_case().suite
    page = visit("evals_app_suite_change", suite.pk)
    expect(page.get_by_role("group", name="Test data", exact=True)).to_have_count(1)

    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_role("dialog").locator("summary").first.click()
    group = page.get_by_role("dialog").get_by_role("group", name="Other agents", exact=True)
    expect(group.get_by_role("checkbox")).to_have_count(1)


def test_search_opens_by_a_key_chooses_by_arrows_and_gives_the_focus_back(visit: Visit) -> None:
    case = write_case()
    page = visit("index")
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search everything")
    expect(box).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(page.get_by_role("link", name="Search")).to_be_focused()

    page.keyboard.press("Enter")
    expect(box).to_be_focused()
    page.keyboard.type(case.name)
    found = page.get_by_role("option", name=case.name)
    expect(found).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/case/{case.pk}/change/")


def test_the_menu_of_the_person_opens_by_keyboard(visit: Visit) -> None:
    page = visit("index")
    expect(page.get_by_role("main")).to_have_count(1)
    menu = page.get_by_role("button", name="admin")
    expect(menu).to_have_attribute("aria-expanded", "false")

    menu.press("Enter")
    expect(menu).to_have_attribute("aria-expanded", "true")
    profile = page.get_by_role("link", name="Your profile")
    expect(profile).to_be_visible()
    expect(menu).not_to_be_focused()  # but what is in the menu
    page.keyboard.press("Escape")
    expect(profile).to_be_hidden()
    expect(menu).to_be_focused()
