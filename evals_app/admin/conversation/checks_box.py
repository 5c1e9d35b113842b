"""The checks of a conversation beside it: what needs attention first, the rest one line each."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from evals_app.admin.conversation.transcripts import GradeLine, LimitLine, TurnLine

MAX_LINES = 12  # of the checks that need no attention; more are folded

CheckLine = GradeLine | LimitLine


@dataclass(frozen=True, slots=True)
class ChecksBox:
    """The checks of a conversation, and how they went in short."""

    wrong: tuple[CheckLine, ...]
    rest: tuple[CheckLine, ...]
    folded: tuple[CheckLine, ...]
    in_short: str


def checks_box(
    turns: Iterable[TurnLine], final: Iterable[GradeLine], limits: Iterable[LimitLine]
) -> ChecksBox:
    """Return all checks, those of turns first."""
    of_turns = chain.from_iterable(turn.grades for turn in turns)
    lines: list[CheckLine] = [*of_turns, *final, *limits]
    wrong = tuple(line for line in lines if line.needs_attention)
    rest = tuple(line for line in lines if not line.needs_attention)
    counts = Counter(line.sign.word.lower() for line in (*wrong, *rest))
    return ChecksBox(
        wrong,
        rest[:MAX_LINES],
        rest[MAX_LINES:],
        ", ".join(f"{number:,} {word}" for word, number in counts.items()),
    )
