"""Agents: what is tested."""

from typing import Any

from django.db import models

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.agent_spec import DRIVERS, NOT_CONNECTED, AgentSpec, abilities_of
from evals_app.engine.specs.inventory import Abilities
from evals_app.engine.specs.tool_spec import written_names
from evals_app.models.authored.mapping import RowMapping
from fixtures_app.models import Importable


class Agent(Importable):
    """A driver with its settings, system prompt and tools.

    `connection` has the keys that only one driver uses.
    """

    class CallSource(models.TextChoices):
        REPLY = "reply", "Its replies"
        SPANS = "spans", "Spans that it sends (OpenTelemetry)"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    driver = models.CharField(
        max_length=20,
        choices=[(driver, spec.label) for driver, spec in DRIVERS.items()],
        default="model",
    )
    model = models.CharField(max_length=301, blank=True)
    model_settings = models.JSONField(default=dict, blank=True)
    system_prompt = models.TextField(blank=True)
    tool_calls_from = models.CharField(max_length=10, choices=CallSource, default=CallSource.REPLY)
    spans_wait_s = models.FloatField(null=True, blank=True)
    tools = models.JSONField(default=list, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    connection = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_scripted(self) -> bool:
        return self.driver == "scripted"

    @property
    def is_waiting(self) -> bool:
        """Whether its developer has still to say how it is reached."""
        return self.is_scripted and self.connection.get("rules") == [{"error": NOT_CONNECTED}]

    @property
    def tool_names(self) -> list[str]:
        return [name for tool in self.tools for name in written_names(tool)]

    @property
    def abilities(self) -> Abilities:
        """Which tools it has, and whether it looks up knowledge outside its world."""
        return abilities_of(self.driver, self.tools)

    def to_mapping(self) -> dict[str, Any]:
        return AGENT.to_mapping(self)

    def to_spec(self) -> AgentSpec:
        # What the operator permits was checked when it was written.
        return AgentSpec.model_validate(self.to_mapping(), context=FROZEN)


AGENT = RowMapping(
    Agent,
    AgentSpec,
    renamed={"agent": "name"},
    models={"model": "model_settings"},
    rest="connection",
)
