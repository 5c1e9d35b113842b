"""The price that a migration adds: never over what people entered."""

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from evals_app.models import ModelPrice, Provider

MIGRATION = import_module("evals_app.migrations.0026_price_of_gpt_5_mini")
OWN = {"valid_from": "2026-06-01", "input_usd": "9", "output_usd": "9"}

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.mark.parametrize(
    ("changes", "own", "expected"),
    [
        pytest.param({}, None, {"gpt-5-mini": "0.250000000"}, id="none"),
        pytest.param({}, "gpt-5-mini", {"gpt-5-mini": "9.000000000"}, id="its own"),
        pytest.param({}, "gpt-5*", {"gpt-5*": "9.000000000"}, id="a pattern"),
        pytest.param({"imported_digest": "x"}, None, {}, id="from a file"),
        pytest.param({"base_url": "https://proxy.example.org/v1"}, None, {}, id="elsewhere"),
        pytest.param({"slug": "other"}, None, {}, id="another provider"),
    ],
)
def test_it_is_added_where_none_is(
    changes: dict[str, Any], own: str | None, expected: dict[str, str]
) -> None:
    openai = Provider.objects.get(slug="openai")
    openai.prices.all().delete()
    Provider.objects.filter(pk=openai.pk).update(**changes)
    if own:
        ModelPrice.objects.create(provider=openai, model=own, **OWN)

    MIGRATION.add_price(apps, connection.schema_editor())

    found = dict(openai.prices.values_list("model", "input_usd"))
    assert {model: str(usd) for model, usd in found.items()} == expected
