"""The rows of fixtures: data sets that executions read and change in private copies."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, Self

from django.db import models
from django.db.models import Exists, OuterRef, Prefetch

from fixtures_app.spec import EntityTypeSpec, FixtureSpec


class Importable(models.Model):
    """A row that files can contain; the marks show whether it was edited after its last import."""

    imported_digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    imported_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        abstract = True


class EntityType(Importable):
    """A type of entity of the whole site, with the JSON Schema of its data."""

    slug = models.CharField(max_length=100, unique=True)
    schema = models.JSONField(
        default=dict, blank=True, help_text="JSON Schema of the data. {} allows anything."
    )
    # PostgreSQL does not keep the order of keys, but a table of fields has one.
    field_order = models.JSONField(default=list, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.slug

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        properties = self.schema.get("properties")
        self.field_order = list(properties) if isinstance(properties, dict) else []
        if update_fields is not None and "schema" in update_fields:
            update_fields = {*update_fields, "field_order"}
        super().save(*args, update_fields=update_fields, **kwargs)

    @classmethod
    def from_db(cls, *args: Any, **kwargs: Any) -> Self:
        row = super().from_db(*args, **kwargs)
        if {"schema", "field_order"}.isdisjoint(row.get_deferred_fields()):
            row.schema = _in_order(row.schema, row.field_order)
        return row

    def to_spec(self) -> EntityTypeSpec:
        return EntityTypeSpec.model_validate({"slug": self.slug, "schema": self.schema})


def _in_order(schema: dict[str, object], names: list[str]) -> dict[str, object]:
    """Return a schema with its fields in the order in which they were written."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or list(properties) == names:
        return schema
    ordered = [name for name in names if name in properties]
    left = [name for name in properties if name not in ordered]
    return {**schema, "properties": {name: properties[name] for name in [*ordered, *left]}}


def _rows_to_mappings(
    rows: "models.Manager[Any]", *same: str, **keys: str
) -> list[dict[str, object]]:
    """Return rows as files have them; `keys` are those that have other names here."""
    names = {**{name: name for name in same}, **keys}
    return [{key: attrgetter(name)(row) for key, name in names.items()} for row in rows.all()]


class FixtureQuerySet(models.QuerySet["Fixture"]):
    """Fixtures, and how to load them whole."""

    def with_everything(self) -> "FixtureQuerySet":
        """Load entities, relations and chunks in a fixed number of queries."""
        return self.prefetch_related(
            Prefetch("entities", Entity.objects.select_related("type").order_by("position", "pk")),
            Prefetch(
                "relations",
                Relation.objects.select_related("source", "target").order_by("position", "pk"),
            ),
            Prefetch("chunks", KnowledgeChunk.objects.order_by("position", "pk")),
        )

    def with_namesakes(self) -> "FixtureQuerySet":
        """Note which share their name with another one; these show their slug, too."""
        namesakes = Fixture.objects.filter(name=OuterRef("name")).exclude(pk=OuterRef("pk"))
        return self.annotate(has_namesake=Exists(namesakes))


class Fixture(Importable):
    """A data set: entities, relations and knowledge."""

    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = FixtureQuerySet.as_manager()

    class Meta:
        verbose_name = verbose_name_plural = "test data"

    def __str__(self) -> str:
        return f"{self.name} ({self.slug})" if getattr(self, "has_namesake", False) else self.name

    def to_spec(self) -> FixtureSpec:
        """Return the spec of a row that `with_everything()` loaded."""
        return FixtureSpec.model_validate(
            {
                "name": self.name,
                "slug": self.slug,
                "description": self.description,
                "entities": _rows_to_mappings(
                    self.entities, "ref", "data", "status", type="type.slug"
                ),
                "relations": _rows_to_mappings(
                    self.relations, "type", "metadata", **{"from": "source.ref", "to": "target.ref"}
                ),
                "chunks": _rows_to_mappings(
                    self.chunks, "text", "source", "metadata", id="chunk_id"
                ),
            }
        )


class Entity(models.Model):
    """A thing in a fixture, for example a customer."""

    fixture = models.ForeignKey(Fixture, models.CASCADE, related_name="entities")
    position = models.PositiveIntegerField(default=0)
    ref = models.CharField(max_length=200, help_text="Its name in this test data.")
    type = models.ForeignKey(EntityType, models.PROTECT, related_name="entities")
    data = models.JSONField(default=dict, blank=True)
    status = models.CharField(max_length=200, default="active")

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            models.UniqueConstraint(fields=["fixture", "ref"], name="entity_ref_unique_in_fixture")
        ]

    def __str__(self) -> str:
        return self.ref


class Relation(models.Model):
    """A link from one entity to another."""

    fixture = models.ForeignKey(Fixture, models.CASCADE, related_name="relations")
    position = models.PositiveIntegerField(default=0)
    source = models.ForeignKey(Entity, models.CASCADE, related_name="outgoing", verbose_name="from")
    target = models.ForeignKey(Entity, models.CASCADE, related_name="incoming", verbose_name="to")
    type = models.CharField(max_length=200)
    metadata = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return f"{self.source_id} {self.type} {self.target_id}"


class KnowledgeChunk(models.Model):
    """A piece of text that `knowledge.search` can find."""

    fixture = models.ForeignKey(Fixture, models.CASCADE, related_name="chunks")
    position = models.PositiveIntegerField(default=0)
    chunk_id = models.CharField("id", max_length=200)
    text = models.TextField()
    source = models.TextField(blank=True)
    metadata = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["fixture", "chunk_id"], name="chunk_id_unique_in_fixture"
            )
        ]

    def __str__(self) -> str:
        return self.chunk_id
