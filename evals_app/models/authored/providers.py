"""Providers: ways to reach models."""

import os
from typing import Any

from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

from evals_app.engine.basics.permits import FROZEN, permits
from evals_app.engine.network.provider_kinds import KINDS, variable_of
from evals_app.engine.specs.base_spec import PriceSpec, ProviderSpec
from evals_app.models.authored.mapping import RowMapping
from evals_app.models.fields.money import UsdField
from fixtures_app.models import Importable


class Provider(Importable):
    """A way to reach models; the key stays in the environment."""

    KINDS = [(name, kind.label) for name, kind in KINDS.items()]

    class MaxTokens(models.TextChoices):
        MAX_TOKENS = "max_tokens", "max_tokens"
        MAX_COMPLETION_TOKENS = "max_completion_tokens", "max_completion_tokens"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=KINDS)
    base_url = models.URLField(max_length=500, blank=True)
    api_key_env = models.CharField(
        max_length=100,
        blank=True,
        validators=[
            RegexValidator(r"^[A-Za-z_][A-Za-z0-9_]*\Z", "Only letters, digits and _ are allowed.")
        ],
    )
    max_tokens_parameter = models.CharField(max_length=30, choices=MaxTokens, blank=True)
    max_concurrency = models.PositiveIntegerField(null=True, blank=True)
    requests_per_minute = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

    @property
    def key_variable(self) -> str:
        """Name of the variable with its key; empty if it needs none."""
        return variable_of(self.kind, self.api_key_env)

    @property
    def has_key(self) -> bool | None:
        """Whether its variable is permitted and set here; None if it needs none."""
        variable = self.key_variable
        if not variable:
            return None
        return self.is_key_permitted and bool(os.environ.get(variable, "").strip())

    @property
    def is_key_permitted(self) -> bool:
        """Whether the operator permits its variable as a key, or it needs none."""
        return not self.key_variable or bool(permits().key_hosts(self.key_variable))

    def to_spec(self) -> ProviderSpec:
        written = PROVIDER.to_mapping(self) | {
            "prices": [price.to_mapping() for price in self.prices.all()]
        }
        # Addresses are checked again before each call.
        return ProviderSpec.model_validate(written, context=FROZEN)


PROVIDER = RowMapping(
    Provider, ProviderSpec, renamed={"provider": "name"}, elsewhere=frozenset({"prices"})
)


class ModelPrice(models.Model):
    """What a model costs from a day on, in USD per million tokens of each kind."""

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="prices")
    model = models.CharField(max_length=200)
    valid_from = models.DateField()
    above_prompt_tokens = models.PositiveIntegerField(default=0)
    is_batch = models.BooleanField(default=False)
    input_usd = UsdField()
    output_usd = UsdField()
    cache_read_usd = UsdField(null=True, blank=True)
    cache_write_5m_usd = UsdField(null=True, blank=True)
    cache_write_1h_usd = UsdField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "model", "valid_from", "above_prompt_tokens", "is_batch"],
                name="price_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.model} from {self.valid_from}"

    def to_mapping(self) -> dict[str, Any]:
        return PRICE.to_mapping(self)


PRICE = RowMapping(ModelPrice, PriceSpec)


class ProviderState(models.Model):
    """What all workers share of a provider: until when it is rate-limiting us, and its pace.

    By slug, because snapshots may name deleted providers. `next_request_at` is when the next call
    may begin if calls per minute are limited.
    """

    slug = models.SlugField(max_length=100, primary_key=True)
    blocked_until = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, blank=True)
    next_request_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.slug
