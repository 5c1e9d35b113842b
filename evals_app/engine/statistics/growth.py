"""Whether what goes wrong goes wrong more often than before: by the tests of `retest`, of several at once."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from evals_app.engine.statistics.comparison import BY_CHANCE, BY_CHANCE_UNSEEN
from evals_app.engine.statistics.rates import at_least, wilson_interval
from evals_app.engine.statistics.retest import Direction, Trials, chance_of_gap, discoveries

ENOUGH = 10  # conversations, before and now: fewer say too little about a day


class Growth(StrEnum):
    """What two shares show."""

    GREW = "grew"
    NOT_SHOWN = "not_shown"
    TOO_FEW = "too_few"


class Shares(NamedTuple):
    """How many conversations failed a check before, and how many now."""

    before: Trials
    now: Trials


def growths(
    shares: Sequence[Shares], *, alpha: float = BY_CHANCE_UNSEEN, enough: int = ENOUGH
) -> list[Growth]:
    """Return for each whether more fail now than chance explains; `alpha` is the share of false alarms.

    No one suspected anything, and the question is asked every day: so the level is that of a case
    that collapsed. Where even failures alone could not show it, there are too few.
    """
    ps = [chance_of_gap(before, now, Direction.WORSE) for before, now in shares]
    grown = discoveries(ps, alpha=alpha)
    return [
        Growth.TOO_FEW
        if not _can_be_told(share, alpha, enough)
        else Growth.GREW
        if place in grown
        else Growth.NOT_SHOWN
        for place, share in enumerate(shares)
    ]


def _can_be_told(share: Shares, alpha: float, enough: int) -> bool:
    before, now = share
    if min(before.total, now.total) < max(1, enough):
        return False
    return chance_of_gap(before, Trials(0, now.total), Direction.WORSE) <= alpha


def grown_parts(shares: Sequence[Shares]) -> list[bool]:
    """Return in which parts, of the same whole, something grew of which it is known that it grew in all."""
    found = growths(shares, alpha=BY_CHANCE, enough=1)
    return [growth is Growth.GREW for growth in found]


def is_as_before(share: Shares, *, enough: int = ENOUGH) -> bool:
    """Return whether the share that fails now is within the 95 % interval of that before."""
    before, now = share
    if now.total < enough or not before.total:
        return False
    _, highest = wilson_interval(before.failed, before.total)
    return at_least(highest, now.failed / now.total)
