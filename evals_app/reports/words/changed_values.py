"""Values of an agent, a suite or a run that changed, and where, in words."""

import json
import re
from dataclasses import dataclass
from typing import Protocol

from evals_app.reports.words.word_differences import ComparedTexts, word_differences

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


class Difference(Protocol):
    """One place whose value changed; `before` or `after` is empty where nothing is there."""

    @property
    def keys(self) -> str: ...
    @property
    def before(self) -> str: ...
    @property
    def after(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A changed value and its place; parts added or removed as a whole show no value."""

    where: str
    before: str
    after: str
    word: str

    @property
    def wording(self) -> ComparedTexts:
        """Both values in pieces, those marked that only one of them has."""
        return word_differences(self.before, self.after)


def changed_place(difference: Difference) -> ChangedValue:
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
