"""Boxes to tick: what a check could ask for, with parts that may be left open."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from evals_app.engine.proposing.value_parts import Part


@dataclass(frozen=True, slots=True)
class Box:
    """A box; `doubt` says why it is not ticked, `counts` as what it counts on the page."""

    key: str
    text: str
    is_ticked: bool
    doubt: str = ""
    parts: tuple["Box", ...] = ()
    counts: str = ""


def part_boxes(parts: Iterable[Part], kept: Collection[str] | None) -> tuple[Box, ...]:
    """Return the boxes of parts, ticked as they were or as by default (`kept` None)."""
    return tuple(
        Box(
            part.key,
            str(part),
            not part.doubt if kept is None else part.key in kept,
            part.doubt,
        )
        for part in parts
    )
