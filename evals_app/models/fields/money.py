"""Money in the database."""

from decimal import Decimal
from typing import Any

from django.core.validators import MinValueValidator
from django.db import models

from evals_app.engine.basics.decimals import USD_PLACES

DIGITS, PLACES = 20, USD_PLACES


class UsdField(models.DecimalField):  # type: ignore[type-arg]  # it takes none when it runs
    """USD, not below 0, to a billionth: what one token of a cheap model costs."""

    default_validators = [MinValueValidator(Decimal(0))]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"max_digits": DIGITS, "decimal_places": PLACES} | kwargs)
