"""JSON and text as PostgreSQL can store them."""

import re
from typing import Any

# What PostgreSQL refuses in text and JSON: NUL, and halves of a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """Replace what PostgreSQL cannot store by U+FFFD, anywhere in a piece of JSON."""
    if isinstance(value, str):
        # Most texts are plain ASCII, and a pattern costs ten times as much as this test.
        is_plain = value.isascii() and "\x00" not in value
        return value if is_plain else _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    return value
