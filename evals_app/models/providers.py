"""Providers: ways to reach models."""

import os
from typing import Any

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from evals_app.engine.llm.keys import variable_of
from evals_app.engine.permits import FROZEN, permits
from evals_app.engine.spec import ProviderSpec
from evals_app.models.money import UsdField
from fixtures_app.models import Importable


class Provider(Importable):
    """A way to reach models; the key stays in the environment."""

    class Kind(models.TextChoices):
        ANTHROPIC = "anthropic", "Anthropic"
        OPENAI = "openai", "OpenAI"
        AZURE_OPENAI = "azure_openai", "Azure OpenAI"
        GEMINI = "gemini", "Gemini"
        GROQ = "groq", "Groq"
        OPENROUTER = "openrouter", "OpenRouter"
        OLLAMA = "ollama", "Ollama"
        SCRIPTED = "scripted", "Scripted (offline)"

    class MaxTokens(models.TextChoices):
        MAX_TOKENS = "max_tokens", "max_tokens"
        MAX_COMPLETION_TOKENS = "max_completion_tokens", "max_completion_tokens"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    kind = models.CharField(
        max_length=20,
        choices=Kind,
        help_text="Which API it speaks. Servers of your own mostly speak like OpenAI.",
    )
    base_url = models.URLField(
        "base URL",
        max_length=500,
        blank=True,
        help_text=(
            "Blank: the usual address of its kind, or what ANTHROPIC_BASE_URL or OPENAI_BASE_URL "
            "says. Azure OpenAI needs one: https://NAME.openai.azure.com/openai/v1/"
        ),
    )
    api_key_env = models.CharField(
        "variable with the key",
        max_length=100,
        blank=True,
        validators=[RegexValidator(r"^[A-Za-z_][A-Za-z0-9_]*\Z", "Letters, digits and _ only.")],
        help_text=(
            "Name of the environment variable that holds the key, never the key itself. Blank: the "
            "usual one of its kind."
        ),
    )
    max_tokens_parameter = models.CharField(
        "limit of an answer is called",
        max_length=30,
        choices=MaxTokens,
        blank=True,
        help_text="Blank: as its kind does. Older servers that speak like OpenAI want max_tokens.",
    )
    max_concurrency = models.PositiveIntegerField(
        "calls at once",
        null=True,
        blank=True,
        help_text="Of all workers together. Blank: no limit but the run's own.",
    )
    requests_per_minute = models.PositiveIntegerField(
        "calls a minute",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Of all workers together, evenly spread. Blank: no limit.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

    @property
    def key_variable(self) -> str:
        """Name of the variable that holds its key; empty where it needs none."""
        return variable_of(self.kind, self.api_key_env)

    @property
    def has_key(self) -> bool | None:
        """Whether its variable is set here; None where it needs none.

        Of a variable that is no key nobody learns whether it is set.
        """
        variable = self.key_variable
        if not variable:
            return None
        return self.is_key_permitted and bool(os.environ.get(variable, "").strip())

    @property
    def is_key_permitted(self) -> bool:
        """Whether the operator permits its variable as a key, or it needs none."""
        return not self.key_variable or bool(permits().key_hosts(self.key_variable))

    def to_spec(self) -> ProviderSpec:
        return ProviderSpec.model_validate(
            {
                "provider": self.name,
                "slug": self.slug,
                "kind": self.kind,
                "base_url": self.base_url or None,
                "api_key_env": self.api_key_env or None,
                "max_tokens_parameter": self.max_tokens_parameter or None,
                "max_concurrency": self.max_concurrency,
                "requests_per_minute": self.requests_per_minute,
                "prices": [price.written() for price in self.prices.all()],
            },
            context=FROZEN,  # what may be called is asked again whenever it is called
        )


PRICES = ("input_usd", "output_usd", "cache_read_usd", "cache_write_5m_usd", "cache_write_1h_usd")


class ModelPrice(models.Model):
    """What a model costs from a day on, in USD per million tokens of each kind."""

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="prices")
    model = models.CharField(
        max_length=200, help_text="As its provider calls it; may end in * for all that begin so."
    )
    valid_from = models.DateField(help_text="First day, UTC.")
    above_prompt_tokens = models.PositiveIntegerField(
        default=0, help_text="Only for calls with a longer prompt than this."
    )
    is_batch = models.BooleanField("in batches", default=False)
    input_usd = UsdField("input")
    output_usd = UsdField("output")
    cache_read_usd = UsdField("cache read", null=True, blank=True)
    cache_write_5m_usd = UsdField("cache write, 5 minutes", null=True, blank=True)
    cache_write_1h_usd = UsdField("cache write, 1 hour", null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "model", "valid_from", "above_prompt_tokens", "is_batch"],
                name="price_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} from {self.valid_from}"

    def written(self) -> dict[str, Any]:
        """Give what a file would say."""
        return {
            "model": self.model,
            "valid_from": self.valid_from,
            "above_prompt_tokens": self.above_prompt_tokens,
            "is_batch": self.is_batch,
            **{price: getattr(self, price) for price in PRICES},
        }


class ProviderState(models.Model):
    """What all workers must know of a provider: how long to leave it alone, and its pace.

    Kept by slug, for snapshots may name providers that are gone. `next_request_at` is when the
    next call may begin where calls a minute are limited.
    """

    slug = models.SlugField(max_length=100, primary_key=True)
    blocked_until = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, blank=True)
    next_request_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.slug
