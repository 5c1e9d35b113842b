"""A person writes a case in a browser: by mouse, by keyboard, on a phone."""

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

from evals_app.models import Assertion, Case, Turn
from tests.authored import write_case, write_suite
from tests.journeys.conftest import Visit
from tests.journeys.picking import add_check, change_kind, in_menu, save_and_stay

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def turns(page: Page) -> Locator:
    return page.locator(".ew-turn")


def checks(within: Locator) -> Locator:
    return within.locator(".ew-check-row")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()


def order(page: Page) -> list[str]:
    return [area.input_value() for area in page.get_by_label("User message").all()]


def test_only_the_inputs_of_the_chosen_kind_exist_and_switching_back_loses_nothing(
    visit: Visit,
) -> None:
    case = write_case(turns=[{"user": "Hi", "expected": "Hello", "assertions": []}])
    page = visit("evals_app_case_change", case.pk)
    row = add_check(turns(page).first, "Reply contains text")
    row.get_by_label("Text to look for").fill("kept")
    threshold = row.get_by_label("Pass at or above")
    expect(threshold).to_be_hidden()  # under Advanced: it decides by itself

    change_kind(row, "A judge finds the criteria met")
    expect(row.get_by_label("Text to look for")).to_have_count(0)
    row.get_by_text("Advanced", exact=True).click()
    expect(row.get_by_label("Judge model")).to_be_visible()
    change_kind(row, "Tool was not called")
    expect(row.get_by_label("Judge model")).to_be_hidden()
    change_kind(row, "Reply contains text")

    expect(row.get_by_label("Text to look for")).to_have_value("kept")

    change_kind(row, "Reply is similar to a text (ROUGE)")
    row.locator("summary", has_text="Scoring and example").press("Enter")
    expect(row.get_by_text("harmonic mean (F1)")).to_be_visible()
    expect(row.get_by_text("type: rouge")).to_be_visible()
    threshold.fill("50")
    row.locator("summary").first.click()
    expect(row.locator(".ew-title")).to_have_text("Reply is similar to a text (ROUGE)")
    save_and_stay(page)

    assert Assertion.objects.get().threshold == 0.5
    row = checks(turns(page).first).first
    row.locator("summary").first.click()
    expect(row.get_by_label("Pass at or above")).to_have_value("50 %")


def test_a_check_loads_when_it_is_opened_and_the_others_stay_as_they_are(visit: Visit) -> None:
    own = [{"type": "contains", "value": str(number), "weight": number} for number in (1, 2, 3)]
    page = visit("evals_app_case_change", write_case(turns=[{"user": "Hi", "assertions": own}]).pk)
    rows = checks(turns(page).first)
    text = rows.get_by_label("Text to look for")
    expect(text).to_have_count(0)

    rows.nth(1).locator("summary").first.click()
    text.fill("changed")
    turns(page).first.get_by_text("Files, facts and data").click()
    page.get_by_label("Facts for judges").last.fill("It is Monday.")
    in_menu(rows.nth(2), "Move up")
    save(page)

    stored = Assertion.objects.order_by("position")
    saved = [(check.options["value"], check.weight) for check in stored]
    assert saved == [("1", 1), ("3", 3), ("changed", 2)]
    assert Turn.objects.get().context == ["It is Monday."]


def test_turns_move_by_keyboard_and_keep_the_focus(visit: Visit) -> None:
    case = write_case(turns=[{"user": text, "assertions": []} for text in ("one", "two", "three")])
    page = visit("evals_app_case_change", case.pk)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#content') !== null")

    turns(page).nth(2).get_by_role("button", name="Move turn").focus()
    page.keyboard.press("ArrowUp")
    assert order(page) == ["one", "three", "two"]
    menu = turns(page).nth(1).get_by_role("button", name="More for this turn")
    menu.press("Enter")
    expect(menu).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")

    assert order(page) == ["three", "one", "two"]
    expect(turns(page).first.get_by_role("button", name="More for this turn")).to_be_focused()
    expect(page.locator("[data-announce]")).to_have_text("Turn is now number 1.")
    save(page)
    saved = Turn.objects.order_by("position").values_list("user", flat=True)
    assert list(saved) == ["three", "one", "two"]


def test_rows_that_are_not_saved_yet_can_be_dragged(visit: Visit) -> None:
    page = visit("evals_app_case_change", write_case(turns=[{"user": "one", "assertions": []}]).pk)
    page.get_by_role("button", name="Add a turn").click()
    turns(page).nth(1).get_by_label("User message").fill("new")

    handle = turns(page).nth(1).locator(".ew-turn-drag").bounding_box()
    target = turns(page).first.bounding_box()
    assert handle is not None
    assert target is not None
    page.mouse.move(handle["x"] + 8, handle["y"] + 8)
    page.mouse.down()
    page.mouse.move(target["x"] + 200, target["y"] + 40, steps=12)
    page.mouse.move(target["x"] + 200, target["y"] + 5, steps=6)
    page.mouse.up()

    expect(page.get_by_label("User message").first).to_have_value("new")
    save(page)
    saved = Turn.objects.order_by("position").values_list("user", flat=True)
    assert list(saved) == ["new", "one"]


def test_a_removed_row_can_be_brought_back(visit: Visit) -> None:
    page = visit("evals_app_case_change", write_case().pk)
    row = checks(turns(page).first).first

    in_menu(row, "Remove")
    undo = row.get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    expect(row.locator(".ew-title")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(row.locator(".ew-title")).to_be_visible()
    save_and_stay(page)
    assert Assertion.objects.count() == 1

    in_menu(row, "Remove")
    save_and_stay(page)
    assert Assertion.objects.count() == 0


def test_errors_are_listed_as_links_and_nothing_typed_is_lost(visit: Visit) -> None:
    page = visit("evals_app_case_change", write_case().pk)
    page.get_by_role("button", name="Add a turn").click()
    second = turns(page).nth(1)
    second.get_by_label("User message").fill("Second")
    in_menu(second, "Move up")
    row = add_check(turns(page).first, "Reply matches a pattern")
    row.get_by_role("textbox", name="Pattern", exact=True).fill("order (")

    save(page)

    problem = page.locator("a[data-problem]")
    expect(problem).to_have_count(1)
    expect(problem).to_contain_text("Turn 1, check 1, pattern: ")
    expect(page.get_by_role("textbox", name="Pattern", exact=True)).to_be_focused()
    assert order(page) == ["Second", "Where is my order?"]
    expect(page.get_by_text("Needs fixing").first).to_be_visible()
    page.get_by_role("textbox", name="Pattern", exact=True).fill("order [0-9]+")
    row = checks(turns(page).first).first
    row.get_by_text("Advanced", exact=True).click()
    row.get_by_label("Weight").fill("-1")
    save(page)
    row.locator("summary").first.click()
    problem.click()
    expect(row.get_by_label("Weight")).to_be_focused()  # opened by its link

    row.get_by_label("Weight").fill("2")
    save(page)
    assert Turn.objects.order_by("position").first().user == "Second"  # type: ignore[union-attr]


def test_enter_in_a_row_never_saves_and_adds_a_line_in_a_list(visit: Visit) -> None:
    page = visit("evals_app_case_change", write_case().pk)
    address = page.url
    row = add_check(turns(page).first, "Tools were called")

    row.get_by_label("Tool", exact=True).first.fill("entity.query")
    page.keyboard.press("Enter")
    page.keyboard.type("entity.query")
    row.get_by_text("Advanced", exact=True).click()
    row.get_by_label("Label").fill("In order")
    page.keyboard.press("Enter")

    assert page.url == address
    expect(row.locator(".ew-block")).to_have_count(2)
    save_and_stay(page)
    check = Assertion.objects.get(type="tool_calls")
    assert check.options == {"tools": ["entity.query", "entity.query"]}


def test_leaving_asks_first_only_if_a_row_was_changed(visit: Visit) -> None:
    suite = write_suite()
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page = visit("evals_app_case_add", query=f"?suite={suite.pk}")
    page.on("dialog", answer)
    expect(turns(page)).to_have_count(1)
    expect(turns(page).get_by_label("User message")).to_have_value("")
    visit("evals_app_case_change", write_case().pk)
    assert asked == []

    in_menu(checks(turns(page).first).first, "Remove")
    visit("index")

    assert asked == ["beforeunload"]


def test_somebody_elses_save_is_not_overwritten_unless_one_decides_to(visit: Visit) -> None:
    case = write_case()
    page = visit("evals_app_case_change", case.pk)
    Case.objects.get().save()
    page.get_by_label("User message").fill("Mine")

    save(page)

    expect(page.locator(".ew-problems")).to_contain_text("Someone else saved this at")
    expect(page.get_by_label("User message")).to_have_value("Mine")
    page.get_by_role("button", name="Overwrite it with mine").click()
    page.wait_for_load_state()
    assert Turn.objects.get().user == "Mine"


def test_a_check_that_says_nothing_is_explained_where_it_is_written_on_a_phone(
    visit: Visit,
) -> None:
    case = write_case(turns=[{"user": "Hi", "expected": "Paris", "assertions": []}])
    page = visit("evals_app_case_change", case.pk)
    page.set_viewport_size({"width": 390, "height": 844})
    called = add_check(turns(page).first, "Tool was called")
    tool = called.locator("[name$=opt-value]")
    offered = page.locator(f"#{tool.get_attribute('list')} option")
    assert [option.get_attribute("value") for option in offered.all()] == ["entity.query"]
    tool.fill("entity.qery")
    alike = add_check(turns(page).first, "Reply is similar to a text (METEOR)")
    alike.get_by_label("Pass at or above").fill("0")

    save_and_stay(page)

    problems = page.locator(".ew-problems")
    expect(problems.get_by_role("link")).to_have_count(2)
    problems.get_by_role("link").first.click()
    expect(page.locator("[name$='0-opt-value']")).to_be_focused()
    rows = checks(turns(page).first)
    expect(rows.first.locator(".ew-error")).to_contain_text("entity.query")
    expect(rows.last.locator(".ew-error")).to_contain_text("0")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    rows.first.locator("[name$=opt-value]").fill("entity.query")
    rows.last.get_by_label("Pass at or above").fill("90 %")
    save_and_stay(page)

    expect(problems).to_have_count(0)
    expect(page.get_by_text("Turn 1, expected answer")).to_be_visible()
    assert Assertion.objects.count() == 2


def test_the_example_of_a_number_follows_what_is_chosen_and_typed(visit: Visit) -> None:
    case = write_case(turns=[{"user": "Hi", "assertions": []}])
    page = visit("evals_app_case_change", case.pk)
    row = add_check(turns(page).first, "Reply gives a number")
    example = row.locator("[data-examples]")
    expect(row.get_by_label("Which number")).to_have_value("any")
    expect(example).to_contain_text("“Parcel 204 weighs 14 kg.” passes")

    row.get_by_label("Expected number").fill("60.5")
    expect(example).to_contain_text("“Parcel 204 weighs 60.5 kg.” passes")
    row.get_by_label("Which number").select_option("whole")
    expect(example).to_contain_text("“It weighs 60.5 kg.” fails, “60.5” passes")
    row.get_by_text("Try it on a reply").click()
    row.get_by_label("Reply of the agent").fill("60.5 of 70")
    last = row.get_by_role("option", name="The last number")
    expect(last).to_have_text("The last number in the reply: would fail")
    save_and_stay(page)

    assert Assertion.objects.get().options == {"value": 60.5}  # whole is the default


def test_help_opens_beside_the_form_and_keeps_what_is_typed(visit: Visit) -> None:
    page = visit("evals_app_case_change", write_case().pk)
    address = page.url
    page.get_by_label("User message").fill("Typed")
    page.get_by_label("Help for this page").click()
    help_panel = page.get_by_role("region", name="Help", exact=True)
    help_panel.get_by_role("link", name="Write a case").click()
    expect(help_panel.get_by_role("heading", name="Write the first case")).to_be_in_viewport()

    page.keyboard.press("Escape")

    expect(help_panel).to_be_hidden()
    expect(page.get_by_label("Help for this page")).to_be_focused()
    expect(page.get_by_label("User message")).to_have_value("Typed")
    assert page.url == address
