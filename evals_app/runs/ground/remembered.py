"""What was read from rows that never change, kept because people look at the same runs again."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Values by key, of which the oldest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[K, V] = OrderedDict()

    def of(self, keys: Iterable[K]) -> dict[K, V]:
        """Return the values of those keys that have one."""
        return {key: self._known[key] for key in keys if key in self._known}

    def keep(self, values: Mapping[K, V]) -> None:
        """Keep more values."""
        self._known.update(values)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
