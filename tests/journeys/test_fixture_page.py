"""A person writes a fixture in a browser."""

import pytest
from playwright.sync_api import Page, expect

from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.journeys.conftest import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOP = {
    "name": "Shop",
    "slug": "shop",
    "entities": [{"ref": ref, "type": "order", "data": {}} for ref in ("one", "two")],
    "relations": [{"from": "one", "to": "two", "type": "next"}],
    "entity_types": [{"slug": "order", "schema": {"required": []}}],
}


@pytest.fixture
def fixture_page(visit: Visit) -> Page:
    save_fixture(FixtureSpec.model_validate(SHOP))
    return visit("fixtures_app_fixture_change", Fixture.objects.get().pk)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()


def test_relations_follow_new_names_and_are_offered_new_entities(fixture_page: Page) -> None:
    renamed = fixture_page.locator("#entities-0-row")
    renamed.locator("summary").click()
    renamed.get_by_label("Name").fill("uno")
    renamed.get_by_label("Status").focus()

    fixture_page.get_by_role("button", name="Add an entity").click()
    row = fixture_page.locator("#entities-2-row")
    row.get_by_label("Name").fill("three")
    row.get_by_label("Type").select_option("order")
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

    assert offered == ["uno", "two", "three"]
    spec = Fixture.objects.with_everything().get().to_spec()
    relations = [(relation.from_, relation.to) for relation in spec.relations]
    assert relations == [("uno", "two"), ("two", "three")]


def test_an_error_is_shown_beside_its_field_in_a_row_that_is_open(fixture_page: Page) -> None:
    row = fixture_page.locator("#entities-1-row")
    row.locator("summary").click()
    row.get_by_label("Data").fill("{'a': 1}")

    save(fixture_page)

    expect(row.get_by_label("Data")).to_be_focused()
    expect(row.get_by_label("Data")).to_have_value("{'a': 1}")
    expect(row.locator(".ts-error")).to_contain_text("texts need double quotes")
