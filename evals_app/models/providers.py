"""Providers: ways to reach models."""

import os

from django.core.validators import RegexValidator
from django.db import models

from evals_app.engine.spec import ProviderSpec


class Provider(models.Model):
    """A way to reach models; the key stays in the environment."""

    class Kind(models.TextChoices):
        ANTHROPIC = "anthropic", "Anthropic"
        SCRIPTED = "scripted", "Scripted (offline)"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, choices=Kind)
    base_url = models.URLField(
        "base URL",
        max_length=500,
        blank=True,
        help_text="Blank: the usual address, or what ANTHROPIC_BASE_URL says.",
    )
    api_key_env = models.CharField(
        "variable with the key",
        max_length=100,
        blank=True,
        validators=[RegexValidator(r"^[A-Za-z_][A-Za-z0-9_]*\Z", "Letters, digits and _ only.")],
        help_text="Name of the environment variable that holds the key. Never the key itself.",
    )
    max_concurrency = models.PositiveIntegerField(
        "calls at once",
        null=True,
        blank=True,
        help_text="In each worker process. Blank: no limit but the run's own.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

    @property
    def has_key(self) -> bool | None:
        """Whether its variable is set here; None where it needs none."""
        return bool(os.environ.get(self.api_key_env)) if self.api_key_env else None

    def to_spec(self) -> ProviderSpec:
        return ProviderSpec.model_validate(
            {
                "provider": self.name,
                "slug": self.slug,
                "kind": self.kind,
                "base_url": self.base_url or None,
                "api_key_env": self.api_key_env or None,
                "max_concurrency": self.max_concurrency,
            }
        )
