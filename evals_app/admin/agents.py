"""The page of an agent: a model with tools, an agent that is asked outside, or rules."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from pydantic import ValidationError
from unfold.decorators import display
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextareaWidget

from evals_app.admin.agent_fields import (
    RULES_EXAMPLE,
    RULES_HELP,
    TOOLS_EXAMPLE,
    HeaderLines,
    Written,
    YamlList,
    permitted_help,
)
from evals_app.admin.choices import Choices
from evals_app.admin.lines import TextLines
from evals_app.admin.words import field_of
from evals_app.engine.agent_spec import AgentSettings, AgentSpec, misplaced
from evals_app.engine.quoting import shortened
from evals_app.engine.spec import PREFIXES
from evals_app.engine.template import without_foreign
from evals_app.formats.explain import explain
from evals_app.formats.problems import Loc, Problem
from evals_app.formats.prompt_variables import FOREIGN_VARIABLE
from evals_app.library.columns import agent_columns
from evals_app.models import Agent
from evals_app.models.agents import model_reference
from fixtures_app.admin.editor import Editor, VersionedForm
from fixtures_app.tools import TOOLS

_ASKED_CHARS = 34  # on a phone it has one line
_SETTINGS = tuple(AgentSettings.model_fields)
_SAMPLING = ("temperature", "max_tokens", "top_p")
_NUMBER = UnfoldAdminDecimalFieldWidget
# Texts that stand in the row as they are typed, by the keys of files.
_PLAIN = {
    "name": "agent",
    **{
        key: key
        for key in (
            *("slug", "description", "driver", "system_prompt", "url", "protocol"),
            *("remote_model", "callable"),
        )
    },
}
_BLANK_IS_NONE = ("url", "remote_model", "callable")


class AgentForm(VersionedForm):
    """Read by AgentSpec; errors in rules and tools name their line."""

    headers = HeaderLines()
    command = TextLines(label="Program and arguments", placeholder="my-agent")
    tools = forms.MultipleChoiceField(
        required=False,
        label="Tools of fixtures",
        help_text="What the agent may use. They read and change its own copy of the fixtures.",
    )
    own_tools = YamlList("tools", example=TOOLS_EXAMPLE, rows=8, label="Own tools")
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
    rules = YamlList("rules", example=RULES_EXAMPLE, rows=14, help_text=RULES_HELP)

    class Meta:
        model = Agent
        fields = (
            *("name", "slug", "description", "driver", "model", "system_prompt"),
            *("url", "headers", "protocol", "remote_model", "callable", "command"),
        )
        widgets = {
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "system_prompt": UnfoldAdminTextareaWidget(attrs={"rows": 8}),
        }
        labels = {
            "driver": "What it is",
            "url": "Address",
            "remote_model": "Model",
            "callable": "Function",
        }
        help_texts = {
            "name": "In prompts it is {{agentName}}.",
            "slug": "Its name in files and in suites.",
            "model": "provider/model, for example anthropic/claude-haiku-5-5. A name that begins "
            "with claude- needs no provider.",
            "protocol": "Our own JSON has the message, what was said before, the channel and the "
            "parameters of the case. Chat completions are spoken by many servers of models.",
            "remote_model": "What the server is asked for; blank: nothing is said.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        agent = self.instance
        chosen = [each for each in agent.tools if isinstance(each, str)]
        gone = [name for name in chosen if name not in TOOLS]
        choices = [(name, name) for name in TOOLS]
        choices += [(name, f"{name} (no longer available)") for name in gone]
        helps = {name: tool.description for name, tool in TOOLS.items()}
        tools: Any = self.fields["tools"]
        tools.widget = Choices(helps)
        tools.choices = choices
        own = [each for each in agent.tools if not isinstance(each, str)]
        self.initial.update(tools=chosen, own_tools=own, rules=agent.rules)
        self.initial.update({name: agent.settings.get(name) for name in _SETTINGS})
        self.initial.update({name: agent.model_settings.get(name) for name in _SAMPLING})
        for name, text in permitted_help().items():
            if name in self.fields:  # whoever may only read has none of the row's own
                self.fields[name].help_text = text

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        texts: dict[str, Written] = {
            name: cleaned[name] for name in ("rules", "own_tools") if name in cleaned
        }
        # From here on it is what the row holds.
        cleaned.update({name: text.items for name, text in texts.items()})
        if any(name in self.errors for name in self.fields):
            return cleaned
        cleaned["system_prompt"], self.kept_as_text = without_foreign(cleaned["system_prompt"])
        written = self._written(cleaned)
        for key, drivers in misplaced(written).items():
            labels = " or ".join(f"“{Agent.Driver(driver).label}”" for driver in drivers)
            message = f"Only {labels} uses this: remove it, or choose that above."
            self.add_error(self._field_of((key,)), message)
            del written[key]
        self._read(written, texts)
        return cleaned

    def _written(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Give what a file would say; own tools stand first, as in the text they were typed in."""
        sampling = {name: cleaned[name] for name in _SAMPLING if cleaned[name] is not None}
        written = {key: cleaned[name] for name, key in _PLAIN.items()}
        return written | {
            **{key: written[key] or None for key in _BLANK_IS_NONE},
            "model": self._model(cleaned["model"], sampling),
            "headers": cleaned["headers"],
            "command": cleaned["command"] or None,
            "tools": [*cleaned["own_tools"], *cleaned["tools"]],
            "settings": {name: cleaned[name] for name in _SETTINGS if cleaned[name] is not None},
            "rules": cleaned["rules"],
        }

    def _model(self, name: str, sampling: dict[str, Any]) -> Any:  # noqa: ANN401 - as in files
        if sampling and name and "/" not in name:
            # With settings it is an object, in which the provider must stand.
            provider = next((p for begin, p in PREFIXES.items() if name.startswith(begin)), "")
            name = f"{provider}/{name}" if provider else name
            sampling = sampling if provider else {}
        return model_reference(name, sampling) if name else None

    def _read(self, written: dict[str, Any], texts: Mapping[str, Written]) -> None:
        try:
            spec = AgentSpec.model_validate(written)
        except ValidationError as error:
            self._explain(error, written, texts)
            return
        columns = agent_columns(spec)
        columns["tools"] = _in_order(columns["tools"], before=self.instance.tools)
        for name in ("model", "headers", "command", "tools", "rules"):
            self.cleaned_data[name] = columns[name]
        for name in ("settings", "model_settings"):
            setattr(self.instance, name, columns[name])

    def _field_of(self, loc: Loc) -> str | None:
        fields = {name: name for name in self.fields} | {"agent": "name"}
        fields |= {f"settings.{name}": name for name in _SETTINGS}
        fields |= {f"model.{name}": name for name in _SAMPLING}
        return field_of(loc, fields)

    def _explain(
        self, error: ValidationError, written: dict[str, Any], texts: Mapping[str, Written]
    ) -> None:
        own = len(texts["own_tools"].items)

        def put(loc: Loc, message: str, *, at_key: bool = False) -> Problem:
            field, entry = self._field_of(loc), loc[1] if len(loc) > 1 else None
            if field == "tools" and isinstance(entry, int) and entry < own:
                field = "own_tools"
            if field is not None and field in texts:
                message = texts[field].located(loc, message, at_key=at_key)
            elif field == "headers" and entry is not None:
                message = f"{entry}: {message}"
            self.add_error(field, message)
            return Problem("", 0, 0, "", "", message)

        document = texts["rules"].document
        explain(error, model=AgentSpec, data=written, document=document, place=put)


def _in_order(tools: list[Any], *, before: list[Any]) -> list[Any]:
    """Put tools where they stood before: own ones as their text has them, what is new at the end."""
    own = iter([each for each in tools if not isinstance(each, str)])
    chosen = [each for each in tools if isinstance(each, str)]
    kept = [
        next(own, None) if not isinstance(each, str) else each if each in chosen else None
        for each in before
    ]
    stood = [each for each in kept if each is not None]
    return [*stood, *own, *(each for each in chosen if each not in before)]


@admin.register(Agent)
class AgentAdmin(Editor):
    """Agents: what is tested."""

    form = AgentForm
    list_display = ["name", "show_driver", "show_reached", "show_tools", "updated_at"]
    list_filter = ["driver"]
    search_fields = ["name", "slug", "model", "url", "callable", "description"]
    ordering = ["name"]
    when_empty = (
        "An agent is what you test: a model with its prompt and tools, an agent of your own that "
        "is asked over HTTP, in Python or as a program, or rules that answer without a model."
    )
    prepopulated_fields = {"slug": ["name"]}
    # The script shows a part where the chosen kind uses it, or something stands in it.
    fieldsets = [
        (None, {"fields": ["name", "slug", "driver", "description"]}),
        ("Model", {"fields": ["model", *_SAMPLING], "classes": ["only-model"]}),
        (
            "Over HTTP",
            {"fields": ["url", "headers", "protocol"], "classes": ["only-http"]},
        ),
        ("Chat completions", {"fields": ["remote_model"], "classes": ["only-chat"]}),
        (
            "Prompt",
            {"fields": ["system_prompt"], "classes": ["only-model", "only-chat"]},
        ),
        ("Python", {"fields": ["callable"], "classes": ["only-python"]}),
        ("Program", {"fields": ["command"], "classes": ["only-command"]}),
        ("Rules", {"fields": ["rules"], "classes": ["only-scripted"]}),
        ("Tools", {"fields": ["tools", "own_tools"], "classes": ["only-model", "only-scripted"]}),
        ("Limits", {"fields": list(_SETTINGS), "classes": ["only-model"]}),
    ]

    class Media:
        js = ["evals_app/agent_editor.js"]

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:  # noqa: ANN401, FBT001 - Django's signature
        super().save_model(request, obj, form, change)
        for name in form.kept_as_text:
            messages.warning(request, FOREIGN_VARIABLE.format(name=name))

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: Agent | None = None
    ) -> dict[str, list[str]]:
        # Suites and files know an agent by its slug; it does not follow a new name by itself.
        return {} if obj else self.prepopulated_fields

    @display(description="What it is", ordering="driver")
    def show_driver(self, agent: Agent) -> str:
        return Agent.Driver(agent.driver).label

    @display(description="Asked")
    def show_reached(self, agent: Agent) -> str:
        asked = agent.model or agent.url or agent.callable or " ".join(agent.command)
        return shortened(asked, _ASKED_CHARS) or "-"

    @display(description="Tools")
    def show_tools(self, agent: Agent) -> str:
        return ", ".join(agent.tool_names) or "none"
