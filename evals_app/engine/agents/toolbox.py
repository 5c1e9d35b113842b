"""The tools of an agent, bound to the world of one execution."""

import difflib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evals_app.engine.errors import ConfigurationError
from evals_app.engine.trial import Chunk, Tool, ToolCall, World


class Toolbox:
    """What an agent may call; every call is answered, a wrong one with an error."""

    def __init__(self, names: Sequence[str], *, world: World) -> None:
        missing = [name for name in names if name not in world.tools]
        if missing:
            message = f"No such tool: {', '.join(missing)}. Known: {', '.join(world.tools)}."
            raise ConfigurationError(message)
        self.tools: Mapping[str, Tool] = {name: world.tools[name] for name in names}
        self._world = world

    def call(self, name: str, args: Mapping[str, Any]) -> ToolCall:
        """Call a tool and note what it returned; never raises for what the agent did wrong."""
        began = time.perf_counter()
        if name in self.tools:
            result = self._world.call(name, args)
        else:
            near = difflib.get_close_matches(name, list(self.tools), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            message = f"There is no tool {name!r}.{hint}"
            result = {"error": {"code": "unknown_tool", "message": message}}
        return ToolCall(
            name=name,
            args=dict(args),
            result=result,
            error=_error_of(result),
            duration_ms=(time.perf_counter() - began) * 1000,
            chunks=self._chunks(name, result),
        )

    def refuse(self, name: str, raw: str) -> ToolCall:
        """Answer a call whose arguments could not be read."""
        message = f"The arguments are not a JSON object: {raw[:200]}"
        result = {"error": {"code": "malformed_arguments", "message": message}}
        return ToolCall(name=name, args={}, result=result, error=message)

    def _chunks(self, name: str, result: Mapping[str, Any]) -> tuple[Chunk, ...]:
        tool = self.tools.get(name)
        found = result.get(tool.retrieval) if tool is not None and tool.retrieval else None
        if not isinstance(found, list):
            return ()
        return tuple(Chunk(str(each["id"]), str(each["text"])) for each in found)


def _error_of(result: Mapping[str, Any]) -> str | None:
    error = result.get("error")
    if isinstance(error, Mapping) and "message" in error:
        return str(error["message"])
    return None


def result_text(call: ToolCall) -> str:
    """Write a result as models get to see it."""
    return json.dumps(call.result, ensure_ascii=False)
