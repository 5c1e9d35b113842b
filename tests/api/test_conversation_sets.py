"""Sets of real conversations over REST."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import TestCase
from rest_framework.test import APIClient

from evals_app.api import conversation_sets
from evals_app.models import ApiToken, Assertion, ConversationSet, Run, SpanInbox
from evals_app.requests.conversation_sets import SpanInboxAnswer
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded import copied_runs, waiting_gradings
from evals_app.runs.recorded.received_spans import keep_spans
from evals_app.runs.recorded.waiting_gradings import start_waiting_gradings
from evals_app.runs.recorded.waiting_imports import import_waiting
from tests.runs.recorded.conversations import content_of, imported, make_set, row_of, rows_of
from tests.runs.recorded.sent_spans import request_of, turn
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db

URL = "/api/conversation-sets/"
ANN = row_of("ann", ("user", "I am ann@example.org"), ("assistant", "It is 6.90."))


@pytest.fixture
def client(admin_user: User) -> APIClient:
    _, text = ApiToken.issue(name="test", user=admin_user, scope="author")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def send(client: APIClient, slug: str, content: bytes, query: str) -> Any:
    return client.generic("POST", f"{URL}{slug}/imports/?{query}", content.decode(), "text/plain")


def test_a_set_is_made_filled_graded_and_removed(client: APIClient) -> None:
    made = client.post(URL, {"name": "Help desk"}, format="json")
    assert (made.status_code, made.json()["slug"]) == (201, "help-desk")
    again = client.post(URL, {"name": "help-desk"}, format="json")
    assert again.json()["id"] == made.json()["id"]

    sent = send(client, "help-desk", content_of([*rows_of(2), ANN]), "name=week.jsonl")
    assert sent.status_code == 201, sent.content
    report = sent.json()
    assert (report["state"], report["added"], report["masked"]) == ("imported", 3, {"e-mail": 1})
    assert client.get(sent.headers["Location"]).json() == report
    assert client.get(made.headers["Location"]).json()["count"] == 3

    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    body = {"suite": suite.slug, "count": 2}
    price = client.post(f"{URL}help-desk/grade/forecast/", body, format="json").json()
    assert (price["conversations"], price["runs"], len(price["checks"])) == (2, 1, 1)
    assert not Run.objects.exists()
    with TestCase.captureOnCommitCallbacks(execute=True):
        started = client.post(f"{URL}help-desk/grade/", body, format="json")
    work()
    assert started.status_code == 201
    assert started.json() == {"runs": [Run.objects.get().pk], "grading": None}
    assert client.get(started.headers["Location"]).json()["status"] == "finished"

    assert client.delete(made.headers["Location"]).status_code == 204
    assert not ConversationSet.objects.exists()


def test_many_are_graded_by_a_worker(client: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_gradings, "MAX_AT_ONCE", 2)
    imported(rows_of(3))
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})

    def ask() -> Any:
        return client.post(f"{URL}help-desk/grade/", {"suite": suite.slug}, format="json")

    started = ask()
    assert (started.status_code, started.json()["runs"]) == (202, [])
    at = started.headers["Location"]
    assert client.get(at).json() == client.get(at).json() | {
        "state": "waiting",
        "suite": suite.slug,
        "conversations": 3,
        "prepared": 0,
        "runs": [],
    }
    start_waiting_gradings()
    assert client.get(at).json()["state"] == "started"
    assert client.get(at).json()["runs"] == [Run.objects.get().pk]
    assert client.delete(at).status_code == 409

    at = ask().headers["Location"]
    assert client.delete(at).status_code == 204
    assert client.get(at).status_code == 404
    assert not waiting_gradings.has_waiting_gradings()


def test_conversations_of_a_run_are_copied(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished(make_suite(["hello", "bye"]))
    make_set()
    at = f"{URL}help-desk/runs/"
    made = client.post(at, {"run": run.pk, "verdict": "failed"}, format="json")
    assert (made.status_code, made.json()["added"]) == (201, 1)
    assert client.get(made.headers["Location"]).json()["file_name"] == f"run {run.pk}, failed"
    missing = client.post(at, {"run": run.pk, "verdict": "errored"}, format="json")
    assert missing.status_code == 422
    for wrong in ({"run": 999}, {}, {"run": run.pk, "executions": [1]}):
        refused = client.post(at, wrong, format="json")
        assert (refused.status_code, refused.json()["errors"][0]["keys"]) == (400, "run")
    assert client.post(at, {"executions": [999]}, format="json").status_code == 422

    passed = run.executions.get(verdict="passed")
    some = client.post(at, {"executions": [passed.pk]}, format="json")
    assert (some.status_code, some.json()["added"]) == (201, 1)
    monkeypatch.setattr(copied_runs, "MAX_AT_ONCE", 1)
    sent = client.post(at, {"run": run.pk}, format="json")
    assert (sent.status_code, sent.json()["state"]) == (202, "waiting")
    import_waiting()
    assert client.get(sent.headers["Location"]).json()["known"] == 2


def test_conversations_are_filtered(client: APIClient) -> None:
    imported([*rows_of(2, date="2026-11-16", channel="chat"), row_of("x", tags=["price"])])

    def ids(query: str = "") -> list[str]:
        answer = client.get(f"{URL}help-desk/conversations/{query}")
        assert answer.status_code == 200, answer.content
        return [row["external_id"] for row in answer.json()["results"]]

    assert ids() == ["x", "1", "0"]
    assert ids("?topic=price") == ["x"]
    assert ids("?since=2026-11-16&id=1") == ["1"]
    assert ids("?fact=channel%3Dchat") == ["1", "0"]
    wrong = client.get(f"{URL}help-desk/conversations/?since=never")
    assert wrong.status_code == 400


def test_a_large_file_is_imported_by_a_worker(
    client: APIClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(conversation_sets, "_AT_ONCE", 100)
    client.post(URL, {"name": "Help desk"}, format="json")

    sent = send(client, "help-desk", content_of(rows_of(9)), "name=week.jsonl&masking=false")

    assert (sent.status_code, sent.json()["state"]) == (202, "waiting")
    import_waiting()
    report = client.get(sent.headers["Location"]).json()
    assert (report["state"], report["added"], report["is_masked"]) == ("imported", 9, False)
    assert client.delete(sent.headers["Location"]).status_code == 409


def test_an_import_that_failed_is_discarded(
    client: APIClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(conversation_sets, "_AT_ONCE", 1)
    client.post(URL, {"name": "Help desk"}, format="json")
    sent = send(client, "help-desk", b"[]", "name=week.json")
    import_waiting()
    report = client.get(sent.headers["Location"]).json()
    assert report["state"] == "failed"
    assert report["failure"]
    assert client.delete(sent.headers["Location"]).status_code == 204
    assert client.get(f"{URL}help-desk/imports/").json()["results"] == []


@pytest.mark.parametrize(
    ("query", "content", "word"),
    [
        ("", b"x", "name"),
        ("name=a.txt", b"", "body"),
        ("name=a.txt", b"nothing", "wrote"),
        ("name=a.txt&masking=no", b"x", "masking"),
        ("name=a.csv&column=Ticket", b"x", "WHAT=COLUMN"),
        ("name=a.csv&column=number%3DTicket", b"x", "question"),
        ("name=a.csv&column=id%3DTicket", b"Fall,question,answer\n1,a,b", "Ticket"),
        ("name=a.txt&colum=x", b"x", "column"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    client: APIClient, query: str, content: bytes, word: str
) -> None:
    client.post(URL, {"name": "Help desk"}, format="json")
    refused = send(client, "help-desk", content, query)
    assert refused.status_code in {400, 422}, refused.content
    assert word in refused.content.decode()
    assert not Run.all_runs.exists()


def test_columns_are_read_as_asked_for(client: APIClient) -> None:
    client.post(URL, {"name": "Help desk"}, format="json")
    columns = "&column=id%3DFall&column=question%3Dx&column=answer%3Dy"
    sent = send(client, "help-desk", b"Fall,x,y\n7,Where?,Rome.\n", f"name=a.csv{columns}")
    assert sent.json()["added"] == 1


def test_a_set_takes_what_agents_send(
    client: APIClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    target = make_set()
    url = "/api/conversation-sets/help-desk/spans/"
    assert client.get(url).status_code == 404
    assert client.put(url, {"quiet_minutes": 0}, format="json").status_code == 400

    made = client.put(url, {}, format="json").json()
    assert made.keys() == set(SpanInboxAnswer.KEYS)
    assert (made["is_open"], made["quiet_minutes"], made["waiting_since"]) == (True, 10, None)
    assert made["address"] == "http://127.0.0.1:8000/api/conversation-sets/help-desk/otlp"
    spans = request_of(*turn(1, "Why?", "So."))
    keep_spans(SpanInbox.objects.get(conversation_set=target), spans, may_run=False)
    known = client.get(url).json()
    assert known["waiting_bytes"] > 0
    assert known["waiting_since"].endswith("Z")

    closed = client.put(url, {"is_open": False}, format="json").json()
    assert (closed["is_open"], closed["left_out"]) == (False, {})
