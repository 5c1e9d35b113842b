import json
from typing import Any

import pytest
from django.test import Client

from fixtures_app.library import save_fixture
from fixtures_app.models import EntityType
from fixtures_app.spec import FixtureSpec
from tests.page_form import open_page

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
def test_an_entity_type_is_written(
    admin_client: Client, schema: str, stored: dict[str, Any]
) -> None:
    saved = open_page(admin_client, ADD).post(slug="order", schema=schema)

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
    refused = open_page(admin_client, ADD).post(**{"slug": "order", "schema": "{}", **changes})

    (shown,) = refused.problems
    assert shown.startswith(problem)


def test_a_schema_that_stored_entities_do_not_fit_is_refused(admin_client: Client) -> None:
    kind = make_order_with_data({"total": 5})

    refused = open_page(admin_client, url_of(kind)).post(schema='{"required": ["id"]}')

    (problem,) = refused.problems
    assert problem.startswith(
        "JSON Schema: Existing entities would no longer fit: 'one' of fixture 'shop': “id” is"
    )


def test_a_schema_that_stored_entities_fit_is_saved(admin_client: Client) -> None:
    kind = make_order_with_data({"total": 5})

    saved = open_page(admin_client, url_of(kind)).post(
        slug="Order2", schema='{"required":["total"]}'
    )

    assert saved.is_saved, saved.problems
    assert EntityType.objects.get().slug == "Order2"
