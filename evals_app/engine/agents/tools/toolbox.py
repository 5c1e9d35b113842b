"""The tools of an agent, bound to one execution: those of its world, and its own."""

import json
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from copy import deepcopy
from typing import Any, Protocol

from evals_app.engine.agents.headers import secrets_of
from evals_app.engine.agents.tools.http_tools import HttpRequests
from evals_app.engine.agents.tools.mcp_tools import connect
from evals_app.engine.agents.tools.tool_calls import CheckedTool, tool_error
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.basics.matchers import mismatches
from evals_app.engine.network.web import Web
from evals_app.engine.record.tool_results import mcp_error
from evals_app.engine.record.trial import Chunk, ToolCall
from evals_app.engine.record.world import Tool, World
from evals_app.engine.specs.tool_spec import AnyTool, CannedTool, HttpTool, McpTools
from fixtures_app.ground.strict_json import Json
from fixtures_app.ground.words import near


class OutsideTool(Tool, Protocol):
    """A tool outside the world.

    `call` never raises for what an agent does wrong: it returns `{"error": {"code", "message"}}`.
    """

    async def call(self, args: Mapping[str, Any]) -> Any: ...


class CannedAnswers(CheckedTool):
    """Answers with the first rule that matches the arguments."""

    def __init__(self, tool: CannedTool) -> None:
        super().__init__(tool)
        self._rules = tool.rules

    async def _answer(self, args: Mapping[str, Json]) -> object:
        for rule in self._rules:
            if not mismatches(rule.when, args, exact=False):
                if rule.error is not None:
                    return tool_error("failed", rule.error)
                return deepcopy(rule.result)
        return tool_error("no_answer", f"{self.name} has no answer for these arguments.")


class Toolbox:
    """The tools of an agent; every call is answered, an invalid one with an error."""

    def __init__(
        self, names: Sequence[str], *, world: World, own: Sequence[OutsideTool] = ()
    ) -> None:
        missing = [name for name in names if name not in world.tools]
        if missing:
            raise ConfigurationError(
                f"Unknown tool: {', '.join(missing)}. Known: {', '.join(world.tools)}."
            )
        self._own = {tool.name: tool for tool in own}
        self.tools: Mapping[str, Tool] = {name: world.tools[name] for name in names} | self._own
        self._world = world

    async def call(self, name: str, args: Mapping[str, Any]) -> ToolCall:
        """Call a tool and note what it returned; never raises for what the agent did wrong."""
        began = time.perf_counter()
        tool = self.tools.get(name)
        result = await self._result(name, args)
        error = _error_of(result)
        # A failed call is not a retrieval.
        path = tool.retrieval if tool is not None and error is None else None
        return ToolCall(
            name=name,
            args=dict(args),
            result=result,
            error=error,
            duration_ms=(time.perf_counter() - began) * 1000,
            chunks=_chunks(result, path) if path else (),
            is_retrieval=path is not None,
        )

    async def _result(self, name: str, args: Mapping[str, Json]) -> object:
        if name in self._own:
            return await self._own[name].call(args)
        if name in self.tools:
            return self._world.call(name, args)
        message = f"There is no tool {name!r}.{near(name, self.tools)}"
        return tool_error("unknown_tool", message)

    def refuse(self, name: str, raw: str) -> ToolCall:
        """Answer a call whose arguments could not be read."""
        message = f"The arguments are not a JSON object: {raw[:200]}"
        result = tool_error("malformed_arguments", message)
        return ToolCall(name=name, args={}, result=result, error=message)


@asynccontextmanager
async def open_toolbox(
    tools: Sequence[AnyTool], *, world: World, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Toolbox]:
    """Open the connections of the tools; they are closed at the end.

    Raises:
        ConfigurationError: a tool cannot work as written.
        ToolError: a server of tools does not answer.
    """
    names = [tool for tool in tools if isinstance(tool, str)]
    http_tools = [tool for tool in tools if isinstance(tool, HttpTool)]
    own: list[OutsideTool] = [CannedAnswers(tool) for tool in tools if isinstance(tool, CannedTool)]
    async with AsyncExitStack() as stack:
        if http_tools:
            secrets = secrets_of([tool.headers for tool in http_tools], environ=environ)
            web = await stack.enter_async_context(Web(secrets=secrets))
            own += [HttpRequests(tool, web=web, environ=environ) for tool in http_tools]
        for tool in tools:
            if isinstance(tool, McpTools):
                own += await stack.enter_async_context(connect(tool))
        yield Toolbox(names, world=world, own=own)


def _chunks(result: object, path: str) -> tuple[Chunk, ...]:
    for step in path.split("."):
        result = result.get(step) if isinstance(result, Mapping) else None
    if not isinstance(result, list):
        return ()
    return tuple(
        Chunk(str(part["id"]), str(part["text"]))
        for part in result
        if isinstance(part, Mapping) and "id" in part and "text" in part
    )


def _error_of(result: object) -> str | None:
    error = result.get("error") if isinstance(result, Mapping) else None
    if isinstance(error, Mapping) and "message" in error:
        return str(error["message"])
    return mcp_error(result)


def result_text(call: ToolCall) -> str:
    """Write a result as models get it."""
    return json.dumps(call.result, ensure_ascii=False)
