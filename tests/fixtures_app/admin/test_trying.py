import json
from typing import Any

import pytest
from django.test import Client

from fixtures_app.library import save_fixture
from fixtures_app.models import Fixture
from fixtures_app.spec import FixtureSpec
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

SCHEMA = {"properties": {"total": {"type": "number"}, "note": {"const": "x"}}}
SHOP: dict[str, Any] = {
    "name": "Shop",
    "slug": "shop",
    "entities": [
        {"ref": "a", "type": "order", "data": {"total": 1}},
        {"ref": "b", "type": "order", "data": {"total": 2}},
    ],
    "relations": [{"from": "a", "to": "b", "type": "before"}],
    "chunks": [
        {"id": "hours", "text": "Open from ten."},
        {"id": "returns", "text": "Return a book within ten days."},
    ],
    "entity_types": [{"slug": "order", "schema": SCHEMA}],
}


@pytest.fixture
def url() -> str:
    save_fixture(FixtureSpec.model_validate(SHOP))
    return f"/admin/fixtures_app/fixture/{Fixture.objects.get().pk}/try/"


def stored() -> FixtureSpec:
    return Fixture.objects.with_everything().get().to_spec()


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("entity.query", {"type": "order", "filters": "total = 2"}, {"total": 1}),
        ("entity.get", {"id": "a"}, {"data": {"total": 1}}),
        ("entity.create", {"type": "order", "data": "total = 5"}, {"data": {"total": 5}}),
        ("entity.update", {"id": "a", "data": "total = 5"}, {"data": {"total": 5}}),
        ("entity.update", {"id": "a", "data": "total = null"}, {"data": {}}),
        ("entity.delete", {"id": "a"}, {"deleted": "a"}),
        ("relation.list", {"from": "a"}, {}),
        ("relation.create", {"from": "b", "to": "a", "type": "after"}, {"type": "after"}),
        ("relation.delete", {"id": "relation-1"}, {"deleted": "relation-1"}),
        ("knowledge.search", {"query": "books", "limit": "1"}, {"chunks": []}),
    ],
)
def test_a_tool_answers_as_it_answers_agents_and_nothing_is_kept(
    admin_client: Client, url: str, tool: str, arguments: dict[str, str], result: dict[str, Any]
) -> None:
    before = stored()
    page = admin_client.get(f"{url}?tool={tool}")

    answer = admin_client.post(url, {"tool": tool, **arguments})

    assert set(page.context["form"].fields) >= set(arguments)
    got = json.loads(answer.context["result"])
    assert result.items() <= got.items()
    assert stored() == before


def test_a_search_shows_the_texts_with_their_scores(admin_client: Client, url: str) -> None:
    answer = admin_client.post(url, {"tool": "knowledge.search", "query": "return in ten days"})

    chunks = answer.context["found"]
    assert [chunk["id"] for chunk in chunks] == ["returns", "hours"]
    assert chunks[0]["score"] > chunks[1]["score"] > 0
    assert "Return a book" in answer.content.decode()


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("entity.get", {}, "id"),
        ("entity.query", {"type": "ordr"}, "type"),
        ("entity.query", {"type": "order", "filters": "total"}, "filters"),
        ("entity.create", {"type": "order", "data": "total = much"}, "data"),
        ("knowledge.search", {"query": "x", "limit": "many"}, "limit"),
    ],
)
def test_arguments_that_are_no_arguments_are_refused_at_their_field(
    admin_client: Client, url: str, tool: str, arguments: dict[str, str], field: str
) -> None:
    answer = admin_client.post(url, {"tool": tool, **arguments})

    assert list(answer.context["form"].errors) == [field]
    assert "result" not in answer.context


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("entity.get", {"id": "c"}, "unknown_id"),
        ("entity.create", {"type": "order", "data": "note = 1"}, "invalid_data"),
        ("entity.query", {"type": "order", "limit": "0"}, "invalid_arguments"),
        ("entity.create", {"type": "order", "data": "b = 1e999"}, "invalid_arguments"),
    ],
)
def test_a_refusal_is_shown_as_the_agent_gets_it(
    admin_client: Client, url: str, tool: str, arguments: dict[str, str], code: str
) -> None:
    answer = admin_client.post(url, {"tool": tool, **arguments})

    assert json.loads(answer.context["result"])["error"]["code"] == code
    assert answer.context["refused"]


def test_a_change_is_named(admin_client: Client, url: str) -> None:
    answer = admin_client.post(url, {"tool": "entity.delete", "id": "a"})

    assert [(change["op"], change["id"]) for change in answer.context["changes"]] == [
        ("unlink", "relation-1"),
        ("delete", "a"),
    ]


@pytest.mark.parametrize("query", ["?tool=none", "?tool="])
def test_an_unknown_tool_is_a_search(admin_client: Client, url: str, query: str) -> None:
    assert admin_client.get(url + query).context["tool"].name == "knowledge.search"


# Duplicating


def test_a_fixture_is_duplicated_with_everything_in_it(admin_client: Client, url: str) -> None:
    before = stored()

    admin_client.post(url.replace("/try/", "/duplicate/"), {"_form_submitted": "on"})

    copies = Fixture.objects.exclude(slug="shop")
    (copied,) = [row.to_spec() for row in copies.with_everything()]
    assert (copied.name, copied.slug) == ("Shop copy", "shop-copy")
    assert copied.model_copy(update={"name": "Shop", "slug": "shop"}) == before


def test_the_page_of_a_fixture_leads_to_trying_it(admin_client: Client, url: str) -> None:
    assert url in open_page(admin_client, url.replace("/try/", "/change/")).html
