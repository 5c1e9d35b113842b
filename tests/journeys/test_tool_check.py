"""A person who writes no JSON checks a tool call: by names that are suggested, and a number."""

from playwright.sync_api import Page, ViewportSize, expect

from evals_app.models import Agent, Assertion
from fixtures_app.library import save_entity_types
from fixtures_app.spec import EntityTypeSpec
from tests.authored import write_case
from tests.journeys.conftest import Visit
from tests.journeys.picking import add_check

PHONE: ViewportSize = {"width": 390, "height": 844}
BOOK = {
    "name": "rooms.book",
    "parameters": {
        "type": "object",
        "properties": {
            "room": {"type": "integer"},
            "guest": {"type": "string"},
            "floor": {"enum": ["upper", "lower"]},
        },
    },
    "rules": [{"result": {"ok": True}}],
}


def suggested(page: Page, list_id: str | None) -> list[str | None]:
    options = page.locator(f"#{list_id} option").all()
    return [option.get_attribute("value") for option in options]


def test_a_tool_check_is_written_without_json(visit: Visit) -> None:
    case = write_case(turns=[{"user": "Book room 14 for 7", "assertions": []}])
    Agent.objects.update(tools=["entity.query", BOOK])
    save_entity_types([EntityTypeSpec.model_validate({"slug": "order", "schema": {}})])
    page = visit("evals_app_case_change", case.pk)
    page.set_viewport_size(PHONE)
    row = add_check(page.locator(".ew-turn").first, "Tool was called")

    tool = row.get_by_role("combobox", name="Tool")
    assert suggested(page, tool.get_attribute("list")) == ["entity.query", "rooms.book"]
    tool.fill("rooms.book")
    line = row.locator(".ew-line").first
    argument = line.get_by_label("Argument")
    argument.focus()
    assert suggested(page, argument.get_attribute("list")) == ["floor", "guest", "room"]
    argument.fill("floor")
    line.get_by_label("Value", exact=True).focus()
    floors = line.get_by_label("Value", exact=True).get_attribute("list")
    assert suggested(page, floors) == ["upper", "lower"]

    tool.fill("entity.query")
    argument.fill("type")
    line.get_by_label("Value", exact=True).focus()
    types = line.get_by_label("Value", exact=True).get_attribute("list")
    assert suggested(page, types) == ["order"]
    tool.fill("rooms.book")

    kind = line.get_by_label("Kind of value")
    argument.fill("guest")
    line.get_by_label("Value", exact=True).fill("14")
    expect(kind).to_have_value("text")  # as the tool declares it
    argument.fill("room")
    expect(kind).to_have_value("number")
    kind.select_option(label="text")
    argument.fill("guest")
    argument.fill("room")
    expect(kind).to_have_value("text")  # a person has chosen
    kind.select_option(label="number")
    line.get_by_label("Comparison").select_option(label="is present")
    expect(kind).to_be_hidden()
    line.get_by_label("Comparison").select_option(label="is exactly")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()

    check = Assertion.objects.get()
    assert check.options == {"value": "rooms.book", "args": {"room": 14}}
