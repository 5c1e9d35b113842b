"""What all lists share: pages, order, totals; and the list of all addresses."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from evals_app import API_VERSION
from tests.addresses import routes
from tests.api.clients import make_client, start_talks
from tests.makers import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client()


def pages_of(client: APIClient, path: str, **query: Any) -> list[Any]:
    """Follow `next` from page to page, and `previous` back: both ways have the same rows."""
    pages = [client.get(path, {"page_size": 2, **query}).json()]
    while pages[-1]["next"]:
        pages.append(client.get(pages[-1]["next"]).json())
    back = [pages[-1]]
    while back[-1]["previous"]:
        back.append(client.get(back[-1]["previous"]).json())
    assert [page["results"] for page in reversed(back)] == [page["results"] for page in pages]
    return [row for page in pages for row in page["results"]]


@pytest.mark.parametrize(
    ("path", "key", "ordering"),
    [
        ("runs/", "id", "id"),
        ("runs/", "id", "-id"),
        ("agents/", "slug", "slug"),
        ("agents/", "slug", "-slug"),
        ("suites/talks/cases/", "id", "-position"),
    ],
)
def test_a_list_is_sorted_as_it_is_asked_for(
    client: APIClient, path: str, key: str, ordering: str
) -> None:
    start_talks()
    for _ in range(3):
        make_run(["passed"])

    found = [row[key] for row in pages_of(client, f"/api/{path}", ordering=ordering)]

    assert len(found) >= 2
    assert found == sorted(found, reverse=ordering.startswith("-"))


def test_the_order_of_the_conversations_of_a_run_can_be_turned_round(client: APIClient) -> None:
    run = make_run({"A": ["passed"] * 3, "B": ["passed"], "C": ["passed"] * 2})
    path = f"/api/runs/{run.pk}/executions/"

    found = [(row["case"], row["trial"]) for row in pages_of(client, path, ordering="-position")]

    assert found == [("C", 2), ("C", 1), ("B", 1), ("A", 3), ("A", 2), ("A", 1)]


def test_an_order_without_an_index_is_refused_with_the_nearest(client: APIClient) -> None:
    answer = client.get("/api/agents/", {"ordering": "-slg"})

    assert answer.status_code == 400
    assert "Did you mean '-slug'?" in answer.json()["detail"]


def test_a_cursor_of_another_order_is_refused(client: APIClient) -> None:
    start_talks()
    following = client.get("/api/agents/", {"ordering": "slug", "page_size": "1"}).json()["next"]

    answer = client.get(following.replace("ordering=slug", "ordering=id"))

    assert answer.status_code == 400


def test_a_list_is_counted_only_if_that_is_asked_for(client: APIClient) -> None:
    for verdict in ("passed", "failed", "failed"):
        make_run([verdict])
    with CaptureQueriesContext(connection) as queries:
        page = client.get("/api/runs/", {"page_size": 1}).json()
    assert "count" not in page
    assert not any("COUNT(" in query["sql"].upper() for query in queries)

    counted = client.get("/api/runs/", {"page_size": "1", "verdict": "failed", "count": "true"})

    assert counted.json()["count"] == 2
    assert client.get("/api/runs/", {"count": "yes"}).status_code == 400


def test_the_index_has_every_address_with_what_is_there(client: APIClient) -> None:
    answer = client.get("/api/")
    index = answer.json()
    addresses = {row["address"]: row for row in index["resources"]}

    ours = [route for route in routes() if route.startswith("api/")]
    assert (
        len(addresses) == len(ours) - 3
    )  # without itself, the pages to read, all that is not there
    assert addresses["/api/runs/{id}/cancel/"]["methods"] == ["POST"]
    assert all(row["about"].endswith(".") for row in index["resources"])
    assert index["version"] == answer.headers["API-Version"] == API_VERSION


@pytest.mark.parametrize("path", ["/api/nothing/", "/api/runs/99999/", "/api/schema/"])
def test_every_answer_says_the_version(client: APIClient, path: str) -> None:
    assert client.get(path).headers["API-Version"] == API_VERSION
    assert "API-Version" not in client.get("/healthz").headers
