"""What all kinds of tools share: checking arguments, and the shape of results."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from evals_app.engine.specs.tool_spec import OwnTool
from fixtures_app.ground.json_text import MAX_JSON_BYTES, NotJsonError, read_json
from fixtures_app.ground.nesting import TOO_DEEP, is_too_deep
from fixtures_app.ground.schemas import schema_misfits
from fixtures_app.ground.strict_json import Json, JsonObject, read_strictly

_MAX_PROBLEMS = 3


class CheckedTool(ABC):
    """A tool of the agent's own, whose arguments are validated before it answers."""

    def __init__(self, tool: OwnTool) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        self.retrieval = tool.retrieval

    async def call(self, args: Mapping[str, object]) -> Any:
        if problem := argument_problem(self.parameters, args):
            return self._invalid(problem)
        return await self._answer(args)

    @abstractmethod
    async def _answer(self, args: Mapping[str, Any]) -> Any: ...

    def _invalid(self, problem: str) -> JsonObject:
        return tool_error("invalid_arguments", f"Invalid arguments for {self.name}: {problem}")


def tool_error(code: str, message: str) -> JsonObject:
    """Return an error result, in the shape of all tools."""
    return {"error": {"code": code, "message": message}}


def as_text(value: object) -> str:
    """Return a text as it is, and anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def json_or_text(text: str) -> Json:
    """Read strict JSON; anything else stays text."""
    try:
        return read_strictly(text)
    except (ValueError, RecursionError):
        return text


def tool_result(name: str, result: object) -> object:
    """Return what a tool returned; an error if it cannot be stored."""
    if is_too_deep(result):
        return tool_error("too_deep", f"{name} returned {TOO_DEEP}.")
    return result


def argument_problem(schema: Mapping[str, object], args: Mapping[str, object]) -> str | None:
    """Describe what is wrong with arguments; None if they are valid.

    The schema is one in which `schema_problems` finds nothing.
    """
    text = json.dumps(args)
    if len(text) > MAX_JSON_BYTES:
        return f"They cannot be checked: they have more than {MAX_JSON_BYTES:,} characters."
    try:
        document = read_json(text)
    except NotJsonError as exc:
        return f"The argument object {exc}"
    problems = schema_misfits(document, schema, whole="the argument object")
    return " ".join(problems[:_MAX_PROBLEMS]) or None
