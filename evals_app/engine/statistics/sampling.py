"""Choose grades for people to check: a few that show where a judge is right or wrong."""

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import zip_longest
from typing import Literal, TypeVar

K = TypeVar("K", bound=Hashable)

Outcome = Literal["passed", "failed", "ungraded"]


@dataclass(frozen=True, slots=True)
class SampleCandidate:
    """A grade, or (`item`) one bullet of a rubric, that people could check.

    `distance` is how far its score is from the threshold, 0 if that is unknown. `is_doubtful`: there
    is a reason to doubt it.
    """

    grade: int
    check: str
    outcome: Outcome
    case: str
    item: int | None = None
    distance: float = 0.0
    is_doubtful: bool = False


_Stratum = tuple[str, Outcome]


def draw(candidates: Iterable[SampleCandidate], *, count: int, seed: str) -> list[SampleCandidate]:
    """Draw candidates, in an order that says nothing about their outcomes; equal seeds draw equally.

    Doubtful ones come first, up to half of the sample. Of the others, each outcome of each check gets
    an equal share, so that rare outcomes are present; what is left is shared by size. No case is drawn
    twice for a check before every other case was drawn once; of a case, the scores nearest to the
    threshold come first.
    """
    pool = list(candidates)
    doubtful = [candidate for candidate in pool if candidate.is_doubtful]
    first = _draw(doubtful, count=min(len(doubtful), (count + 1) // 2), seed=seed)
    rest = [candidate for candidate in pool if candidate not in first]
    return first + _draw(rest, count=count - len(first), seed=seed)


def _draw(candidates: Iterable[SampleCandidate], *, count: int, seed: str) -> list[SampleCandidate]:
    strata: dict[_Stratum, list[SampleCandidate]] = {}
    for candidate in candidates:
        strata.setdefault((candidate.check, candidate.outcome), []).append(candidate)
    chance = random.Random(seed)
    order = _alternating(strata, chance)
    allotted = shares({stratum: len(strata[stratum]) for stratum in order}, count)
    drawn: list[SampleCandidate] = []
    uses: Counter[tuple[str, str]] = Counter()
    # The small ones first: the large ones have other cases to choose from.
    for stratum in sorted(order, key=lambda stratum: len(strata[stratum])):
        drawn += _draw_from(strata[stratum], allotted[stratum], uses, chance)
    chance.shuffle(drawn)
    return drawn


def shares(sizes: Mapping[K, int], total: int) -> dict[K, int]:
    """Divide a total: equally as far as each size allows, the rest in proportion to what is left.

    If there is not one for each, the first ones get one.
    """
    filled = [key for key, size in sizes.items() if size]
    total = min(total, sum(sizes.values()))
    equal = total // len(filled) if filled else 0
    given = {key: min(size, equal) for key, size in sizes.items()}
    if not equal:
        return given | dict.fromkeys(filled[:total], 1)
    left = total - sum(given.values())
    room = {key: size - given[key] for key, size in sizes.items()}
    whole = sum(room.values())
    if not left:
        return given
    exact = {key: left * size / whole for key, size in room.items()}
    given = {key: number + int(exact[key]) for key, number in given.items()}
    left = total - sum(given.values())
    # The rest goes to those that lost the most by rounding.
    for key in sorted(exact, key=lambda key: int(exact[key]) - exact[key])[:left]:
        given[key] += 1
    return given


def _alternating(
    strata: Mapping[_Stratum, Sequence[SampleCandidate]], chance: random.Random
) -> list[_Stratum]:
    """Return the strata in random order, but their outcomes in turn, the rarest first."""
    sizes: Counter[Outcome] = Counter()
    for (_, outcome), members in strata.items():
        sizes[outcome] += len(members)
    groups = []
    for outcome in sorted(sizes, key=lambda outcome: (sizes[outcome], outcome)):
        group = sorted(stratum for stratum in strata if stratum[1] == outcome)
        chance.shuffle(group)
        groups.append(group)
    return [stratum for turn in zip_longest(*groups) for stratum in turn if stratum is not None]


def _draw_from(
    members: Sequence[SampleCandidate],
    count: int,
    uses: Counter[tuple[str, str]],
    chance: random.Random,
) -> list[SampleCandidate]:
    """Draw from one stratum: from the case that was used least."""
    by_case: dict[str, list[SampleCandidate]] = {}
    mixed = sorted(members, key=lambda member: (member.grade, member.item or 0))
    chance.shuffle(mixed)
    for member in sorted(mixed, key=lambda member: member.distance):
        by_case.setdefault(member.case, []).append(member)
    cases = sorted(by_case)
    chance.shuffle(cases)
    waiting = [(uses[members[0].check, case], place, case) for place, case in enumerate(cases)]
    heapify(waiting)
    drawn: list[SampleCandidate] = []
    while waiting and len(drawn) < count:
        used, place, case = heappop(waiting)
        drawn.append(by_case[case].pop(0))
        uses[members[0].check, case] += 1
        if by_case[case]:
            heappush(waiting, (used + 1, place, case))
    return drawn
