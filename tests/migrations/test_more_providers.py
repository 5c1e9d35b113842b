"""The usual providers exist from the start, and nobody's own are touched."""

import importlib
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.apps import apps

from evals_app.engine.kinds import KINDS
from evals_app.engine.llm.pricing import Prices, prices_on
from evals_app.models import Provider

pytestmark = pytest.mark.django_db

migration: Any = importlib.import_module("evals_app.migrations.0006_more_providers")


def test_every_kind_that_has_an_address_has_a_provider() -> None:
    specs = {row.slug: row.to_spec() for row in Provider.objects.all()}

    assert set(specs) == set(KINDS) - {"azure_openai"}
    for slug, spec in specs.items():
        assert spec.kind == slug
        assert spec.api_key_env == KINDS[slug].key_env


def test_their_prices_follow_each_other_by_day_and_length() -> None:
    spec = Provider.objects.get(slug="gemini").to_spec()
    rates = [
        Prices(prices_on(day, spec.prices)).tiers_of("gemini-3.8-flash")[0].input_usd
        for day in (date(2026, 12, 31), date(2027, 1, 1))
    ]

    assert rates == [Decimal("0.75"), Decimal("1.5")]


def test_whatever_runs_on_ollama_costs_nothing() -> None:
    prices = Prices(Provider.objects.get(slug="ollama").to_spec().prices)

    assert prices.bound_usd("qwen3:8b", most_prompt_tokens=10**6, max_output_tokens=10**6) == 0


def test_a_provider_of_the_same_name_is_left_alone() -> None:
    Provider.objects.all().delete()
    Provider.objects.create(slug="openai", name="Ours", kind="openai", base_url="http://ours/v1")

    migration.create(apps, None)
    migration.create(apps, None)

    ours = Provider.objects.get(slug="openai")
    assert (ours.name, ours.base_url, ours.prices.count()) == ("Ours", "http://ours/v1", 0)
    assert Provider.objects.get(slug="gemini").prices.count() == 3
