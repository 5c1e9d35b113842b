from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from rest_framework.test import APIClient

from evals_app.models import Run
from evals_app.requests import waiting
from tests.api.clients import make_client
from tests.makers import make_run

pytestmark = pytest.mark.django_db

Steps = list[Callable[[], object]]


@pytest.fixture
def client() -> APIClient:
    return make_client("read")


@pytest.fixture
def run() -> Run:
    return make_run(["passed", "queued", "queued"])


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """What happens while a request waits, one step after the other; then its time is over."""
    steps: Steps = []

    def pause(_seconds: float) -> None:
        if steps:
            steps.pop(0)()
        else:
            monkeypatch.setattr(waiting, "monotonic", lambda: float("inf"))

    monkeypatch.setattr(waiting, "sleep", pause)
    monkeypatch.setattr(waiting, "monotonic", lambda: 0.0)
    return steps


def proceed(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(passed=2, not_run=1)


def end(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(status="cancelled", verdict="inconclusive")


def test_the_answer_comes_when_the_run_has_ended(client: APIClient, run: Run, steps: Steps) -> None:
    steps += [lambda: proceed(run), lambda: end(run)]

    body = client.get(f"/api/runs/{run.pk}/?wait=30&fields=status").json()

    assert (body, steps) == ({"status": "cancelled"}, [])


def test_or_when_the_time_is_over(client: APIClient, run: Run, steps: Steps) -> None:
    steps.append(lambda: proceed(run))

    body = client.get(f"/api/runs/{run.pk}/?wait=30&fields=status,progress").json()

    assert body == {"status": "running", "progress": {"done": 2, "total": 3}}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        pytest.param("status,progress", 200, id="it changed"),
        pytest.param("status,verdict", 304, id="something else changed"),
    ],
)
def test_with_the_version_that_is_known_it_comes_when_anything_changes(
    client: APIClient, run: Run, steps: Steps, fields: str, status: int
) -> None:
    path = f"/api/runs/{run.pk}/?fields={fields}"
    etag = client.get(path).headers["ETag"]
    steps += [lambda: None, lambda: proceed(run)]

    answer = client.get(f"{path}&wait=30", headers={"If-None-Match": etag})

    assert (answer.status_code, steps) == (status, [])
    assert (answer.headers["ETag"] == etag) is (status == 304)


@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
def test_of_a_run_that_has_ended_it_comes_at_once(
    client: APIClient, steps: Steps, *, known: bool
) -> None:
    path = f"/api/runs/{make_run(['passed']).pk}/"
    headers = {"If-None-Match": client.get(path).headers["ETag"]} if known else {}
    steps.append(pytest.fail)

    answer = client.get(f"{path}?wait=30", headers=headers)

    assert answer.status_code == (304 if known else 200)


def test_where_enough_wait_already_it_comes_at_once(
    client: APIClient, run: Run, steps: Steps
) -> None:
    steps.append(pytest.fail)

    with ExitStack() as others:
        for _ in range(waiting.MAX_WAITING):
            others.enter_context(waiting.PLACES)
        answer = client.get(f"/api/runs/{run.pk}/?wait=30")

    assert answer.json()["status"] == "running"


@pytest.mark.parametrize("seconds", ["61", "-1", "1.5", "", "soon"])
def test_other_times_are_refused(client: APIClient, run: Run, seconds: Any) -> None:
    answer = client.get(f"/api/runs/{run.pk}/?wait={seconds}")

    assert (answer.status_code, answer.json()["errors"][0]["keys"]) == (400, "wait")


def test_waiting_for_a_run_that_does_not_exist_ends_at_once(client: APIClient) -> None:
    assert client.get("/api/runs/1/?wait=30").status_code == 404
