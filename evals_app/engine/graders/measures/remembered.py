"""A bounded cache of what was computed for a word."""

from collections.abc import Callable
from typing import TypeVar

_MAX_WORDS = 16_384
_MAX_CHARS = 24  # longer words are rare, and would let the memory grow

_Value = TypeVar("_Value")


def cached_by_word(find: Callable[[str], _Value]) -> Callable[[str], _Value]:
    """Return a cached function of a word; the cache is bounded.

    Unlike `lru_cache` it also bounds the length of words, and it is faster, which matters when every
    word of every reply is looked up: METEOR takes a tenth less time.
    """
    return _Memory(find).__getitem__


class _Memory(dict[str, _Value]):
    def __init__(self, find: Callable[[str], _Value]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: str) -> _Value:
        value = self._find(word)
        if len(word) <= _MAX_CHARS:
            if len(self) >= _MAX_WORDS:
                self.clear()  # what is common is back at once
            self[word] = value
        return value
