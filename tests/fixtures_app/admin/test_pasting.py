import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from fixtures_app.admin import pasting
from fixtures_app.models import EntityType, Fixture
from tests.authored import client_who_may

pytestmark = pytest.mark.django_db

URL = "/admin/fixtures_app/fixture/from-spreadsheet/"
ORDERS = "number\ttotal\tstate\r\n1001\t40\tshipped\r\n1002\t12,5\topen\r\n1003\t8\tshipped\r\n1004\t7\topen\r\n"


def paste(
    client: Client, cells: str = ORDERS, *, kind: str = "order", name: str = "Shop data"
) -> str:
    answer = client.post(URL, {"name": name, "kind": kind, "cells": cells}, follow=True)
    return answer.content.decode()


def test_a_table_becomes_test_data_and_an_entity_type(admin_client: Client) -> None:
    page = paste(admin_client)

    fixture, kind = Fixture.objects.get(), EntityType.objects.get()
    assert [entity.data["total"] for entity in fixture.entities.order_by("position")] == [
        40,
        12.5,
        8,
        7,
    ]
    assert kind.schema["properties"]["state"] == {"enum": ["shipped", "open"]}
    assert "number: whole number, total: number, state: one of choices" in page
    assert f"/entitytype/{kind.pk}/change/" in page
    assert {entry.object_repr for entry in LogEntry.objects.all()} == {"Shop data", "order"}


def test_a_type_that_exists_keeps_its_fields(admin_client: Client) -> None:
    paste(admin_client)
    page = paste(admin_client, "number\tstate\n5\tlost\n", name="Shop data")
    assert "Row 2, state: Choose one of" in page

    page = paste(admin_client, "number\tstate\n5\topen\n", name="Shop data")
    assert "1 order row added." in page
    assert "Read as" not in page
    assert sorted(Fixture.objects.values_list("slug", flat=True)) == ["shop-data", "shop-data-2"]


@pytest.mark.parametrize(
    ("cells", "kind", "message"),
    [
        ("number\n", "order", "at least one row"),
        (ORDERS, "Größe", "letters, digits and single hyphens"),
        ("a\n\0\n", "order", "a"),
    ],
)
def test_mistakes_are_told_beside_the_field_and_nothing_is_saved(
    admin_client: Client, cells: str, kind: str, message: str
) -> None:
    assert message in paste(admin_client, cells, kind=kind)
    assert not Fixture.objects.exists()
    assert not EntityType.objects.exists()


def test_without_the_right_no_type_is_added() -> None:
    client = client_who_may("add_fixture", "view_fixture")

    assert "only someone else can add it" in paste(client)
    assert not EntityType.objects.exists()


def test_what_someone_else_saved_meanwhile_is_not_replaced(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    paste(admin_client)
    monkeypatch.setattr(pasting, "_free_slug", lambda _: "shop-data")  # taken since it was read

    page = paste(admin_client, "number\tstate\n5\topen\n")

    assert "Someone else has just saved the same name." in page
    assert Fixture.objects.get().entities.count() == 4
