import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from evals_app.engine.record.trial import Verdict
from evals_app.engine.verdicts.execution_verdict import Decision, execution_summary
from evals_app.reports.words.kinds import KIND_NAMES, KINDS
from tests.api.clients import make_client
from tests.makers import make_run, make_trial

pytestmark = pytest.mark.django_db

VIEW_RUN, VIEW_EXECUTION = "evals_app.view_run", "evals_app.view_execution"


@pytest.fixture
def client() -> APIClient:
    return make_client("read")


@pytest.mark.parametrize("accept", [None, "*/*", "application/json"])
@pytest.mark.parametrize("kind", KIND_NAMES)
def test_a_report_of_every_kind_is_a_file(client: APIClient, kind: str, accept: str | None) -> None:
    run = make_run(["passed", "failed"])

    response = client.get(
        f"/api/runs/{run.pk}/report/?kind={kind}", headers={"Accept": accept} if accept else {}
    )

    assert response.status_code == 200
    assert response.headers["Content-Type"] == KINDS[kind].media_type
    assert f'filename="run-{run.pk}-refunds' in response.headers["Content-Disposition"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.getvalue()


def test_without_a_kind_it_is_json_as_its_schema_says(client: APIClient) -> None:
    run = make_run(["passed", "failed"])
    summary = execution_summary(make_trial(), [], Decision(Verdict.FAILED, 0.5))
    run.executions.update(summary=summary)

    body = client.get(f"/api/runs/{run.pk}/report/").getvalue()

    schema = client.get("/api/runs/report-schema/").json()
    assert list(Draft202012Validator(schema).iter_errors(json.loads(body))) == []


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_conversations_are_only_for_those_who_may_read_executions(kind: Any) -> None:
    run = make_run(["passed"])
    address = f"/api/runs/{run.pk}/report/?kind={kind}"

    runs_only = make_client("read", permissions=[VIEW_RUN]).get(address)
    both = make_client("read", permissions=[VIEW_RUN, VIEW_EXECUTION]).get(address)

    assert runs_only.status_code == (403 if KINDS[kind].has_conversations else 200)
    assert both.status_code == 200
    if not KINDS[kind].has_conversations:
        assert b"on its way" not in runs_only.getvalue()


@pytest.mark.parametrize(
    ("address", "status", "word"),
    [
        ("report/?kind=htlm", 400, "Did you mean 'html'?"),
        ("report/?kidn=html", 400, "Did you mean 'kind'?"),
    ],
)
def test_an_unknown_kind_is_refused(
    client: APIClient, address: str, status: int, word: str
) -> None:
    response = client.get(f"/api/runs/{make_run(['passed']).pk}/{address}")

    assert response.status_code == status
    assert word in response.json()["detail"]


@pytest.mark.parametrize("number", ["0", "999999", "9" * 40])
def test_a_run_that_does_not_exist_has_no_report(client: APIClient, number: str) -> None:
    assert client.get(f"/api/runs/{number}/report/?kind=html").status_code == 404
