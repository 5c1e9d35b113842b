"""The page of an agent: a model with tools, an external agent, or rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect
from django.utils.safestring import SafeString
from pydantic import ValidationError
from unfold.decorators import action, display
from unfold.views import ChangeList
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from evals_app.admin.agents import agent_parts
from evals_app.admin.agents.agent_fields import HeaderLines, ReplyFormatField, permitted_help
from evals_app.admin.agents.agent_list import (
    SEEING_RESULTS,
    AgentList,
    agent_cell,
    last_cell,
    tools_cell,
)
from evals_app.admin.agents.agent_parts import column_of, names_of
from evals_app.admin.agents.agent_rules import RULE_ROWS, RuleRow, names_for_calls
from evals_app.admin.agents.agent_tools import TOOL_ROWS, ToolRow
from evals_app.admin.agents.connected import connection_note
from evals_app.admin.agents.copies import copy_agent
from evals_app.admin.agents.developer_links import ASKING, developer_note
from evals_app.admin.agents.playground import TALKING
from evals_app.admin.agents.starting_cards import asks_first, start_page, starting_values
from evals_app.admin.agents.topics_page import SEEING_TOPICS
from evals_app.admin.bin.deleting import Deleting
from evals_app.admin.history.suite_rows import suite_rows
from evals_app.admin.history.trends import MAX_SUITES, suites_of, trend_of
from evals_app.admin.kit.choices import Choices
from evals_app.admin.kit.lines import TextLines
from evals_app.admin.kit.model_choices import ModelInput
from evals_app.admin.kit.pages import page_context
from evals_app.admin.kit.permissions import requires
from evals_app.admin.kit.spec_form import SpecForm, explain_errors, field_of
from evals_app.admin.kit.value_lines import ValueLines
from evals_app.admin.people.saved_views import WithViews
from evals_app.admin.starting.run_suites import RUNNING_SUITES, run_suites_url
from evals_app.engine.basics.template import statements, without_foreign
from evals_app.engine.specs.agent_spec import (
    DRIVERS,
    SPANS_WAIT_S,
    AgentSpec,
    ScriptedAgent,
    misplaced_keys,
)
from evals_app.engine.specs.base_spec import PREFIXES
from evals_app.formats.foreign.prompt_variables import foreign_statement, foreign_variable
from evals_app.formats.reading.problems import Loc
from evals_app.models import Agent, Suite
from evals_app.models.authored.agents import AGENT
from fixtures_app.editing.duplicating import Duplicating
from fixtures_app.editing.editor import Editor, VersionedForm
from fixtures_app.editing.inputs import CheckBox
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.list_rows import ListRows
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.tools import TOOLS

_LIMITS = tuple(name for name in names_of("settings") if name != "response_format")
_PROTOCOLS = {"json": "JSON", "openai-chat": "Chat completions"}


@agent_parts.with_fields
class AgentForm(SpecForm, VersionedForm):
    """Validated by AgentSpec; errors in rules and tools appear at their rows."""

    mapping = AGENT

    headers = HeaderLines()
    protocol = forms.ChoiceField(
        choices=list(_PROTOCOLS.items()), initial="json", widget=UnfoldAdminSelectWidget
    )
    query = ValueLines(key_label="Parameter")
    request = JsonTextField(kind=dict, required=False, rows=8)
    keeps_cookies = forms.BooleanField(required=False, widget=CheckBox)
    response_format = ReplyFormatField()
    command = TextLines(label=AGENT.labels["command"], placeholder="my-agent")
    tools = forms.MultipleChoiceField(required=False)
    own_tools = ListRows(ToolRow, name="tool", look=TOOL_ROWS, label="Own tools")
    rules = ListRows(RuleRow, name="rule", look=RULE_ROWS)

    class Meta:
        model = Agent
        fields = (
            *("name", "slug", "description", "driver", "model", "system_prompt"),
            *("tool_calls_from", "spans_wait_s"),
        )
        widgets = {
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "model": ModelInput,
            "system_prompt": UnfoldAdminTextareaWidget(attrs={"rows": 8}),
        }
        labels = AGENT.labels
        help_texts = AGENT.help_texts | {
            "driver": "",
            "protocol": "JSON: our own keys, or those of your agent. Chat completions: what many "
            "model servers speak.",
            "method": "GET has no body: the message is then one of the query parameters.",
            "query": "Added to the address, for example q with the value {{input}}. Also:"
            " {{session_id}}, {{channel}}, {{context_params.NAME}}, {{case}}, {{trial}}, {{clock}}.",
            "keeps_cookies": "Cookies that the agent sets are sent back to it for the rest of the"
            " conversation.",
            "request": "The JSON that your agent expects, with {{input}} where the message goes. "
            "Also: {{history}}, {{messages}}, {{session_id}}, {{channel}}, "
            "{{context_params.NAME}}, {{case}}, {{trial}}, {{clock}}, {{files}}.",
            "tool_calls_from": "With spans, turns whose reply has tool calls still use those.",
            "spans_wait_s": "How long to wait for late spans after the last reply of a"
            f" conversation. Leave blank for {SPANS_WAIT_S:g} s.",
            "tools": "What the agent may use. Each conversation has its own copy of the test data.",
            "rules": "The first rule that matches the message answers. Drag a rule to move it.",
        }

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        agent = self.instance
        chosen = [tool for tool in agent.tools if isinstance(tool, str)]
        gone = [name for name in chosen if name not in TOOLS]
        choices = [(name, name) for name in TOOLS]
        choices += [(name, f"{name} (no longer available)") for name in gone]
        helps = {name: tool.description for name, tool in TOOLS.items()}
        tools: Any = self.fields["tools"]
        tools.widget = Choices(helps)
        tools.choices = choices
        own = [tool for tool in agent.tools if not isinstance(tool, str)]
        if agent.pk:  # a new one may begin with a starting point
            self.initial.update(tools=chosen, own_tools=own)
            self.initial.update(agent_parts.initial_of(agent))
        for name, text in permitted_help().items():
            if name in self.fields:  # read-only pages have no model fields
                self.fields[name].help_text = text
        for name, field in self.fields.items():
            if isinstance(field, ListRows):
                field.attach(self, name)

    def clean_whole(self, cleaned: dict[str, Any]) -> None:
        cleaned["system_prompt"], self.kept_as_text = without_foreign(cleaned["system_prompt"])
        written = self._to_mapping(cleaned)
        for key, drivers in misplaced_keys(written).items():
            labels = " or ".join(f"“{DRIVERS[driver].label}”" for driver in drivers)
            message = f"Only {labels} uses this. Remove it, or choose that kind of agent above."
            self.add_error(self._field_of((key,)), message)
            del written[key]
        self._read(written)

    def _to_mapping(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Return the agent as a file would define it; own tools come first, in the order typed."""
        parts = agent_parts.to_mapping(cleaned)
        name, sampling = self._model(cleaned["model"], parts["model_settings"])
        return AGENT.to_mapping(
            self.instance,
            cleaned
            | {
                "connection": {key: parts[key] for key in AGENT.in_rest if parts[key]},
                "model": name,
                "model_settings": sampling,
                "tools": [*cleaned["own_tools"], *cleaned["tools"]],
                "settings": parts["settings"],
            },
        )

    def _model(self, name: str, sampling: dict[str, object]) -> tuple[str, dict[str, object]]:
        if sampling and name and "/" not in name:
            # With settings it is an object, which needs a provider.
            provider = next((p for begin, p in PREFIXES.items() if name.startswith(begin)), "")
            return (f"{provider}/{name}", sampling) if provider else (name, {})
        return name, sampling if name else {}

    def _read(self, written: dict[str, object]) -> None:
        try:
            spec = AgentSpec.model_validate(written)
        except ValidationError as error:
            self._explain(error, written)
            return
        columns = AGENT.values(spec)
        columns["tools"] = _in_order(columns["tools"], before=self.instance.tools)
        for name in ("model", "tools"):
            self.cleaned_data[name] = columns[name]
        for name in ("connection", "settings", "model_settings"):
            setattr(self.instance, name, columns[name])

    def _field_of(self, loc: Loc) -> str | None:
        fields = {key: name for key, name in AGENT.names.items() if name in self.fields}
        fields |= {part: names_of(part)[0] for part in agent_parts.PARTS}
        fields |= {f"{part}.{key}": name for name, (part, key) in agent_parts.FIELDS.items()}
        fields |= {f"model.{name}": name for name in names_of("model_settings")}
        return field_of(loc, fields)

    def _explain(self, error: ValidationError, written: Mapping[str, object]) -> None:
        own = len(self.cleaned_data["own_tools"])
        for loc, message in explain_errors(error, model=AgentSpec, data=written):
            field, entry = self._field_of(loc), loc[1] if len(loc) > 1 else None
            if field == "tools" and isinstance(entry, int) and entry < own:
                field = "own_tools"
            rows: object = self.fields.get(field or "")
            if isinstance(rows, ListRows) and isinstance(entry, int):
                rows.formset.kept_rows[entry].put(loc[2:], message)
                self.add_error(field, rows.refusal())
            elif field == "headers" and entry is not None:
                self.add_error(field, f"{entry}: {message}")
            else:
                self.add_error(field, message)


def _in_order(tools: Sequence[object], *, before: Sequence[object]) -> list[object]:
    """Keep the order of tools: own ones as in their text, new ones at the end."""
    own = iter([tool for tool in tools if not isinstance(tool, str)])
    chosen = [tool for tool in tools if isinstance(tool, str)]
    kept = [tool if isinstance(tool, str) else next(own, "") for tool in before]
    kept = [tool for tool in kept if not isinstance(tool, str) or tool in chosen]
    return [*kept, *own, *(tool for tool in chosen if tool not in before)]


def _substitute_fields(
    names: list[str], shown: Mapping[str, object], left: dict[object, None]
) -> list[object]:
    """Return the names with each group of fields replaced once by what is shown instead."""
    fields = dict.fromkeys(shown.get(name, name) for name in names)
    taken = [name for name in fields if name in left]
    for name in taken:
        del left[name]
    return taken


def _readonly_value(agent: Agent, name: str) -> SafeString:
    rows: Any = AgentForm(instance=agent).fields[name]
    shown: SafeString = rows.readonly_rows()
    return shown


@admin.register(Agent)
class AgentAdmin(WithViews, Deleting, Duplicating, Editor):
    """Agents: what is tested."""

    form = AgentForm
    list_display = [agent_cell, last_cell, tools_cell, "updated_at"]
    list_filter = ["driver"]
    search_fields = [
        *("name", "slug", "model", "description"),
        *("connection__url", "connection__callable"),
    ]
    ordering = ["name"]
    when_empty = (
        "An agent is what you test: a model with a prompt and tools, your own agent behind HTTP, "
        "Python or a program, here or on your computer, or rules that answer without a model."
    )
    prepopulated_fields = {"slug": ["name"]}
    # The script shows a section if the chosen driver uses it, or if it is filled in.
    fieldsets = [
        (None, {"fields": ["name", "slug", "driver", "description"]}),
        (
            "Model",
            {
                "fields": ["model", *names_of("model_settings"), "response_format"],
                "classes": ["only-model"],
            },
        ),
        (
            "Over HTTP",
            {
                "fields": ["url", "headers", "protocol", "stream_format", "keeps_cookies"],
                "classes": ["only-http"],
            },
        ),
        (
            "Its own request and reply",
            {
                "fields": [
                    *("method", "query", "request", "request_format"),
                    *names_of("response"),
                    "stream_text_events",
                ],
                "classes": ["only-json"],
                "description": "Leave these as they are if your agent reads and writes our own keys."
                " A place is a path into its reply, such as messages[-1].content, or into each"
                " piece of it.",
            },
        ),
        (
            "Agent answers later",
            {
                "fields": names_of("poll"),
                "classes": ["only-json", "collapse"],
                "description": "For an agent that first answers with a job (202 Accepted)."
                " Evalwell then checks for the result until it is ready.",
            },
        ),
        (
            "Access token",
            {
                "fields": names_of("oauth"),
                "classes": ["only-http", "collapse"],
                "description": "For an agent that requires OAuth 2 (client credentials). The token"
                " is sent with each message and never stored.",
            },
        ),
        (
            "Client certificate",
            {
                "fields": names_of("client_certificate"),
                "classes": ["only-http", "collapse"],
                "description": "For an agent that asks for a certificate (mutual TLS). Each variable"
                " has the content of a PEM file, or its path. Nothing of it is stored here.",
            },
        ),
        (
            "Rate limits",
            {
                "fields": names_of("pace"),
                "classes": ["only-http", "collapse"],
                "description": "Apply to all runs and workers together.",
            },
        ),
        ("Chat completions", {"fields": ["remote_model"], "classes": ["only-chat"]}),
        ("Prompt", {"fields": ["system_prompt"], "classes": ["only-model", "only-chat"]}),
        ("Python", {"fields": ["callable", "interpreter"], "classes": ["only-python"]}),
        ("Program", {"fields": ["command"], "classes": ["only-command"]}),
        ("Connected computer", {"fields": ["if_lost"], "classes": ["only-connected"]}),
        (
            "Tool calls",
            {
                "fields": ["tool_calls_from", "spans_wait_s"],
                "classes": ["only-http", "only-python", "only-command", "only-connected"],
            },
        ),
        ("Rules", {"fields": ["rules"], "classes": ["only-scripted"]}),
        ("Tools", {"fields": ["tools", "own_tools"], "classes": ["only-model", "only-scripted"]}),
        ("Limits", {"fields": _LIMITS, "classes": ["only-model"]}),
    ]

    change_form_outer_before_template = "admin/evals_app/agents/suites.html"
    change_form_outer_after_template = "admin/evals_app/checks/names.html"
    actions_detail = ["talk_to_it", "run_its_suites", "ready_by_topic", "duplicate"]

    has_copy_permission = requires("evals_app.add_agent", "evals_app.view_agent")
    make_copy = staticmethod(copy_agent)

    class Media:
        js = ["evals_app/agents/agent_editor.js", "evals_app/checks/check_values.js"]
        css = {"all": ["evals_app/conversation/review.css"]}

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return AgentList

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return starting_values(request) or super().get_changeform_initial_data(request)

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        if asks_first(request) and self.has_add_permission(request):
            return start_page(request, page_context(request, Agent))
        return super().add_view(request, form_url, extra_context)

    def response_post_save_add(self, request: HttpRequest, obj: Agent) -> HttpResponseRedirect:
        """Continue with the agent: talk to it, or make its first suite."""
        return redirect("admin:evals_app_agent_change", obj.pk)

    has_talk_permission = requires(*TALKING)
    has_suites_permission = requires(*RUNNING_SUITES)

    @action(description="Talk to it", icon="forum", url_path="talk-to-it", permissions=["talk"])
    def talk_to_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return redirect("admin:evals_app_agent_talk", object_id)

    @action(
        description="Run its suites",
        icon="play_arrow",
        url_path="run-suites",
        permissions=["suites"],
    )
    def run_its_suites(self, request: HttpRequest, object_id: str) -> HttpResponse:
        agent = get_object_or_404(Agent, pk=object_id)
        suites = Suite.objects.current().filter(agent=agent)
        if not suites.exists():
            messages.warning(request, "No suite tests this agent yet. Make one below.")
            return redirect("admin:evals_app_agent_change", agent.pk)
        return redirect(run_suites_url(suites))

    has_topics_permission = requires(*SEEING_TOPICS)

    @action(
        description="Ready by topic",
        icon="checklist",
        url_path="ready-by-topic",
        permissions=["topics"],
    )
    def ready_by_topic(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return redirect("admin:evals_app_agent_topics", object_id)

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        agent = context.get("original")
        context |= names_for_calls()
        if agent is not None:
            context["developer"] = developer_note(agent)
            context["connection"] = connection_note(agent)
            context["may_ask_developer"] = request.user.has_perm(ASKING)
        if agent is not None and request.user.has_perms(SEEING_RESULTS):
            suites = suites_of(agent)
            context |= {
                "shows_suites": True,
                "suites": suites,
                "suite_rows": suite_rows(request, suites),
                "trend": trend_of(suites),
                "has_more_suites": len(suites) == MAX_SUITES,
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Agent | None = None) -> list[Any]:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fieldsets
        # Without the right to change, rows are shown as they are, and cannot be edited.
        shown: dict[str, Any] = {key: column_of(key, _PROTOCOLS) for key in AGENT.in_rest}
        parts = agent_parts.FIELDS.items()
        shown |= {name: shown[part] for name, (part, _) in parts if part in shown}
        shown |= {"rules": "show_rules", "own_tools": "show_own_tools"}
        left = dict.fromkeys(
            shown.get(name, name) for _, options in fieldsets for name in options["fields"]
        )
        return [
            (title, options | {"fields": _substitute_fields(options["fields"], shown, left)})
            for title, options in fieldsets
        ]

    @display(description="Rules")
    def show_rules(self, agent: Agent) -> SafeString:
        return _readonly_value(agent, "rules")

    @display(description="Own tools")
    def show_own_tools(self, agent: Agent) -> SafeString:
        return _readonly_value(agent, "own_tools")

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's signature
        super().save_model(request, obj, form, change)
        for name in form.kept_as_text:
            messages.warning(request, foreign_variable(name, "system_prompt"))
        if statements(obj.system_prompt):
            messages.warning(request, foreign_statement(obj.system_prompt, "system_prompt"))
        spec = obj.to_spec()
        if isinstance(spec, ScriptedAgent) and (problem := spec.unreached_rules()[1]):
            messages.warning(request, problem)
