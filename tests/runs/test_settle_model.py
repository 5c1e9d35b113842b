"""Settling two versions of a model agent: the price, and one ceiling for all calls."""

from decimal import Decimal
from typing import Any

import pytest

from evals_app.models import Agent, ModelPrice, Provider, Run, Settlement
from evals_app.runs.retests.candidates import plan_settlement, price_of
from evals_app.runs.starting.freeze import CannotStartError
from tests.model_server import ModelServer, Reply
from tests.runs.settlements import settled
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


def two_prompts(*, is_priced: bool = True) -> tuple[Run, Run]:
    """Run a case three times with a friendly prompt, and three times with another one."""
    agent = make_agent(
        "support",
        driver="model",
        rules=[],
        model="local/claude-haiku-5-5",
        system_prompt="Be friendly.",
        settings={"max_output_tokens": 64},
    )
    if is_priced:
        ModelPrice.objects.create(
            provider=Provider.objects.get(slug="local"),
            model="claude-haiku-*",
            valid_from="2026-01-01",
            input_usd=10,
            output_usd=10,
        )
    suite = make_suite(["Hi"], agent=agent, concurrency=2)
    base = finished(suite, trials=3)
    Agent.objects.filter(pk=agent.pk).update(system_prompt="Be brief.")
    suite.refresh_from_db()
    return base, finished(suite, trials=3)


def answer(request: Any) -> Reply:
    text = "hello" if "friendly" in str(request["system"]) else "bye"
    return Reply(text, input_tokens=1000, output_tokens=50)


def spent(settlement: Settlement) -> Decimal:
    return sum((run.spent_usd for run in settlement.runs.all()), Decimal(0))


def test_both_versions_use_their_own_prompt_below_one_ceiling(server: ModelServer) -> None:
    server.answers(answer)
    base, head = two_prompts()
    price = price_of(plan_settlement(base, head))

    whole = settled(base, head)
    ceiling = (spent(whole) / 2 + Decimal("0.001")).quantize(Decimal("0.000001"))
    half = settled(base, head, max_cost_usd=ceiling)

    assert (whole.status, whole.really_worse) == ("finished", 1)
    assert price.likely_usd is not None
    assert price.most_usd is not None
    assert 0 < spent(whole) <= price.likely_usd[1] < price.most_usd
    assert (half.status, half.really_worse) == ("stopped", 0)
    assert 0 < spent(half) <= ceiling
    assert "budget" in set(half.runs.values_list("stop_reason", flat=True))
    assert half.why_stopped


def test_a_ceiling_needs_a_price(server: ModelServer) -> None:
    server.answers(answer)
    base, head = two_prompts(is_priced=False)
    price = price_of(plan_settlement(base, head))

    with pytest.raises(CannotStartError, match="local/claude-haiku-5-5"):
        settled(base, head, max_cost_usd=Decimal(1))

    assert (price.likely_usd, price.most_usd) == (None, None)
    assert not Settlement.objects.exists()
    assert settled(base, head).status == "finished"
