"""Agents: what is tested."""

from typing import Any

from django.db import models

from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.agent_spec import AgentSpec, abilities_of
from evals_app.engine.specs.inventory import Abilities
from evals_app.engine.specs.tool_spec import written_names
from evals_app.models.authored.mapping import RowMapping
from fixtures_app.models import Importable


class Agent(Importable):
    """A driver with its settings, system prompt and tools."""

    class Driver(models.TextChoices):
        MODEL = "model", "A model with tools"
        HTTP = "http", "An agent over HTTP"
        PYTHON = "python", "A Python function"
        COMMAND = "command", "A program"
        SCRIPTED = "scripted", "Scripted (offline)"

    class Protocol(models.TextChoices):
        JSON = "json", "JSON"
        OPENAI_CHAT = "openai-chat", "Chat completions"

    class CallSource(models.TextChoices):
        REPLY = "reply", "Its replies"
        SPANS = "spans", "Spans that it sends (OpenTelemetry)"

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    driver = models.CharField(max_length=20, choices=Driver, default=Driver.MODEL)
    model = models.CharField(max_length=301, blank=True)
    model_settings = models.JSONField(default=dict, blank=True)
    system_prompt = models.TextField(blank=True)
    url = models.CharField(max_length=2000, blank=True, default="")
    headers = models.JSONField(default=dict, blank=True)
    protocol = models.CharField(max_length=20, choices=Protocol, default=Protocol.JSON)
    request = models.JSONField(default=dict, blank=True)
    response = models.JSONField(default=dict, blank=True)
    stream = models.JSONField(default=dict, blank=True)
    poll = models.JSONField(default=dict, blank=True)
    oauth = models.JSONField(default=dict, blank=True)
    pace = models.JSONField(default=dict, blank=True)
    remote_model = models.CharField(max_length=200, blank=True, default="")
    interpreter = models.CharField(max_length=100, blank=True, default="")
    callable = models.CharField(max_length=300, blank=True, default="")
    command = models.JSONField(default=list, blank=True)
    tool_calls_from = models.CharField(max_length=10, choices=CallSource, default=CallSource.REPLY)
    spans_wait_s = models.FloatField(null=True, blank=True)
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
        return [name for tool in self.tools for name in written_names(tool)]

    @property
    def abilities(self) -> Abilities:
        """Which tools it has, and whether it looks up knowledge outside its world."""
        return abilities_of(self.driver, self.tools)

    def written(self) -> dict[str, Any]:
        return AGENT.written(self)

    def to_spec(self) -> AgentSpec:
        # What the operator permits was checked when it was written.
        return AgentSpec.model_validate(self.written(), context=FROZEN)


AGENT = RowMapping(Agent, AgentSpec, renamed={"agent": "name"}, models={"model": "model_settings"})
