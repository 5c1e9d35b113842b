import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from fixtures_app.library import save_fixture
from fixtures_app.models import EntityType
from fixtures_app.spec import FixtureSpec
from tests.page_form import PageForm, open_page

pytestmark = pytest.mark.django_db

ADD = "/admin/fixtures_app/entitytype/add/"
ORDER = {"type": "object", "properties": {"total": {"type": "number"}}}


def make_order_with_data(data: dict[str, Any]) -> EntityType:
    save_fixture(
        FixtureSpec.model_validate(
            {
                "name": "Shop",
                "slug": "shop",
                "entities": [{"ref": "one", "type": "order", "data": data}],
                "entity_types": [{"slug": "order", "schema": ORDER}],
            }
        )
    )
    return EntityType.objects.get()


def url_of(kind: EntityType) -> str:
    return f"/admin/fixtures_app/entitytype/{kind.pk}/change/"


@pytest.mark.parametrize(
    ("schema", "stored"), [("", {}), ("{}", {}), (json.dumps(ORDER), ORDER)], ids=str
)
def test_an_entity_type_is_written_as_json(
    admin_client: Client, schema: str, stored: dict[str, Any]
) -> None:
    saved = open_page(admin_client, ADD).post(slug="order", as_json="on", schema=schema)

    assert saved.is_saved, saved.problems
    assert EntityType.objects.get().to_spec().json_schema == stored


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"schema": '{"type": "objekt"}'}, "JSON Schema: ", id="no such type"),
        pytest.param({"schema": '{"$ref": "#/x"}'}, "JSON Schema: $ref", id="dangling reference"),
        pytest.param({"schema": "[]"}, "JSON Schema: Write an object in { }.", id="list"),
        pytest.param({"slug": "an order"}, "Name: An entity type has letters, digits", id="slug"),
        pytest.param({"slug": ""}, "Name: This field is required.", id="no slug"),
    ],
)
def test_a_wrong_entity_type_is_refused(
    admin_client: Client, changes: dict[str, str], problem: str
) -> None:
    page = open_page(admin_client, ADD)

    refused = page.post(**{"slug": "order", "as_json": "on", "schema": "{}", **changes})

    (shown,) = refused.problems
    assert shown.startswith(problem)


def test_a_schema_that_stored_entities_do_not_fit_is_refused(admin_client: Client) -> None:
    kind = make_order_with_data({"total": 5})

    refused = open_page(admin_client, url_of(kind)).post(
        as_json="on", schema='{"required": ["id"]}'
    )

    (problem,) = refused.problems
    assert problem.startswith(
        "JSON Schema: Existing entities would no longer fit: 'one' in test data 'shop': “id” is"
    )


def test_a_schema_that_stored_entities_fit_is_saved(admin_client: Client) -> None:
    kind = make_order_with_data({"total": 5})

    saved = open_page(admin_client, url_of(kind)).post(
        slug="Order2", as_json="on", schema='{"required":["total"]}'
    )

    assert saved.is_saved, saved.problems
    assert EntityType.objects.get().slug == "Order2"


# The table of fields


def test_an_entity_type_is_written_as_a_table(admin_client: Client) -> None:
    page = open_page(admin_client, ADD)
    page.row("fields", name="total", kind="number", is_required="on", position=1)
    page.row("fields", name="state", kind="choice", choices="open, closed", position=0)

    saved = page.post(slug="order")

    assert saved.is_saved, saved.problems
    schema = EntityType.objects.get().schema
    assert schema == {
        "type": "object",
        "properties": {"state": {"enum": ["open", "closed"]}, "total": {"type": "number"}},
        "required": ["total"],
        "additionalProperties": False,
    }
    assert list(schema["properties"]) == ["state", "total"]


SPELT: dict[str, Any] = {
    "properties": {
        "n": {"type": "integer", "minimum": 0},
        "s": {"type": "string", "enum": ["a"]},
        "place": {"type": "object"},
    },
    "required": ["s", "n"],
}


@pytest.mark.parametrize("schema", [SPELT, {}, {**SPELT, "minProperties": 1}], ids=str)
def test_a_schema_that_nobody_changes_stays_as_it_is(
    admin_client: Client, schema: dict[str, Any]
) -> None:
    kind = EntityType.objects.create(slug="order", schema=schema)

    saved = open_page(admin_client, url_of(kind)).post()

    assert saved.is_saved, saved.problems
    assert json.dumps(EntityType.objects.get().schema) == json.dumps(schema)
    assert LogEntry.objects.get().get_change_message() == "No fields changed."


def test_a_change_of_the_table_keeps_rules_that_the_table_does_not_show(
    admin_client: Client,
) -> None:
    kind = EntityType.objects.create(slug="order", schema=SPELT)

    saved = open_page(admin_client, url_of(kind)).post(fields__0__name="m")

    assert saved.is_saved, saved.problems
    schema = EntityType.objects.get().schema
    assert schema["properties"]["m"] == {"type": "integer", "minimum": 0}
    assert schema["properties"]["place"] == {"type": "object"}
    assert schema.get("additionalProperties", True) is True
    assert "JSON Schema" in LogEntry.objects.get().get_change_message()


def two_mistakes(page: PageForm) -> None:
    page.row("fields", name="a", kind="choice")
    page.row("fields", name="", kind="text")


def same_name(page: PageForm) -> None:
    page.row("fields", name="a", kind="text")
    page.row("fields", name="a", kind="text")


def kind_of_nothing(page: PageForm) -> None:
    page.row("fields", name="a", kind="other")


@pytest.mark.parametrize(
    ("wrong", "places"),
    [
        (two_mistakes, ["Field 1, choices:", "Field 2, name:"]),
        (same_name, ["Field 2, name:"]),
        (kind_of_nothing, ["Field 1, kind:"]),
    ],
)
def test_what_is_wrong_in_the_table_is_said_at_once_and_at_its_place(
    admin_client: Client, wrong: Callable[[PageForm], None], places: list[str]
) -> None:
    page = open_page(admin_client, ADD)
    wrong(page)

    refused = page.post(slug="order")

    assert len(refused.problems) == len(places), refused.problems
    for problem, place in zip(refused.problems, places, strict=True):
        assert problem.startswith(place)
    assert not EntityType.objects.exists()


def test_a_field_is_not_made_required_while_entities_lack_it(admin_client: Client) -> None:
    kind = make_order_with_data({})

    refused = open_page(admin_client, url_of(kind)).post(fields__0__is_required="on")

    (problem,) = refused.problems
    assert "'one' in test data 'shop'" in problem


def test_a_schema_that_the_table_cannot_show_is_not_replaced_by_an_empty_table(
    admin_client: Client,
) -> None:
    schema = {"properties": {}, "minProperties": 1}
    kind = EntityType.objects.create(slug="order", schema=schema)

    refused = open_page(admin_client, url_of(kind)).post(as_json=None)

    assert "empty table" in refused.problems[0]
    assert EntityType.objects.get().schema == schema
