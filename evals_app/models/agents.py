"""Agents: what is tested."""

from typing import Any

from django.db import models

from evals_app.engine.agent_spec import AgentSpec, abilities_of
from evals_app.engine.inventory import Abilities
from evals_app.engine.permits import FROZEN
from evals_app.engine.tool_spec import written_names
from fixtures_app.models import Importable


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


class Agent(Importable):
    """A driver with its settings, system prompt and tools."""

    class Driver(models.TextChoices):
        MODEL = "model", "A model with tools"
        HTTP = "http", "An agent over HTTP"
        PYTHON = "python", "A Python callable"
        COMMAND = "command", "A program"
        SCRIPTED = "scripted", "Scripted (offline)"

    class Protocol(models.TextChoices):
        JSON = "json", "Our own JSON"
        OPENAI_CHAT = "openai-chat", "Chat completions"

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
    url = models.CharField(max_length=2000, blank=True, default="")
    headers = models.JSONField(default=dict, blank=True)
    protocol = models.CharField(max_length=20, choices=Protocol, default=Protocol.JSON)
    remote_model = models.CharField(max_length=200, blank=True, default="")
    callable = models.CharField(max_length=300, blank=True, default="")
    command = models.JSONField(default=list, blank=True)
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

    @property
    def tool_names(self) -> list[str]:
        return [name for each in self.tools for name in written_names(each)]

    @property
    def abilities(self) -> Abilities:
        """Tell which tools it has, and whether it finds knowledge outside of its world."""
        return abilities_of(self.driver, self.tools)

    def written(self) -> dict[str, Any]:
        """Give what a file would say."""
        return {
            "agent": self.name,
            "slug": self.slug,
            "description": self.description,
            "driver": self.driver,
            "model": model_reference(self.model, self.model_settings),
            "system_prompt": self.system_prompt,
            "url": self.url or None,
            "headers": self.headers,
            "protocol": self.protocol,
            "remote_model": self.remote_model or None,
            "callable": self.callable or None,
            "command": self.command or None,
            "tools": self.tools,
            "settings": self.settings,
            "rules": self.rules,
        }

    def to_spec(self) -> AgentSpec:
        """Give the spec; what the operator permitted when it was written is not asked again.

        Raises:
            pydantic.ValidationError: the row holds what no longer validates.
        """
        return AgentSpec.model_validate(self.written(), context=FROZEN)
