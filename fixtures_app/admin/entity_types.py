"""The page of an entity type: a name and a JSON Schema."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from pydantic import ValidationError
from unfold.decorators import display

from fixtures_app.admin.editor import Editor, VersionedForm
from fixtures_app.admin.json_field import JsonTextField
from fixtures_app.admin.spec_errors import found_by, put_beside
from fixtures_app.library import misfits
from fixtures_app.models import EntityType
from fixtures_app.spec import EntityTypeSpec

_SHOWN = 5


class EntityTypeForm(VersionedForm):
    """Refuses what `EntityTypeSpec` refuses, and a schema that stored entities do not fit."""

    schema = JsonTextField(
        kind=dict,
        rows=16,
        required=False,
        label="JSON Schema",
        help_text='What the data of such an entity must be. {} allows anything. Example: {"type": '
        '"object", "properties": {"email": {"type": "string"}}, "required": ["email"]}',
    )

    class Meta:
        model = EntityType
        fields = ("slug", "schema")
        labels = {"slug": "Name"}
        help_texts = {"slug": "Letters, digits and hyphens, for example order."}

    def clean_schema(self) -> dict[str, Any]:
        return self.cleaned_data.get("schema") or {}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        try:
            spec = EntityTypeSpec.model_validate(
                {"slug": cleaned["slug"], "schema": cleaned["schema"]}
            )
        except ValidationError as error:
            for problem in found_by(error):
                put_beside(self, {"slug": "slug", "schema": "schema"}, problem.loc, problem.message)
            return cleaned
        self._refuse_misfits(spec)
        return cleaned

    def _refuse_misfits(self, spec: EntityTypeSpec) -> None:
        # Known by the old name: the row is renamed with this very save.
        stored = spec.model_copy(update={"slug": self.initial.get("slug", spec.slug)})
        found = misfits([stored]).get(stored.slug, [])
        if found:
            more = f" And {len(found) - _SHOWN} more." if len(found) > _SHOWN else ""
            self.add_error(
                "schema",
                f"Entities that exist would no longer fit: {' '.join(found[:_SHOWN])}{more} Change"
                " them first, or allow both.",
            )


@admin.register(EntityType)
class EntityTypeAdmin(Editor):
    """Entity types belong to the whole site."""

    form = EntityTypeForm
    list_display = ["slug", "entity_count", "updated_at"]
    search_fields = ["slug"]
    ordering = ["slug"]
    when_empty = "An entity type says what kinds of things a fixture may hold, for example orders."
    fieldsets = [(None, {"fields": ["slug", "schema"]})]

    def get_queryset(self, request: HttpRequest) -> QuerySet[EntityType]:
        rows: QuerySet[EntityType] = super().get_queryset(request)
        return rows.annotate(entity_count=Count("entities"))

    @display(description="Entities", ordering="entity_count")
    def entity_count(self, row: Any) -> int:  # noqa: ANN401 - annotated in get_queryset
        count: int = row.entity_count
        return count
