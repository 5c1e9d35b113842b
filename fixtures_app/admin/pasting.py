"""Test data from a table that was copied from a spreadsheet: its type and its entities at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify
from pydantic import ValidationError

from fixtures_app.editing.inputs import TextArea, TextInput
from fixtures_app.editing.spec_errors import problems_in
from fixtures_app.ground.field_table import (
    LABELS,
    Field,
    FieldTable,
    fields_of,
    schema_of,
)
from fixtures_app.ground.pasted_tables import entities_of, guess_fields, read_pasted_table
from fixtures_app.ground.words import numbered_name, suggestion
from fixtures_app.library import save_fixture
from fixtures_app.models import EntityType, Fixture
from fixtures_app.spec import FixtureSpec

_MAX_CHARS = 1_000_000
_MAX_SHOWN = 5  # problems


class PastedDataForm(forms.Form):
    """A name, what a row is, and the rows. Valid if all of it can be saved: `spec`."""

    name = forms.CharField(
        label="Name", max_length=200, widget=TextInput, help_text="For example: Shop data"
    )
    kind = forms.CharField(
        label="What is one row?",
        max_length=100,
        widget=TextInput({"list": "entity-types"}),
        help_text="One word, for example order. It is the name of the entity type.",
    )
    cells = forms.CharField(
        label="Rows, with their headings",
        max_length=_MAX_CHARS,
        strip=False,
        widget=TextArea({"class": "ew-input ew-mono", "rows": 10, "spellcheck": "false"}),
        help_text="Copy the cells in your spreadsheet, headings included, and paste them here.",
    )

    def __init__(self, data: Mapping[str, object] | None = None, *, may_add_types: bool) -> None:
        super().__init__(data)
        self.may_add_types = may_add_types
        self.fields_read: tuple[Field, ...] = ()
        self.is_new_type = False
        self.row_numbers: Sequence[int] = ()
        self.spec: FixtureSpec | None = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        kind = "-".join(cleaned["kind"].split())
        try:
            self.spec = self._read(cleaned["name"], kind, cleaned["cells"])
        except ValidationError as error:
            for problem in problems_in(error)[:_MAX_SHOWN]:
                is_kind = problem.loc[:1] == ("entity_types",) and problem.loc[-1:] == ("slug",)
                place = _row_words(problem.loc, self.row_numbers)
                self.add_error("kind" if is_kind else "cells", f"{place}{problem.message}")
        except ValueError as error:
            self.add_error("cells", str(error))
        return cleaned

    def _read(self, name: str, kind: str, cells: str) -> FixtureSpec:
        table = read_pasted_table(cells)
        self.row_numbers = table.numbers
        stored = EntityType.objects.filter(slug=kind).first()
        self.is_new_type = stored is None
        if stored is None and not self.may_add_types:
            known = EntityType.objects.order_by("slug").values_list("slug", flat=True)
            raise ValueError(
                f"The entity type {kind!r} does not exist yet, and only someone else can add it."
                f"{suggestion(kind, known)}"
            )
        self.fields_read = fields_of(stored.schema) if stored else guess_fields(table)
        schema = stored.schema if stored else schema_of(FieldTable(self.fields_read))
        return FixtureSpec.model_validate(
            {
                "name": name,
                "slug": _free_slug(name),
                "entities": entities_of(table, kind, self.fields_read),
                "entity_types": [{"slug": kind, "schema": schema}],
            }
        )


def _row_words(loc: tuple[int | str, ...], numbers: Sequence[int]) -> str:
    """Return the row and the column of a problem, as the spreadsheet counts them."""
    if loc[:1] != ("entities",) or len(loc) == 1:
        return ""
    column = f", {loc[3]}" if loc[2:3] == ("data",) and len(loc) > 3 else ""  # noqa: PLR2004
    return f"Row {numbers[int(loc[1])]}{column}: "


def _free_slug(name: str) -> str:
    wanted = slugify(name).strip("-_") or "test-data"
    return numbered_name(wanted, Fixture.objects.values_list("slug", flat=True), length=100)


def paste_fixture(request: HttpRequest) -> HttpResponse:
    """Ask for a table, and save it as test data with its entity type."""
    may_add = request.user.has_perm("fixtures_app.add_entitytype")
    form = PastedDataForm(request.POST or None, may_add_types=may_add)
    if form.is_bound and form.is_valid() and form.spec:
        try:
            fixture = _save(request, form, form.spec)
        except IntegrityError:
            form.add_error(None, "Someone else has just saved the same name. Save again.")
        else:
            messages.success(request, _outcome(form, form.spec))
            return redirect("admin:fixtures_app_fixture_change", fixture.pk)
    context = {
        **admin.site.each_context(request),
        "opts": Fixture._meta,  # noqa: SLF001 - documented
        "title": "Test data from a spreadsheet",
        "form": form,
        "types": EntityType.objects.order_by("slug").values_list("slug", flat=True),
    }
    return TemplateResponse(request, "admin/fixtures_app/fixture/paste.html", context)


@transaction.atomic
def _save(request: HttpRequest, form: PastedDataForm, spec: FixtureSpec) -> Fixture:
    # Both are new: `save_fixture` alone would replace what someone else has made meanwhile.
    fixture = Fixture.objects.create(slug=spec.slug, name=spec.name)
    _log_addition(request, fixture)
    if form.is_new_type:
        (kind,) = spec.entity_types
        _log_addition(request, EntityType.objects.create(slug=kind.slug, schema=kind.json_schema))
    save_fixture(spec)
    return fixture


def _log_addition(request: HttpRequest, row: Model) -> None:
    pages = admin.site.get_model_admin(type(row))
    pages.log_addition(request, row, [{"added": {}}])


def _outcome(form: PastedDataForm, spec: FixtureSpec) -> SafeString:
    kind, count = spec.entity_types[0].slug, len(spec.entities)
    added = f"{count} {kind} row{'' if count == 1 else 's'} added."
    if not form.is_new_type:
        return format_html("{}", added)
    url = reverse(
        "admin:fixtures_app_entitytype_change", args=[EntityType.objects.get(slug=kind).pk]
    )
    kinds = ", ".join(f"{one.name}: {LABELS[one.kind].lower()}" for one in form.fields_read)
    return format_html(
        '{} Read as {}. Is that right? If not, <a href="{}">change the fields of {}</a>.',
        *(added, kinds, url, kind),
    )
