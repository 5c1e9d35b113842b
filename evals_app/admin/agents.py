"""The page of an agent: a model with tools, or rules that need none."""

import textwrap
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from pydantic import ValidationError
from unfold.decorators import display
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextareaWidget

from evals_app.admin.choices import Choices
from evals_app.admin.words import field_of
from evals_app.engine.spec import PREFIXES, AgentSettings, AgentSpec
from evals_app.formats.explain import explain
from evals_app.formats.problems import FormatError, Loc, Problem, keys_text
from evals_app.formats.yaml_source import Document, read_yaml
from evals_app.formats.yaml_text import write_yaml
from evals_app.library.saving import agent_columns
from evals_app.models import Agent
from evals_app.models.agents import model_reference
from fixtures_app.admin.editor import Editor, VersionedForm
from fixtures_app.tools import TOOLS

_SETTINGS = tuple(AgentSettings.model_fields)
_SAMPLING = ("temperature", "max_tokens", "top_p")
_NUMBER = UnfoldAdminDecimalFieldWidget
_RULES_HELP = (
    "A list in YAML; of the rules that match, the first one acts. Keys: when (a pattern in the "
    "message), turn, calls, reply, delay_ms, error, usage. In a reply {{input}} is the message and "
    "{{result.1.path}} a part of the first result."
)
_RULES_EXAMPLE = """- when: order
  calls:
    - tool: entity.query
      args: {type: order}
  reply: "I found {{result.1.total}} orders."
- reply: "How can I help?"
"""


class RulesField(forms.CharField):
    """The rules of a scripted agent, in YAML as in files; keeps where each part stands."""

    def __init__(self, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(
            attrs={"rows": 14, "class": "ts-mono", "placeholder": _RULES_EXAMPLE}
        )
        super().__init__(strip=False, required=False, widget=widget, **kwargs)

    def prepare_value(self, value: Any) -> Any:  # noqa: ANN401 - a list, or text as typed
        return write_yaml(value).decode() if isinstance(value, list) and value else value or ""

    def has_changed(self, initial: Any, data: Any) -> bool:  # noqa: ANN401 - a list, and text
        return str(self.prepare_value(initial)).strip() != str(data or "").strip()


def read_rules(text: str) -> Document:
    """Read rules; in the document they stand under the key `rules`, one line further down.

    Raises:
        FormatError: it is no YAML.
    """
    return read_yaml("", b"rules:\n" + textwrap.indent(text, "  ").encode())


class AgentForm(VersionedForm):
    """Read by AgentSpec; errors in rules name their line."""

    tools = forms.MultipleChoiceField(
        required=False,
        help_text="What the agent may use. They read and change its own copy of the fixtures.",
    )
    temperature = forms.FloatField(
        required=False,
        min_value=0,
        max_value=2,
        widget=_NUMBER,
        help_text="Blank: the model's own.",
    )
    max_tokens = forms.IntegerField(
        required=False,
        min_value=1,
        widget=_NUMBER,
        help_text="Longest answer of this model. Blank: as under Limits.",
    )
    top_p = forms.FloatField(
        required=False,
        min_value=0,
        max_value=1,
        widget=_NUMBER,
        help_text="Blank: the model's own.",
    )
    max_tool_rounds = forms.IntegerField(
        required=False,
        widget=_NUMBER,
        label="Most rounds of tool calls",
        help_text="In one turn. Blank means 25.",
    )
    max_output_tokens = forms.IntegerField(
        required=False,
        widget=_NUMBER,
        label="Longest answer (tokens)",
        help_text="Blank means 4096.",
    )
    provider_patience_s = forms.FloatField(
        required=False,
        widget=_NUMBER,
        label="Patience with the provider (s)",
        help_text="How long a turn may wait for a provider that is overloaded. Blank means 600.",
    )
    rules = RulesField(help_text=_RULES_HELP)

    class Meta:
        model = Agent
        fields = ("name", "slug", "description", "driver", "model", "system_prompt")
        widgets = {
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "system_prompt": UnfoldAdminTextareaWidget(attrs={"rows": 8}),
        }
        labels = {"driver": "What it is"}
        help_texts = {
            "name": "In prompts it is {{agentName}}.",
            "slug": "Its name in files and in suites.",
            "model": "provider/model, for example anthropic/claude-haiku-5-5. A name that begins "
            "with claude- needs no provider.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        agent = self.instance
        gone = [name for name in agent.tools if name not in TOOLS]
        choices = [(name, name) for name in TOOLS]
        choices += [(name, f"{name} (no longer available)") for name in gone]
        helps = {name: tool.description for name, tool in TOOLS.items()}
        tools: Any = self.fields["tools"]
        tools.widget = Choices(helps)
        tools.choices = choices
        self.initial.update(tools=agent.tools, rules=agent.rules)
        self.initial.update({name: agent.settings.get(name) for name in _SETTINGS})
        self.initial.update({name: agent.model_settings.get(name) for name in _SAMPLING})

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if any(name in self.errors for name in self.fields):
            return cleaned
        document = self._document(cleaned["rules"])
        if document is None:
            return cleaned
        rules = document.data["rules"] or []
        if rules and cleaned["driver"] != Agent.Driver.SCRIPTED:
            self.add_error(
                "driver",
                "It has rules, which only a scripted agent follows: remove them, or choose "
                f"“{Agent.Driver.SCRIPTED.label}”.",
            )
            return cleaned
        sampling = {name: cleaned[name] for name in _SAMPLING if cleaned[name] is not None}
        settings = {name: cleaned[name] for name in _SETTINGS if cleaned[name] is not None}
        written = {
            "agent": cleaned["name"],
            "slug": cleaned["slug"],
            "description": cleaned["description"],
            "driver": cleaned["driver"],
            "model": self._model(cleaned["model"], sampling),
            "system_prompt": cleaned["system_prompt"],
            "tools": cleaned["tools"],
            "settings": settings,
            "rules": rules,
        }
        self._read(written, document)
        return cleaned

    def _model(self, name: str, sampling: dict[str, Any]) -> Any:  # noqa: ANN401 - as in files
        if sampling and name and "/" not in name:
            # With settings it is an object, in which the provider must stand.
            provider = next((p for begin, p in PREFIXES.items() if name.startswith(begin)), "")
            name = f"{provider}/{name}" if provider else name
            sampling = sampling if provider else {}
        return model_reference(name, sampling) if name else None

    def _document(self, text: str) -> Document | None:
        try:
            return read_rules(text)
        except FormatError as error:
            for problem in error.problems:
                self.add_error("rules", f"Line {max(problem.line - 1, 1)}: {problem.message}")
            return None

    def _read(self, written: dict[str, Any], document: Document) -> None:
        try:
            spec = AgentSpec.model_validate(written)
        except ValidationError as error:
            self._explain(error, written, document)
            return
        columns = agent_columns(spec)
        self.cleaned_data.update({name: columns[name] for name in ("model", "tools", "rules")})
        self.instance.settings = columns["settings"]
        self.instance.model_settings = columns["model_settings"]

    def _explain(self, error: ValidationError, written: dict[str, Any], document: Document) -> None:
        fields = {name: name for name in self.fields} | {"agent": "name"}
        fields |= {f"settings.{name}": name for name in _SETTINGS}
        fields |= {f"model.{name}": name for name in _SAMPLING}

        def put(loc: Loc, message: str, *, at_key: bool = False) -> Problem:
            if loc[:1] == ("rules",):
                self._complain_of_rule(document, loc, message, at_key=at_key)
            else:
                self.add_error(field_of(loc, fields), message)
            return document.problem((), message)

        explain(error, model=AgentSpec, data=written, document=document, place=put)

    def _complain_of_rule(
        self, document: Document, loc: Loc, message: str, *, at_key: bool = False
    ) -> None:
        line, _ = document.place(loc, at_key=at_key)
        keys = keys_text(loc[2:])
        where = f"Line {line - 1}, {keys}: " if keys else f"Line {line - 1}: "
        self.add_error("rules", where + message)


@admin.register(Agent)
class AgentAdmin(Editor):
    """Agents: what is tested."""

    form = AgentForm
    list_display = ["name", "show_driver", "model", "show_tools", "updated_at"]
    list_filter = ["driver"]
    search_fields = ["name", "slug", "model", "description"]
    ordering = ["name"]
    when_empty = (
        "An agent is what you test: a model with its prompt and tools, or rules that "
        "answer without a model."
    )
    prepopulated_fields = {"slug": ["name"]}
    fieldsets = [
        (None, {"fields": ["name", "slug", "driver", "description"]}),
        (
            "Model",
            {
                "fields": ["model", "system_prompt", *_SAMPLING],
                "classes": ["only-model"],
            },
        ),
        ("Rules", {"fields": ["rules"], "classes": ["only-scripted"]}),
        ("Tools", {"fields": ["tools"]}),
        ("Limits", {"fields": list(_SETTINGS), "classes": ["only-model"]}),
    ]

    class Media:
        js = ["evals_app/agent_editor.js"]

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Agent | None = None
    ) -> dict[str, list[str]]:
        # Suites and files know an agent by its slug; it does not follow a new name by itself.
        return {} if obj else self.prepopulated_fields

    @display(description="What it is", ordering="driver")
    def show_driver(self, agent: Agent) -> str:
        return Agent.Driver(agent.driver).label

    @display(description="Tools")
    def show_tools(self, agent: Agent) -> str:
        return ", ".join(agent.tools) or "none"
