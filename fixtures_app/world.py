"""A private copy of fixtures that one execution reads and changes.

An entity is `{"id", "type", "status", "data"}`, a relation `{"id", "from", "to", "type",
"metadata"}`, everywhere: in results, in the journal and in the difference at the end.

Opening a world is cheap because nothing is copied. Its rows are shared with the fixture and never
changed in place: a write adds a new row, and whatever leaves the world is a copy.
"""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from fixtures_app.ground.json_data import json_problems, value_text
from fixtures_app.ground.schemas import schema_misfits
from fixtures_app.ground.strict_json import Json
from fixtures_app.ground.words import suggestion
from fixtures_app.spec import FixtureSpec

Row = dict[str, Any]
_Json = TypeVar("_Json")

ACTIVE = "active"


class WorldRefusalError(Exception):
    """A request that the world refuses; `code` is for programs, the message for models."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class FixtureWorld:
    """Entities, relations and knowledge of one execution.

    The id of a seeded entity is its ref, with the prefix `<fixture>:` if fixtures share it. An
    entity made later is `<type>-<n>`. Relations are `relation-<n>`. Ids are never used twice.
    `entity_types` are JSON Schemas by slug; they override the types that fixtures declare. `clock` is
    the time of the case in ISO 8601.

    Raises:
        ValueError: a fixture is listed twice, or an entity's type is unknown.
    """

    def __init__(
        self,
        fixtures: Sequence[FixtureSpec],
        entity_types: Mapping[str, Mapping[str, object]],
        *,
        clock: str,
    ) -> None:
        self.clock = clock
        self._types = _known_types(fixtures, entity_types)
        entity_ids = _ids(
            [(seed.slug, entity.ref) for seed in fixtures for entity in seed.entities]
        )
        chunk_ids = _ids([(seed.slug, chunk.id) for seed in fixtures for chunk in seed.chunks])
        self._seeded: dict[str, Row] = {}
        self._seeded_relations: dict[str, Row] = {}
        self._chunks: dict[str, tuple[str, str]] = {}
        for fixture in fixtures:
            for entity in fixture.entities:
                id_ = entity_ids[fixture.slug, entity.ref]
                row = {"id": id_, "type": entity.type, "status": entity.status, "data": entity.data}
                self._seeded[id_] = row
            for relation in fixture.relations:
                id_ = f"relation-{len(self._seeded_relations) + 1}"
                self._seeded_relations[id_] = {
                    "id": id_,
                    "from": entity_ids[fixture.slug, relation.from_],
                    "to": entity_ids[fixture.slug, relation.to],
                    "type": relation.type,
                    "metadata": relation.metadata,
                }
            for chunk in fixture.chunks:
                self._chunks[chunk_ids[fixture.slug, chunk.id]] = (chunk.text, chunk.source)
        self._entities = dict(self._seeded)
        self._relations = dict(self._seeded_relations)
        self._deleted: set[str] = set()
        self._made: Counter[str] = Counter()
        self._journal: list[Row] = []
        self._step = 0
        self._tool = ""

    @property
    def journal(self) -> tuple[Row, ...]:
        """Every change in order.

        Keys: `step` (number of the tool call), `at` (the clock), `tool`, `op` (create, update,
        delete, link, unlink), `id`, `type`, `before` and `after` (a row or None).
        """
        return tuple(copy_json(self._journal))

    @property
    def change_count(self) -> int:
        """Number of changes; cheaper than reading the journal."""
        return len(self._journal)

    def begin_step(self, tool: str) -> None:
        """Count a tool call; the journal attributes the next changes to it."""
        self._step += 1
        self._tool = tool

    def query(
        self,
        kind: str,
        *,
        filters: Mapping[str, object] | None = None,
        text: str = "",
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[list[Row], int]:
        """Return a page of the matching entities of a type, oldest first, and their number."""
        self._require_type(kind)
        needle = text.casefold()
        matching = [
            row
            for row in self._entities.values()
            if row["type"] == kind
            and all(_has(row, path, value) for path, value in (filters or {}).items())
            and (not needle or _mentions([row["id"], row["data"]], needle))
        ]
        return copy_json(matching[offset : offset + limit]), len(matching)

    def entity(self, id_: str) -> Row:
        """Return an entity."""
        return copy_json(self._entity(id_))

    def create_entity(self, kind: str, data: Row, *, status: str = ACTIVE) -> Row:
        """Add an entity; its data must fit its type."""
        self._require_type(kind)
        self._require_fit(kind, data)
        id_ = self._new_id(kind, self._entities)
        row = {"id": id_, "type": kind, "status": status, "data": copy_json(data)}
        self._entities[id_] = row
        self._record("create", None, row)
        return self.entity(id_)

    def update_entity(self, id_: str, *, data: Row | None = None, status: str | None = None) -> Row:
        """Merge data into an entity's (RFC 7396: null removes a key), or set its status."""
        before = self._entity(id_)
        merged = merge_patch(before["data"], data or {})
        self._require_fit(before["type"], merged)
        after = {**before, "data": merged}
        if status is not None:
            after["status"] = status
        if not same_json(before, after):
            self._entities[id_] = after
            self._record("update", before, after)
        return self.entity(id_)

    def delete_entity(self, id_: str) -> list[str]:
        """Remove an entity and its relations, and return their ids."""
        entity = self._entity(id_)
        cut = [row["id"] for row in self._relations.values() if id_ in (row["from"], row["to"])]
        for relation_id in cut:
            self.delete_relation(relation_id)
        self._delete("delete", self._entities, entity)
        return cut

    def relations(
        self, *, from_: str | None = None, to: str | None = None, kind: str | None = None
    ) -> list[Row]:
        """Return the matching relations, oldest first."""
        for id_ in (from_, to):
            if id_ is not None:
                self._entity(id_)
        wanted = {"from": from_, "to": to, "type": kind}
        asked = {key: value for key, value in wanted.items() if value is not None}
        return [
            copy_json(row)
            for row in self._relations.values()
            if all(row[key] == value for key, value in asked.items())
        ]

    def create_relation(
        self, from_: str, to: str, kind: str, *, metadata: Row | None = None
    ) -> Row:
        """Link two entities that exist."""
        for end, id_ in (("from", from_), ("to", to)):
            if id_ not in self._entities:
                message = f"A relation needs two entities: {end} {self._absent('entity', id_)}"
                raise WorldRefusalError("dangling_relation", message)
        _require_json(metadata or {})
        row: Row = {
            "id": self._new_id("relation", self._relations),
            "from": from_,
            "to": to,
            "type": kind,
            "metadata": copy_json(metadata or {}),
        }
        self._relations[row["id"]] = row
        self._record("link", None, row)
        return copy_json(row)

    def delete_relation(self, id_: str) -> None:
        """Remove a relation."""
        if id_ not in self._relations:
            raise WorldRefusalError("unknown_id", self._absent("relation", id_))
        self._delete("unlink", self._relations, self._relations[id_])

    def _delete(self, op: str, rows: dict[str, Row], row: Row) -> None:
        del rows[row["id"]]
        self._deleted.add(row["id"])
        self._record(op, row, None)

    def search(self, query: str, *, limit: int = 5) -> list[Row]:
        """Rank the chunks that share a word with the query, in their text or id, by BM25, and then by id."""
        index = _index_texts(tuple(f"{id_} {text}" for id_, (text, _) in self._chunks.items()))
        ids = list(self._chunks)
        ranked = sorted((-round(score, 6), ids[place]) for place, score in index(query).items())
        return [
            {"id": id_, "text": text, "source": source, "score": -score}
            for score, id_ in ranked[:limit]
            for text, source in [self._chunks[id_]]
        ]

    def changes(self) -> Row:
        """Return the difference between the world at the start and now.

        Lists have a stable order (seeded rows first). Changes that were undone are left out.
        """
        updated = [
            {"id": id_, "type": before["type"], "before": before, "after": after}
            for id_, before in self._seeded.items()
            if (after := self._entities.get(id_)) is not None and not same_json(before, after)
        ]
        return copy_json(
            {
                "created": _only_in(self._entities, self._seeded),
                "updated": updated,
                "deleted": _only_in(self._seeded, self._entities),
                "relations_created": _only_in(self._relations, self._seeded_relations),
                "relations_deleted": _only_in(self._seeded_relations, self._relations),
            }
        )

    def initial_state(self) -> dict[str, list[Row]]:
        """Return the entities and relations at the start."""
        return {
            "entities": copy_json(list(self._seeded.values())),
            "relations": copy_json(list(self._seeded_relations.values())),
        }

    def _entity(self, id_: str) -> Row:
        if id_ not in self._entities:
            raise WorldRefusalError("unknown_id", self._absent("entity", id_))
        return self._entities[id_]

    def _absent(self, what: str, id_: str) -> str:
        if id_ in self._deleted:
            return f"{value_text(id_)} was deleted earlier."
        known = self._entities if what == "entity" else self._relations
        return f"{value_text(id_)} is not the id of any {what}.{suggestion(id_, known)}"

    def _require_type(self, kind: str) -> None:
        if kind not in self._types:
            message = f"Unknown entity type {value_text(kind)}.{suggestion(kind, self._types)}"
            raise WorldRefusalError("unknown_type", message)

    def _require_fit(self, kind: str, data: object) -> None:
        _require_json(data)
        if problems := schema_misfits(data, self._types[kind], whole="the data"):
            message = f"The data does not fit entity type {kind!r}: {' '.join(problems)}"
            raise WorldRefusalError("invalid_data", message)

    def _new_id(self, stem: str, taken: Mapping[str, Row]) -> str:
        while True:
            self._made[stem] += 1
            id_ = f"{stem}-{self._made[stem]}"
            if id_ not in taken and id_ not in self._deleted:
                return id_

    def _record(self, op: str, before: Row | None, after: Row | None) -> None:
        row = after or before or {}
        self._journal.append(
            {
                "step": self._step,
                "at": self.clock,
                "tool": self._tool,
                "op": op,
                "id": row["id"],
                "type": row["type"],
                "before": before,
                "after": after,
            }
        )


def copy_json(value: _Json) -> _Json:
    """Copy JSON in depth; many times faster than `copy.deepcopy`."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}  # type: ignore[return-value]
    if isinstance(value, list):
        return [copy_json(item) for item in value]  # type: ignore[return-value]
    return value


def same_json(left: object, right: object) -> bool:
    """Compare in depth: 1 equals 1.0, but no number equals a bool."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same_json(item, right[key]) for key, item in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def merge_patch(target: Json, patch: Json) -> Json:
    """Return a copy with a JSON merge patch applied.

    Source: RFC 7396, section 2.
    """
    if not isinstance(patch, dict):
        return copy_json(patch)
    merged = copy_json(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def _known_types(
    fixtures: Sequence[FixtureSpec], entity_types: Mapping[str, Mapping[str, object]]
) -> dict[str, Mapping[str, object]]:
    declared = {kind.slug: kind.json_schema for f in fixtures for kind in f.entity_types}
    known = {**declared, **entity_types}
    slugs = [fixture.slug for fixture in fixtures]
    if len(set(slugs)) < len(slugs):
        raise ValueError(f"Test data is listed twice: {', '.join(slugs)}.")
    for fixture in fixtures:
        for kind in dict.fromkeys(entity.type for entity in fixture.entities):
            if kind not in known:
                msg = f"Test data {fixture.slug} has entities of unknown type {value_text(kind)}."
                raise ValueError(msg + suggestion(kind, known))
    return known


def _ids(names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the id of each (fixture, name): the name, or `fixture:name` if others have it too."""
    ids = {key: key[1] for key in names}
    # Repeated, because a name may already be written as `a:b`.
    while len(set(ids.values())) < len(ids):
        count = Counter(ids.values())
        ids = {key: ":".join(key) if count[id_] > 1 else id_ for key, id_ in ids.items()}
    return ids


def _only_in(rows: Mapping[str, Row], others: Mapping[str, Row]) -> list[Row]:
    return [row for id_, row in rows.items() if id_ not in others]


def _require_json(value: object) -> None:
    for problem in json_problems(value):
        raise WorldRefusalError("invalid_data", str(problem))


_MISSING = object()


def _has(row: Row, path: str, value: object) -> bool:
    if path == "status":
        return same_json(row["status"], value)
    actual = _at(row["data"], path)
    if actual is _MISSING and path.startswith("data."):
        actual = _at(row["data"], path.removeprefix("data."))
    return actual is not _MISSING and same_json(actual, value)


def _at(data: object, path: str) -> object:
    """Follow a dotted path; a key that itself has dots comes first."""
    if isinstance(data, dict) and path in data:
        return data[path]
    head, dot, rest = path.partition(".")
    if isinstance(data, dict) and head in data and dot:
        return _at(data[head], rest)
    if isinstance(data, list) and re.fullmatch(r"[0-9]{1,9}", head) and int(head) < len(data):
        return _at(data[int(head)], rest) if dot else data[int(head)]
    return _MISSING


def _mentions(value: object, needle: str) -> bool:
    if isinstance(value, dict):
        return any(_mentions(item, needle) for item in value.values())
    if isinstance(value, list):
        return any(_mentions(item, needle) for item in value)
    if value is None or isinstance(value, bool):
        return False
    return needle in str(value).casefold()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=32)
def _index_texts(texts: tuple[str, ...]) -> Callable[[str], dict[int, float]]:
    """Index texts once for all worlds; the result scores a query by position of the text.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), section 3, with
    the inverse document frequency of Lucene, which is never negative.
    """
    saturation, length_weight = 1.2, 0.75
    lengths: list[int] = []
    postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for position, text in enumerate(texts):
        words = _words(text)
        lengths.append(len(words))
        for word, count in Counter(words).items():
            postings[word].append((position, count))
    mean_length = sum(lengths) / len(lengths) if any(lengths) else 1.0

    def scores(query: str) -> dict[int, float]:
        total: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(_words(query)):
            hits = postings.get(word, [])
            rarity = math.log(1 + (len(texts) - len(hits) + 0.5) / (len(hits) + 0.5))
            for position, count in hits:
                norm = 1 - length_weight + length_weight * lengths[position] / mean_length
                total[position] += rarity * count * (saturation + 1) / (count + saturation * norm)
        return dict(total)

    return scores
