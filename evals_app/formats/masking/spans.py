"""A place in a text that has personal data."""

from typing import NamedTuple


class Span(NamedTuple):
    """What was found where: `kind` is the word in its mask."""

    start: int
    end: int
    kind: str
