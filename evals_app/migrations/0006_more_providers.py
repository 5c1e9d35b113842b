"""More kinds of providers; the usual ones exist from the start, with the prices that we know.

Sources, read in November 2026:
https://developers.openai.com/api/docs/models/gpt-6.2-sol and its neighbours,
https://ai.google.dev/gemini-api/docs/pricing,
https://developers.googleblog.com/gemini-batch-api-now-supports-embeddings-and-openai-compatibility.
OpenAI keeps what is written to its cache for half an hour; that price stands as the shorter one.
Azure's address is every site's own, so there is no row for it. What runs on Ollama costs nothing.
"""

from datetime import date
from decimal import Decimal

import django.core.validators
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

PROVIDERS = [
    ("openai", "OpenAI", "OPENAI_API_KEY"),
    ("gemini", "Gemini", "GEMINI_API_KEY"),
    ("groq", "Groq", "GROQ_API_KEY"),
    ("openrouter", "OpenRouter", "OPENROUTER_API_KEY"),
    ("ollama", "Ollama", ""),
]

FROM = date(2026, 11, 1)
LATER = date(2027, 1, 1)

# Provider, model, first day, only above so many prompt tokens; USD per million: input, output, cache
# read, cache write.
PRICES = [
    ("openai", "gpt-6.2-sol", FROM, 0, "2", "10", "0.10", "2.50"),
    ("openai", "gpt-6.2-sol", FROM, 272_000, "4", "15", "0.20", "5"),
    ("openai", "gpt-6.1-terra", FROM, 0, "1", "5", "0.05", "1.25"),
    ("openai", "gpt-6.1-terra", FROM, 272_000, "2", "7.50", "0.10", "2.50"),
    ("openai", "text-embedding-3-small", FROM, 0, "0.02", "0", None, None),
    ("gemini", "gemini-3.8-flash", FROM, 0, "0.75", "3.75", None, None),
    ("gemini", "gemini-3.8-flash", LATER, 0, "1.50", "7.50", None, None),
    ("gemini", "gemini-embedding-001", FROM, 0, "0.15", "0", None, None),
    ("ollama", "*", FROM, 0, "0", "0", "0", "0"),
]


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    provider = apps.get_model("evals_app", "Provider")
    price = apps.get_model("evals_app", "ModelPrice")
    for slug, name, variable in PROVIDERS:
        defaults = {"name": name, "kind": slug, "api_key_env": variable}
        row, is_new = provider.objects.get_or_create(slug=slug, defaults=defaults)
        # Whoever had a provider of this name knows better what it costs.
        for of, model, day, above, *rates in PRICES if is_new else ():
            if of == slug:
                given = [None if rate is None else Decimal(rate) for rate in rates]
                price.objects.create(
                    provider=row,
                    model=model,
                    valid_from=day,
                    above_prompt_tokens=above,
                    input_usd=given[0],
                    output_usd=given[1],
                    cache_read_usd=given[2],
                    cache_write_5m_usd=given[3],
                )


class Migration(migrations.Migration):
    """Create the usual providers unless somebody already has."""

    dependencies = [("evals_app", "0005_usual_prices")]

    operations = [
        migrations.AlterField(
            "provider",
            "kind",
            models.CharField(
                choices=[
                    ("anthropic", "Anthropic"),
                    ("openai", "OpenAI"),
                    ("azure_openai", "Azure OpenAI"),
                    ("gemini", "Gemini"),
                    ("groq", "Groq"),
                    ("openrouter", "OpenRouter"),
                    ("ollama", "Ollama"),
                    ("scripted", "Scripted (offline)"),
                ],
                help_text="Which API it speaks. Servers of your own mostly speak like OpenAI.",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            "provider",
            "base_url",
            models.URLField(
                blank=True,
                help_text="Blank: the usual address of its kind, or what ANTHROPIC_BASE_URL or "
                "OPENAI_BASE_URL says. Azure OpenAI needs one: "
                "https://NAME.openai.azure.com/openai/v1/",
                max_length=500,
                verbose_name="base URL",
            ),
        ),
        migrations.AlterField(
            "provider",
            "api_key_env",
            models.CharField(
                blank=True,
                help_text="Name of the environment variable that holds the key, never the key "
                "itself. Blank: the usual one of its kind.",
                max_length=100,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[A-Za-z_][A-Za-z0-9_]*\\Z", "Letters, digits and _ only."
                    )
                ],
                verbose_name="variable with the key",
            ),
        ),
        migrations.AddField(
            "provider",
            "max_tokens_parameter",
            models.CharField(
                blank=True,
                choices=[
                    ("max_tokens", "max_tokens"),
                    ("max_completion_tokens", "max_completion_tokens"),
                ],
                default="",
                help_text="Blank: as its kind does. Older servers that speak like OpenAI want "
                "max_tokens.",
                max_length=30,
                verbose_name="limit of an answer is called",
            ),
            preserve_default=False,
        ),
        # Going back deletes nothing: a provider may have been edited since.
        migrations.RunPython(create, migrations.RunPython.noop),
    ]
