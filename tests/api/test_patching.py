"""PATCH: a JSON Merge Patch of what PUT takes, written in the same way."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from rest_framework.test import APIClient

from evals_app.library.importing.file_import import import_files
from evals_app.models import Agent, Case, Suite, Webhook
from evals_app.requests.parsers import merge_patch
from tests.api.clients import make_client, start_talks
from tests.library.written import FIXTURE, PROVIDER

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    import_files([FIXTURE, PROVIDER])
    start_talks()
    return make_client()


def patch(client: APIClient, path: str, body: Any, **headers: str) -> Any:
    return client.patch(f"/api/{path}", body, format="json", headers=headers)


@pytest.mark.parametrize(
    ("stored", "change", "merged"),
    [  # of RFC 7396
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_is_merged(stored: Any, change: Any, merged: Any) -> None:
    assert merge_patch(stored, change) == merged


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("suites/talks/", {"description": "Changed."}),
        ("agents/shop/", {"description": "Changed."}),
        ("fixtures/orders/", {"description": "Changed."}),
        ("providers/proxy/", {"max_concurrency": 7}),
    ],
)
def test_what_is_left_out_stays_as_it_is(client: APIClient, path: str, body: Any) -> None:
    before = client.get(f"/api/{path}").json()

    answer = patch(client, path, body)

    assert answer.status_code == 200, answer.content
    assert client.get(f"/api/{path}").json() == before | body
    assert answer.headers["ETag"] == client.get(f"/api/{path}").headers["ETag"]
    assert LogEntry.objects.filter(change_message__contains="Written over REST").exists()


def test_a_case_is_patched_with_its_own_id(client: APIClient) -> None:
    case = Case.objects.get(name="Greets")
    path = f"suites/talks/cases/{case.pk}/"
    before = client.get(f"/api/{path}").json()

    assert patch(client, path, {"name": "Says hello", "tags": ["new"]}).status_code == 200

    assert client.get(f"/api/{path}").json() == before | {"name": "Says hello", "tags": ["new"]}


def test_a_patch_meets_the_conditions_of_put(client: APIClient) -> None:
    old = client.get("/api/agents/shop/").headers["ETag"]
    assert (
        patch(client, "agents/shop/", {"description": "A"}, **{"If-Match": old}).status_code == 200
    )

    refused = patch(client, "agents/shop/", {"description": "B"}, **{"If-Match": old})

    assert refused.status_code == 412
    assert Agent.objects.get(slug="shop").description == "A"
    missing = patch(client, "agents/shp/", {"description": "B"})
    assert "Did you mean 'shop'?" in missing.json()["detail"]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"descripion": "A"}, "Did you mean 'description'?"),
        ([1], "JSON object"),
        ({"slug": "b"}, "slug"),
    ],
)
def test_a_wrong_patch_is_refused(client: APIClient, body: Any, word: str) -> None:
    answer = patch(client, "suites/talks/", body)

    assert answer.status_code == 400
    assert word in answer.json()["detail"]


def test_a_patch_may_be_called_what_it_is_but_no_yaml(client: APIClient) -> None:
    path, body = "/api/suites/talks/", '{"description": "A"}'
    good = client.generic("PATCH", path, body, "application/merge-patch+json")
    bad = client.generic("PATCH", path, body, "application/yaml")

    assert (good.status_code, bad.status_code) == (200, 415)
    advice = "Send application/json or application/merge-patch+json."
    assert bad.json()["detail"].endswith(advice)
    assert Suite.objects.get(slug="talks").description == "A"


def test_schedules_and_webhooks_keep_what_a_patch_leaves_out(client: APIClient) -> None:
    new = {"suites": ["talks"], "trials": 3, "at": "02:00", "max_cost_usd": 1.5}
    schedule = client.post("/api/schedules/", new, format="json").json()
    hook = Webhook.objects.create(name="Team", url="https://hooks.example.org/x", on_end=True)
    hook.suites.set(Suite.objects.all())

    changed = patch(client, f"schedules/{schedule['id']}/", {"trials": None, "is_enabled": False})
    renamed = patch(client, f"webhooks/{hook.pk}/", {"name": "Other"})

    kept = ("suites", "at", "max_cost_usd", "frequency", "time_zone", "name")
    assert [changed.json()[key] for key in kept] == [schedule[key] for key in kept]
    assert (changed.json()["trials"], changed.json()["is_enabled"]) == (None, False)
    assert (renamed.json()["name"], renamed.json()["suites"]) == ("Other", ["talks"])
    hook.refresh_from_db()
    assert (hook.url, hook.on_end) == ("https://hooks.example.org/x", True)
