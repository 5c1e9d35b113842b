"""Turn what an agent changed in its world into a check that expects the same changes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.basics.journal import value_at
from evals_app.engine.basics.matchers import ABSENT, equal
from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.graders.kit.expected_changes import Kind, WorldChange, changes_of
from evals_app.engine.graders.world import TIMES_OF_RECORDS
from evals_app.engine.proposing.value_parts import (
    DIFFERS,
    TIME,
    KnownValues,
    ValuePart,
    compose_matchers,
    pair_by_likeness,
    split_value,
)
from evals_app.engine.record.trial import Trial
from evals_app.engine.record.view import View
from evals_app.engine.suites.assertion_spec import AssertionSpec
from fixtures_app.ground.quoting import json_text
from fixtures_app.ground.strict_json import JsonObject

_MAX_ALIKE = 100  # that one line expects

# How a change is written: a name, what always belongs to it, and its fields.
_Described = tuple[str, JsonObject, JsonObject]


class CannotExpectError(CannotError):
    """The selection is not a valid check."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, key="keys")


@dataclass(frozen=True, slots=True)
class Happening:
    """A change of the world, in parts that may be expected or left open."""

    key: str
    kind: Kind
    what: str
    fixed: dict[str, Any]
    parts: tuple[ValuePart, ...] = ()
    doubt: str = ""

    def line(self, kept: Collection[str], *, nothing_else: bool) -> JsonObject:
        """Write what a check expects; `kept` are the keys of the parts to expect."""
        data = compose_matchers(self.parts, kept)
        if nothing_else and self.kind == "updated":
            # A field that is left open must still be named; otherwise it must not change.
            loose = {str(part.path[0]): part.loose for part in self.parts}
            data = loose | data
        return self.fixed | ({"data": data} if data else {})

    def __str__(self) -> str:
        status = self.fixed.get("status")
        return f"{self.kind.capitalize()} {self.what}" + (f", status {status}" if status else "")


def happenings(
    trial: Trial, others: Sequence[Trial] = (), *, known: KnownValues | None = None
) -> tuple[Happening, ...]:
    """Return what changed over a whole conversation, compared with other trials of its case.

    Ids of what the agent created are left out, and relations that were deleted with an entity.
    """
    known = known or KnownValues.before(trial)
    partners: dict[str, list[WorldChange | None]] = {}
    ours, theirs = _by_identity(trial), [_by_identity(other) for other in others]
    for identity, changes in ours.items():
        matches = [
            pair_by_likeness(list(changes.values()), list(other.get(identity, {}).values()), _data)
            for other in theirs
        ]
        for n, key in enumerate(changes):
            partners[key] = [alike[n] for alike in matches]
    return tuple(_happening(key, change, partners[key], known) for key, change in _changes(trial))


def changed_nothing_else(trial: Trial, others: Sequence[Trial]) -> bool:
    """Return whether none of the other trials changed anything that this one did not."""
    ours = _by_identity(trial)
    return all(
        len(changes) <= len(ours.get(identity, ()))
        for other in others
        for identity, changes in _by_identity(other).items()
    )


def changes_check(
    trial: Trial,
    what_happened: Sequence[Happening],
    *,
    kept: Collection[str],
    nothing_else: bool,
) -> AssertionSpec:
    """Return the check that expects what is kept.

    Raises:
        CannotExpectError: the choice contradicts itself, or the trial itself would not pass.
    """
    options = expectation(what_happened, kept=kept, nothing_else=nothing_else)
    if nothing_else and any(change.key not in kept for change in what_happened):
        raise CannotExpectError(
            "“Nothing else may change” would fail, because some changes are not selected. Select all"
            " of them, or clear it."
        )
    try:
        spec = AssertionSpec.model_validate({"type": "world_changes"} | options)
    except ValidationError as error:
        raise CannotExpectError(
            "These are too many changes for one check. Choose fewer."
        ) from error
    if not (isinstance(spec.grader, PlainGrader) and spec.grader.grade(View(trial)).passed):
        raise CannotExpectError(
            "This conversation itself would fail this check. Choose fewer changes."
        )
    return spec


def _changes(trial: Trial) -> list[tuple[str, WorldChange]]:
    """Return the changes by their keys; relations that went with an entity are left out."""
    changes = changes_of(View(trial).world_journal)
    deleted = {change.row["id"] for change in changes["deleted"]}
    return [
        (f"{kind}-{number}", change)
        for kind in _DESCRIBED
        for number, change in enumerate(changes[kind], 1)
        if kind != "unlinked" or not deleted & {change.row["from"], change.row["to"]}
    ]


def _by_identity(trial: Trial) -> dict[str, dict[str, WorldChange]]:
    """Group changes by what two trials must have in common to be compared."""
    groups: dict[str, dict[str, WorldChange]] = {}
    for key, change in _changes(trial):
        _, fixed, _ = _DESCRIBED[change.kind](change)
        groups.setdefault(f"{change.kind} {json_text(fixed, None)}", {})[key] = change
    return groups


def _data(change: WorldChange) -> Mapping[str, object]:
    data: Mapping[str, object] = change.row.get("data") or {}
    return data


def _happening(
    key: str, change: WorldChange, partners: Sequence[WorldChange | None], known: KnownValues
) -> Happening:
    what, fixed, fields = _DESCRIBED[change.kind](change)
    alike = [partner for partner in partners if partner is not None]
    values = [_data(partner) for partner in alike]
    if change.kind == "updated" and (fields or not change.fields):
        changed = (_DESCRIBED["updated"](partner)[2] for partner in alike)
        names = dict.fromkeys([*fields, *(name for other in changed for name in other)])
        fields = {name: value_at(change.row["data"], name) for name in names}
        values = [{name: value_at(data, name) for name in names} for data in values]
    parts = [
        replace(part, doubt=part.doubt or TIME) if part.path[-1] in TIMES_OF_RECORDS else part
        for part in split_value(fields, values, known=known, key=key)
    ]
    doubt = DIFFERS if None in partners else ""
    return Happening(key, change.kind, what, fixed, tuple(parts), doubt)


def expectation(
    what_happened: Sequence[Happening], *, kept: Collection[str], nothing_else: bool
) -> JsonObject:
    """Return the options of `world_changes` that expect what is kept, changes and parts by key."""
    options: dict[str, Any] = {}
    for change in what_happened:
        if change.key in kept:
            line = change.line(kept, nothing_else=nothing_else)
            _add(options.setdefault(change.kind, []), line, is_countable=change.kind == "created")
    return options | ({"nothing_else": True} if nothing_else else {})


def _add(lines: list[dict[str, Any]], line: JsonObject, *, is_countable: bool) -> None:
    """Add a line, or increase the count of an equal one."""
    for known in lines if is_countable else ():
        count = known.get("count", 1)
        if count < _MAX_ALIKE and equal(known | {"count": 1}, line | {"count": 1}):
            known["count"] = count + 1
            return
    lines.append(line)


def _describe_created(change: WorldChange) -> _Described:
    row = change.row
    status = {} if row["status"] == "active" else {"status": row["status"]}
    return row["type"], {"type": row["type"]} | status, row["data"]


def _describe_updated(change: WorldChange) -> _Described:
    row = change.row
    fields = {name: new for name, (_, new) in change.fields.items()}
    if not all(_leads_to(row["data"], name, new) for name, new in fields.items()):
        # Keys with dots in them: any update of the entity is accepted.
        return row["id"], {"id": row["id"]}, {}
    status = {} if change.status is None else {"status": change.status[1]}
    return row["id"], {"id": row["id"]} | status, fields


def _describe_deleted(change: WorldChange) -> _Described:
    return f"{change.row['type']} {change.row['id']}", {"id": change.row["id"]}, {}


def _describe_link(change: WorldChange) -> _Described:
    return str(change), {key: change.row[key] for key in ("from", "type", "to")}, {}


_DESCRIBED: dict[Kind, Callable[[WorldChange], _Described]] = {
    "created": _describe_created,
    "updated": _describe_updated,
    "deleted": _describe_deleted,
    "linked": _describe_link,
    "unlinked": _describe_link,
}


def _leads_to(data: object, path: str, value: object) -> bool:
    actual = value_at(data, path)
    return actual is ABSENT if value is ABSENT else actual is not ABSENT and equal(actual, value)
