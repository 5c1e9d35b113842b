"""The sheets of an import with their columns, each with its fields once."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.forms import BoundField

from evals_app.admin.importing.import_forms import ColumnsForm
from evals_app.formats.table_mapping import ColumnShown, SheetShown, TextsShown


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column with its field, and what is said of its texts, each with the field of their kind."""

    column: ColumnShown
    field: BoundField | None
    texts: list[tuple[TextsShown, BoundField | None]]


@dataclass(frozen=True, slots=True)
class SheetView:
    """A sheet with its columns, what is asked first."""

    sheet: SheetShown
    title: str
    columns: list[ColumnView]


def show_sheets(sheets: Iterable[SheetShown], form: ColumnsForm) -> list[SheetView]:
    """Return sheets to show. A column or a kind of answers that an earlier one has, has no field."""
    used: set[str] = set()

    def once(field: BoundField | None) -> BoundField | None:
        if field is None or field.name in used:
            return None
        used.add(field.name)
        return field

    views = []
    for sheet in sheets:
        columns = sorted(sheet.columns, key=lambda column: not column.is_asked)
        shown = [
            ColumnView(
                column,
                once(form.column_field(column.header)),
                [(texts, once(form.kind_field(texts.kind or ""))) for texts in column.texts],
            )
            for column in columns
        ]
        title = f"{sheet.path}, sheet {sheet.name}" if sheet.name else sheet.path
        views.append(SheetView(sheet, title, shown))
    return views
