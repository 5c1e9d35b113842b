"""A field for a number or a text, as an option that is compared with what an agent wrote."""

import json
from typing import Any

from django import forms


class _AsTyped(str):
    """A typed text, as opposed to a stored one."""

    __slots__ = ()


class _TypedField(forms.CharField):
    """Distinguishes typed from stored values."""

    def bound_data(self, data: object, initial: object) -> object:
        return _AsTyped(data) if isinstance(data, str) else data


class NumberOrText(_TypedField):
    """A number if it reads as one, else a text; digits in quotes are a text."""

    def prepare_value(self, value: object) -> object:
        if value is None or isinstance(value, _AsTyped):
            return value
        is_plain = isinstance(value, str) and self.to_python(value) == value
        return value if is_plain else json.dumps(value, ensure_ascii=False)

    def to_python(self, value: object) -> Any:
        text = str(super().to_python(value))
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(read, str):
            return read
        is_number = isinstance(read, int | float) and not isinstance(read, bool)
        return read if is_number and read - read == 0 else text  # NaN and Infinity are texts

    def has_changed(self, initial: object, data: object) -> bool:
        # Blank is None or an empty text; 0 is neither.
        values = (initial, self.to_python(data))
        before, after = (None if value == "" else value for value in values)
        return bool(before != after)

    def run_validators(self, value: object) -> None:
        if isinstance(value, str):
            super().run_validators(value)
