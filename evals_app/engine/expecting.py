"""Turn what an agent changed in its world into a check that expects the same changes."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evals_app.engine.graders.expected_changes import Change, Kind, changes_of
from evals_app.engine.graders.world import TIMES_OF_RECORDS
from evals_app.engine.journal import value_at
from evals_app.engine.matchers import ABSENT, MATCHER_KEYS, Matcher, equal, phrase
from evals_app.engine.trial import Trial, View

PRESENT, GONE = {"present": True}, {"present": False}

_MATCHER: TypeAdapter[Any] = TypeAdapter(Matcher)
_MOST_ALIKE = 100  # that one line expects

# How a change is written: a name, what always belongs to it, and its fields.
_Described = tuple[str, dict[str, Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a change; `is_time` means that the value differs in every conversation."""

    key: str
    name: str
    matcher: Any
    is_time: bool = False

    def __str__(self) -> str:
        return phrase(self.name, self.matcher)


@dataclass(frozen=True, slots=True)
class Happening:
    """A change of the world, in parts that may be expected or left open."""

    key: str
    kind: Kind
    what: str
    fixed: dict[str, Any]
    parts: tuple[Part, ...] = ()

    def line(self, kept: Collection[str], *, nothing_else: bool) -> dict[str, Any]:
        """Write what a check expects; `kept` are the keys of the parts to expect."""
        data = {part.name: part.matcher for part in self.parts if part.key in kept}
        if nothing_else and self.kind == "updated":
            # A field that is left open must still be named; otherwise it must not change.
            loose = {part.name: GONE if part.matcher == GONE else PRESENT for part in self.parts}
            data = loose | data
        return self.fixed | ({"data": data} if data else {})


def happenings(trial: Trial) -> tuple[Happening, ...]:
    """Return what changed over a whole conversation.

    Ids of what the agent created are left out, and relations that were deleted with an entity.
    """
    changes = changes_of(View(trial).world_journal)
    deleted = {change.row["id"] for change in changes["deleted"]}
    all_changes: list[Happening] = []
    for kind, describe in _DESCRIBED.items():
        for number, change in enumerate(changes[kind], 1):
            if kind == "unlinked" and deleted & {change.row["from"], change.row["to"]}:
                continue
            what, fixed, fields = describe(change)
            key = f"{kind}-{number}"
            parts = (_part(f"{key}-{n}", *field) for n, field in enumerate(fields.items(), 1))
            all_changes.append(Happening(key, kind, what, fixed, tuple(parts)))
    return tuple(all_changes)


def expectation(
    what_happened: Sequence[Happening], *, kept: Collection[str], nothing_else: bool
) -> dict[str, Any]:
    """Return the options of `world_changes` that expect what is kept, changes and parts by key."""
    options: dict[str, Any] = {}
    for change in what_happened:
        if change.key in kept:
            line = change.line(kept, nothing_else=nothing_else)
            _add(options.setdefault(change.kind, []), line, is_countable=change.kind == "created")
    return options | ({"nothing_else": True} if nothing_else else {})


def _add(lines: list[dict[str, Any]], line: dict[str, Any], *, is_countable: bool) -> None:
    """Add a line, or increase the count of an equal one."""
    for known in lines if is_countable else ():
        count = known.get("count", 1)
        if count < _MOST_ALIKE and equal(known | {"count": 1}, line | {"count": 1}):
            known["count"] = count + 1
            return
    lines.append(line)


def _created(change: Change) -> _Described:
    row = change.row
    status = {} if row["status"] == "active" else {"status": row["status"]}
    return row["type"], {"type": row["type"]} | status, row["data"]


def _updated(change: Change) -> _Described:
    row = change.row
    fields = {name: new for name, (_, new) in change.fields.items()}
    if not all(_leads_to(row["data"], name, new) for name, new in fields.items()):
        # Keys with dots in them: any update of the entity is accepted.
        return row["id"], {"id": row["id"]}, {}
    status = {} if change.status is None else {"status": change.status[1]}
    return row["id"], {"id": row["id"]} | status, fields


def _deleted(change: Change) -> _Described:
    return f"{change.row['type']} {change.row['id']}", {"id": change.row["id"]}, {}


def _related(change: Change) -> _Described:
    return str(change), {key: change.row[key] for key in ("from", "type", "to")}, {}


_DESCRIBED: dict[Kind, Callable[[Change], _Described]] = {
    "created": _created,
    "updated": _updated,
    "deleted": _deleted,
    "linked": _related,
    "unlinked": _related,
}


def _leads_to(data: Any, path: str, value: Any) -> bool:
    actual = value_at(data, path)
    return actual is ABSENT if value is ABSENT else actual is not ABSENT and equal(actual, value)


def _part(key: str, name: str, value: Any) -> Part:
    if value is ABSENT:
        return Part(key, name, GONE)
    is_time = name in TIMES_OF_RECORDS or (isinstance(value, str) and _is_moment(value))
    return Part(key, name, value if _can_be_written(value) else PRESENT, is_time)


def _can_be_written(value: Any) -> bool:
    """Whether a value, written as a matcher, means itself."""
    if isinstance(value, dict) and not value.keys().isdisjoint(MATCHER_KEYS):
        return False
    try:
        _MATCHER.validate_python(value)
    except ValidationError:
        return False  # nested too deeply
    return True


def _is_moment(text: str) -> bool:
    """Whether a text is a day with a time; a day alone is often what was asked for."""
    if not re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
