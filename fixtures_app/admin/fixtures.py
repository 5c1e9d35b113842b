"""The page of a fixture: entities, relations and knowledge are checked and saved as one spec."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from pydantic import ValidationError
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget

from fixtures_app.admin.entity_types import EntityCountingEditor
from fixtures_app.editing.editor import VersionedForm
from fixtures_app.editing.inputs import Select, TextArea, TextInput
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.rows import OrderedFormSet, RowForm, RowsInline
from fixtures_app.editing.spec_errors import problems_in, put_all_beside, put_beside_rows
from fixtures_app.library import known_schemas, save_fixture
from fixtures_app.models import Entity, EntityType, Fixture, KnowledgeChunk, Relation
from fixtures_app.spec import FixtureSpec, check_entities


def _json_field(label: str, help_text: str) -> JsonTextField:
    return JsonTextField(
        kind=dict,
        required=False,
        label=label,
        help_text=help_text,
        widget=TextArea({"class": "ts-input ts-mono"}),
    )


class FixtureRowForm(RowForm):
    """A row that can be written as files have it."""

    keys: ClassVar[Mapping[str, str]]  # of files, and their fields
    short: tuple[str, ...] = ()
    long: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.CharField):
                field.strip = False  # spaces are part of names and statuses
        if "metadata" in self.fields:
            self.initial["metadata"] = self.instance.metadata or None

    @property
    def short_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.short]

    @property
    def long_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.long]

    def written(self) -> dict[str, Any]:
        """Return a valid row as files have it."""
        given = {key: self.cleaned_data[name] for key, name in self.keys.items()}
        # Only JSON can be None: an empty field is an empty object.
        return {key: {} if value is None else value for key, value in given.items()}

    def validate_unique(self) -> None:
        # Names may be swapped between rows, so FixtureSpec checks all rows together.
        pass


class EntityForm(FixtureRowForm):
    """An entity of a fixture."""

    keys = {"ref": "ref", "type": "kind", "status": "status", "data": "content"}
    short, long = ("ref", "kind", "status"), ("content",)

    kind = forms.ChoiceField(label="Type", widget=Select)
    content = _json_field("Data", "A JSON object that fits the type's schema.")

    class Meta:
        model = Entity
        fields = ("ref", "status", "position")
        labels = {"ref": "Name"}
        widgets = {"ref": TextInput, "status": TextInput}

    def __init__(self, *args: Any, kinds: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices: Any = self.fields["kind"]
        choices.choices = [("", "Choose a type…"), *((kind, kind) for kind in kinds)]
        if self.instance.type_id:
            self.initial["kind"] = self.instance.type.slug
            self.initial["content"] = self.instance.data

    @property
    def title(self) -> str:
        if not self.instance.type_id:
            return ""
        return f"{self.instance.ref} ({self.instance.type.slug})"


class RelationForm(FixtureRowForm):
    """A link between two entities, by name, because they may be new as well."""

    keys = {"from": "source", "to": "target", "type": "type", "metadata": "metadata"}
    short, long = ("source", "type", "target"), ("metadata",)

    source = forms.CharField(label="From", widget=TextInput)
    target = forms.CharField(label="To", widget=TextInput)
    metadata = _json_field("Notes on the link", "A JSON object. Leave blank for none.")

    class Meta:
        model = Relation
        fields = ("type", "position")
        labels = {"type": "Kind of link"}
        widgets = {"type": TextInput}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("source", "target"):
            self.fields[name].widget.attrs["list"] = "entity-names"
            if self.instance.pk:
                self.initial[name] = getattr(self.instance, name).ref

    def _post_clean(self) -> None:
        # The row is written from the spec; here it would get names instead of entities.
        pass

    @property
    def title(self) -> str:
        if not self.instance.pk:
            return ""
        return f"{self.instance.source.ref} {self.instance.type} {self.instance.target.ref}"


class ChunkForm(FixtureRowForm):
    """A piece of knowledge."""

    keys = {"id": "chunk_id", "text": "text", "source": "source", "metadata": "metadata"}
    short, long = ("chunk_id", "source"), ("text", "metadata")

    metadata = _json_field("Notes", "A JSON object. Leave blank for none.")

    class Meta:
        model = KnowledgeChunk
        fields = ("chunk_id", "source", "text", "position")
        labels = {"chunk_id": "Name"}
        help_texts = {"source": "Where the text comes from, for example a file or an address."}
        widgets = {
            "chunk_id": TextInput,
            "source": TextInput,
            "text": TextArea({"rows": 3}),
        }


_FIELDS = {
    "entities": EntityForm.keys,
    "relations": RelationForm.keys,
    "chunks": ChunkForm.keys,
}


class FixtureFormSet(OrderedFormSet):
    """Rows that the page checks and saves together."""

    def validate_unique(self) -> None:
        pass

    def save(self, commit: bool = True) -> list[Any]:  # noqa: FBT001, FBT002 - Django's signature
        return []


class EntityFormSet(FixtureFormSet):
    """The entities; they check the whole fixture, because everything refers to them."""

    row_name = "entity"
    others: "dict[str, FixtureFormSet]" = {}
    spec: FixtureSpec | None = None

    @cached_property
    def kinds(self) -> list[str]:
        return list(EntityType.objects.order_by("slug").values_list("slug", flat=True))

    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        return {**super().get_form_kwargs(index), "kinds": self.kinds}

    def clean(self) -> None:
        super().clean()
        rows = {"entities": self.kept} | {
            name: formset.kept for name, formset in self.others.items()
        }
        if any(row.errors for group in rows.values() for row in group):
            return
        written = {name: [row.written() for row in group] for name, group in rows.items()}
        try:
            # Name and slug are checked by the page's own form.
            self.spec = FixtureSpec.model_validate({"name": "-", "slug": "x", **written})
        except ValidationError as error:
            put_beside_rows(rows, _FIELDS, problems_in(error))
        else:
            put_beside_rows(rows, _FIELDS, check_entities(self.spec, known_schemas()))


class RelationFormSet(FixtureFormSet):
    """The relations."""

    row_name = "relation"


class ChunkFormSet(FixtureFormSet):
    """The knowledge."""

    row_name = "text"


class EntityInline(RowsInline):
    """The entities of a fixture."""

    model, form, formset, page_model = Entity, EntityForm, EntityFormSet, Fixture
    add_label = "Add an entity"
    hint = "The data that the agent reads and changes through its tools."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("type")


class RelationInline(RowsInline):
    """Its relations."""

    model, form, formset, page_model = Relation, RelationForm, RelationFormSet, Fixture
    add_label = "Add a relation"
    hint = "Links between the entities of this fixture."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("source", "target")


class ChunkInline(RowsInline):
    """Its knowledge."""

    model, form, formset, page_model = KnowledgeChunk, ChunkForm, ChunkFormSet, Fixture
    verbose_name_plural = "Knowledge"
    add_label = "Add a text"
    hint = "Texts that the tool knowledge.search finds."


class FixtureForm(VersionedForm):
    """The head of a fixture."""

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
                put_all_beside(self, error)
        return cleaned


def users_of(fixture: Fixture) -> Iterator[Model]:
    """Return the rows of other applications that refer to a fixture."""
    for relation in Fixture._meta.related_objects:  # noqa: SLF001 - the documented API of models
        if relation.many_to_many:
            rows = relation.related_model._default_manager  # noqa: SLF001
            yield from rows.filter(**{relation.field.name: fixture}).order_by("pk")[:100]


@admin.register(Fixture)
class FixtureAdmin(EntityCountingEditor):
    """Data sets that executions read and change in private copies."""

    form = FixtureForm
    inlines = [EntityInline, RelationInline, ChunkInline]
    list_display = ["name", "slug", "entity_count", "updated_at"]
    search_fields = ["name", "slug", "description"]
    ordering = ["name"]
    when_empty = (
        "A fixture is data that agents work on, for example customers and orders. Every "
        "conversation gets its own copy."
    )
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["used_by"]
    fieldsets = [(None, {"fields": ["name", "slug", "description", "used_by"]})]

    class Media:
        js = ["fixtures_app/fixture_editor.js"]

    @display(description="Used by")
    def used_by(self, fixture: Fixture) -> str | SafeString:
        if not fixture.pk:
            return "Nothing yet"
        links = [(_link(row),) for row in users_of(fixture)]
        return format_html_join(", ", "{}", links) or "Nothing yet"

    def get_deleted_objects(
        self, objs: Iterable[Fixture], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Show what uses the fixtures, where Django would show the rows in between."""
        deleted, counts, lacking, protected = super().get_deleted_objects(objs, request)
        if protected:
            users = (row for fixture in objs for row in users_of(fixture))
            protected = [_named(row) for row in dict.fromkeys(users)] or protected
        return deleted, counts, lacking, protected

    def _create_formsets(self, *args: Any, **kwargs: Any) -> Any:
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


def _link(row: Model) -> SafeString:
    options = row._meta  # noqa: SLF001 - the documented API of models
    try:
        url = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        url = "#"
    return format_html('<a class="ts-link" href="{}">{}</a>', url, row)


def _named(row: Model) -> SafeString:
    return format_html("{}: {}", capfirst(row._meta.verbose_name), _link(row))  # noqa: SLF001 - documented
