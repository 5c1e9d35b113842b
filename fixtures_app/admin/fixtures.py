"""The page of a fixture: entities, relations and knowledge are checked and saved as one spec."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from pydantic import ValidationError
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextareaWidget

from fixtures_app.admin.entity_rows import EntityForm
from fixtures_app.admin.entity_sheets import EntityFormSet
from fixtures_app.admin.entity_types import EntityCountingEditor
from fixtures_app.admin.fixture_rows import (
    ChunkForm,
    ChunkFormSet,
    RelationForm,
    RelationFormSet,
)
from fixtures_app.admin.pasting import paste_fixture
from fixtures_app.editing.duplicating import Duplicating
from fixtures_app.editing.editor import VersionedForm
from fixtures_app.editing.rows import RowsInline
from fixtures_app.editing.spec_errors import add_field_errors
from fixtures_app.ground.words import free_name
from fixtures_app.library import copy_fixture, save_fixture
from fixtures_app.models import Entity, Fixture, KnowledgeChunk, Relation
from fixtures_app.spec import FixtureSpec


class EntityInline(RowsInline):
    """The entities of a fixture."""

    model, form, formset, page_model = Entity, EntityForm, EntityFormSet, Fixture
    template = "admin/fixtures_app/fixture/entities.html"
    hint = "The data that the agent reads and changes through its tools: a table for each type."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("type")


class RelationInline(RowsInline):
    """Its relations."""

    model, form, formset, page_model = Relation, RelationForm, RelationFormSet, Fixture
    add_label = "Add a relation"
    hint = "Links between the entities above."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("source", "target")


class ChunkInline(RowsInline):
    """Its knowledge."""

    model, form, formset, page_model = KnowledgeChunk, ChunkForm, ChunkFormSet, Fixture
    verbose_name_plural = "Knowledge"
    add_label = "Add a text"
    hint = "Texts that the tool knowledge.search finds."


class FixtureForm(VersionedForm):
    """The fields of a fixture itself."""

    class Meta:
        model = Fixture
        fields = ("name", "slug", "description")
        widgets = {"description": UnfoldAdminTextareaWidget(attrs={"rows": 2})}
        help_texts = {"slug": "The name in files, for example class-data."}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.errors:
            keys = {key: cleaned[key] for key in ("name", "slug", "description")}
            try:
                FixtureSpec.model_validate({**keys, "entities": []})
            except ValidationError as error:
                add_field_errors(self, error)
        return cleaned


def users_of(fixture: Fixture) -> Iterator[Model]:
    """Return the rows of other applications that refer to a fixture."""
    for relation in Fixture._meta.related_objects:  # noqa: SLF001 - the documented API of models
        if relation.many_to_many:
            rows = relation.related_model._default_manager  # noqa: SLF001
            yield from rows.filter(**{relation.field.name: fixture}).order_by("pk")[:100]


@admin.register(Fixture)
class FixtureAdmin(Duplicating, EntityCountingEditor):
    """Data sets that executions read and change in private copies."""

    form = FixtureForm
    counted_by = "fixture"
    inlines = [EntityInline, RelationInline, ChunkInline]
    list_display = ["name_and_slug", "entity_count", "updated_at"]
    search_fields = ["name", "slug", "description"]
    ordering = ["name"]
    when_empty = (
        "Test data is what agents work on, for example customers and orders. Every "
        "conversation gets its own copy."
    )
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["used_by"]
    fieldsets = [(None, {"fields": ["name", "slug", "description", "used_by"]})]
    actions_list = ["paste"]
    actions_detail = ["duplicate"]
    other_way_in = ("From a spreadsheet", "admin:fixtures_app_fixture_paste")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: Any = super().get_queryset(request)
        named: QuerySet[Any] = rows.with_namesakes()
        return named

    @display(description="Name", ordering="name")
    def name_and_slug(self, fixture: Fixture) -> str:
        return str(fixture)

    class Media:
        js = ["fixtures_app/fixture_editor.js", "fixtures_app/sheets.js", "fixtures_app/grid.js"]

    @action(
        description="From a spreadsheet",
        icon="content_paste",
        url_path="from-spreadsheet",
        permissions=["add"],
    )
    def paste(self, request: HttpRequest) -> HttpResponse:
        return paste_fixture(request)

    def has_copy_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return self.has_add_permission(request) and self.has_view_permission(request)

    def make_copy(self, fixture: Fixture) -> Fixture:
        known = Fixture.objects.values_list("name", "slug")
        name = free_name(fixture.name, (name for name, _ in known), length=200)
        slug = free_name(fixture.slug, (slug for _, slug in known), length=100, mark="-")
        return copy_fixture(fixture, name=name, slug=slug)

    @display(description="Used by")
    def used_by(self, fixture: Fixture) -> str | SafeString:
        if not fixture.pk:
            return "Nothing yet"
        links = [(_link(row),) for row in users_of(fixture)]
        return format_html_join(", ", "{}", links) or "Nothing yet"

    def _create_formsets(self, *args: object, **kwargs: object) -> Any:
        formsets, inlines = super()._create_formsets(*args, **kwargs)
        if formsets:
            entities, relations, chunks = formsets
            entities.others = {"relations": relations, "chunks": chunks}
        return formsets, inlines

    def save_related(
        self,
        request: HttpRequest,
        form: Any,
        formsets: list[Any],
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        super().save_related(request, form, formsets, change)
        entities: EntityFormSet = formsets[0]
        if entities.spec is None:
            return
        head = {key: getattr(form.instance, key) for key in ("name", "slug", "description")}
        save_fixture(entities.spec.model_copy(update=head))
        for sheet in entities.sheets.values():
            names = [
                one.name + one.hint for one in sheet.unnamed_columns if _is_used(entities, one.name)
            ]
            if names:
                message = f"The entity type {sheet.slug} has no field {', '.join(names)}."
                messages.warning(request, message)


def _is_used(entities: EntityFormSet, name: str) -> bool:
    return any(name in row.cleaned_data["data"] for row in entities.kept_rows)


def _link(row: Model) -> SafeString:
    options = row._meta  # noqa: SLF001 - the documented API of models
    try:
        url = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        url = "#"
    return format_html('<a class="ew-link" href="{}">{}</a>', url, row)
