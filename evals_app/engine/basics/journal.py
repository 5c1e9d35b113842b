"""Read the journal of a world: the difference between two moments, and the state at one of them.

An entry is one change: `op` (create, update, delete, link, unlink), `id`, and the row `before` and
`after` it, None if there was none. Ids are never used twice.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from evals_app.engine.basics.matchers import ABSENT, equal
from fixtures_app.ground.strict_json import Json

Row = dict[str, Any]
Entry = Mapping[str, Any]

# {"entities": [...], "relations": [...]}, each row as the tools return it.
WorldState = dict[str, list[Row]]

_OF_RELATIONS = ("link", "unlink")
_MAX_DEPTH = 20  # below that, a mapping that differs is one field


def difference(journal: Iterable[Entry]) -> dict[str, list[Row]]:
    """Return the net changes, in the order in which each thing was first touched.

    The keys are those of `World.changes`; what ended as it began is left out.
    """
    touched: dict[tuple[bool, str], tuple[Row | None, Row | None]] = {}
    for entry in journal:
        key = (entry["op"] in _OF_RELATIONS, entry["id"])
        first = touched[key][0] if key in touched else entry["before"]
        touched[key] = (first, entry["after"])
    changes: dict[str, list[Row]] = {
        "created": [],
        "updated": [],
        "deleted": [],
        "relations_created": [],
        "relations_deleted": [],
    }
    for (is_relation, id_), (before, after) in touched.items():
        kind = "relations_" if is_relation else ""
        if before is None and after is not None:
            changes[f"{kind}created"].append(after)
        elif before is not None and after is None:
            changes[f"{kind}deleted"].append(before)
        elif before is not None and not equal(before, after):
            row = {"id": id_, "type": before["type"], "before": before, "after": after}
            changes["updated"].append(row)
    return changes


def replay_journal(state: WorldState, journal: Iterable[Entry]) -> WorldState:
    """Return the state of a world after some changes; rows are shared, not copied."""
    entities = {row["id"]: row for row in state["entities"]}
    relations = {row["id"]: row for row in state["relations"]}
    for entry in journal:
        rows = relations if entry["op"] in _OF_RELATIONS else entities
        if entry["after"] is None:
            rows.pop(entry["id"], None)
        else:
            rows[entry["id"]] = entry["after"]
    return {"entities": list(entities.values()), "relations": list(relations.values())}


def value_at(data: object, path: str) -> Any:
    """Follow a dotted path (address.city, items.0.name); ABSENT if it leads nowhere.

    A key that contains the dots itself goes first, as in the filters of entity.query.
    """
    while True:
        if isinstance(data, Mapping) and path in data:
            return data[path]
        head, dot, rest = path.partition(".")
        if isinstance(data, Mapping) and dot and head in data:
            data = data[head]
        elif isinstance(data, list) and re.fullmatch("[0-9]{1,9}", head) and int(head) < len(data):
            data = data[int(head)]
            if not dot:
                return data
        else:
            return ABSENT
        path = rest


def changed_fields(before: Row, after: Row) -> dict[str, tuple[Json, Json]]:
    """Return each dotted path at which the data of two rows differs, with both values or ABSENT."""
    fields: dict[str, tuple[Json, Json]] = {}
    waiting = [("", 0, before["data"], after["data"])]
    while waiting:
        path, depth, old, new = waiting.pop()
        if depth < _MAX_DEPTH and isinstance(old, Mapping) and isinstance(new, Mapping):
            keys = reversed(dict.fromkeys([*old, *new]))
            waiting += [
                (
                    f"{path}.{key}" if depth else key,
                    depth + 1,
                    old.get(key, ABSENT),
                    new.get(key, ABSENT),
                )
                for key in keys
            ]
        elif not equal(old, new):
            fields[path] = old, new
    return fields
