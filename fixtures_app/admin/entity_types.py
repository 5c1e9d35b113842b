"""The page of an entity type: a name and a JSON Schema."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from pydantic import ValidationError
from unfold.decorators import display

from fixtures_app.editing.editor import Editor, VersionedForm
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.spec_errors import put_all_beside
from fixtures_app.library import misfits
from fixtures_app.models import EntityType
from fixtures_app.spec import EntityTypeSpec

_SHOWN = 5


class EntityTypeForm(VersionedForm):
    """Refuses what `EntityTypeSpec` refuses, and schemas that stored entities do not fit."""

    schema = JsonTextField(
        kind=dict,
        rows=16,
        required=False,
        label="JSON Schema",
        help_text='Schema of the data of these entities. {} allows anything. Example: {"type": '
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
            keys = {key: cleaned[key] for key in ("slug", "schema")}
            self._refuse_misfits(EntityTypeSpec.model_validate(keys))
        except ValidationError as error:
            put_all_beside(self, error)
        return cleaned

    def _refuse_misfits(self, spec: EntityTypeSpec) -> None:
        # Stored under the old name: this save renames the row.
        stored = spec.model_copy(update={"slug": self.initial.get("slug", spec.slug)})
        sentences = misfits([stored]).get(stored.slug, [])
        if sentences:
            more = f" And {len(sentences) - _SHOWN} more." if len(sentences) > _SHOWN else ""
            self.add_error(
                "schema",
                f"Existing entities would no longer fit: {' '.join(sentences[:_SHOWN])}{more} Change"
                " them first, or allow both.",
            )


class EntityCountingEditor(Editor):
    """An editor whose list shows how many entities belong to a row."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.annotate(entity_count=Count("entities"))

    @display(description="Entities", ordering="entity_count")
    def entity_count(self, row: Any) -> int:
        count: int = row.entity_count
        return count


@admin.register(EntityType)
class EntityTypeAdmin(EntityCountingEditor):
    """Entity types belong to the whole site."""

    form = EntityTypeForm
    list_display = ["slug", "entity_count", "updated_at"]
    search_fields = ["slug"]
    ordering = ["slug"]
    when_empty = "An entity type describes one type of data in fixtures, for example orders."
    fieldsets = [(None, {"fields": ["slug", "schema"]})]
