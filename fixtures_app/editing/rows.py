"""Ordered rows on one page: added, removed, restored, moved, and saved together.

The page keeps every row at its original index and posts its order as `position`; a removed
row stays and posts DELETE. So rows are never renumbered, and typed text survives an error.
"""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.auth import get_permission_codename
from django.db import models
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from unfold.admin import StackedInline

from fixtures_app.editing.inputs import HiddenInput

_LAST = 2**31 - 1


def read_position(value: object) -> int:
    """Read a posted position; an invalid one counts as 0."""
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        return 0
    return int(text) if len(text) < len(str(_LAST)) else _LAST


class PositionField(forms.Field):
    """The position of a row on the screen; never a reason to refuse a save."""

    widget = HiddenInput

    def __init__(self) -> None:
        super().__init__(required=False, initial=0)

    def to_python(self, value: object) -> int:
        return read_position(value)

    def has_changed(self, initial: object, data: object) -> bool:
        return read_position(initial) != read_position(data)


class RowField(forms.BoundField):
    """A field of a row; screen readers do not read its star.

    Only this attribute: with `required`, a browser would refuse to save because of a removed row.
    """

    def build_widget_attrs(
        self, attrs: dict[str, Any], widget: forms.Widget | None = None
    ) -> dict[str, Any]:
        built = super().build_widget_attrs(attrs, widget)
        if self.field.required and not self.is_hidden:
            built["aria-required"] = "true"
        return built


class RowState:
    """The state of a row on a page, with or without a model."""

    bound_field_class: type[forms.BoundField] | None = RowField

    @property
    def is_removed(self: Any) -> bool:
        """Whether the page removes this row."""
        return self.is_bound and bool(self.data.get(self.add_prefix("DELETE")))

    @property
    def parts(self: Any) -> list[forms.BaseForm]:
        """The forms that make up the row; each may have errors."""
        return [self]

    @property
    def has_errors(self: Any) -> bool:
        return self.is_bound and not self.is_removed and any(part.errors for part in self.parts)


class InOrder:
    """Rows in the order of the screen."""

    row_name = "row"  # what people call one of them

    @property
    def rows(self: Any) -> list[Any]:
        """Every row in the order of the screen; Django orders them by index."""
        rows = self.forms
        return sorted(rows, key=lambda row: read_position(row["position"].value()))

    @property
    def kept_rows(self: Any) -> list[Any]:
        """The rows that are not removed, in the order of the screen."""
        return [row for row in self.rows if not row.is_removed]


class RowForm(RowState, forms.ModelForm):
    """One row. An added row counts, even if it is empty."""

    position = PositionField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The history is written after the save, when the difference is gone.
        self.is_added = self.instance._state.adding  # noqa: SLF001 - how Django does it

    def has_changed(self) -> bool:
        # Otherwise an empty new row would disappear silently.
        return self.is_added or super().has_changed()

    @property
    def title(self) -> str:
        """The title of a closed row."""
        return str(self.instance) if self.instance.pk else ""


_PREFILLED = "prefilled_rows"


def prefill(owner: models.Model, rows: Sequence[models.Model]) -> None:
    """Open a page with unsaved rows of an unsaved owner."""
    setattr(owner, _PREFILLED, rows)


class OrderedFormSet(InOrder, BaseInlineFormSet):
    """Rows of one owner, in the order of the screen."""

    @property
    def _prefilled_rows(self) -> list[object]:
        if self.is_bound:
            return []
        model: Any = self.model
        rows: Sequence[models.Model] = getattr(self.instance, _PREFILLED, ())
        return [row for row in rows if isinstance(row, model)]

    def total_form_count(self) -> int:
        return int(super().total_form_count()) + len(self._prefilled_rows)

    def get_queryset(self) -> Any:
        if not hasattr(self, "_queryset"):
            loaded = getattr(self.instance, "_prefetched_objects_cache", {})
            name = self.fk.remote_field.get_accessor_name()
            if name not in loaded:
                return super().get_queryset()
            self._queryset = list(loaded[name])
        return self._queryset

    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        name = self._key_name
        # Django's own field asks the database about each row that is posted.
        form.fields[name] = forms.IntegerField(
            required=False, widget=HiddenInput, initial=form.fields[name].initial
        )

    @property
    def _key_name(self) -> str:
        model: Any = self.model
        name: str = model._meta.pk.name  # noqa: SLF001 - the documented API of models
        return name

    def _construct_form(self, i: int, **kwargs: object) -> object:
        django: Any = super()
        added = i - self.initial_form_count()
        if 0 <= added < len(self._prefilled_rows):
            kwargs["instance"] = self._prefilled_rows[added]
        if self.is_bound and added < 0:
            posted = self.data.get(f"{self.add_prefix(i)}-{self._key_name}", "")
            if read_position(posted) not in self._known_keys():
                # Someone else has removed it; saving it writes a new row.
                model: Any = self.model
                kwargs["instance"] = model(**{self.fk.name: self.instance})
        return django._construct_form(i, **kwargs)  # noqa: SLF001 - the hook of formsets

    def _known_keys(self) -> set[int]:
        return {row.pk for row in self.get_queryset()}

    def save_existing_objects(self, commit: bool = True) -> list[object]:  # noqa: FBT001, FBT002
        saved = super().save_existing_objects(commit)
        rows: list[Any] = self.initial_forms
        for row in rows:
            if row.instance.pk is None and not row.is_removed:
                saved.append(self.save_new(row, commit=commit))
        return saved


def row_changes(formset: OrderedFormSet) -> list[dict[str, Any]]:
    """Return the changes of the rows, and of the rows inside them, for the history of the page."""
    changes: list[dict[str, object]] = []
    for row in formset.rows:
        about = {"name": formset.row_name, "object": str(row.instance)}
        if row.is_removed:
            changes += [] if row.is_added else [{"deleted": about}]
            continue
        if row.is_added:
            changes.append({"added": about})
        elif row.has_changed():
            changed = [
                str(part.fields[field].label or field)
                for part in row.parts
                for field in part.changed_data
            ]
            changes.append({"changed": about | {"fields": changed}})
        for nested in getattr(row, "nested_formsets", []):
            changes += row_changes(nested.formset)
    return changes


class KeepsTexts:
    """Forms that save texts unchanged, including an empty last line, as files do."""

    def formfield_for_dbfield(
        self, db_field: "models.Field[object, object]", request: HttpRequest, **kwargs: object
    ) -> forms.Field | None:
        django: Any = super()
        field: forms.Field | None = django.formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(db_field, models.TextField) and isinstance(field, forms.CharField):
            field.strip = False
        return field


class RowsInline(KeepsTexts, StackedInline):
    """Rows without permissions of their own: anyone who may change the page may change them.

    With Django's four permissions for each model, a person without "delete" would see a Remove
    button that does nothing.
    """

    form = RowForm
    formset = OrderedFormSet
    extra = 0
    template = "admin/rows/inline.html"
    row_template = "admin/rows/row.html"
    page_model: type[models.Model]
    hint = ""  # a sentence above the rows
    add_label = "Add a row"
    add_action = "add"  # what the button does: data-add adds a blank row
    handle = "ew-drag"  # class of the handle that drags a row
    list_class = ""
    opens_with_row = False  # whether an empty list starts with an empty row
    shared_blank = ""  # name of an empty row that several lists of the page share
    media = forms.Media()  # our script adds rows, not Django's with jQuery

    def _may(self, request: HttpRequest, action: str) -> bool:
        options = self.page_model._meta  # noqa: SLF001 - the documented API of models
        return request.user.has_perm(
            f"{options.app_label}.{get_permission_codename(action, options)}"
        )

    def has_add_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return self._may(request, "change" if obj is not None and obj.pk else "add")

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return self._may(request, "view") or self.has_add_permission(request, obj)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        # The page has checked permissions; Django would check again without the page.
        rows = self.model._default_manager.all()  # noqa: SLF001
        return rows.order_by("position", "pk")
