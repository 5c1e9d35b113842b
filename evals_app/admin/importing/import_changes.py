"""The changes of an import in words: changed values, and the first cases of a suite."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass

from django.utils.text import Truncator, get_text_list

from evals_app.admin.kit.presentation import plural
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec, TurnSpec
from evals_app.formats.snapshots.key_differences import KeyDifference
from evals_app.library.changes.import_report import ObjectChange

MAX_CASES = 3  # of a new suite
MAX_REMOVED = 20  # cases that are named before they are deleted
MAX_DIFFERENCES = 200  # of a changed object
_OPEN = 5  # differences that are not folded
_MAX_MESSAGE = 200  # characters of a message

_STEP = re.compile(r'\[(?P<n>\d+)\]|\[(?P<text>"(?:[^"\\]|\\.)*")\]|\.?(?P<key>[^.\[]+)')
# Lists, and the noun for one of their entries.
_ENTRIES = {
    "cases": "case",
    "turns": "turn",
    "assertions": "check",
    "final_assertions": "final check",
    "history": "earlier message",
    "entities": "entity",
    "relations": "relation",
    "chunks": "chunk",
    "rules": "rule",
    "tools": "tool",
    "calls": "call",
    "prices": "price",
}
_WORDS = {
    "expected": "expected answer",
    "user": "message",
    "assertions": "checks",
    "final_assertions": "final checks",
}


@dataclass(frozen=True, slots=True)
class CaseOutline:
    """A case in short: the first message, and its checks."""

    name: str
    message: str
    turns: str
    expected: str
    checks: str


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A changed value and its place; parts added or removed as a whole show no value."""

    where: str
    before: str
    after: str
    word: str


class ObjectPreview:
    """An object that would be written."""

    def __init__(self, change: ObjectChange) -> None:
        self.kind = change.kind
        self.slug = change.slug
        self.replaced = change.overwrites
        places = list(map(changed_place, change.differences[:MAX_DIFFERENCES]))
        self.places, self.folded = places[:_OPEN], places[_OPEN:]
        self.all_folded = f"{len(change.differences) - len(self.places):,}"
        self.more_places = _more(change.differences, MAX_DIFFERENCES)
        suite = change.suite
        self.agent = suite.agent if suite else ""
        self.size = plural(len(suite.cases), "case") if suite else ""
        self.removed = list(change.cases.removed)[:MAX_REMOVED]
        self.removed_count = plural(len(change.cases.removed), "case")
        self.more_removed = _more(change.cases.removed, MAX_REMOVED)
        self.cases = [_case(suite, case) for case in suite.cases[:MAX_CASES]] if suite else []
        self.more_cases = _more(suite.cases, MAX_CASES) if suite else ""


def _more(things: Sized, shown: int) -> str:
    return f"{len(things) - shown:,}" if len(things) > shown else ""


def count_by_kind(changes: Iterable[ObjectChange]) -> str:
    """Count objects by kind: 2 suites and 1 agent."""
    counts = Counter(change.kind for change in changes)
    kinds = sorted(counts, key=lambda kind: (kind != "suite", kind))
    nouns = {"entity type": "entity types"}
    return get_text_list([plural(counts[kind], kind, nouns.get(kind, "")) for kind in kinds], "and")


def _case(suite: SuiteSpec, case: CaseSpec) -> CaseOutline:
    first = case.turns[0]
    return CaseOutline(
        case.name,
        _short(first.user),
        plural(len(case.turns), "turn") if len(case.turns) > 1 else "",
        _short(first.expected or ""),
        _short("; ".join(_checks(suite, first))),
    )


def _checks(suite: SuiteSpec, turn: TurnSpec) -> Iterator[str]:
    # Checks that need more than the turn has do not apply.
    return (check.label for check in suite.assertions_for(turn) if check.lacks(turn) is None)


def _short(text: str) -> str:
    return Truncator(text).chars(_MAX_MESSAGE)


def changed_place(difference: KeyDifference) -> ChangedValue:
    """Return a difference to show."""
    before, after = difference.before, difference.after
    word = "" if before and after else "removed" if before else "added"
    # Brackets contain the size of a part; a value is in quotes, or has no brackets.
    before, after = ("" if value.startswith("(") else value for value in (before, after))
    return ChangedValue(place_words(difference.keys), before, after, word)


def place_words(keys: str) -> str:
    """Write a path in words: `cases.France.turns[0].user` is case France, turn 1, message."""
    steps = [_step(match) for match in _STEP.finditer(keys)]
    words = []
    while steps:
        step = steps.pop(0)
        if step in _ENTRIES and steps:
            entry = steps.pop(0)
            words.append(f"{_ENTRIES[step]} {entry if entry.isdecimal() else f'“{entry}”'}")
        else:
            words.append(_WORDS.get(step, step.replace("_", " ")))
    return ", ".join(words)


def _step(match: re.Match[str]) -> str:
    if match["n"]:
        return str(int(match["n"]) + 1)  # people count from 1
    return str(json.loads(match["text"])) if match["text"] else match["key"]
