"""What a tool is, who may call it, and how its answer and its errors are written."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from pydantic import Field

from evals_app.engine.specs.base_spec import Spec
from evals_app.formats.reading.problems import keys_text
from evals_app.models import ApiToken
from evals_app.reports.answers.run_answers import Answer, Json
from evals_app.reports.reference.spec_schema import model_schema
from evals_app.requests.bodies import read_body
from evals_app.requests.pagination import MAX_ID
from evals_app.requests.permissions import Need, Scope, lacking
from evals_app.requests.problems import RefusedError, error_at, problem_response
from evals_app.requests.throttled_view import TooManyRequests
from evals_app.requests.throttles import RateLimit
from fixtures_app.ground.json_data import json_problems
from fixtures_app.ground.words import near

PART_CHARS = 16_000  # of one answer: a model reads it
MAX_PROBLEMS = 50
_INTERNAL = "An internal error occurred. The server log has the details."
_SILENT = "The database does not answer. Nothing was saved; try again in a moment."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """A person, or one of their tokens, whose scope then limits their rights."""

    user: User
    scope: ApiToken.Scope
    token: ApiToken | None = None

    @classmethod
    def of_token(cls, token: ApiToken) -> "Caller":
        return cls(token.user, Scope(token.scope), token)

    def lack(self, need: Need) -> str:
        """Return what is missing; empty if nothing."""
        return lacking(need, user=self.user, scope=self.scope)

    def require(self, *permissions: str) -> None:
        """Raise PermissionDenied if a permission is missing."""
        if lack := self.lack(Need(Scope.READ, *permissions)):
            raise PermissionDenied(lack)

    def count(self, rate: type[RateLimit]) -> None:
        """Count an action whose rate is limited; TooManyRequests if it was done too often."""
        counting = rate()
        if not counting.allow_request(SimpleNamespace(user=self.user), None):
            raise TooManyRequests(counting.wait())


class PartOfAnswer(Spec):
    """Arguments of a tool whose answer may be long."""

    cursor: int = Field(
        default=0, ge=0, le=MAX_ID, description="Where the next part of a long answer begins."
    )


@dataclass(frozen=True, slots=True)
class Told:
    """What a tool returns: text for a model, and the same in short as data for programs."""

    text: str
    data: Json


@dataclass(frozen=True, slots=True)
class Operation:
    """A tool: `run` returns its answer as text for a model; with an `answer` also as data.

    `example` are valid arguments. A tool that is destructive may replace or delete what people
    wrote. Calling an idempotent one again changes nothing more.
    """

    name: str
    title: str
    description: str
    arguments: type[Spec]
    example: Mapping[str, object]
    need: Need
    run: Callable[[Caller, Any], str | Told]
    answer: type[Answer] | None = None
    is_read_only: bool = True
    is_destructive: bool = False
    is_idempotent: bool = False
    rate: type[RateLimit] | None = None

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its arguments."""
        schema = self.arguments.model_json_schema()
        schema.pop("description", None)
        return schema

    def output_schema(self) -> dict[str, Any] | None:
        """Return the JSON Schema of its data; None if it returns text alone."""
        if self.answer is None:
            return None
        whole, parts = model_schema(self.answer, reference="#/$defs/{model}")
        return whole | {"$defs": parts}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers."""

    text: str
    data: Json | None = None
    is_error: bool = False


def call_tool(
    tools: Mapping[str, Operation],
    name: str,
    arguments: Mapping[str, object],
    *,
    who: Callable[[], Caller],
) -> ToolAnswer:
    """Call a tool in the name of `who`; errors become answers that explain how to fix them."""
    tool = tools.get(name)
    if tool is None:
        message = f"There is no tool {name!r}.{near(name, tools)} Tools: {', '.join(tools)}."
        return ToolAnswer(message, is_error=True)
    try:
        return _call(tool, arguments, who())
    except Exception as error:  # noqa: BLE001 - the caller is a model: it gets words
        return ToolAnswer(_explain(error), is_error=True)


def _call(tool: Operation, arguments: Mapping[str, object], caller: Caller) -> ToolAnswer:
    if lack := caller.lack(tool.need):
        raise PermissionDenied(lack)
    refuse_unstorable(arguments)
    given = read_body(tool.arguments, dict(arguments))
    if tool.rate is not None:
        caller.count(tool.rate)
    answer = tool.run(caller, given)
    told = answer if isinstance(answer, Told) else None
    text = told.text if told else str(answer)
    return ToolAnswer(part(text, tool, given), told.data if told else None)


def refuse_unstorable(arguments: Mapping[str, object]) -> None:
    """Refuse what no database stores, as REST does: NUL characters, endless nesting and more."""
    problems = json_problems(dict(arguments))
    errors = [error_at(keys_text(problem.loc), problem.message) for problem in problems]
    if errors:
        raise RefusedError("The arguments contain values that cannot be stored.", errors=errors)


def part(text: str, tool: Operation, given: Spec) -> str:
    """Return the part of a long text that `cursor` asks for, and where the next one begins."""
    start = given.cursor if isinstance(given, PartOfAnswer) else 0
    end = start + PART_CHARS
    if start and start >= len(text):
        return f"Nothing is left: the whole answer has {len(text):,} characters."
    if end >= len(text):
        return text[start:]
    end = max(text.rfind("\n", start, end) + 1, start + PART_CHARS // 2)
    return (
        f"{text[start:end].rstrip()}\n\n[Characters {start:,} to {end:,} of {len(text):,}. For the"
        f" next part, call {tool.name} with the same arguments and cursor: {end}]"
    )


def _explain(error: Exception) -> str:
    """Return the text of an error, the same as in REST."""
    if isinstance(error, OperationalError | InterfaceError):
        logger.warning("A tool of the MCP server found no database.", exc_info=error)
        return _SILENT
    response = problem_response(error, {})
    if response is None:
        logger.error("A tool of the MCP server failed.", exc_info=error)
        return _INTERNAL
    errors = response.data["errors"]
    if len(errors) == 1 and errors[0]["message"] in response.data["detail"]:
        return _line(errors[0])
    lines = [f"- {_line(one)}" for one in errors[:MAX_PROBLEMS]]
    if (more := len(errors) - MAX_PROBLEMS) > 0:
        lines.append(f"- and {more:,} more")
    title = str(response.data["detail"]) if not errors else f"{len(errors)} errors:"
    return "\n".join([title, *lines])


def _line(error: Mapping[str, Any]) -> str:
    place = ":".join(str(error[key]) for key in ("path", "line", "column") if error.get(key))
    found = ""
    if place and error["value"] not in (None, ""):
        found = f" (found {json.dumps(error['value'], ensure_ascii=False)})"
    return ": ".join(filter(None, (place, error["keys"], str(error["message"])))) + found


def lines_of(lines: Sequence[str], *, empty: str) -> str:
    """Return a list as text, or another text if it is empty."""
    return "\n".join(lines) if lines else empty
