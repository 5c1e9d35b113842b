"""Pair as many expectations as possible, each with a place of its own."""

from collections import deque
from collections.abc import Sequence


def pair_up(fitting: Sequence[Sequence[int]]) -> list[int | None]:
    """Return for each expectation the place that it is paired with, or None.

    `fitting` lists for each the places that it accepts. A loose expectation must not take the only
    place that a strict one accepts, so earlier pairs are changed where that lets another in
    (augmenting paths).
    """
    partners: list[int | None] = [None] * len(fitting)
    owners: dict[int, int] = {}
    hopeless: set[int] = set()  # where one search failed, every later one would fail
    for newcomer in range(len(fitting)):
        wanted_by, place = _search(newcomer, fitting, owners, hopeless)
        if place is None:
            hopeless.update(wanted_by)
        while place is not None:
            taker = wanted_by[place]
            left = partners[taker]
            owners[place], partners[taker] = taker, place
            place = left
    return partners


def _search(
    newcomer: int, fitting: Sequence[Sequence[int]], owners: dict[int, int], hopeless: set[int]
) -> tuple[dict[int, int], int | None]:
    """Return the expectation that reached each visited place, and the free place, if any."""
    wanted_by: dict[int, int] = {}
    asking = deque([newcomer])
    while asking:
        taker = asking.popleft()
        for place in fitting[taker]:
            if place in wanted_by or place in hopeless:
                continue
            wanted_by[place] = taker
            if place not in owners:
                return wanted_by, place
            asking.append(owners[place])
    return wanted_by, None
