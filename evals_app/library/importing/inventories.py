"""What the checks of a stored suite may name."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import JSONField, QuerySet, Value

from evals_app.engine.specs.inventory import Inventory
from evals_app.formats.checking.naming import CheckedThing, FixtureContents, inventory_of
from evals_app.formats.foreign.draft import placed_assertions
from evals_app.library.importing.parts import (
    Parts,
    Values,
    arguments_of,
    parts_of,
    schemas_of,
    values_of,
)
from evals_app.models import Agent, Suite
from fixtures_app.models import Entity, EntityType, Fixture, KnowledgeChunk


def contents_of(slug: str) -> FixtureContents | None:
    """Return what checks may name of a fixture; None if there is none."""
    fixture = Fixture.objects.filter(slug=slug).first()
    return None if fixture is None else _contents([fixture.pk])[0]


def mentions_of(slug: str) -> frozenset[CheckedThing]:
    """Return what the checks of a stored suite name; nothing if there is none."""
    suite = Suite.objects.with_everything().filter(slug=slug).first()
    if suite is None:
        return frozenset()
    named = (
        name for check, _ in placed_assertions(suite.to_spec()) for name in check.grader.mentions()
    )
    return frozenset((name.thing, name.name) for name in named)


def inventory_for(agent: Agent, fixtures: Iterable[Fixture]) -> Inventory:
    """Return what checks may name where this agent works on these fixtures."""
    types = EntityType.objects.values_list("slug", flat=True)
    contents = _contents([fixture.pk for fixture in fixtures])
    inventory = inventory_of(agent.slug, agent.abilities, contents, types)
    if inventory.tools is None:
        return inventory
    return replace(inventory, arguments=arguments_of(agent.tools))


def _contents(fixtures: Collection[int]) -> list[FixtureContents]:
    """Return the contents of fixtures, always in two queries."""
    entities: defaultdict[int, set[str]] = defaultdict(set)
    chunks: defaultdict[int, set[str]] = defaultdict(set)
    if fixtures:
        refs = Entity.objects.filter(fixture__in=fixtures).values_list("fixture", "ref")
        ids = KnowledgeChunk.objects.filter(fixture__in=fixtures).values_list("fixture", "chunk_id")
        for fixture, ref in refs:
            entities[fixture].add(ref)
        for fixture, chunk_id in ids:
            chunks[fixture].add(chunk_id)
    return [FixtureContents(frozenset(entities[pk]), frozenset(chunks[pk])) for pk in fixtures]


@dataclass(frozen=True, slots=True)
class Offer:
    """What the inputs of a page suggest.

    `names` by what is named; `parts`: the arguments of each tool, and the fields of each entity type;
    `values`: those of them that have a few possible values.
    """

    names: Mapping[str, Sequence[str]]
    parts: Mapping[str, Mapping[str, Parts]]
    values: Mapping[str, Mapping[str, Values]]


def names_offered(suite: Suite, *, most: int) -> Offer:
    """Return the names that checks of a suite may use, at most `most` of each kind."""
    known = inventory_of(suite.agent.slug, suite.agent.abilities, [], ())
    names: dict[str, list[str]] = {"tool": sorted(known.tools or ())}
    names |= {what: [] for what in ("chunk", "entity", "entity type")}
    types = {}
    for what, name, schema in _rows_with_names(suite, most).iterator():
        names[what].append(name)
        if what == "entity type":
            types[name] = schema
    parts = {
        "argument": arguments_of(suite.agent.tools),
        "field": {slug: parts_of(types[slug]) for slug in sorted(types)},
    }
    schemas = {"argument": schemas_of(suite.agent.tools), "field": types}
    values = {
        what: {owner: values_of(schema) for owner, schema in owners.items()}
        for what, owners in schemas.items()
    }
    unique = {what: sorted(set(listed)) for what, listed in names.items()}
    unique |= {what: _all_of(owners) for what, owners in parts.items()}
    return Offer(unique, parts, values)


def _rows_with_names(suite: Suite, most: int) -> QuerySet[Any]:
    """Return what is named, its name, and the schema of an entity type, in one query."""
    unknown = Value(None, output_field=JSONField())
    types = _first(most, EntityType.objects.order_by("slug"))
    chunks = KnowledgeChunk.objects.filter(fixture__suites=suite).order_by("chunk_id")
    entities = Entity.objects.filter(fixture__suites=suite).order_by("ref")
    return types.values_list(Value("entity type"), "slug", "schema").union(
        _first(most, chunks).values_list(Value("chunk"), "chunk_id", unknown),
        _first(most, entities).values_list(Value("entity"), "ref", unknown),
        all=True,
    )


def _first(most: int, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Limit rows by a subquery: SQLite limits only a union as a whole."""
    return rows.order_by().filter(pk__in=rows.values("pk")[:most])


def _all_of(owners: Mapping[str, Parts]) -> list[str]:
    return sorted({part for parts in owners.values() for part in parts})
