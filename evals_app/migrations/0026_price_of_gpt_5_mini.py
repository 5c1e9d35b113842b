"""The price of gpt-5-mini, where the provider OpenAI has none.

Source, read in November 2026: https://developers.openai.com/api/docs/models/gpt-5-mini
"""

from fnmatch import fnmatchcase

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

MODEL = "gpt-5-mini"


def add_price(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Add it, unless people deleted or imported the provider, or entered a price of their own."""
    providers = apps.get_model("evals_app", "Provider").objects
    prices = apps.get_model("evals_app", "ModelPrice").objects
    for provider in providers.filter(slug="openai", kind="openai", base_url="", imported_digest=""):
        names = prices.filter(provider=provider).values_list("model", flat=True)
        if any(fnmatchcase(MODEL, name) for name in names):
            continue
        prices.create(
            provider=provider,
            model=MODEL,
            valid_from="2026-11-01",
            input_usd="0.25",
            output_usd="2",
            cache_read_usd="0.025",
        )


class Migration(migrations.Migration):
    """One row."""

    dependencies = [("evals_app", "0025_sample_of_conversations")]
    operations = [migrations.RunPython(add_price, migrations.RunPython.noop)]
