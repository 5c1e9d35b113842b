"""What people decide about versions, over REST."""

import pytest
from rest_framework.test import APIClient

from evals_app.models import Suite
from tests.api.clients import make_client
from tests.makers import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client("run")


def test_a_decision_is_made_and_listed(client: APIClient) -> None:
    run = make_run(["passed"])

    made = client.post(f"/api/runs/{run.pk}/decision/", {"shipped": True}, format="json")
    listed = client.get("/api/suites/refunds/decisions/").json()["results"]
    answer = client.get("/api/suites/refunds/decision/").json()

    assert made.status_code == 201
    assert listed == [made.json()] == [answer["decision"]]
    assert made.json()["answered"] == "Yes (scripted): 1 of 1 case passed."
    assert Suite.objects.get().baseline == run


def test_failures_are_accepted_and_withdrawn(client: APIClient) -> None:
    run = make_run({"A": ["failed"], "B": ["passed"]})
    path = f"/api/runs/{run.pk}/accepted-failures/"

    answer = client.post(path, {"cases": ["A"], "reason": "Known."}, format="json")

    assert answer.status_code == 201
    assert answer.json()["answer"] == "yes"
    (accepted,) = answer.json()["accepted"]
    assert (accepted["case"], accepted["reason"], accepted["until"]) == ("A", "Known.", None)
    client.post(f"/api/accepted-failures/{accepted['id']}/withdraw/", {}, format="json")
    assert client.get("/api/suites/refunds/decision/").json()["accepted"] == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("decision", {"shipped": False}, 422),
        ("decision", {"shipped": "yes"}, 400),
        ("decision", {}, 400),
        ("accepted-failures", {"cases": ["C"], "reason": "Known."}, 422),
        ("accepted-failures", {"cases": [], "reason": "Known."}, 400),
        ("accepted-failures", {"cases": ["A"], "reason": "x", "until": "2020-01-01"}, 422),
        ("accepted-failures", {"cases": ["A"], "reason": "x", "until": "May"}, 400),
    ],
)
def test_what_cannot_be_decided_is_refused(
    client: APIClient, path: str, body: object, status: int
) -> None:
    run = make_run({"A": ["failed"], "B": ["passed"]})

    answer = client.post(f"/api/runs/{run.pk}/{path}/", body, format="json")

    assert answer.status_code == status, answer.json()


def test_runs_whose_suite_was_deleted_are_refused(client: APIClient) -> None:
    run = make_run(["passed"])
    Suite.objects.all().delete()

    for path, body in (
        ("decision", {"shipped": True}),
        ("accepted-failures", {"cases": ["case 1"], "reason": "x"}),
    ):
        answer = client.post(f"/api/runs/{run.pk}/{path}/", body, format="json")
        assert (answer.status_code, "was deleted" in answer.json()["detail"]) == (422, True)
