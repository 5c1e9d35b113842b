"""A person writes a fixture in a browser."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.signed_in import sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOP = {
    "name": "Shop",
    "slug": "shop",
    "entities": [{"ref": each, "type": "order", "data": {}} for each in ("one", "two")],
    "relations": [{"from": "one", "to": "two", "type": "next"}],
    "entity_types": [{"slug": "order", "schema": {"required": []}}],
}


@pytest.fixture
def fixture_page(page: Page, live_server: LiveServer, admin_user: User) -> Page:
    save_fixture(FixtureSpec.model_validate(SHOP))
    sign_in(page, live_server, admin_user)
    pk = Fixture.objects.get().pk
    page.goto(f"{live_server.url}/admin/fixtures_app/fixture/{pk}/change/")
    return page


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_load_state()


def relations() -> list[tuple[str, str]]:
    spec = Fixture.objects.with_everything().get().to_spec()
    return [(each.from_, each.to) for each in spec.relations]


def test_relations_follow_an_entity_whose_name_changes(fixture_page: Page) -> None:
    row = fixture_page.locator("#entities-0-row")
    row.locator("summary").click()

    row.get_by_label("Name").fill("uno")
    row.get_by_label("Status").focus()
    save(fixture_page)

    assert relations() == [("uno", "two")]


def test_a_new_entity_is_offered_to_relations_before_it_is_saved(fixture_page: Page) -> None:
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

    assert offered == ["one", "two", "three"]
    assert relations() == [("one", "two"), ("two", "three")]


def test_an_error_is_shown_beside_its_field_in_a_row_that_is_open(fixture_page: Page) -> None:
    row = fixture_page.locator("#entities-1-row")
    row.locator("summary").click()
    row.get_by_label("Data").fill("{'a': 1}")

    save(fixture_page)

    expect(row.get_by_label("Data")).to_be_focused()
    expect(row.get_by_label("Data")).to_have_value("{'a': 1}")
    expect(row.locator(".ts-error")).to_contain_text("texts need double quotes")
