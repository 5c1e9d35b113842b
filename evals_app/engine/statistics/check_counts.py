"""How often each check of a case passed in a run, so that two runs can be compared check by check.

Checks are matched by what they are: their turn, type and label; equal ones by their order.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

UNKNOWN = ""  # the checks of a run of an older version
NO_CHECKS = "{}"


class CheckIdentity(NamedTuple):
    """A check of a case, as its grades name it."""

    turn: int | None
    family: str
    type: str
    label: str


class CheckCount(NamedTuple):
    """The graded trials in which a check passed and failed."""

    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class FlippedChecks:
    """The keys of checks that passed in every graded trial of one run and in none of the other."""

    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        return self.worse + self.better


_NOTHING = FlippedChecks()


def number_checks(places: Iterable[CheckIdentity]) -> Iterator[tuple[CheckIdentity, int]]:
    """Return each check of one execution with its number among equal ones, from 1."""
    seen: Counter[CheckIdentity] = Counter()
    for place in places:
        seen[place] += 1
        yield place, seen[place]


def check_key(place: CheckIdentity, number: int) -> str:
    """Return a short name of a check, the same in every run."""
    text = json.dumps([*place, number], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_NONE_PASSED = ":[0,"  # in the text of counts, for a check that passed in no trial


def counts_text(counts: Mapping[str, CheckCount]) -> str:
    """Write counts by key, equal ones alike; a run has one such text for each case."""
    return json.dumps(counts, sort_keys=True, separators=(",", ":"))


def read_counts(text: str) -> dict[str, CheckCount]:
    """Return the counts by key; none if they are unknown."""
    return {key: CheckCount(*count) for key, count in json.loads(text or "{}").items()}


def turned_checks(base: str, head: str) -> FlippedChecks:
    """Return the checks that went from all passed to all failed, and those that went the other way."""
    if base == head or not (base and head):  # the usual case
        return _NOTHING
    if _NONE_PASSED not in base and _NONE_PASSED not in head:  # no need to read them
        return _NOTHING
    before, after = read_counts(base), read_counts(head)
    both = [(key, count, after[key]) for key, count in before.items() if key in after]
    return FlippedChecks(
        tuple(key for key, one, other in both if _all_passed(one) and _all_failed(other)),
        tuple(key for key, one, other in both if _all_failed(one) and _all_passed(other)),
    )


def _all_passed(count: CheckCount) -> bool:
    return count.passed > 0 and not count.failed


def _all_failed(count: CheckCount) -> bool:
    return count.failed > 0 and not count.passed
