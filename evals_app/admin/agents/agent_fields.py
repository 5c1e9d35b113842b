"""Fields of the page of an agent: headers as lines, and permission hints."""

from collections.abc import Iterable
from typing import Any

from evals_app.admin.kit.lines import Line, LineColumn, LinesField, TypedLines, keyed_lines
from evals_app.engine.basics.permits import OUR_COMMAND, OUR_MODULE, permits
from evals_app.engine.specs.model_settings import AgentSettings
from fixtures_app.editing.json_field import JsonTextField

_TEXT, _VARIABLE = "text", "env"


class HeaderLines(LinesField):
    """Headers: name, text or environment variable, and its value."""

    def __init__(self, **kwargs: object) -> None:
        columns = [
            LineColumn("key", "Header", placeholder="X-Tenant"),
            LineColumn(
                "kind",
                "Kind of value",
                kind="select",
                choices=((_TEXT, "text"), (_VARIABLE, "variable")),
            ),
            LineColumn("value", "Value", placeholder="Text, or the name of a variable"),
        ]
        super().__init__(columns, **kwargs)

    def to_lines(self, value: Any) -> Iterable[Line]:
        for name, header in (value or {}).items():
            is_text = isinstance(header, str)
            yield {
                "key": name,
                "kind": _TEXT if is_text else _VARIABLE,
                "value": header if is_text else header["env"],
            }

    def read(self, lines: TypedLines) -> dict[str, Any]:
        headers: dict[str, object] = {}
        for _, name, line in keyed_lines(lines, "the name of the header"):
            value = line["value"].strip()
            headers[name.strip()] = {"env": value} if line["kind"] == _VARIABLE else value
        return headers


class ReplyFormatField(JsonTextField):
    """The format of replies: the word json, or a JSON Schema."""

    def __init__(self) -> None:
        info = AgentSettings.model_fields["response_format"]
        super().__init__(
            required=False,
            label=info.title,
            help_text="Leave blank for text. Write json for any JSON object, or the JSON Schema that"
            " replies must fit. Sent only to models that accept it.",
        )

    def to_python(self, value: object) -> Any:
        if isinstance(value, str) and value.strip().lower() == "json":
            return "json"
        return super().to_python(value)


def permitted_help() -> dict[str, str]:
    """Return help texts that list what the operator permits."""
    known = permits()
    return {
        "url": "Receives each message, with the earlier messages. "
        + _name_list("Permitted private hosts", known.hosts),
        "headers": "Sent with each message. Keys stay in the environment. "
        + _name_list("Permitted variables", known.variables),
        "callable": "module.path:name of a function that receives the message and the earlier ones. "
        + _name_list("Permitted modules", [*known.modules, OUR_MODULE]),
        "interpreter": "The name of a Python with packages of its own. Leave blank for the one of "
        "Evalwell. " + _name_list("Available interpreters", known.interpreters),
        "command": "A program and its arguments, one per line. It reads the message and writes its "
        "reply. " + _name_list("Permitted programs", [*known.commands, OUR_COMMAND]),
        "own_tools": "Tools that do not use test data: with fixed answers, over HTTP, or of an "
        "MCP server. " + _name_list("Available MCP servers", known.mcp_servers),
    }


def _name_list(what: str, names: Iterable[str]) -> str:
    return f"{what}: {', '.join(names) or 'none'}."
