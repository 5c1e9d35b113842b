"""Prices of the usual models, as their provider listed them in October 2026.

Source: https://platform.claude.com/docs/en/models/haiku-5-5/overview and its neighbours. Where the
list said nothing of a cache, nothing is written: such a call has an unknown cost.
"""

from datetime import date
from decimal import Decimal

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FROM = date(2026, 10, 7)

# Model, only above so many prompt tokens; USD per million: input, output, cache writes (5 min, 1 h).
PRICES = [
    ("claude-haiku-5-5", 0, "0.10", "0.50", "0.125", "0.20"),
    ("claude-haiku-5-5", 100_000, "0.50", "2.50", "0.625", "1.00"),
    ("claude-sonnet-5-5", 0, "2", "10", None, None),
    ("claude-opus-5-5", 0, "4", "20", None, None),
    ("claude-haiku-4-5*", 0, "1", "5", None, None),
]


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    provider = apps.get_model("evals_app", "Provider").objects.filter(slug="anthropic").first()
    price = apps.get_model("evals_app", "ModelPrice")
    # Whoever has moved the provider elsewhere, or entered prices, knows better.
    if provider is None or provider.base_url or price.objects.filter(provider=provider).exists():
        return
    for model, above, *rates in PRICES:
        given = [None if rate is None else Decimal(rate) for rate in rates]
        price.objects.create(
            provider=provider,
            model=model,
            valid_from=FROM,
            above_prompt_tokens=above,
            input_usd=given[0],
            output_usd=given[1],
            cache_write_5m_usd=given[2],
            cache_write_1h_usd=given[3],
        )


class Migration(migrations.Migration):
    """Enter the usual prices unless somebody already has."""

    dependencies = [("evals_app", "0004_cases_apart")]

    # Going back deletes nothing: a price may have been edited since.
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
