"""A suite whose calls cost money, at a model server of ours."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.models import ModelPrice, Provider, Suite
from tests.model_server import KEY, ModelServer, Reply, last_text
from tests.runs.suites import make_agent, make_suite

MODEL = "anthropic/claude-haiku-5-5"


def make_priced_suite(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, *, cases: int = 12
) -> Suite:
    """Write a suite of cases of two turns; with `one_cent` every call costs that much."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    provider = Provider.objects.get(slug="anthropic")
    provider.prices.all().delete()
    ModelPrice.objects.create(
        provider=provider,
        model="claude-haiku-5-5",
        valid_from="2020-01-01",
        input_usd=Decimal(1),
        output_usd=Decimal(10),
    )
    agent = make_agent(driver="model", model=MODEL, rules=[], settings={"max_output_tokens": 1000})
    suite = make_suite([f"hello {number}" for number in range(cases)], agent=agent, concurrency=4)
    for case in suite.cases.all():
        case.turns.create(user=f"and {case.name}", position=1)
    return suite


def one_cent(request: dict[str, Any]) -> Reply:
    return Reply(f"hello, you said {last_text(request)}", input_tokens=0, output_tokens=1000)
