"""Fields of the page of an agent: YAML as in files, headers as rows, and permission hints."""

import textwrap
from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from evals_app.admin.lines import Column, Line, LinesField, Typed, keyed
from evals_app.engine.permits import OUR_COMMAND, OUR_MODULE, permits
from evals_app.formats.document import Document
from evals_app.formats.problems import FormatError, Loc, keys_text
from evals_app.formats.yaml_source import read_yaml
from evals_app.formats.yaml_text import write_yaml

RULES_HELP = (
    "A list in YAML. The first matching rule answers. Keys: when (a pattern in the message), turn, "
    "calls, reply, delay_ms, error, usage. In a reply, {{input}} is the message and "
    "{{result.1.path}} is part of the first result."
)
RULES_EXAMPLE = """- when: order
  calls:
    - tool: entity.query
      args: {type: order}
  reply: "I found {{result.1.total}} orders."
- reply: "How can I help?"
"""
TOOLS_HELP = (
    "Other tools, as a list in YAML. With rules: fixed answers; the first rule whose when matches "
    "the arguments answers. With url: a request to a server (method, headers). With mcp and tools: "
    "tools of an MCP server."
)
TOOLS_EXAMPLE = """- name: orders.find
  description: Finds an order by its number.
  parameters:
    type: object
    properties: {number: {type: string}}
    required: [number]
  rules:
    - when: {number: "1042"}
      result: {status: shipped}
    - error: No such order.
"""


class YamlList(forms.Field):
    """A list in YAML as under its key in files; keeps the place of each part."""

    def __init__(self, key: str, *, example: str, rows: int, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(
            attrs={"rows": rows, "class": "ts-mono", "placeholder": example}
        )
        super().__init__(required=False, widget=widget, **kwargs)
        self.key = key

    def prepare_value(self, value: Any) -> Any:
        return write_yaml(value).decode() if isinstance(value, list) and value else value or ""

    def has_changed(self, initial: Any, data: Any) -> bool:
        return str(self.prepare_value(initial)).strip() != str(data or "").strip()

    def to_python(self, value: Any) -> "Written":
        # In the document the list is under its key, one line further down.
        document = f"{self.key}:\n{textwrap.indent(str(value or ''), '  ')}"
        try:
            return Written(self.key, read_yaml("", document.encode()))
        except FormatError as error:
            raise ValidationError(
                [
                    f"Line {max(problem.line - 1, 1)}: {problem.message}"
                    for problem in error.problems
                ]
            ) from None

    def validate(self, value: Any) -> None:
        if not isinstance(value.items, list):
            raise ValidationError("Enter a list. Each entry begins with a dash.")


class Written:
    """A list that was read from YAML."""

    def __init__(self, key: str, document: Document) -> None:
        self.document = document
        written = document.data[key]
        self.items: Any = [] if written is None else written

    def located(self, loc: Loc, message: str, *, at_key: bool = False) -> str:
        """Return a message with its line; the first two steps of the place are key and entry."""
        if len(loc) == 1:
            return message
        line, _ = self.document.place(loc, at_key=at_key)
        keys = keys_text(loc[2:])
        return f"Line {line - 1}, {keys}: {message}" if keys else f"Line {line - 1}: {message}"


_TEXT, _VARIABLE = "text", "env"


class HeaderLines(LinesField):
    """Headers: name, text or environment variable, and its value."""

    def __init__(self, **kwargs: Any) -> None:
        columns = [
            Column("key", "Header", placeholder="X-Tenant"),
            Column(
                "kind",
                "Kind of value",
                kind="select",
                choices=((_TEXT, "text"), (_VARIABLE, "variable")),
            ),
            Column("value", "Value", placeholder="Text, or the name of a variable"),
        ]
        super().__init__(columns, **kwargs)

    def written(self, value: Any) -> Iterable[Line]:
        for name, header in (value or {}).items():
            is_text = isinstance(header, str)
            yield {
                "key": name,
                "kind": _TEXT if is_text else _VARIABLE,
                "value": header if is_text else header["env"],
            }

    def read(self, lines: Typed) -> dict[str, Any]:
        headers: dict[str, Any] = {}
        for _, name, line in keyed(lines, "the name of the header"):
            value = line["value"].strip()
            headers[name.strip()] = {"env": value} if line["kind"] == _VARIABLE else value
        return headers


def permitted_help() -> dict[str, str]:
    """Return help texts with what the operator permits."""
    known = permits()
    return {
        "url": "Receives each message by POST, with the earlier messages. "
        + _listed("Permitted private hosts", known.hosts),
        "headers": "Sent with each message. Keys stay in the environment. "
        + _listed("Permitted variables", known.variables),
        "callable": "module.path:name of a function that receives the message and the earlier ones. "
        + _listed("Permitted modules", [*known.modules, OUR_MODULE]),
        "command": "A program and its arguments, one per line. It reads the message and writes its "
        "reply. " + _listed("Permitted programs", [*known.commands, OUR_COMMAND]),
        "own_tools": f"{TOOLS_HELP} " + _listed("Available MCP servers", known.mcp_servers),
    }


def _listed(what: str, names: Iterable[str]) -> str:
    return f"{what}: {', '.join(names) or 'none'}."
