from base64 import b64encode
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from evals_app.library.importing.file_import import import_files
from evals_app.models import Execution, Run
from evals_app.reports.answers.run_answers import ExecutionRow, RunDetails
from evals_app.requests import starts
from evals_app.requests.starts import _started_before
from tests.api.clients import SUITE, make_client, start_talks
from tests.library.written import AGENT, JUDGE
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db

GROUP = "5f0c1a52-6b1e-4c7c-9d0a-2f1f0f6f2a11"


@pytest.fixture
def client() -> APIClient:
    return make_client("run")


@pytest.fixture
def suite() -> None:
    import_files([AGENT, JUDGE, SUITE])


def start(client: APIClient, body: object, key: str | None = None) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post("/api/runs/", body, format="json", headers=headers)


# Starting


@pytest.mark.usefixtures("suite")
def test_a_run_is_started(client: APIClient) -> None:
    response = start(client, {"suite": "talks"})

    run = Run.objects.get()
    assert response.status_code == 201
    assert response.headers["Location"] == f"/api/runs/{run.pk}/"
    body = response.json()
    assert (body["id"], body["suite"], body["agent"]) == (run.pk, "talks", "shop")
    assert (body["status"], body["verdict"]) == ("queued", None)
    none = dict.fromkeys(("passed", "failed", "measured", "errored", "skipped", "cancelled"), 0)
    assert body["counts"] == {"total": 2, "not_run": 2, **none}
    assert body["progress"] == {"done": 0, "total": 2}
    assert run.created_by is not None


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize(
    ("body", "total"),
    [
        pytest.param({"cases": ["REFUND"]}, 1, id="part of a name"),
        pytest.param({"tags": ["money"]}, 1, id="tag of a case"),
        pytest.param({"tags": ["all"]}, 2, id="tag of the suite"),
        pytest.param({"trials": 3}, 6, id="trials"),
        pytest.param({"max_cost_usd": 0.5}, 2, id="ceiling"),
        pytest.param({"agent": "strict"}, 2, id="another agent"),
        pytest.param({"agent": None, "model": None, "trials": None}, 2, id="null is left out"),
    ],
)
def test_a_run_may_be_part_of_a_suite(client: APIClient, body: dict[str, Any], total: int) -> None:
    response = start(client, {"suite": "talks", **body})

    assert response.status_code == 201, response.json()
    assert response.json()["counts"]["total"] == total
    assert response.json()["agent"] == body.get("agent") or "shop"


@pytest.mark.usefixtures("suite")
def test_runs_with_one_group_belong_together(client: APIClient) -> None:
    answers = [start(client, {"suite": "talks", "group": GROUP}).json() for _ in range(2)]

    assert [answer["group"] for answer in answers] == [GROUP, GROUP]
    assert Run.objects.filter(group=GROUP).count() == 2


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize("ceiling", ["0.1", "1e-9", None])
def test_a_ceiling_is_kept_to_the_last_digit(client: APIClient, ceiling: str | None) -> None:
    start(client, {"suite": "talks", "max_cost_usd": ceiling and float(ceiling)})

    assert Run.objects.get().max_cost_usd == (ceiling and Decimal(ceiling))


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        pytest.param({}, 400, "suite: ", id="empty"),
        pytest.param([], 400, "Send a JSON object.", id="list"),
        pytest.param({"suite": "talk"}, 400, "Did you mean 'talks'?", id="unknown suite"),
        pytest.param({"suite": "talks", "agent": "shopp"}, 400, "Did you mean 'shop'?", id="agent"),
        pytest.param({"suite": "talks", "trails": 2}, 400, "Did you mean 'trials'?", id="unknown"),
        pytest.param({"suite": "talks", "trials": 10**30}, 400, "trials", id="huge"),
        pytest.param({"suite": "talks", "cases": ["nope"]}, 422, "No case of talks", id="no case"),
        pytest.param({"suite": "talks", "model": "x/y"}, 422, "no model", id="model of a script"),
        pytest.param({"suite": "talks", "max_cost_usd": 0}, 400, "max_cost_usd", id="for nothing"),
        pytest.param({"suite": "talks", "max_cost_usd": 1e9}, 400, "max_cost_usd", id="too much"),
        pytest.param({"suite": "talks", "group": "nightly"}, 400, "group: ", id="no UUID"),
    ],
)
def test_what_cannot_be_started_is_explained(
    client: APIClient, body: object, status: int, expected: str
) -> None:
    response = start(client, body)

    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    errors = [f"{error['keys']}: {error['message']}" for error in problem["errors"]]
    assert expected in "\n".join([problem["detail"], *errors])
    assert not Run.objects.exists()


@pytest.mark.usefixtures("suite")
def test_the_same_key_gives_the_same_run(client: APIClient) -> None:
    first = start(client, {"suite": "talks"}, "key-1")
    second = start(client, {"suite": "talks", "cases": []}, "key-1")
    third = start(client, {"suite": "talks"}, "key-2")
    of_another = start(make_client("run"), {"suite": "talks", "trials": 2}, "key-1")
    conflict = start(client, {"suite": "talks", "trials": 2}, "key-1")

    answers = (first, second, third, of_another, conflict)
    assert [answer.status_code for answer in answers] == [201, 200, 201, 201, 409]
    assert first.json()["id"] == second.json()["id"] != third.json()["id"]
    assert conflict.json()["type"] == "urn:evalwell:idempotency-key-reused"
    assert Run.objects.count() == 3


@pytest.mark.usefixtures("suite")
def test_a_key_is_free_again_once_whoever_prepared_its_run_is_silent(
    client: APIClient, settings: Any
) -> None:
    first = start(client, {"suite": "talks"}, "key").json()["id"]
    Run.objects.update(status=Run.PREPARING)
    wait = start(client, {"suite": "talks"}, "key")
    silent_for = timedelta(seconds=settings.EVALS_LEASE_S + 5)
    Run.all_runs.update(waiting_since=timezone.now() - silent_for)
    again = start(client, {"suite": "talks"}, "key")

    assert wait.status_code == 409
    assert wait.json()["type"] == "urn:evalwell:being-prepared"
    assert 0 < int(wait.headers["Retry-After"]) <= settings.EVALS_LEASE_S
    assert again.status_code == 201
    assert again.json()["id"] != first
    assert start(client, {"suite": "talks"}, "key").json()["id"] == again.json()["id"]


@pytest.mark.usefixtures("suite")
@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_of_no_use_is_refused(client: APIClient, key: str) -> None:
    assert start(client, {"suite": "talks"}, key).status_code == 400
    assert not Run.objects.exists()


@pytest.mark.usefixtures("suite")
def test_a_start_that_loses_a_race_answers_the_run_of_the_winner(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start(client, {"suite": "talks"}, "key")
    # The first look finds nothing, as it does when both requests look before either starts.
    looks: list[str] = []

    def look(key: str) -> Run | None:
        looks.append(key)
        return None if len(looks) == 1 else _started_before(key)

    monkeypatch.setattr(starts, "_started_before", look)

    second = start(client, {"suite": "talks"}, "key")

    assert second.status_code == 200
    assert second.json()["id"] == first.json()["id"]


# Reading


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({"suite": "other"}, ["other"], id="suite"),
        pytest.param({"suite": "nowhere"}, [], id="no such suite"),
        pytest.param({"agent": "shop"}, ["other", "open", "failed", "passed"], id="agent"),
        pytest.param({"status": "queued"}, ["open"], id="status"),
        pytest.param({"verdict": "failed"}, ["failed"], id="verdict"),
        pytest.param({"verdict": "passed", "suite": "refunds"}, ["passed"], id="two"),
        pytest.param({"is_whole": "false"}, ["failed"], id="not whole"),
        pytest.param({"is_whole": "true", "status": "finished"}, ["other", "passed"], id="whole"),
        ({"created_after": "2030-01-01T00:00:00Z"}, ["other", "open", "failed"]),
        pytest.param({"created_before": "2030-01-01T00:00:00+01:00"}, ["passed"], id="before"),
        pytest.param({"group": GROUP}, ["other", "open"], id="group"),
    ],
)
def test_runs_are_filtered(client: APIClient, query: dict[str, str], expected: list[str]) -> None:
    later = datetime(2031, 1, 1, tzinfo=UTC)
    early = datetime(2029, 1, 1, tzinfo=UTC)
    names = {
        make_run(["passed"], created_at=early).pk: "passed",
        make_run(["failed"], created_at=later, is_whole=False).pk: "failed",
        make_run(["queued"], created_at=later, group=GROUP).pk: "open",
        make_run(["passed"], suite=make_suite("other"), created_at=later, group=GROUP).pk: "other",
    }

    body = client.get("/api/runs/", query).json()

    assert [names[row["id"]] for row in body["results"]] == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("verdict=good", "good", id="choice"),
        pytest.param("is_whole=1", "is_whole", id="neither true nor false"),
        pytest.param("group=7", "group", id="no group"),
        pytest.param("verdit=failed", "Did you mean 'verdict'?", id="unknown parameter"),
        pytest.param("created_after=yesterday", "created_after", id="no time"),
        pytest.param("created_after=0001-01-01T00:00:00%2B14:00", "created_after", id="early"),
        pytest.param("suite=%00", "ull characters", id="null byte"),
        pytest.param("fields=id,verdit", "Did you mean 'verdict'?", id="unknown field"),
        pytest.param("page_size=0", "page_size", id="page of 0"),
        pytest.param("page_size=1000", "1 to 200", id="large page"),
        pytest.param("page_size=%C2%B2", "page_size", id="a digit that is none"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(
    client: APIClient, query: str, expected: str
) -> None:
    response = client.get(f"/api/runs/?{query}")

    assert response.status_code == 400
    assert expected in str(response.json())


def paged(client: APIClient, address: str | None) -> list[Any]:
    """Return the rows of all pages."""
    rows: list[Any] = []
    while address:
        page = client.get(address).json()
        rows += page["results"]
        address = page["next"]
    return rows


def test_pages_follow_each_other(client: APIClient) -> None:
    runs = [make_run({"A": ["passed"] * 5, "B": ["passed"] * 2}).pk for _ in range(5)]

    rows = paged(client, "/api/runs/?page_size=2&fields=id")
    executions = paged(client, f"/api/runs/{runs[0]}/executions/?page_size=2")

    assert [row["id"] for row in rows] == list(reversed(runs))
    assert [f"{row['case']}{row['trial']}" for row in executions] == [
        *("A1", "A2", "A3", "A4", "A5", "B1", "B2")
    ]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("p=5", 200, id="a number"),
        pytest.param("p=abc", 400, id="a word"),
        pytest.param("p=-5", 400, id="a negative number"),
        pytest.param(f"p={'9' * 30}", 400, id="a huge number"),
        pytest.param("p=%00", 400, id="null byte"),
        pytest.param("o=x", 400, id="offset"),
        pytest.param("o=999999999999", 200, id="large offset"),
    ],
)
def test_a_made_up_cursor_is_refused(client: APIClient, text: str, status: int) -> None:
    make_run(["passed"])

    cursor = b64encode(text.encode()).decode()

    answer = client.get("/api/runs/", {"cursor": cursor})

    assert answer.status_code == status
    assert status == 200 or "leave `cursor` out" in answer.json()["detail"]


def test_a_run_that_has_ended_tells_its_cases_and_gates(client: APIClient) -> None:
    run = make_run({"Refund": ["passed", "failed"]}, gates={"min_score": 0.9})

    body = client.get(f"/api/runs/{run.pk}/").json()

    assert body.keys() == set(RunDetails.KEYS)
    assert body["verdict"] == "failed"
    assert body["cases"][0]["name"] == "Refund"
    assert body["cases"][0]["pass_rate"] == 0.5
    gate = {
        "name": "min_score",
        "limit": 0.9,
        "actual": 0.625,
        "passed": False,
        "is_applied": True,
        "reason": None,
    }
    assert body["gates"] == [gate | {"graded": 1, "not_graded": 0}]
    assert body["duration_ms"] == pytest.approx(90_000, rel=0.01)


@pytest.mark.parametrize(("limit", "passed"), [(0.5, True), (0.6, None)])
def test_a_share_has_its_numbers_and_a_gate_says_what_is_not_graded(
    client: APIClient, limit: float, *, passed: bool | None
) -> None:
    run = make_run(["passed"] * 5 + ["errored"] * 5, gates={"min_pass_rate": limit})

    answer = client.get(f"/api/runs/{run.pk}/").json()

    shares = ("pass_rate", "cases_passed", "cases_failed", "cases_not_graded")
    assert [answer[name] for name in shares] == [1.0, 5, 0, 5]
    (gate,) = answer["gates"]
    assert (gate["actual"], gate["passed"], gate["graded"], gate["not_graded"]) == (1, passed, 5, 5)
    assert bool(gate["reason"]) is (passed is None)


def test_fields_restrict_the_keys(client: APIClient) -> None:
    run = make_run(["passed"])
    execution = run.executions.get()

    body = client.get(f"/api/runs/{run.pk}/?fields=verdict,id").json()

    assert body == {"id": run.pk, "verdict": "passed"}
    assert client.get(f"/api/executions/{execution.pk}/?fields=grades").json() == {"grades": []}
    refused = client.get(f"/api/executions/{execution.pk}/?fields=grade")
    assert (refused.status_code, refused.json()["errors"][0]["keys"]) == (400, "fields")


@pytest.mark.parametrize("number", ["0", "999999", "9" * 40, "9" * 5000])
@pytest.mark.parametrize("address", ["runs/{}/", "runs/{}/executions/", "executions/{}/"])
def test_what_does_not_exist_is_not_found(client: APIClient, number: str, address: str) -> None:
    response = client.get(f"/api/{address.format(number)}")

    assert response.status_code == response.json()["status"] == 404


# Executions


@pytest.fixture
def run() -> Run:
    return make_run({"A": ["passed", "failed"], "B": ["errored", "cancelled"], "C": ["not_run"]})


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", ["A1", "A2", "B1", "B2", "C1"], id="all"),
        pytest.param("verdict=failed", ["A2"], id="verdict"),
        pytest.param("verdict=errored&case=B", ["B1"], id="verdict and case"),
        pytest.param("case=A", ["A1", "A2"], id="case"),
        pytest.param("case=a", [], id="names are exact"),
        pytest.param("cause=assertion", ["A2"], id="cause"),
        pytest.param("status=cancelled", ["B2"], id="status"),
    ],
)
def test_executions_are_listed_in_the_order_of_the_cases(
    client: APIClient, run: Run, query: str, expected: list[str]
) -> None:
    make_run(["passed"])

    rows = client.get(f"/api/runs/{run.pk}/executions/?{query}").json()["results"]

    assert [f"{row['case']}{row['trial']}" for row in rows] == expected
    assert all(row.keys() == set(ExecutionRow.KEYS) for row in rows)


def test_a_list_of_executions_reads_no_transcripts(
    client: APIClient, run: Run, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(3) as asked:  # the token, the run, the page
        client.get(f"/api/runs/{run.pk}/executions/")

    assert not any("transcript" in query["sql"] for query in asked)
    assert not any("COUNT" in query["sql"] for query in asked)


# Cancel


def test_an_open_run_is_cancelled(client: APIClient) -> None:
    run = start_talks()

    response = client.post(f"/api/runs/{run.pk}/cancel/")

    assert response.status_code == 200
    assert response.json()["status"] == "cancelled"
    assert response.json()["counts"]["cancelled"] == 2


def test_a_run_that_has_ended_stays_as_it_is(client: APIClient) -> None:
    run = make_run(["passed"])

    response = client.post(f"/api/runs/{run.pk}/cancel/", {}, format="json")

    assert response.status_code == 200
    assert (response.json()["status"], response.json()["verdict"]) == ("finished", "passed")


def test_a_body_that_cancel_would_ignore_is_refused(client: APIClient) -> None:
    run = make_run(["queued"])

    response = client.post(f"/api/runs/{run.pk}/cancel/", {"force": True}, format="json")

    assert response.status_code == 400
    assert Run.objects.get(pk=run.pk).stop_reason == ""


# Go on, put back, keep


def test_a_run_that_was_stopped_goes_on(client: APIClient) -> None:
    run = make_run(["passed", "not_run"], stop_reason="budget", max_cost_usd=5, spent_usd=4)

    response = client.post(f"/api/runs/{run.pk}/resume/", {"max_cost_usd": 7.5}, format="json")

    assert response.status_code == 200
    body = response.json()
    assert (body["status"], body["stop_reason"]) == ("running", None)
    assert body["counts"]["passed"] == body["counts"]["not_run"] == 1
    assert Run.objects.get(pk=run.pk).max_cost_usd == Decimal("7.5")


@pytest.mark.parametrize(
    ("run", "body", "status", "expected"),
    [
        pytest.param({}, {}, 422, "was not stopped", id="complete"),
        pytest.param(
            {"stop_reason": "budget", "max_cost_usd": 5, "spent_usd": 4},
            {"max_cost_usd": 4},
            422,
            "needs a ceiling above",
            id="spent already",
        ),
        pytest.param({}, {"max_cost_usd": 0}, 400, "max_cost_usd", id="for nothing"),
    ],
)
def test_what_cannot_go_on_is_explained(
    client: APIClient, run: dict[str, Any], body: dict[str, Any], status: int, expected: str
) -> None:
    made = make_run(["passed", "not_run"], **run)

    response = client.post(f"/api/runs/{made.pk}/resume/", body, format="json")

    assert response.status_code == status
    assert expected in str(response.json())
    assert not Run.objects.get(pk=made.pk).is_open


def test_what_nobody_holds_is_put_back(client: APIClient) -> None:
    run = make_run(["running", "queued"])

    response = client.post(f"/api/runs/{run.pk}/requeue/")

    assert response.status_code == 200
    assert response.json()["counts"]["not_run"] == 2
    assert not run.executions.filter(status="running").exists()


@pytest.mark.parametrize("is_pinned", [True, False])
def test_transcripts_are_kept_or_no_longer(client: APIClient, *, is_pinned: bool) -> None:
    run = make_run(["passed"], is_pinned=not is_pinned)

    body = {"is_pinned": is_pinned}
    response = client.post(f"/api/runs/{run.pk}/pin/", body, format="json")

    assert response.status_code == 200
    assert Run.objects.get(pk=run.pk).is_pinned is is_pinned


@pytest.mark.parametrize("body", [{}, {"is_pinned": "yes"}, {"is_pinned": None}, {"pinned": True}])
def test_whether_to_keep_them_must_be_stated(client: APIClient, body: dict[str, Any]) -> None:
    run = make_run(["passed"])

    response = client.post(f"/api/runs/{run.pk}/pin/", body, format="json")

    assert response.status_code == 400
    assert not Run.objects.get(pk=run.pk).is_pinned


@pytest.mark.parametrize("what", ["cancel", "rerun", "resume", "requeue", "pin", "baseline"])
def test_a_run_that_is_not_there_can_do_nothing(client: APIClient, what: str) -> None:
    bodies = {"pin": {"is_pinned": True}, "baseline": {"is_baseline": True}}
    body = bodies.get(what, {})

    assert client.post(f"/api/runs/999/{what}/", body, format="json").status_code == 404


# Run again


@pytest.fixture
def ended() -> Run:
    """A run with a failed case and a passed one."""
    run = start_talks()
    first, second = Execution.objects.order_by("position")
    finished = Execution.objects.filter(pk=first.pk)
    finished.update(status="finished", verdict="failed", cause="assertion")
    Execution.objects.filter(pk=second.pk).update(status="finished", verdict="passed")
    Run.objects.update(status="finished", verdict="failed", failed=1, passed=1, not_run=0)
    return run


@pytest.mark.parametrize(
    ("body", "total"),
    [
        pytest.param({"only": "failed"}, 1, id="failed"),
        pytest.param({"only": "all"}, 2, id="all"),
        pytest.param({}, 1, id="failed is what is meant"),
        pytest.param({"version": "frozen"}, 1, id="as they were"),
        pytest.param({"only": "all", "cases": ["Greets"]}, 1, id="chosen cases"),
    ],
)
def test_cases_are_run_again(
    client: APIClient, ended: Run, body: dict[str, Any], total: int
) -> None:
    response = client.post(f"/api/runs/{ended.pk}/rerun/", body, format="json")

    assert response.status_code == 201
    assert response.json()["rerun_of"] == ended.pk
    assert response.json()["counts"]["total"] == total


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        pytest.param({"only": "errored"}, 422, "has no errored", id="there are none"),
        pytest.param({"version": "old"}, 400, "version", id="unknown version"),
        pytest.param({"cases": ["nope"]}, 422, "nope", id="unknown case"),
    ],
)
def test_a_rerun_that_makes_no_sense_is_refused(
    client: APIClient, ended: Run, body: dict[str, str], status: int, expected: str
) -> None:
    response = client.post(f"/api/runs/{ended.pk}/rerun/", body, format="json")

    assert response.status_code == status
    assert expected in str(response.json())
    assert Run.objects.count() == 1
