"""Inputs for money."""

from decimal import Decimal
from typing import Any

from django import forms

from evals_app.models.fields.money import DIGITS, PLACES


class UsdInput(forms.DecimalField):
    """An amount in USD, shown without trailing zeros."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_digits=DIGITS, decimal_places=PLACES, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return f"{value.normalize():f}" if isinstance(value, Decimal) else value
