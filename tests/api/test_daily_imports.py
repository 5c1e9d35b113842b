"""The daily import of a set over REST."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from evals_app.models import Activity, ApiToken, DailyImport
from evals_app.requests.daily_imports import DailyImportAnswer
from tests.runs.recorded.conversations import make_set, rows_of
from tests.runs.recorded.daily import NIGHT, fire, put
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/api/conversation-sets/help-desk/daily-import/"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path / "data")
    (tmp_path / "exports").mkdir()
    monkeypatch.setattr(settings, "IMPORT_FOLDERS", [str(tmp_path / "exports")])
    make_set()
    return tmp_path / "exports"


@pytest.fixture
def client(admin_user: User) -> APIClient:
    _, text = ApiToken.issue(name="test", user=admin_user, scope="author")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def test_it_is_written_read_changed_and_removed(client: APIClient, folder: Path) -> None:
    suite = make_suite()
    body: dict[str, Any] = {"folder": str(folder), "columns": {"Ticket": "id"}, "at": "02:00"}
    body |= {"suite": suite.slug, "count": 50, "max_cost_usd": 5}
    made = client.put(URL, body, format="json")
    assert made.status_code == 200, made.content
    known = made.json()
    assert known.keys() == set(DailyImportAnswer.KEYS)
    assert {key: known[key] for key in body} == body
    assert (known["owner"], known["is_masked"], known["problems"]) == ("admin", True, [])
    assert client.get(URL).json() == known

    changed = client.patch(URL, {"count": None, "suite": None}, format="json")
    assert changed.status_code == 200, changed.content
    kept = ("folder", "columns", "at", "max_cost_usd")
    assert [changed.json()[key] for key in kept] == [known[key] for key in kept]
    assert (changed.json()["count"], changed.json()["suite"]) == (None, None)

    assert client.delete(URL).status_code == 204
    assert client.get(URL).status_code == 404
    assert Activity.objects.filter(object_name="Help desk").count() == 3


@pytest.mark.parametrize("method", ["get", "patch", "delete"])
def test_a_set_without_one_says_so_and_an_unknown_set_gets_a_suggestion(
    client: APIClient, method: str
) -> None:
    without = getattr(client, method)(URL, {}, format="json")
    unknown = getattr(client, method)(URL.replace("desk", "dsk"), {}, format="json")

    assert (without.status_code, unknown.status_code) == (404, 404)
    assert "'help-desk' has no daily import" in without.json()["detail"]
    assert "Did you mean 'help-desk'?" in unknown.json()["detail"]


def test_its_last_times_say_what_they_brought(client: APIClient, folder: Path) -> None:
    client.put(URL, {"folder": str(folder)}, format="json")
    DailyImport.objects.update(next_at=NIGHT)
    put(folder, "a.jsonl", rows_of(2))
    put(folder, "b.csv", b"x,y\n1,2\n")
    fire()
    [last] = client.get(URL).json()["last"]
    assert (last["state"], last["runs"], last["failed"]) == ("ended", [], None)
    assert [(row["added"], bool(row["failure"])) for row in last["imports"]] == [
        (2, False),
        (0, True),
    ]


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({}, "folder"),
        ({"folder": "/etc"}, "folder"),
        ({"folder": "/etc", "url": "https://example.org/"}, "folder"),
        ({"url": "http://10.0.0.1/"}, "url"),
        ({"url": "https://example.org/", "headers": {"Authorization": "Bearer x"}}, "headers"),
        ({"url": "https://example.org/", "columns": {"Ticket": "number"}}, "columns"),
        ({"url": "https://example.org/", "suite": "gone"}, "suite"),
        ({"url": "https://example.org/", "at": "25:00"}, "at"),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(client: APIClient, body: Any, key: str) -> None:
    answer = client.put(URL, body, format="json")
    assert answer.status_code in {400, 422}
    assert key in [error["keys"] for error in answer.json()["errors"]], answer.content
    assert not DailyImport.objects.exists()
