"""How deeply JSON from outside may be nested; deeper JSON can be neither stored nor shown."""

from collections.abc import Iterable, Mapping
from typing import Any

MAX_LEVELS = 100
TOO_DEEP = f"JSON nested more than {MAX_LEVELS} levels deep"


def is_too_deep(value: object) -> bool:
    """Whether lists and objects are nested in each other more than MAX_LEVELS times."""
    level = _containers([value])
    for _ in range(MAX_LEVELS):
        level = _containers(
            value
            for part in level
            for value in (part.values() if isinstance(part, Mapping) else part)
        )
    return bool(level)


def _containers(parts: Iterable[object]) -> list[Any]:
    return [part for part in parts if isinstance(part, Mapping | list)]
