"""What the page of an agent is typed in: YAML as in files, headers as rows, and what is permitted."""

import textwrap
from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget

from evals_app.admin.lines import Column, Line, LinesField, Typed
from evals_app.engine.permits import OUR_COMMAND, OUR_MODULE, permits
from evals_app.formats.document import Document
from evals_app.formats.problems import FormatError, Loc, keys_text
from evals_app.formats.yaml_source import read_yaml
from evals_app.formats.yaml_text import write_yaml

RULES_HELP = (
    "A list in YAML; of the rules that match, the first one acts. Keys: when (a pattern in the "
    "message), turn, calls, reply, delay_ms, error, usage. In a reply {{input}} is the message and "
    "{{result.1.path}} a part of the first result."
)
RULES_EXAMPLE = """- when: order
  calls:
    - tool: entity.query
      args: {type: order}
  reply: "I found {{result.1.total}} orders."
- reply: "How can I help?"
"""
TOOLS_HELP = (
    "Tools that no fixture has, as a list in YAML. With rules: answers that are written down; the "
    "first rule whose when matches the arguments answers. With url: a request to a server "
    "(method, headers). With mcp and tools: tools of an MCP server."
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
    """A list in YAML as in files, under the key that it has there; keeps where each part stands."""

    def __init__(self, key: str, *, example: str, rows: int, **kwargs: Any) -> None:
        widget = UnfoldAdminTextareaWidget(
            attrs={"rows": rows, "class": "ts-mono", "placeholder": example}
        )
        super().__init__(required=False, widget=widget, **kwargs)
        self.key = key

    def prepare_value(self, value: Any) -> Any:  # noqa: ANN401 - a list, or text as typed
        return write_yaml(value).decode() if isinstance(value, list) and value else value or ""

    def has_changed(self, initial: Any, data: Any) -> bool:  # noqa: ANN401 - a list, and text
        return str(self.prepare_value(initial)).strip() != str(data or "").strip()

    def to_python(self, value: Any) -> "Written":  # noqa: ANN401 - text
        # In the document the list stands under its key, one line further down.
        document = f"{self.key}:\n{textwrap.indent(str(value or ''), '  ')}"
        try:
            return Written(self.key, read_yaml("", document.encode()))
        except FormatError as error:
            raise ValidationError(
                [f"Line {max(each.line - 1, 1)}: {each.message}" for each in error.problems]
            ) from None

    def validate(self, value: Any) -> None:  # noqa: ANN401 - a document
        if not isinstance(value.items, list):
            message = "Write a list: each entry begins with a dash."
            raise ValidationError(message)


class Written:
    """A list that was read from YAML."""

    def __init__(self, key: str, document: Document) -> None:
        self.document = document
        written = document.data[key]
        self.items: Any = [] if written is None else written

    def located(self, loc: Loc, message: str, *, at_key: bool = False) -> str:
        """Say where in the text a problem is; the first two steps of the place are key and entry."""
        if len(loc) == 1:
            return message
        line, _ = self.document.place(loc, at_key=at_key)
        keys = keys_text(loc[2:])
        return f"Line {line - 1}, {keys}: {message}" if keys else f"Line {line - 1}: {message}"


_TEXT, _VARIABLE = "text", "env"


class HeaderLines(LinesField):
    """Headers: name, whether a text or a variable of the environment follows, and that."""

    def __init__(self, **kwargs: Any) -> None:
        columns = [
            Column("key", "Header", placeholder="X-Tenant"),
            Column(
                "kind",
                "What it holds",
                kind="select",
                choices=((_TEXT, "text"), (_VARIABLE, "variable")),
            ),
            Column("value", "Value", placeholder="Text, or the name of a variable"),
        ]
        super().__init__(columns, **kwargs)

    def written(self, value: Any) -> Iterable[Line]:  # noqa: ANN401 - a mapping, or nothing
        for name, header in (value or {}).items():
            is_text = isinstance(header, str)
            yield {
                "key": name,
                "kind": _TEXT if is_text else _VARIABLE,
                "value": header if is_text else header["env"],
            }

    def read(self, lines: Typed) -> dict[str, Any]:
        headers: dict[str, Any] = {}
        for number, line in enumerate(lines, 1):
            name, value = line["key"].strip(), line["value"].strip()
            if not name:
                message = f"Line {number}: the header's name is missing."
                raise ValidationError(message)
            if name in headers:
                message = f"Line {number}: {name} stands twice."
                raise ValidationError(message)
            headers[name] = {"env": value} if line["kind"] == _VARIABLE else value
        return headers


def permitted_help() -> dict[str, str]:
    """Say beside which fields what the operator permits."""
    known = permits()
    return {
        "url": "Where each message is posted, with what was said before. "
        + _listed("Of private networks the operator permits", known.hosts),
        "headers": "Sent with each message. Keys stay in the environment. "
        + _listed("Variables that the operator permits", known.variables),
        "callable": "module.path:name, a function that is given the message and what was said. "
        + _listed("Modules that the operator permits", [*known.modules, OUR_MODULE]),
        "command": "A program, then its arguments, one on each line. It reads the message and "
        "writes its reply. " + _listed("Permitted", [*known.commands, OUR_COMMAND]),
        "own_tools": f"{TOOLS_HELP} "
        + _listed("MCP servers that the operator has set up", known.mcp_servers),
    }


def _listed(what: str, names: Iterable[str]) -> str:
    return f"{what}: {', '.join(names) or 'none'}."
