"""Inputs for money and days."""

from datetime import date
from decimal import Decimal
from typing import Any

from django import forms

from evals_app.models.money import DIGITS, PLACES
from fixtures_app.admin.inputs import TextInput


class UsdInput(forms.DecimalField):
    """An amount in USD; shown without the zeros that a database adds."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_digits=DIGITS, decimal_places=PLACES, **kwargs)

    def prepare_value(self, value: Any) -> Any:  # noqa: ANN401 - an amount, or text as typed
        return f"{value.normalize():f}" if isinstance(value, Decimal) else value


class DayInput(TextInput):
    """A day, as browsers let people choose one."""

    input_type = "date"

    def format_value(self, value: Any) -> str | None:  # noqa: ANN401 - a day, or text as typed
        if isinstance(value, date):
            return value.isoformat()
        return None if value in {None, ""} else str(value)
