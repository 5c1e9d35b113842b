"""Baselines over REST: a run is made one, and another one is compared with it."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from evals_app.library.baselines import set_baseline
from evals_app.models import Run, Suite
from evals_app.runs.process.worker_loop import work
from tests.api.clients import make_client
from tests.makers import make_run
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client("run")


def post(client: APIClient, path: str, body: object) -> Any:
    return client.post(f"/api/{path}", body, format="json")


def test_a_run_becomes_the_baseline_of_its_suite_and_no_longer(client: APIClient) -> None:
    run = make_run(["passed", "failed"])
    path = f"runs/{run.pk}/baseline/"

    answer = post(client, path, {"is_baseline": True})
    listed = client.get("/api/suites/").json()["results"]

    assert (answer.status_code, answer.json()["is_baseline"]) == (200, True)
    assert [suite["baseline"] for suite in listed] == [run.pk]
    assert [row["is_baseline"] for row in client.get("/api/runs/").json()["results"]] == [True]

    answer = post(client, path, {"is_baseline": False})

    assert (answer.status_code, answer.json()["is_baseline"]) == (200, False)
    assert Suite.objects.get().baseline is None
    user = User.objects.get()
    assert [entry.user for entry in LogEntry.objects.all()] == [user, user]


@pytest.mark.parametrize(
    ("states", "body", "status"),
    [
        pytest.param(["failed"], {"is_baseline": True}, 422, id="nothing passed"),
        pytest.param(["passed", "queued"], {"is_baseline": True}, 422, id="running"),
        pytest.param(["passed"], {}, 400, id="empty"),
        pytest.param(["passed"], {"is_baseline": "yes"}, 400, id="a text"),
        pytest.param(["passed"], {"is_pinned": True}, 400, id="another key"),
    ],
)
def test_what_cannot_be_a_baseline_is_refused(
    client: APIClient, states: list[str], body: dict[str, Any], status: int
) -> None:
    run = make_run(states)

    answer = post(client, f"runs/{run.pk}/baseline/", body)

    assert answer.status_code == status
    assert answer.json()["errors"][0]["keys"] in {"is_baseline", "is_pinned"}
    assert Suite.objects.get().baseline is None


@pytest.mark.parametrize("how", ["id", "latest", "pinned", None])
def test_a_run_is_compared_with_what_the_body_names(client: APIClient, how: str | None) -> None:
    suite = make_suite(["hello one", "hello two"])
    base = finished(suite)
    set_baseline(base)

    baseline = base.pk if how == "id" else how
    answer = post(client, "runs/", {"suite": "greetings", "baseline": baseline})
    work()
    ended = client.get(f"/api/runs/{answer.json()['id']}/").json()

    assert (answer.status_code, answer.json()["baseline"]) == (201, base.pk)
    gates = {gate["name"]: (gate["limit"], gate["actual"]) for gate in ended["gates"]}
    assert gates == ({} if how is None else {"max_regressions": (0, 0)})
    if how is not None:
        assert f"run {base.pk}" in ended["gates"][0]["reason"]


@pytest.mark.parametrize("path", ["runs/", "runs/forecast/"])
@pytest.mark.parametrize(
    ("baseline", "status"),
    [
        pytest.param("pinned", 422, id="there is none"),
        pytest.param(4711, 422, id="unknown"),
        pytest.param("newest", 400, id="no such word"),
        pytest.param(0, 400, id="no id"),
        pytest.param(2**63, 400, id="too large"),
        pytest.param(True, 400, id="no number"),
        pytest.param([1], 400, id="a list"),
    ],
)
def test_a_baseline_that_is_not_there_starts_nothing(
    client: APIClient, path: str, baseline: Any, status: int
) -> None:
    make_suite()

    answer = post(client, path, {"suite": "greetings", "baseline": baseline})

    assert answer.status_code == status
    assert not Run.objects.exists()
