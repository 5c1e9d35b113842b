"""How texts and tool calls are shown in the one sentence that explains a grade."""

import json
from collections.abc import Sequence
from typing import Any

from evals_app.engine.trial import ToolCall

_QUOTE_CHARS = 160
_JSON_CHARS = 240
_LISTED = 12


def shortened(text: str, limit: int = _QUOTE_CHARS) -> str:
    """Cut a text in the middle; its beginning and its end tell most."""
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def quoted(text: str) -> str:
    """Put a text, shortened, into quotation marks."""
    return f"“{shortened(text)}”"


def says(reply: str) -> str:
    """Tell what a reply says instead of what was looked for."""
    return f"it says {quoted(reply)}" if reply.strip() else "it is empty"


def json_text(value: Any, limit: int | None = _JSON_CHARS) -> str:  # noqa: ANN401 - JSON
    """Write JSON on one line; what cannot be written (too deep, too large) becomes an ellipsis."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        # Circular or deeper than the interpreter follows, or an integer of over 4,300 digits.
        return "…"
    return text if limit is None else shortened(text, limit)


def call_text(call: ToolCall) -> str:
    """Show a call as people know it: entity.query({"type": "order"})."""
    return f"{call.name}({json_text(call.args)})"


def times(count: int) -> str:
    """Say how often: once, 2 times."""
    return "once" if count == 1 else f"{count} times"


def listed(items: Sequence[str], *, nothing: str = "none") -> str:
    """Join with commas; a long list ends in a count."""
    if not items:
        return nothing
    more = len(items) - _LISTED
    return ", ".join(items[:_LISTED]) + (f" and {more} more" if more > 0 else "")
