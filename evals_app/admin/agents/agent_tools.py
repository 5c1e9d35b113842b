"""An agent's own tools as rows: fixed answers, a request to a server, tools of an MCP server."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evals_app.admin.agents.agent_fields import HeaderLines
from evals_app.admin.kit.item_rows import ItemRow, without_blanks
from evals_app.admin.kit.lines import (
    Line,
    LineColumn,
    LinesField,
    TextLines,
    TypedLines,
    keyed_lines,
)
from evals_app.admin.kit.value_lines import MATCHERS_HELP, MatcherLines
from evals_app.engine.specs.tool_spec import HttpTool
from fixtures_app.editing.inputs import Select, TextArea, TextInput
from fixtures_app.editing.json_field import read_json
from fixtures_app.editing.list_rows import ListRows, RowsLook

CANNED, HTTP, MCP = "canned", "http", "mcp"
_SOURCES = (
    (CANNED, "fixed answers"),
    (HTTP, "a request to a server"),
    (MCP, "an MCP server"),
)
_TYPES = (
    ("string", "text"),
    ("number", "number"),
    ("integer", "whole number"),
    ("boolean", "yes or no"),
    ("array", "list"),
    ("object", "object"),
)
_OPTIONAL, _REQUIRED = "", "required"
_TEXT, _JSON, _ERROR = "text", "json", "error"
_METHODS = [(name, name) for name in ("POST", "GET", "PUT", "PATCH", "DELETE")]


class ParameterLines(LinesField):
    """The arguments of a tool, as JSON Schema: name, kind, whether required, description."""

    def __init__(self, **kwargs: object) -> None:
        columns = [
            LineColumn("key", "Argument"),
            LineColumn("kind", "Kind", kind="select", choices=_TYPES),
            LineColumn(
                "need",
                "Required?",
                kind="select",
                choices=((_OPTIONAL, "optional"), (_REQUIRED, "required")),
            ),
            LineColumn("about", "Description"),
        ]
        super().__init__(columns, **kwargs)

    def to_lines(self, value: Any) -> Iterable[Line]:
        for name, about in value.get("properties", {}).items():
            yield {
                "key": name,
                "kind": about["type"],
                "need": _REQUIRED if name in value.get("required", []) else _OPTIONAL,
                "about": about.get("description", ""),
            }

    def read(self, lines: TypedLines) -> dict[str, Any]:
        properties, required = {}, []
        for _, name, line in keyed_lines(lines, "the name of the argument"):
            properties[name] = without_blanks({"type": line["kind"], "description": line["about"]})
            required += [name] if line["need"] else []
        if not properties:
            return {}
        return without_blanks({"type": "object", "properties": properties, "required": required})


class AnswerRow(ItemRow):
    """What a tool answers when the arguments match."""

    places = {"when": "when", "result": "answer", "error": "answer"}

    when = MatcherLines(label="When all of these are true (leave blank for every call)")
    kind = forms.ChoiceField(
        label="It returns",
        choices=((_TEXT, "a text"), (_JSON, "data (JSON)"), (_ERROR, "an error")),
        widget=Select,
    )
    answer = forms.CharField(
        strip=False,
        label="Answer",
        widget=TextArea({"rows": 2}),
        error_messages={"required": "Write what the tool returns, or remove this answer."},
    )

    @classmethod
    def split(cls, item: Any) -> dict[str, Any]:
        when = {"when": item.get("when", {})}
        if "error" in item:
            return when | {"kind": _ERROR, "answer": item["error"]}
        result = item["result"]
        if isinstance(result, str):
            return when | {"kind": _TEXT, "answer": result}
        indent = 2 if isinstance(result, list | dict) else None
        written = json.dumps(result, ensure_ascii=False, indent=indent)
        return when | {"kind": _JSON, "answer": written}

    @classmethod
    def join(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        if not values["answer"]:
            raise ValueError("blank")
        when = without_blanks({"when": values["when"]})
        if values["kind"] == _ERROR:
            return when | {"error": values["answer"]}
        answer = values["answer"]
        return when | {"result": read_json(answer) if values["kind"] == _JSON else answer}

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if {"kind", "answer"} <= given.keys() and given["kind"] == _JSON:
            try:
                read_json(given["answer"])
            except ValidationError as error:
                self.add_error("answer", error)
        return given


class ToolRow(ItemRow):
    """A tool that no fixture has."""

    places = {
        **{name: name for name in ("name", "description", "parameters", "url", "method")},
        "headers": "headers",
        "rules": "answers",
        "mcp": "mcp",
        "tools": "mcp_tools",
        "retrieval": "retrieval",
    }

    source = forms.ChoiceField(
        label="It is answered by",
        choices=_SOURCES,
        initial=CANNED,
        widget=Select({"data-source": ""}),
    )
    name = forms.CharField(
        required=False,
        label="Name",
        help_text="For the agent, for example orders.find.",
        widget=TextInput({"data-tool-name": ""}),
    )
    description = forms.CharField(
        required=False,
        strip=False,
        label="Description",
        help_text="Its purpose, for the agent.",
        widget=TextArea({"rows": 1}),
    )
    parameters = ParameterLines(label="Arguments")
    answers = ListRows(
        AnswerRow,
        name="answer",
        look=RowsLook("admin/evals_app/agents/answer_row.html", "Add an answer", "ew-answer-drag"),
        label="Answers",
        help_text="The first one that matches the call is returned. If none does, the call fails. "
        f"In conditions: {MATCHERS_HELP}",
    )
    url = forms.CharField(
        required=False,
        label="Address",
        help_text=HttpTool.model_fields["url"].description or "",
        widget=TextInput,
    )
    method = forms.ChoiceField(
        required=False, label="Method", choices=_METHODS, initial="POST", widget=Select
    )
    headers = HeaderLines(label="Headers")
    mcp = forms.CharField(
        required=False,
        label="MCP server",
        help_text="The name of a server that your administrator has set up.",
        widget=TextInput,
    )
    mcp_tools = TextLines(label="Its tools", placeholder="Name on the server")
    retrieval = forms.CharField(
        required=False,
        label="Where the result lists retrieved passages",
        help_text="For example data.chunks. Leave blank if it retrieves none.",
        widget=TextInput,
    )

    @classmethod
    def split(cls, item: Any) -> dict[str, Any]:
        source = MCP if "mcp" in item else HTTP if "url" in item else CANNED
        return {
            "source": source,
            **{name: item.get(name, "") for name in ("name", "description", "url", "mcp")},
            "retrieval": item.get("retrieval") or "",
            "method": item.get("method", "POST"),
            "parameters": item.get("parameters", {}),
            "headers": item.get("headers", {}),
            "answers": item.get("rules", []),
            "mcp_tools": item.get("tools", []),
        }

    @classmethod
    def join(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        source = values["source"]
        retrieval = {"retrieval": values["retrieval"]}
        if source == MCP:
            return without_blanks({"mcp": values["mcp"], "tools": values["mcp_tools"], **retrieval})
        item = {name: values[name] for name in ("name", "description", "parameters")} | retrieval
        if source == CANNED:
            return without_blanks(item | {"rules": values["answers"]})
        method = "" if values["method"] == "POST" else values["method"]
        return without_blanks(
            {**item, "url": values["url"], "method": method, "headers": values["headers"]}
        )

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if self.is_yaml or "source" not in given:
            return given
        needed = {
            CANNED: {"name": "Name the tool.", "answers": "Add at least one answer."},
            HTTP: {"name": "Name the tool.", "url": "Write the address of the server."},
            MCP: {"mcp": "Name the server.", "mcp_tools": "Name at least one of its tools."},
        }[given["source"]]
        for name, message in needed.items():
            if name not in self.errors and not given.get(name):
                self.add_error(name, message)
        unused = {
            "url": (HTTP, "Only a request to a server uses this. Remove it."),
            "headers": (HTTP, "Only a request to a server uses this. Remove it."),
            "answers": (CANNED, "Only a tool with fixed answers uses these. Remove them."),
            "mcp": (MCP, "Only tools of an MCP server use this. Remove it."),
            "mcp_tools": (MCP, "Only tools of an MCP server use this. Remove it."),
        }
        for name, (source, message) in unused.items():
            if given["source"] != source and given.get(name):
                self.add_error(name, message)
        return given

    @property
    def title(self) -> str:
        item = self.initial_item
        if item is None:
            return ""
        return item.get("name") or f"{item.get('mcp', '')}: {', '.join(item.get('tools', []))}"


TOOL_ROWS = RowsLook("admin/evals_app/agents/tool_row.html", "Add a tool", "ew-tool-drag")
