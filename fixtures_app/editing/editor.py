"""The base of every editing page: errors listed as links, and no save over someone else's changes.

Django shows the errors of nested rows only next to the field, which may be folded away.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.admin.models import LogEntry
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.paginator import Paginator
from django.db.models import Field, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator

from fixtures_app.editing.drafts import forget_errors, is_restored, note_saved
from fixtures_app.editing.list_rows import ListRows
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.editing.rows import KeepsTexts, OrderedFormSet, row_changes
from fixtures_app.editing.scripts import FewScripts
from fixtures_app.editing.times import moment_text

STALE = "stale"


class VersionField(forms.CharField):
    """The version of the row; it never counts as a change."""

    def __init__(self) -> None:
        super().__init__(required=False, widget=forms.HiddenInput)

    def has_changed(self, initial: object, data: object) -> bool:
        return False


class VersionedForm(forms.ModelForm):
    """A form that remembers the version of the row that it shows (`updated_at`)."""

    version = VersionField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.fields["version"].initial = self.instance.updated_at.isoformat()

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if self.instance.pk and (saved_at := self._newer_version()):
            at = moment_text(saved_at)
            message = (
                f"Someone else saved this at {at}, after you opened it. "
                "Your changes are below and not saved."
            )
            self.add_error(None, ValidationError(message, code=STALE))
        return cleaned

    def is_valid(self) -> bool:
        return not is_restored(self.data) and super().is_valid()

    def _newer_version(self) -> datetime | None:
        """Return when the row was last saved, if that was after this form was opened."""
        # Locked until this save is done, so that two saves cannot happen at the same time.
        rows = self._meta.model._default_manager.select_for_update()  # noqa: SLF001
        saved_at = rows.values_list("updated_at", flat=True).get(pk=self.instance.pk)
        known = (self.data.get(self.add_prefix("version")), self.data.get("_overwrite"))
        return None if saved_at.isoformat() in known else saved_at

    @property
    def overwritable(self) -> str:
        """The version that `_overwrite` must name to replace it; empty if there is no conflict."""
        if not self.is_bound or not self.has_error(NON_FIELD_ERRORS, STALE):
            return ""
        rows = self._meta.model._default_manager  # noqa: SLF001 - how Django names it
        version: datetime = rows.values_list("updated_at", flat=True).get(pk=self.instance.pk)
        return version.isoformat()


@dataclass(frozen=True, slots=True)
class ListedError:
    """An error as listed at the top of the page; `anchor` is the id of the field to fix."""

    where: str
    message: str
    anchor: str


def problems_of(form: forms.BaseForm, where: str, fallback: str) -> Iterator[ListedError]:
    """List the errors of one form; `fallback` is the anchor of errors without a field."""
    for name, errors in form.errors.items():
        field = form[name] if name in form.fields else None
        if field is not None and isinstance(field.field, ListRows) and field.field.explains(errors):
            yield from problems_of_rows(field.field.formset, where)
            continue
        is_seen = field is not None and not field.is_hidden
        label = str(field.label) if field is not None and is_seen else ""
        if where and not label[:2].isupper():  # as in "JSON Schema"
            label = label[:1].lower() + label[1:]
        place = ", ".join(filter(None, [where, label]))
        anchor = (field.id_for_label if field is not None and is_seen else "") or fallback
        for message in errors:
            yield ListedError(place, str(message), anchor)


def problems_of_rows(formset: Any, where: str = "") -> Iterator[ListedError]:
    """List the errors of rows, and of the rows inside them: "Turn 2, check 1"."""
    name = formset.row_name
    prefix = f"{where}, {name}" if where else name.capitalize()
    for message in formset.non_form_errors():
        yield ListedError(where, str(message), f"{formset.prefix}-rows")
    for number, row in enumerate(formset.kept_rows, 1):
        place = getattr(row, "place", "") or f"{prefix} {number}"
        for part in row.parts:
            yield from problems_of(part, place, f"{row.prefix}-row")
        for nested in getattr(row, "nested_formsets", []):
            yield from problems_of_rows(nested.formset, place)


def with_plain_newlines(posted: QueryDict) -> QueryDict:
    """Return the same data with LF line ends: browsers send CR LF, files and agents use LF."""
    plain = posted.copy()
    for name, values in posted.lists():
        plain.setlist(name, [str(value).replace("\r\n", "\n") for value in values])
    return plain


class Editor(FewScripts, KeepsTexts, ModelAdmin):
    """A fast list, and a page that explains errors and never loses typed text."""

    paginator = InfinitePaginator
    show_full_result_count = False
    list_disable_select_all = True  # it would say how many there are
    list_per_page = 50
    warn_unsaved_form = True
    change_form_template = "admin/editor.html"

    class Media:
        js = ["fixtures_app/rows.js"]
        css = {"all": ["fixtures_app/rows.css", "fixtures_app/grid.css"]}

    def formfield_for_dbfield(
        self, db_field: "Field[Any, Any]", request: HttpRequest, **kwargs: object
    ) -> forms.Field | None:
        field: forms.Field | None = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field and isinstance(field.widget, RelatedFieldWidgetWrapper) and not self.opens_windows:
            field.widget = field.widget.widget
        return field

    def get_paginator(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> "Paginator[object]":
        # Django uses it for the history, too, which shows the number of entries.
        kind = Paginator if queryset.model is LogEntry else self.paginator
        return kind(queryset, *args, **kwargs)

    def get_prepopulated_fields(
        self, request: HttpRequest, obj: object = None
    ) -> dict[str, Sequence[str]]:
        # Files and other rows refer to a slug, so a new name does not change it.
        return {} if obj else self.prepopulated_fields

    def more_problems(self, form: object) -> Iterator[ListedError]:
        """List the errors of rows that are not inlines."""
        yield from ()

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST":
            posted: Any = with_plain_newlines(request.POST)
            request.POST = posted
        page = super().changeform_view(request, *args, **kwargs)
        return note_saved(request, page) if request.method == "POST" else page

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        form = context["adminform"].form
        formsets = [inline.formset for inline in context["inline_admin_formsets"]]
        context["is_restored"] = is_restored(form.data)
        if context["is_restored"]:
            forget_errors(form, formsets)
        elif form.is_bound:
            problems = list(problems_of(form, "", "content-main"))
            for formset in formsets:
                if isinstance(formset, OrderedFormSet):
                    problems += problems_of_rows(formset)
            problems += self.more_problems(form)
            context["problems"] = list(dict.fromkeys(problems))
        if context["adminform"].prepopulated_fields:
            context["media"] = super(FewScripts, self).media + context["media"]
        # Our list has more details than Unfold's banner.
        context["errors"] = []
        return super().render_change_form(request, context, *args, **kwargs)

    def construct_change_message(
        self,
        request: HttpRequest,
        form: forms.BaseForm,
        formsets: Any,  # a list
        add: bool = False,  # noqa: FBT001, FBT002 - Django's signature
    ) -> list[dict[str, Any]]:
        others = [formset for formset in formsets if not isinstance(formset, OrderedFormSet)]
        changes = super().construct_change_message(request, form, others, add)
        if add:
            return changes
        for formset in formsets:
            if isinstance(formset, OrderedFormSet):
                changes += row_changes(formset)
        return changes
