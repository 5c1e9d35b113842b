"""A list of objects as ordered rows in one field, for lists that are not stored as rows.

They look and behave like the rows in `rows`: the same templates, the same script, the same errors at
the top of the page. A row may itself have fields of this kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.forms.renderers import get_default_renderer
from django.forms.utils import ErrorList
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from fixtures_app.editing.rows import PositionField, RowField, read_position

MAX_ROWS = 1000


@dataclass(frozen=True, slots=True)
class RowsLook:
    """How rows are shown; the template names of `RowsInline`."""

    row_template: str
    add_label: str
    handle: str
    opens_with_row: bool = False
    list_class: str = ""
    shared_blank: str = ""
    add_action: str = "add"


@dataclass(frozen=True, slots=True)
class NestedRows:
    """Rows inside a row, as Unfold describes nested ones."""

    formset: "ListFormSet"


class ListRow(forms.Form):
    """One object of the list. `fields_of` and `read` translate it to fields and back."""

    use_required_attribute = False
    bound_field_class = RowField
    position = PositionField()
    initial_item: Any = None  # the object as it was stored

    def __init__(self, *args: Any, item: object = None, **kwargs: Any) -> None:
        self.initial_item = item
        self.is_added = item is None
        initial = self.fields_of(item) if item is not None else {}
        super().__init__(*args, **kwargs | {"initial": initial | kwargs.get("initial", {})})
        for name, field in self.fields.items():
            if isinstance(field, ListRows):
                field.attach(self, name)

    @classmethod
    def fields_of(cls, item: object) -> dict[str, object]:
        """Return the initial values of the fields for an object."""
        raise NotImplementedError

    def read(self) -> Any:
        """Return the object that valid fields describe."""
        raise NotImplementedError

    def put(self, loc: tuple[Any, ...], message: str) -> None:
        """Show an error of the object at the field of its place."""
        self.add_error(None, message)

    @property
    def is_removed(self) -> bool:
        return self.is_bound and bool(self.data.get(self.add_prefix("DELETE")))

    @property
    def parts(self) -> list[forms.BaseForm]:
        return [self]

    @property
    def has_errors(self) -> bool:
        return self.is_bound and not self.is_removed and bool(self.errors)

    @property
    def title(self) -> str:
        """The title of a closed row."""
        return ""

    @property
    def nested_formsets(self) -> list[NestedRows]:
        fields = self.fields.values()
        return [NestedRows(field.formset) for field in fields if isinstance(field, ListRows)]


class ListFormSet:
    """The rows of one list, in the order of the screen."""

    def __init__(
        self,
        row: type[ListRow],
        *,
        name: str,
        prefix: str,
        items: Sequence[object],
        data: Any = None,
    ) -> None:
        self.row_name = name
        self.prefix = prefix
        self.is_bound = data is not None
        self._row = row
        self._data = data
        self._items = items
        self.initial_form_count = self._count("INITIAL") if self.is_bound else len(items)
        self.total_form_count = self._count("TOTAL") if self.is_bound else len(items)
        self.forms = [self._form(number) for number in range(self.total_form_count)]

    def _count(self, what: str) -> int:
        posted = read_position(self._data.get(f"{self.prefix}-{what}_FORMS", "0"))
        return min(posted, MAX_ROWS)

    def _form(self, number: int) -> ListRow:
        is_stored = number < min(self.initial_form_count, len(self._items))
        item = self._items[number] if is_stored else None
        prefix = f"{self.prefix}-{number}"
        initial = {"position": number}
        return self._row(self._data, item=item, prefix=prefix, initial=initial)

    @property
    def empty_form(self) -> ListRow:
        return self._row(prefix=f"{self.prefix}-__prefix__")

    @property
    def rows(self) -> list[ListRow]:
        """Every row in the order of the screen."""
        return sorted(self.forms, key=lambda row: read_position(row["position"].value()))

    @property
    def kept_rows(self) -> list[ListRow]:
        """The rows that are not removed, in the order of the screen."""
        return [row for row in self.rows if not row.is_removed]

    def non_form_errors(self) -> list[str]:
        return []

    def is_valid(self) -> bool:
        # Every row is validated, so that all of them show their errors.
        return not [row for row in self.kept_rows if not row.is_valid()]

    def items(self) -> list[Any]:
        """Return the objects of valid rows."""
        return [row.read() for row in self.kept_rows]


class ListRowsWidget(forms.Widget):
    """Shows the rows of its formset, which `ListRows.attach` sets."""

    formset: ListFormSet
    template = "admin/rows/list.html"
    use_fieldset = True

    def __init__(self, look: RowsLook) -> None:
        super().__init__()
        self.look = look

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        context = {"formset": self.formset, "inline": self.look}
        html = (renderer or get_default_renderer()).render(self.template, context)
        return mark_safe(html)  # noqa: S308 - a template rendered it

    def value_from_datadict(self, data: object, files: object, name: str) -> ListFormSet:
        return self.formset

    def value_omitted_from_data(self, data: object, files: object, name: str) -> bool:
        return False

    def id_for_label(self, id_: str) -> str:
        return ""  # every input of a row has its own label


class ListRows(forms.Field):
    """A list of objects, each a row; its value is the list."""

    widget: Any
    formset: ListFormSet
    ROWS: ClassVar[str] = "rows"  # the code of its error, which the rows explain

    def __init__(self, row: type[ListRow], *, name: str, look: RowsLook, **kwargs: Any) -> None:
        super().__init__(required=False, widget=ListRowsWidget(look), **kwargs)
        self.row = row
        self.row_name = name

    def attach(self, form: Any, name: str) -> None:
        """Make the rows of this field of a form."""
        items = form.initial.get(name)
        self.formset = self.widget.formset = ListFormSet(
            self.row,
            name=self.row_name,
            prefix=form.add_prefix(name),
            items=items if isinstance(items, list) else [],
            data=form.data if form.is_bound else None,
        )

    def clean(self, value: object) -> list[Any]:
        if not self.formset.is_valid():
            raise self.refusal()
        return self.formset.items()

    def readonly_rows(self) -> SafeString:
        """Return the rows for people who may not change them."""
        rows = self.widget.render("", None)
        return format_html('<fieldset disabled class="ew-readonly">{}</fieldset>', rows)

    def refusal(self) -> ValidationError:
        """Return the error of a list of which a row is wrong."""
        return ValidationError("Fix the rows above.", code=self.ROWS)

    def explains(self, errors: ErrorList) -> bool:
        """Whether the rows show what these errors of the field are about."""
        return all(error.code == self.ROWS for error in errors.as_data())

    def has_changed(self, initial: object, data: object) -> bool:
        return not self.formset.is_valid() or self.formset.items() != (initial or [])
