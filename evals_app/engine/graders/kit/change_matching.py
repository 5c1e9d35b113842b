"""Pair the changes that must happen with those that did."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from evals_app.engine.graders.kit.expected_changes import (
    ExpectedEntity,
    ExpectedLink,
    Kind,
    WorldChange,
)
from evals_app.engine.graders.kit.pairing import pair_up

Expected = ExpectedEntity | ExpectedLink

_DETAILED = 5
_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class Match:
    """An expectation with the changes that met it, and the one that came nearest to it."""

    kind: Kind
    expected: Expected
    changes: list[WorldChange]
    nearest: tuple[WorldChange, list[str]] | None

    def to_json(self) -> dict[str, object]:
        nearest = self.nearest and {"change": str(self.nearest[0]), "differs": self.nearest[1]}
        return {
            "expected": str(self),
            "found": [str(change) for change in self.changes[:_DETAILED]],
            "nearest": nearest,
        }

    def __str__(self) -> str:
        return f"{self.kind} {self.expected}"


def _by_handle(changes: Sequence[WorldChange]) -> Mapping[tuple[str, str], list[int]]:
    """Return the places of the changes to compare with an expectation that has a handle."""
    places: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, change in enumerate(changes):
        for key in ("id", "type", "from", "to"):
            if key in change.row:
                places[key, change.row[key]].append(place)
    return places


def cost(expected: Sequence[Expected], changes: Sequence[WorldChange]) -> int:
    """Count the comparisons that `match_up` makes at most."""
    places = _by_handle(changes)
    return sum(
        entry.cost() * sum(1 + len(changes[place].fields) for place in places.get(entry.handle, ()))
        for entry in expected
    )


def match_up(
    kind: Kind,
    expected: Sequence[Expected],
    changes: Sequence[WorldChange],
    *,
    spared: tuple[str, ...] | None,
) -> tuple[list[Match], list[WorldChange]]:
    """Pair expectations with changes; also return the changes that are left."""
    places = _by_handle(changes)
    owners = [n for n, entry in enumerate(expected) for _ in range(entry.count)]
    fitting = [
        [
            place
            for place in places.get(entry.handle, ())
            if not entry.faults(changes[place], spared=spared)
        ][: len(owners)]  # this many are enough
        for entry in expected
    ]
    partners = pair_up([fitting[owner] for owner in owners])
    by_entry: list[list[WorldChange]] = [[] for _ in expected]
    for owner, place in zip(owners, partners, strict=True):
        if place is not None:
            by_entry[owner].append(changes[place])
    taken = set(partners)
    left = [change for place, change in enumerate(changes) if place not in taken]
    matches = [
        Match(
            kind,
            entry,
            mine,
            None if len(mine) == entry.count else _nearest(entry, left, spared=spared),
        )
        for entry, mine in zip(expected, by_entry, strict=True)
    ]
    return matches, left


def _nearest(
    expected: Expected,
    changes: Iterable[WorldChange],
    *,
    spared: tuple[str, ...] | None,
) -> tuple[WorldChange, list[str]] | None:
    """Find the change with the fewest faults, among the first of the same thing."""
    about = islice((change for change in changes if expected.is_about(change)), _CANDIDATES)
    judged = [(change, expected.faults(change, spared=spared)) for change in about]
    return min(judged, key=lambda pair: len(pair[1]), default=None)
