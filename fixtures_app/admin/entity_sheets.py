"""All entities of a fixture, one grid for each type. They check the whole fixture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from pydantic import ValidationError

from fixtures_app.admin.entity_rows import EntityForm, EntitySheet, make_sheet
from fixtures_app.admin.fixture_rows import ChunkForm, FixtureFormSet, RelationForm
from fixtures_app.editing.spec_errors import add_row_errors, problems_in
from fixtures_app.ground.json_data import DataProblem
from fixtures_app.library import known_schemas
from fixtures_app.spec import FixtureSpec

MAX_COLUMNS = 200  # that a page may add to a type
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "entities": {"ref": "ref", "status": "status"},
    "relations": RelationForm.keys,
    "chunks": ChunkForm.keys,
}


@dataclass(frozen=True)
class ShownSheet:
    """A sheet on the page, with its rows and an empty one."""

    sheet: EntitySheet
    rows: Sequence[EntityForm]
    blank: EntityForm

    @property
    def count(self) -> int:
        return sum(not row.is_removed for row in self.rows)


class EntityFormSet(FixtureFormSet):
    """The entities; they check the whole fixture, because everything refers to them."""

    row_name = "entity"
    others: "dict[str, FixtureFormSet]" = {}
    spec: FixtureSpec | None = None

    @cached_property
    def schemas(self) -> dict[str, dict[str, Any]]:
        return known_schemas()

    @cached_property
    def sheets(self) -> dict[str, EntitySheet]:
        """The sheets by type, including types that only the posted rows name."""
        stored: dict[str, list[object]] = {}
        for entity in self.get_queryset():
            stored.setdefault(entity.type.slug, []).append(entity.data)
        return {
            slug: make_sheet(slug, schema, stored.get(slug, []), self._posted_columns(slug))
            for slug, schema in self.schemas.items()
        }

    def _posted_columns(self, slug: str) -> list[str]:
        if not self.data:  # an empty form has no lists either
            return []
        posted: Any = self.data
        names: list[str] = posted.getlist(f"{self.prefix}-columns-{slug}")
        return list(filter(None, names))[:MAX_COLUMNS]

    def sheet_of(self, slug: str) -> EntitySheet:
        if slug not in self.sheets:
            self.sheets[slug] = make_sheet(slug, None, [], self._posted_columns(slug))
        return self.sheets[slug]

    def get_form_kwargs(self, index: int | None) -> dict[str, object]:
        kwargs = super().get_form_kwargs(index)
        return kwargs if index is None else {**kwargs, "sheet": self.sheet_of(self._kind(index))}

    def _kind(self, index: int) -> str:
        if self.is_bound:
            return str(self.data.get(f"{self.add_prefix(index)}-kind", ""))
        slug: str = self.get_queryset()[index].type.slug
        return slug

    @property
    def empty_form(self) -> EntityForm:
        return self._blank(make_sheet("", None, [], []))

    def _blank(self, sheet: EntitySheet) -> EntityForm:
        made: Any = self.form
        blank: EntityForm = made(
            auto_id=self.auto_id,
            prefix=self.add_prefix("__prefix__"),
            empty_permitted=True,
            use_required_attribute=False,
            sheet=sheet,
        )
        self.add_fields(blank, None)
        return blank

    @property
    def shown_sheets(self) -> list[ShownSheet]:
        """The sheets in the order of their first entities, then those without any."""
        by_type: dict[str, list[EntityForm]] = {}
        for row in self.rows:
            by_type.setdefault(row.sheet.slug, []).append(row)
        slugs = dict.fromkeys([*by_type, *self.sheets])
        return [
            ShownSheet(self.sheets[slug], by_type.get(slug, []), self._blank(self.sheets[slug]))
            for slug in slugs
        ]

    def clean(self) -> None:
        super().clean()
        rows = {"entities": self.kept_rows} | {
            name: formset.kept_rows for name, formset in self.others.items()
        }
        _refuse_repeated_refs(rows["entities"])
        written = {name: [row.to_mapping() for row in group] for name, group in rows.items()}
        try:
            # Name and slug are checked by the page's own form.
            spec = FixtureSpec.model_validate({"name": "-", "slug": "x", **written})
        except ValidationError as error:
            new = [one for one in problems_in(error) if not _is_known(rows, one)]
            add_row_errors(rows, _FIELDS, new)
        else:
            if not any(row.errors for group in rows.values() for row in group):
                self.spec = spec


def _refuse_repeated_refs(rows: Sequence[EntityForm]) -> None:
    taken: set[str] = set()
    for row in rows:
        ref = row.cleaned_data.get("ref")
        if ref in taken:
            row.add_error("ref", f"Another entity has the ref {ref!r}.")
        taken |= {ref} if ref else set()


def _is_known(rows: Mapping[str, Sequence[forms.BaseForm]], problem: DataProblem) -> bool:
    """Whether the page reports the same already, or its cause."""
    group, number, *rest = problem.loc
    row = rows[str(group)][int(number)]
    field = _FIELDS[str(group)].get(str(rest[0])) if rest else None
    return field in row.errors if field else bool(row.errors)
