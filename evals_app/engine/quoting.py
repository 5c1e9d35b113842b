"""How texts and values are shown in a sentence."""

import json
from collections.abc import Callable, Collection
from decimal import Decimal
from itertools import islice
from typing import Any, TypeVar

_QUOTE_CHARS = 160
_JSON_CHARS = 240
_LISTED = 12

_Item = TypeVar("_Item")


def shortened(text: str, limit: int = _QUOTE_CHARS) -> str:
    """Cut a text in the middle; its beginning and its end tell most."""
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def quoted(text: str) -> str:
    """Put a text, shortened, into quotation marks."""
    return f"“{shortened(text)}”"


def after_colon(sentence: str) -> str:
    """Write a sentence as it continues another; what begins in capitals, as BLEU does, keeps them."""
    return f"{sentence[:1].lower()}{sentence[1:]}" if sentence[1:2].islower() else sentence


def says(reply: str) -> str:
    """Tell what a reply says instead of what was looked for."""
    return f"it says {quoted(reply)}" if reply.strip() else "it is empty"


def json_text(value: Any, limit: int | None = _JSON_CHARS) -> str:  # noqa: ANN401 - JSON
    """Write JSON on one line; what cannot be written (too deep, too large) becomes an ellipsis."""
    try:
        try:
            text = json.dumps(value, ensure_ascii=False, default=_other)
        except _DecimalError:
            text = _with_decimals(value)
    except (ValueError, RecursionError):
        # Circular or deeper than the interpreter follows, or an integer of over 4,300 digits.
        return "…"
    return text if limit is None else shortened(text, limit)


class _DecimalError(Exception):
    """There is a Decimal: the library could only write it as a text, or rounded."""


def _other(value: Any) -> str:  # noqa: ANN401 - what is no JSON
    if isinstance(value, Decimal):
        raise _DecimalError
    return str(value)


def _with_decimals(value: Any) -> str:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        pairs = (f"{json_text(str(k), None)}: {_with_decimals(v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_with_decimals, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json_text(value, None)


def times(count: int) -> str:
    """Say how often: once, 2 times."""
    return "once" if count == 1 else f"{count} times"


def listed(
    items: Collection[_Item], show: Callable[[_Item], str] = str, *, nothing: str = "none"
) -> str:
    """Join with commas; a long list ends in a count, and no more is shown than is read."""
    if not items:
        return nothing
    more = len(items) - _LISTED
    return ", ".join(map(show, islice(items, _LISTED))) + (f" and {more} more" if more > 0 else "")
