"""Rows that are not stored as rows, for example the fields of an entity type."""

from typing import Any

from django import forms
from django.forms import BaseFormSet

from fixtures_app.editing.rows import InOrder, PositionField, RowState


class PlainRow(RowState, forms.Form):
    """One row. An added row counts, even if it is empty."""

    position = PositionField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.empty_permitted = False


class PlainRows(InOrder, BaseFormSet):
    """Rows in the order of the screen; removed rows are not checked."""

    def is_valid(self) -> bool:
        return (
            self.is_bound
            and not self.non_form_errors()
            and not any(r.errors for r in self.kept_rows)
        )
