"""Inputs for money and days."""

from datetime import date
from decimal import Decimal
from typing import Any

from django import forms

from evals_app.models.money import DIGITS, PLACES
from fixtures_app.editing.inputs import TextInput


class UsdInput(forms.DecimalField):
    """An amount in USD, shown without trailing zeros."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_digits=DIGITS, decimal_places=PLACES, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return f"{value.normalize():f}" if isinstance(value, Decimal) else value


class DayInput(TextInput):
    """A day, with the date picker of the browser."""

    input_type = "date"

    def format_value(self, value: Any) -> str | None:
        if isinstance(value, date):
            return value.isoformat()
        return None if value in {None, ""} else str(value)
