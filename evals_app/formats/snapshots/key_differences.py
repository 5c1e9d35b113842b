"""The differences between an object and what a file would make of it, key by key."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel

from evals_app.formats.reading.problems import Loc, keys_text, value_text

# By these the entries of lists are known; others are known by what they contain.
_NAMES = ("name", "ref", "id", "slug", "model")
# Where names are prose: a case “Forgot password” contains no secret.
_NAMED_FREELY = (("cases",), ("entities",), ("chunks",))
_NOTHING = object()
_LONG = 70  # characters of a text that is shown whole
_SHARED_SHOWN = 15  # of what two long texts share before the first difference


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """One place whose value changes; `before` or `after` is empty where nothing is there.

    `keys` is a path as people read it: `cases["Refund"].turns[0].user`.
    """

    keys: str
    before: str
    after: str


def differences(
    before: BaseModel | None, after: BaseModel | None, loc: Loc = ()
) -> Iterator[KeyDifference]:
    """Compare two specs of one kind; what is left out equals its default.

    `loc` is where both are in something larger, in which one of them may be missing.
    """
    yield from _compare(_dump(before), _dump(after), loc)


def _dump(spec: BaseModel | None) -> object:
    if spec is None:
        return _NOTHING
    return spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _compare(before: Any, after: Any, loc: Loc) -> Iterator[KeyDifference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, left, right in _pairs(before, after):
            yield from _compare(*_fill_missing(left, right), (*loc, key))
    elif isinstance(before, list) and isinstance(after, list):
        for key, left, right in _entries(before, after):
            yield from _compare(left, right, (*loc, key))
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        left, right = _at_difference(before, after)
        yield KeyDifference(keys_text(loc), _text(left, loc), _text(right, loc))


def _pairs(before: dict[Any, Any], after: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    for key in dict.fromkeys((*before, *after)):
        yield key, before.get(key, _NOTHING), after.get(key, _NOTHING)


def _fill_missing(left: object, right: object) -> tuple[Any, Any]:
    """Return a key that only one side has as empty on the other, so that its values are named."""
    if left is _NOTHING and isinstance(right, list | dict) and right:
        return type(right)(), right
    if right is _NOTHING and isinstance(left, list | dict) and left:
        return left, type(left)()
    return left, right


def _at_difference(before: object, after: object) -> tuple[Any, Any]:
    """Leave out the beginning that two long texts share: shortened, both would look the same."""
    if not (isinstance(before, str) and isinstance(after, str)):
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    shared = next((place for place, (left, right) in pairs if left != right), 0)
    cut = max(0, shared - _SHARED_SHOWN)
    if cut == 0 or max(len(before), len(after)) <= _LONG:
        return before, after
    return f"… {before[cut:]}", f"… {after[cut:]}"


def _entries(before: list[Any], after: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Return entries that may differ, matched by their names, or else by their content and order."""
    old, new = _by_name(before), _by_name(after)
    if old is None or new is None:
        yield from _in_order(before, after)
    else:
        yield from _pairs(old, new)


def _by_name(entries: Sequence[object]) -> dict[str, object] | None:
    """Return entries by their name; None unless all have one, and no two the same."""
    for key in _NAMES:
        names = [entry.get(key) if isinstance(entry, dict) else None for entry in entries]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return dict(zip(names, entries, strict=True))  # type: ignore[arg-type]
    return None


def _in_order(
    before: Sequence[object], after: Sequence[object]
) -> Iterator[tuple[int, object, object]]:
    """Return the entries between those that both lists have, each with its position."""
    a, b = ([json.dumps(entry, sort_keys=True) for entry in side] for side in (before, after))
    for kind, i, end_i, j, end_j in SequenceMatcher(a=a, b=b, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for left, right in zip_longest(range(i, end_i), range(j, end_j)):
            yield (
                left if right is None else right,
                _NOTHING if left is None else before[left],
                _NOTHING if right is None else after[right],
            )


def _text(value: object, loc: Loc) -> str:
    if value is _NOTHING:
        return ""
    if isinstance(value, list | dict):
        noun = "entry" if isinstance(value, list) else "key"
        plural = "entries" if isinstance(value, list) else "keys"
        return f"({len(value)} {noun if len(value) == 1 else plural})"
    return value_text(value, loc[2:] if loc[:1] in _NAMED_FREELY else loc)
