"""Ready by topic, over REST."""

import pytest
from rest_framework.test import APIClient

from evals_app.models import Case, TopicReadiness
from tests.api.clients import make_client
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db
TOPIC = "/api/agents/shop/topics/returns/abroad/"  # a tag may have a slash


@pytest.fixture
def client() -> APIClient:
    suite = make_suite(tags=["desk"])
    for name, tags in {"A": ["returns/abroad"], "B": ["returns/abroad"], "C": []}.items():
        Case.objects.create(suite=suite, name=name, tags=tags)
    make_run({"A": ["failed"], "B": ["passed"]})
    return make_client("run")


def test_topics_are_listed_with_what_they_say(client: APIClient) -> None:
    answer = client.get("/api/agents/shop/topics/").json()

    assert (answer["agent"], answer["without_cases"]) == ("shop", [])
    desk, returns = answer["topics"]
    assert [topic["topic"] for topic in (desk, returns)] == ["desk", "returns/abroad"]
    assert (returns["answer"], returns["exit_code"], returns["suites"]) == ("no", 1, ["refunds"])
    assert (returns["cases"], returns["passed"], returns["decided"]) == (2, 1, 2)
    assert returns["interval"] == pytest.approx([0.0945, 0.9055], abs=1e-4)
    assert (desk["cases"], desk["decided"], desk["not_run"]) == (3, 2, 1)
    assert [(run["passed"], run["decided"]) for run in returns["last_runs"]] == [(1, 2)]
    assert (returns["judge"], returns["readiness"]) == (None, None)


def test_a_topic_is_set_and_its_history_is_kept(client: APIClient) -> None:
    for state in ("ready", "limited"):
        body = {"state": state, "note": "Unopened.", "owner": "Ben", "until": "2999-12-31"}
        made = client.post(TOPIC, body, format="json")
        assert made.status_code == 201, made.json()

    answer = client.get(TOPIC).json()

    assert answer["readiness"] == made.json()
    said = ("limited", "Ben", "2999-12-31", False)
    assert tuple(made.json()[key] for key in ("state", "owner", "until", "is_over")) == said
    assert [row["state"] for row in answer["history"]] == ["limited", "ready"]
    assert client.get("/api/agents/shop/topics/").json()["topics"][1]["readiness"] == made.json()


def test_what_was_said_of_a_lost_topic_is_told(client: APIClient) -> None:
    client.post(TOPIC, {"state": "ready"}, format="json")
    Case.objects.update(tags=[])

    (lost,) = client.get("/api/agents/shop/topics/").json()["without_cases"]

    assert (lost["topic"], lost["state"]) == ("returns/abroad", "ready")
    assert client.get(TOPIC).status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (TOPIC, {"state": "redy"}, 400),
        (TOPIC, {"state": "limited"}, 422),
        (TOPIC, {"state": "ready", "until": "2020-01-01"}, 422),
        ("/api/agents/shop/topics/returns/", {"state": "ready"}, 422),
        ("/api/agents/other/topics/returns/", {"state": "ready"}, 404),
    ],
)
def test_what_cannot_be_set_is_refused(
    client: APIClient, path: str, body: object, status: int
) -> None:
    answer = client.post(path, body, format="json")

    assert answer.status_code == status, answer.json()
    assert not TopicReadiness.objects.exists()
