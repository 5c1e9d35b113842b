"""Fixtures and entity types: specs to rows and back.

Saving is idempotent by slug. Rows that keep their name in the fixture (an entity's ref, a chunk's
id) stay the same rows, and unchanged rows are not written.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from django.db import transaction
from django.utils import timezone

from fixtures_app.ground.json_data import canonical
from fixtures_app.ground.schemas import schema_misfits
from fixtures_app.ground.strict_json import JsonObject
from fixtures_app.models import Entity, EntityType, Fixture
from fixtures_app.spec import EntityTypeSpec, FixtureSpec

Saved = Literal["created", "updated", "unchanged"]

BATCH = 500


def known_schemas() -> dict[str, JsonObject]:
    """Return the JSON Schema of every entity type of the site, by slug."""
    return {row.slug: row.schema for row in EntityType.objects.order_by("slug")}


def misfits(
    types: Sequence[EntityTypeSpec], *, besides: Iterable[str] = ()
) -> dict[str, list[str]]:
    """Return sentences about stored entities that do not fit new schemas, by the type's slug.

    Fixtures whose slugs are in `besides` are ignored: they are about to be replaced.
    """
    stored = known_schemas()
    changed = {
        kind.slug: kind.json_schema
        for kind in types
        if kind.slug in stored and canonical(stored[kind.slug]) != canonical(kind.json_schema)
    }
    entities = (
        Entity.objects.filter(type__slug__in=changed)
        .exclude(fixture__slug__in=list(besides))
        .order_by("fixture__slug", "position")
        .values_list("type__slug", "fixture__slug", "ref", "data")
    )
    sentences: dict[str, list[str]] = {}
    for kind, fixture, ref, data in entities.iterator(chunk_size=2000):
        wrong = schema_misfits(data, changed[kind])
        if wrong:
            sentences.setdefault(kind, []).append(f"{ref!r} in test data {fixture!r}: {wrong[0]}")
    return sentences


@transaction.atomic
def save_entity_types(specs: Sequence[EntityTypeSpec]) -> dict[str, Saved]:
    """Write entity types, and return what happened to each, by slug."""
    rows = {row.slug: row for row in EntityType.objects.filter(slug__in=[s.slug for s in specs])}
    saved: dict[str, Saved] = {}
    for spec in specs:
        row = rows.get(spec.slug)
        if row is None:
            EntityType.objects.create(slug=spec.slug, schema=spec.json_schema)
            saved[spec.slug] = "created"
        elif canonical(row.schema) != canonical(spec.json_schema):
            row.schema = spec.json_schema
            row.save(update_fields=["schema", "updated_at"])
            saved[spec.slug] = "updated"
        else:
            saved[spec.slug] = "unchanged"
    return saved


@transaction.atomic
def save_fixture(spec: FixtureSpec) -> Saved:
    """Write a fixture and the entity types that it declares.

    Raises:
        ValueError: an entity is of a type that neither the fixture nor the site has.
    """
    saved_types = save_entity_types(spec.entity_types)
    types = _types_of(spec)
    fixture, created = Fixture.objects.select_for_update().get_or_create(
        slug=spec.slug, defaults={"name": spec.name, "description": spec.description}
    )
    changed = _save_head(fixture, spec)
    changed |= _sync(
        fixture.entities,
        "ref",
        {
            e.ref: {"type_id": types[e.type], "data": e.data, "status": e.status}
            for e in spec.entities
        },
    )
    ids = dict(fixture.entities.values_list("ref", "pk"))
    relations = [
        {
            "source_id": ids[relation.from_],
            "target_id": ids[relation.to],
            "type": relation.type,
            "metadata": relation.metadata,
        }
        for relation in spec.relations
    ]
    # Nothing but their position distinguishes relations.
    changed |= _sync(fixture.relations, "position", dict(enumerate(relations)))
    chunks = {chunk.id: chunk.model_dump(exclude={"id"}) for chunk in spec.chunks}
    changed |= _sync(fixture.chunks, "chunk_id", chunks)
    if created:
        return "created"
    if changed:
        Fixture.objects.filter(pk=fixture.pk).update(updated_at=timezone.now())
        return "updated"
    return "unchanged" if set(saved_types.values()) <= {"unchanged"} else "updated"


def copy_fixture(fixture: Fixture, *, name: str, slug: str) -> Fixture:
    """Save a copy of a fixture under a name and slug that are free."""
    spec = Fixture.objects.with_everything().get(pk=fixture.pk).to_spec()
    save_fixture(spec.model_copy(update={"name": name, "slug": slug}))
    return Fixture.objects.get(slug=slug)


def _types_of(spec: FixtureSpec) -> dict[str, int]:
    wanted = {entity.type for entity in spec.entities}
    types = dict(EntityType.objects.filter(slug__in=wanted).values_list("slug", "pk"))
    if missing := sorted(wanted - types.keys()):
        raise ValueError(
            f"Test data {spec.slug!r} uses entity types that do not exist: {', '.join(missing)}."
        )
    return types


def _save_head(fixture: Fixture, spec: FixtureSpec) -> bool:
    if (fixture.name, fixture.description) == (spec.name, spec.description):
        return False
    fixture.name, fixture.description = spec.name, spec.description
    fixture.save(update_fields=["name", "description", "updated_at"])
    return True


def _sync(rows: Any, key: str, wanted: Mapping[Any, dict[str, Any]]) -> bool:
    """Make the rows of a fixture equal to the wanted ones, and return whether any was written."""
    new = {name: {"position": at, **row} for at, (name, row) in enumerate(wanted.items())}
    changed, surplus = [], []
    for row in rows.order_by("position", "pk"):
        # Positions typed into a form may repeat: only one row of each is kept.
        columns = new.pop(getattr(row, key), None)
        if columns is None:
            surplus.append(row.pk)
        elif canonical({name: getattr(row, name) for name in columns}) != canonical(columns):
            for name, value in columns.items():
                setattr(row, name, value)
            changed.append(row)
    for start in range(0, len(surplus), BATCH):
        rows.filter(pk__in=surplus[start : start + BATCH]).delete()
    made = [rows.model(fixture=rows.instance, **{key: at, **row}) for at, row in new.items()]
    fields = {name.removesuffix("_id") for row in wanted.values() for name in row}
    rows.bulk_update(changed, ["position", *fields], batch_size=BATCH)
    rows.bulk_create(made, batch_size=BATCH)
    return bool(surplus or made or changed)


def fixture_specs(slugs: Iterable[str] | None = None) -> list[FixtureSpec]:
    """Load fixtures as specs, entity types included.

    Types belong to the whole site, and an agent may create entities of a type that no fixture has.
    So each fixture declares the types of its entities, and the first one also all other types.
    """
    rows = Fixture.objects.with_everything().order_by("slug")
    if slugs is not None:
        rows = rows.filter(slug__in=list(slugs))
    types = {row.slug: row.to_spec() for row in EntityType.objects.order_by("slug")}
    specs = [row.to_spec() for row in rows]
    used = [{entity.type for entity in spec.entities} for spec in specs]
    left = types.keys() - set().union(*used)
    declared = [kinds | left if first == 0 else kinds for first, kinds in enumerate(used)]
    return [
        spec.model_copy(update={"entity_types": [types[slug] for slug in types if slug in kinds]})
        for spec, kinds in zip(specs, declared, strict=True)
    ]
