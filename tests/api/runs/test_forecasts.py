from typing import Any

import pytest
from django.utils import timezone
from openapi_schema_validator import OAS31Validator
from rest_framework.test import APIClient

from evals_app.library.importing.file_import import import_files
from evals_app.models import ModelPrice, MonthlyCeiling, Provider, Run, Spending
from tests.api.clients import SUITE, make_client
from tests.library.written import AGENT, JUDGE, MODEL_AGENT

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    import_files([AGENT, JUDGE, MODEL_AGENT, SUITE])
    return make_client("read")


def ask(client: APIClient, **body: Any) -> Any:
    return client.post("/api/runs/forecast/", {"suite": "talks", **body}, format="json")


def price_the_clerk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    provider = Provider.objects.get(slug="anthropic")
    provider.prices.all().delete()
    ModelPrice.objects.create(
        provider=provider, model="*", valid_from="2026-05-01", input_usd=1, output_usd=5
    )


def test_a_reader_learns_what_a_run_would_take_and_starts_none(client: APIClient) -> None:
    response = ask(client, trials=2)

    answer = response.json()
    assert response.status_code == 200, answer
    assert answer == {
        "conversations": 4,
        "calls": {"agent": 0, "judge": 0},
        "tokens": {"agent": {"prompt": 0, "response": 0}, "judge": {"prompt": 0, "response": 0}},
        "cost_usd": {"low": 0.0, "high": 0.0},
        "month_left_usd": None,
        "unpriced": [],
        "duration_ms": {"low": 2, "high": 10},
        "may_skip_trials": False,
        "earlier_runs": 0,
        "basis": answer["basis"],
    }
    assert not Run.objects.exists()


def test_another_agent_is_another_forecast(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    price_the_clerk(monkeypatch)

    answer = ask(client, agent="clerk", cases=["refund"]).json()

    assert (answer["conversations"], answer["calls"]["agent"]) == (1, 1)
    assert 0 < answer["cost_usd"]["low"] < answer["cost_usd"]["high"]


@pytest.mark.parametrize("model", ["*", "another"])
def test_what_is_answered_is_what_the_schema_says(
    client: APIClient, monkeypatch: pytest.MonkeyPatch, schema: Any, model: str
) -> None:
    price_the_clerk(monkeypatch)
    ModelPrice.objects.filter(provider__slug="anthropic").update(model=model)
    operation = schema["paths"]["/api/runs/forecast/"]["post"]
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]

    body = ask(client, agent="clerk").json()

    assert (body["cost_usd"]["low"] is None) == (model == "another")
    described = {**answer, "components": schema["components"]}
    assert [error.message for error in OAS31Validator(described).iter_errors(body)] == []


def test_what_is_left_of_the_monthly_ceiling_comes_with_the_forecast(client: APIClient) -> None:
    MonthlyCeiling.objects.create(max_usd=5)
    Spending.objects.create(day=timezone.now().date(), spent_usd="1.25")

    assert ask(client).json()["month_left_usd"] == 3.75


def test_a_limit_of_cost_needs_prices_before_the_run_does(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    price_the_clerk(monkeypatch)
    priced = ask(client, agent="clerk", max_cost_usd=1)
    ModelPrice.objects.filter(provider__slug="anthropic").update(model="another")

    refused = ask(client, agent="clerk", max_cost_usd=1)

    assert (priced.status_code, refused.status_code) == (200, 422)
    assert refused.headers["Content-Type"] == "application/problem+json"
