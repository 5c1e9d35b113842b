"""A person writes a fixture in a browser, and no JSON."""

from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from playwright.sync_api import Locator, Page, expect

from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.journeys.conftest import Visit
from tests.journeys.picking import in_menu, save_and_stay

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SEARCHED = "Refunds take five days."
NOTE = {"properties": {"total": {"type": "number"}, "day": {"type": "string", "format": "date"}}}
SHOP: dict[str, Any] = {
    "name": "Shop",
    "slug": "shop",
    "entities": [{"ref": ref, "type": "order", "data": {}} for ref in ("one", "two")]
    + [{"ref": "n", "type": "note", "data": {}}],
    "relations": [{"from": "one", "to": "two", "type": "next"}],
    "entity_types": [{"slug": "order", "schema": NOTE}, {"slug": "note", "schema": {}}],
}


@pytest.fixture
def fixture_page(visit: Visit) -> Page:
    save_fixture(FixtureSpec.model_validate(SHOP))
    return visit("fixtures_app_fixture_change", Fixture.objects.get().pk)


def save(page: Page) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name="Save", exact=True).click()


def paste(cell: Locator, text: str) -> None:
    cell.evaluate(
        """(cell, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text", text);
            cell.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
        }""",
        text,
    )


def values(sheet: Locator, name: str) -> list[str]:
    cells = sheet.locator(f'tbody [name$="{name}"]')
    found: list[str] = cells.evaluate_all("(cells) => cells.map((cell) => cell.value)")
    return found


def stored() -> FixtureSpec:
    return Fixture.objects.with_everything().get().to_spec()


def test_relations_follow_new_names_and_are_offered_new_entities(fixture_page: Page) -> None:
    orders = fixture_page.locator("#sheet-order")
    orders.get_by_label("Ref").first.fill("uno")
    orders.get_by_label("Status").first.focus()
    orders.get_by_role("button", name="Add a row").click()
    expect(orders.get_by_label("Ref").last).to_be_focused()
    orders.get_by_label("Ref").last.fill("three")
    fixture_page.get_by_role("button", name="Add a relation").click()
    link = fixture_page.locator("#relations-1-row")

    link.get_by_label("From").fill("two")
    link.get_by_label("To").focus()
    offered = fixture_page.locator("#entity-names option").evaluate_all(
        "(all) => all.map((o) => o.value)"
    )
    link.get_by_label("To").fill("three")
    link.get_by_label("Kind of link").fill("next")
    save(fixture_page)

    assert offered == ["uno", "two", "three", "n"]
    relations = [(relation.from_, relation.to) for relation in stored().relations]
    assert relations == [("uno", "two"), ("two", "three")]


def test_an_error_is_shown_at_its_cell_and_nothing_typed_is_lost(fixture_page: Page) -> None:
    cell = fixture_page.locator("#entities-1-row").get_by_label("total")
    cell.fill("many")

    save(fixture_page)

    expect(cell).to_be_focused()
    expect(cell).to_have_value("many")
    expect(fixture_page.locator("#entities-1-row .ew-error")).to_contain_text("number")


def test_cells_of_a_spreadsheet_are_pasted_sorted_and_moved_with_the_keyboard(
    fixture_page: Page,
) -> None:
    orders = fixture_page.locator("#sheet-order")
    refs = orders.get_by_label("Ref")

    paste(refs.nth(1), 'c\t3\t2026-05-01\nb\t20\tMay\nd\t"1"\t\n')
    assert values(orders, "-ref") == ["one", "c", "b", "d"]
    assert values(orders, "cell-day") == ["", "2026-05-01", "May", ""]
    orders.get_by_label("day").nth(2).fill("2026-05-02")
    orders.get_by_role("button", name="total").click()
    assert values(orders, "cell-total") == ["", "1", "3", "20"]
    orders.get_by_label("total").nth(2).press("ArrowUp")
    expect(orders.get_by_label("total").nth(1)).to_be_focused()
    orders.get_by_label("total").last.press("Enter")
    expect(orders.get_by_label("total").last).to_be_focused()
    fixture_page.keyboard.type("4")
    save(fixture_page)

    found = [(entity.ref, entity.data.get("total")) for entity in stored().entities]
    # The note keeps its place between the orders.
    assert found == [("one", None), ("d", 1), ("n", None), ("c", 3), ("b", 20), ("order-1", 4)]
    assert stored().relations[0].to == "c"  # it was two


def test_a_csv_file_fills_the_grid_and_is_saved_only_afterwards(
    fixture_page: Page, tmp_path: Path
) -> None:
    file = tmp_path / "notes.csv"
    file.write_text('ref;text;n\nn;"changed; twice";1\nm;new;2\n')
    notes = fixture_page.locator("#sheet-note")

    with fixture_page.expect_file_chooser() as chooser:
        notes.get_by_role("button", name="CSV").click()
    chooser.value.set_files(file)
    expect(notes.locator("[data-report]")).to_contain_text("1 row added")
    assert [entity.ref for entity in stored().entities] == ["one", "two", "n"]
    save(fixture_page)

    assert {entity.ref: entity.data for entity in stored().entities if entity.type == "note"} == {
        "n": {"text": "changed; twice", "n": 1},
        "m": {"text": "new", "n": 2},
    }


def test_a_workbook_fills_the_grid_and_errors_are_at_their_cells(
    fixture_page: Page, tmp_path: Path
) -> None:
    book = Workbook()
    for row in (["ref", "total"], ["one", 5], ["new", "many"]):
        book.worksheets[0].append(row)
    book.save(tmp_path / "orders.xlsx")
    broken = tmp_path / "broken.xlsx"
    broken.write_text("ref,total")
    orders = fixture_page.locator("#sheet-order")

    for file, words in ((broken, "broken.xlsx"), (tmp_path / "orders.xlsx", "1 row added")):
        with fixture_page.expect_file_chooser() as chooser:
            orders.get_by_role("button", name="Excel").click()
        chooser.value.set_files(file)
        expect(orders.locator("[data-report]")).to_contain_text(words)
    save_and_stay(fixture_page)
    fixture_page.wait_for_load_state()
    expect(fixture_page.locator(".ew-grid .ew-error")).to_have_count(1)
    orders.get_by_label("total").last.fill("7")
    save(fixture_page)

    totals = {entity.ref: entity.data.get("total") for entity in stored().entities}
    assert (totals["one"], totals["new"]) == (5, 7)


def test_a_column_is_added_and_a_removed_row_brought_back(fixture_page: Page) -> None:
    notes = fixture_page.locator("#sheet-note")
    notes.get_by_label("Name of the new column").fill("to & from")
    notes.get_by_label("Name of the new column").press("Enter")
    expect(notes.get_by_label("to & from")).to_be_focused()
    fixture_page.keyboard.type("here")
    in_menu(fixture_page.locator("#entities-0-row"), "Remove")
    in_menu(fixture_page.locator("#entities-2-row"), "Remove")
    fixture_page.locator("#entities-2-row [data-undo]").click()
    in_menu(fixture_page.locator("#relations-0-row"), "Remove")
    save(fixture_page)

    assert [(entity.ref, entity.data) for entity in stored().entities] == [
        ("two", {}),
        ("n", {"to & from": "here"}),
    ]


def test_a_person_makes_test_data_and_tries_it_without_any_json(visit: Visit) -> None:
    page = visit("fixtures_app_entitytype_add")
    page.get_by_label("Name").first.fill("order")
    for number, (name, kind) in enumerate([("total", "Number"), ("state", "One of choices")]):
        if number:
            page.get_by_role("button", name="Add a field").click()
        row = page.locator(f"#fields-{number}-row")
        row.get_by_label("Name").fill(name)
        row.get_by_label("Kind").select_option(kind)
    page.locator("#fields-1-row").get_by_label("Choices").fill("open, paid")
    save(page)

    page = visit("fixtures_app_fixture_add")
    page.get_by_label("Name", exact=False).first.fill("Shop")
    page.get_by_role("button", name="Add an entity").click()
    orders = page.locator("#sheet-order")
    for number in range(5):
        orders.get_by_label("total").nth(number).fill(str(number))
        orders.get_by_label("state").nth(number).select_option("paid")
        if number < 4:
            orders.get_by_label("total").nth(number).press("Enter")
    page.get_by_role("button", name="Add a relation").click()
    link = page.locator("#relations-0-row")
    for label, text in [("From", "order-1"), ("To", "order-2"), ("Kind of link", "before")]:
        link.get_by_label(label).fill(text)
    page.get_by_role("button", name="Add a text").click()
    chunk = page.locator("#chunks-0-row")
    chunk.get_by_label("Name").fill("refunds")
    chunk.get_by_role("textbox", name="Text").fill(SEARCHED)
    save(page)

    spec = stored()
    expected = [(f"order-{n + 1}", {"total": n, "state": "paid"}) for n in range(5)]
    assert [(entity.ref, entity.data) for entity in spec.entities] == expected
    assert spec.slug == "shop"
    page = visit("fixtures_app_fixture_change", Fixture.objects.get().pk)
    page.get_by_role("link", name="Try it").click()
    page.get_by_label("Query").fill("how long do refunds take")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".ew-found")).to_contain_text(SEARCHED)
    page.get_by_role("link", name="entity.update").click()
    page.get_by_label("Id").fill("order-1")
    page.get_by_label("Data").fill("state = open")
    page.get_by_role("button", name="Call the tool").click()
    expect(page.locator(".ew-result")).to_contain_text('"state": "open"')
    assert stored() == spec
