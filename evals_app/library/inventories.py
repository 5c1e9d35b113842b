"""What the checks of a stored suite may name."""

from collections import defaultdict
from collections.abc import Collection, Iterable

from evals_app.engine.inventory import Inventory
from evals_app.formats.naming import Contents, inventory_of
from evals_app.models import Agent, Suite
from fixtures_app.models import Entity, EntityType, Fixture, KnowledgeChunk


def contents_of(slug: str) -> Contents | None:
    """Return what checks may name of a fixture; None if there is none."""
    fixture = Fixture.objects.filter(slug=slug).first()
    return None if fixture is None else _contents([fixture.pk])[0]


def inventory_for(agent: Agent, fixtures: Iterable[Fixture]) -> Inventory:
    """Return what checks may name where this agent works on these fixtures."""
    types = EntityType.objects.values_list("slug", flat=True)
    contents = _contents([fixture.pk for fixture in fixtures])
    return inventory_of(agent.slug, agent.abilities, contents, types)


def _contents(fixtures: Collection[int]) -> list[Contents]:
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
    return [Contents(frozenset(entities[pk]), frozenset(chunks[pk])) for pk in fixtures]


def names_offered(suite: Suite, *, most: int) -> dict[str, list[str]]:
    """Return the tools that a suite's agent has, and chunks of its fixtures, to choose from."""
    known = inventory_of(suite.agent.slug, suite.agent.abilities, [], ())
    chunks = KnowledgeChunk.objects.filter(fixture__suites=suite).order_by("chunk_id")
    return {
        "tools": sorted(known.tools or ()),
        "chunks": list(chunks.values_list("chunk_id", flat=True)[:most]),
    }
