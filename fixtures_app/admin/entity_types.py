"""The page of an entity type: a name, and a table of fields or a JSON Schema."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from pydantic import ValidationError
from unfold.decorators import display

from fixtures_app.editing.counting import count_of
from fixtures_app.editing.editor import Editor, ListedError, VersionedForm, problems_of_rows
from fixtures_app.editing.field_rows import field_rows
from fixtures_app.editing.inputs import CheckBox, TextArea
from fixtures_app.editing.json_field import JsonTextField
from fixtures_app.editing.spec_errors import add_field_error, problems_in
from fixtures_app.ground.field_table import FieldTable, fields_of, schema_of, table_of
from fixtures_app.ground.json_data import DataProblem
from fixtures_app.library import misfits
from fixtures_app.models import Entity, EntityType
from fixtures_app.spec import EntityTypeSpec

_SHOWN = 5
_NO_TABLE = (
    "The table cannot show this schema, and an empty table would replace it. Tick this, or list the "
    "fields in the table."
)


class EntityTypeForm(VersionedForm):
    """Refuses what `EntityTypeSpec` refuses, and schemas that stored entities do not fit.

    The schema comes from the table or, with `as_json`, from the text. An unchanged schema keeps its
    spelling.
    """

    is_open = forms.BooleanField(
        label="Allow other fields",
        required=False,
        widget=CheckBox,
        help_text="Otherwise a field that is not in the table is an error.",
    )
    as_json = forms.BooleanField(
        label="Use this JSON Schema instead of the table", required=False, widget=CheckBox
    )
    schema = JsonTextField(
        kind=dict,
        required=False,
        label="JSON Schema",
        widget=TextArea({"class": "ew-input ew-mono", "rows": 14}),
        help_text="JSON Schema (2020-12) of the data of these entities. {} allows anything.",
    )

    class Meta:
        model = EntityType
        fields = ("slug",)
        labels = {"slug": "Name"}
        help_texts = {"slug": "Letters, digits and hyphens, for example order."}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.stored: dict[str, object] = self.instance.schema if self.instance.pk else {}
        self.table = table_of(self.stored)
        is_new = not self.instance.pk
        self.initial["schema"] = self.stored
        self.initial["as_json"] = self.table is None
        self.initial["is_open"] = bool(self.table and self.table.is_open) and not is_new
        shown = self.table or FieldTable()
        self.rows = field_rows(self.data if self.is_bound else None, shown)

    @property
    def is_json(self) -> bool:
        return bool(self["as_json"].value())

    def is_valid(self) -> bool:
        return super().is_valid() and (self.is_json or self.rows.is_valid())

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.is_json:
            schema = cleaned.get("schema") or {}
        else:
            self.errors.pop("schema", None)  # it is not used
            if not self.rows.is_valid():
                return cleaned
            if self.table is None and not self.rows.kept_rows:
                self.add_error("as_json", _NO_TABLE)
                return cleaned
            typed = FieldTable(self.rows.fields(), bool(cleaned.get("is_open")))
            schema = self.stored if typed == self.table else schema_of(typed)
        if self.errors:
            return cleaned
        try:
            spec = EntityTypeSpec.model_validate({"slug": cleaned["slug"], "schema": schema})
        except ValidationError as error:
            for problem in problems_in(error):
                self._put_beside(problem)
            return cleaned
        self._refuse_misfits(spec)
        self.instance.schema = schema
        return cleaned

    def _put_beside(self, problem: DataProblem) -> None:
        if problem.loc[:2] == ("schema", "properties") and not self.is_json:
            for row in self.rows.kept_rows:
                if problem.loc[2:3] == (row.cleaned_data["name"],):
                    row.add_error("name", problem.message)
                    return
        fields = {"slug": "slug", "schema": "schema"} if self.is_json else {"slug": "slug"}
        add_field_error(self, fields, problem.loc, problem.message)

    def _refuse_misfits(self, spec: EntityTypeSpec) -> None:
        # Stored under the old name: this save renames the row.
        stored = spec.model_copy(update={"slug": self.initial.get("slug", spec.slug)})
        sentences = misfits([stored]).get(stored.slug, [])
        if sentences:
            more = f" And {len(sentences) - _SHOWN} more." if len(sentences) > _SHOWN else ""
            self.add_error(
                "schema" if self.is_json else None,
                f"Existing entities would no longer fit: {' '.join(sentences[:_SHOWN])}{more} Change"
                " them first, or allow both.",
            )

    @cached_property
    def changed_data(self) -> list[str]:
        """The fields that the history names; both forms of the schema count as one."""
        changed = [name for name in super().changed_data if name not in {"is_open", "as_json"}]
        names = [name for name in changed if name != "schema"]
        is_changed = self.instance.schema is not self.stored and self.instance.schema != self.stored
        return [*names, "schema"] if is_changed else names


class EntityCountingEditor(Editor):
    """An editor whose list shows how many entities belong to a row."""

    counted_by: str  # what an entity calls the row

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        return rows.annotate(entity_count=count_of(Entity.objects.all(), self.counted_by))

    @display(description="Entities", ordering="entity_count")
    def entity_count(self, row: Any) -> int:
        count: int = row.entity_count
        return count


@admin.register(EntityType)
class EntityTypeAdmin(EntityCountingEditor):
    """Entity types belong to the whole site."""

    form = EntityTypeForm
    counted_by = "type"
    change_form_template = "admin/fixtures_app/entitytype/editor.html"
    list_display = ["slug", "field_names", "entity_count", "updated_at"]
    search_fields = ["slug"]
    ordering = ["slug"]
    when_empty = "An entity type describes one kind of test data, for example orders."
    fieldsets = [(None, {"fields": ["slug"]})]

    def more_problems(self, form: Any) -> Iterator[ListedError]:
        if not form.is_json:
            yield from problems_of_rows(form.rows)

    @display(description="Fields")
    def field_names(self, kind: EntityType) -> str:
        return ", ".join(one.name for one in fields_of(kind.schema)) or "Any"
