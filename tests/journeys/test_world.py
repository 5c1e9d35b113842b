"""A person says by keyboard what must change in the world."""

import pytest
from playwright.sync_api import Locator, Page, expect

from evals_app.models import Assertion, Suite
from fixtures_app.library import save_entity_types, save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import EntityTypeSpec, FixtureSpec
from tests.authored import write_case
from tests.journeys.conftest import Visit
from tests.journeys.picking import add_check

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def write_things(*refs: str, suite: Suite) -> None:
    """Write a fixture with these entities, and give it to the suite."""
    save_entity_types([EntityTypeSpec.model_validate({"slug": "thing", "schema": {}})])
    entities = [{"ref": ref, "type": "thing", "data": {}} for ref in refs]
    save_fixture(
        FixtureSpec.model_validate({"name": "Things", "slug": "things", "entities": entities})
    )
    suite.fixtures.set(Fixture.objects.filter(slug="things"))


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def final_check(page: Page) -> Locator:
    return page.locator("#final_assertions-group .ew-check-row").last


def test_what_must_change_is_written_by_keyboard(visit: Visit) -> None:
    case = write_case()
    schema = {"properties": {"state": {"enum": ["open", "paid"]}}}
    save_entity_types([EntityTypeSpec.model_validate({"slug": "refund", "schema": schema})])
    page = visit("evals_app_case_change", case.pk)

    add_check(page.locator("#final_assertions-group"), "World was changed")
    created = final_check(page).locator(".ew-blocks").first
    created.locator("> [data-line-add]").focus()
    press(page, "Enter", "Tab")  # past the id
    page.keyboard.type("refund")
    press(page, "Tab", "Tab", "Tab", "Tab")  # past status, how many, and the cross
    page.keyboard.type("amount")
    press(page, "Tab")
    page.keyboard.type("is close")
    press(page, "Tab")
    page.keyboard.type("24.5")
    press(page, "Enter")  # another field
    page.keyboard.type("state")
    press(page, "Tab", "Tab")
    values = page.locator("#ew-listed-value option")
    assert [value.get_attribute("value") for value in values.all()] == ["open", "paid"]
    page.keyboard.type("paid")
    press(page, "Enter")
    page.keyboard.type("order")
    press(page, "Tab")
    page.keyboard.type("is present")
    final_check(page).get_by_label("Nothing else may change").focus()
    press(page, "Space")
    save(page)

    check = Assertion.objects.get(type="world_changes")
    data = {"amount": {"fuzzy": 24.5}, "order": {"present": True}, "state": "paid"}
    assert check.options == {"created": [{"type": "refund", "data": data}], "nothing_else": True}


def test_removing_what_must_change_leaves_the_rest(visit: Visit) -> None:
    lines = [{"id": "a", "data": {"x": 1}}, {"id": "b", "data": {"y": 2, "z": 3}}, {"id": "c"}]
    case = write_case(final_assertions=[{"type": "world_changes", "updated": lines}])
    write_things("a", "b", "c", suite=case.suite)
    page = visit("evals_app_case_change", case.pk)
    final_check(page).locator("summary").first.click()
    blocks = final_check(page).locator(".ew-block")

    blocks.nth(0).get_by_role("button", name="Remove", exact=True).click()
    expect(page.locator(":focus")).to_have_text("+ Add")
    blocks.nth(0).get_by_role("button", name="Remove this line").first.click()
    save(page)

    assert Assertion.objects.get(type="world_changes").options == {
        "updated": [{"id": "b", "data": {"z": 3}}, {"id": "c"}]
    }
