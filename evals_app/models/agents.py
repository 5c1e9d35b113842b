"""Agents: what is tested."""

from typing import Any

from django.db import models

from evals_app.engine.spec import AgentSpec


def model_columns(reference: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 - a dumped ModelRef
    """Split a dumped model reference into its name and its sampling settings."""
    if reference is None:
        return "", {}
    if isinstance(reference, str):
        return reference, {}
    settings = dict(reference)
    return f"{settings.pop('provider')}/{settings.pop('name')}", settings


def model_reference(name: str, settings: dict[str, Any]) -> Any:  # noqa: ANN401 - see above
    """Join what `model_columns` split."""
    if not settings:
        return name or None
    provider, _, model = name.partition("/")
    return {"provider": provider, "name": model, **settings}


class Agent(models.Model):
    """A driver with its settings, system prompt and tools."""

    class Driver(models.TextChoices):
        MODEL = "model", "A model with tools"
        SCRIPTED = "scripted", "Scripted (offline)"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    driver = models.CharField(max_length=20, choices=Driver, default=Driver.MODEL)
    model = models.CharField(
        max_length=301, blank=True, help_text="For example anthropic/claude-haiku-5-5."
    )
    model_settings = models.JSONField(default=dict, blank=True)
    system_prompt = models.TextField(
        blank=True,
        help_text="May use {{threadContext.channel}}, {{threadContext.params.NAME}}, "
        "{{agentName}} and {{datetime}}.",
    )
    tools = models.JSONField(default=list, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    rules = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_scripted(self) -> bool:
        return self.driver == self.Driver.SCRIPTED

    def written(self) -> dict[str, Any]:
        """Give what a file would say."""
        return {
            "agent": self.name,
            "slug": self.slug,
            "description": self.description,
            "driver": self.driver,
            "model": model_reference(self.model, self.model_settings),
            "system_prompt": self.system_prompt,
            "tools": self.tools,
            "settings": self.settings,
            "rules": self.rules,
        }

    def to_spec(self) -> AgentSpec:
        """Give the spec.

        Raises:
            pydantic.ValidationError: the row holds what no longer validates.
        """
        return AgentSpec.model_validate(self.written())
