"""What an agent did in its world, as what it is to do from now on."""

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
_MOST_ALIKE = 100  # that one line asks for

# What there is to write of a change: a name, what always belongs to it, and its fields.
_Described = tuple[str, dict[str, Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Part:
    """A field of a change; `is_time` says that another conversation would have another value."""

    key: str
    name: str
    matcher: Any
    is_time: bool = False

    def __str__(self) -> str:
        return phrase(self.name, self.matcher)


@dataclass(frozen=True, slots=True)
class Happening:
    """A change of the world, in parts that may be asked for or left open."""

    key: str
    kind: Kind
    what: str
    fixed: dict[str, Any]
    parts: tuple[Part, ...] = ()

    def line(self, kept: Collection[str], *, nothing_else: bool) -> dict[str, Any]:
        """Write what a check asks for; `kept` are the keys of the parts that are to stay so."""
        data = {each.name: each.matcher for each in self.parts if each.key in kept}
        if nothing_else and self.kind == "updated":
            # A field that is left open must be named all the same, or it must not change.
            data = {each.name: _loose(each.matcher) for each in self.parts} | data
        return self.fixed | ({"data": data} if data else {})


def happenings(trial: Trial) -> tuple[Happening, ...]:
    """Give what changed over a whole conversation.

    The ids that the agent's creations got are left out, and relations that went with an entity.
    """
    changes = changes_of(View(trial).world_journal)
    deleted = {change.row["id"] for change in changes["deleted"]}
    found: list[Happening] = []
    for kind, describe in _DESCRIBED.items():
        for number, change in enumerate(changes[kind], 1):
            if kind == "unlinked" and deleted & {change.row["from"], change.row["to"]}:
                continue
            what, fixed, fields = describe(change)
            key = f"{kind}-{number}"
            parts = (_part(f"{key}-{n}", *each) for n, each in enumerate(fields.items(), 1))
            found.append(Happening(key, kind, what, fixed, tuple(parts)))
    return tuple(found)


def expectation(
    what_happened: Sequence[Happening], *, kept: Collection[str], nothing_else: bool
) -> dict[str, Any]:
    """Give the options of `world_changes` that ask for what is kept, changes and parts by key."""
    options: dict[str, Any] = {}
    for each in what_happened:
        if each.key in kept:
            line = each.line(kept, nothing_else=nothing_else)
            _add(options.setdefault(each.kind, []), line, is_countable=each.kind == "created")
    return options | ({"nothing_else": True} if nothing_else else {})


def _add(lines: list[dict[str, Any]], line: dict[str, Any], *, is_countable: bool) -> None:
    """Write a line, or count one up that says the same."""
    for each in lines if is_countable else ():
        count = each.get("count", 1)
        if count < _MOST_ALIKE and equal(each | {"count": 1}, line | {"count": 1}):
            each["count"] = count + 1
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
        # Keys with dots in them: asked for as a whole, such an update may be of any kind.
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


def _leads_to(data: Any, path: str, value: Any) -> bool:  # noqa: ANN401 - JSON
    found = value_at(data, path)
    return found is ABSENT if value is ABSENT else found is not ABSENT and equal(found, value)


def _part(key: str, name: str, value: Any) -> Part:  # noqa: ANN401 - JSON
    if value is ABSENT:
        return Part(key, name, GONE)
    is_time = name in TIMES_OF_RECORDS or (isinstance(value, str) and _is_moment(value))
    return Part(key, name, value if _can_be_written(value) else PRESENT, is_time)


def _loose(matcher: Any) -> dict[str, bool]:  # noqa: ANN401 - any JSON
    return GONE if matcher == GONE else PRESENT


def _can_be_written(value: Any) -> bool:  # noqa: ANN401 - JSON
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
