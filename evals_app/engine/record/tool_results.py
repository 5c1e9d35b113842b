"""Errors in the results of tools."""

from collections.abc import Mapping

from evals_app.engine.record.trial import ToolCall
from fixtures_app.ground.quoting import json_text

_RESULT_CHARS = 120


def error_of(call: ToolCall) -> str | None:
    """Return the error of a call; agents of other systems report it only in the result."""
    if call.error is not None:
        return call.error
    error = call.result.get("error") if isinstance(call.result, Mapping) else None
    if not error:
        return mcp_error(call.result)
    message = error.get("message") if isinstance(error, Mapping) else None
    return message if isinstance(message, str) and message else json_text(error, _RESULT_CHARS)


def mcp_error(result: object) -> str | None:
    """Return the error of a result in MCP's shape; None if it is not one, or none is flagged."""
    if not isinstance(result, Mapping):
        return None
    # As the protocol writes it, and as its package for Python does.
    if result.get("isError") is not True and result.get("is_error") is not True:
        return None
    content = result.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    written = "\n".join(text for text in texts if isinstance(text, str))
    return written or json_text(result, _RESULT_CHARS)
