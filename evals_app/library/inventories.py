"""What the checks of a stored suite may name."""

from collections.abc import Iterable

from evals_app.engine.inventory import Inventory
from evals_app.formats.naming import Contents, inventory_of
from evals_app.models import Agent
from fixtures_app.models import Entity, EntityType, Fixture, KnowledgeChunk


def contents_of(slug: str) -> Contents | None:
    """Return what checks may name of a fixture; None if there is none."""
    fixture = Fixture.objects.filter(slug=slug).first()
    if fixture is None:
        return None
    return _contents(fixture.pk)


def inventory_for(agent: Agent, fixtures: Iterable[Fixture]) -> Inventory:
    """Return what checks may name where this agent works on these fixtures."""
    types = EntityType.objects.values_list("slug", flat=True)
    return inventory_of(
        agent.slug, agent.abilities, [_contents(each.pk) for each in fixtures], types
    )


def _contents(pk: int) -> Contents:
    entities = Entity.objects.filter(fixture=pk).values_list("ref", flat=True)
    chunks = KnowledgeChunk.objects.filter(fixture=pk).values_list("chunk_id", flat=True)
    return Contents(frozenset(entities), frozenset(chunks))
