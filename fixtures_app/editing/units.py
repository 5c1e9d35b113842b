"""Numbers in readable units: a share in percent, milliseconds in seconds.

A field of a spec states the unit of its value: `json_schema_extra={"unit": "share"}`. Files, REST and
rows have that value; only forms show it as "90 %" or "2.5 s".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from fixtures_app.editing.inputs import TextInput


@dataclass(frozen=True, slots=True)
class Unit:
    """How a value is shown; `signs` maps each sign to its worth, the usual sign first."""

    signs: Mapping[str, Decimal]
    example: float

    @property
    def sign(self) -> str:
        return next(iter(self.signs))

    def to_text(self, value: float) -> str:
        """Return a value for people: 90 %, 2.5 s."""
        number = Decimal(repr(value)) / self.signs[self.sign]
        return f"{number.normalize():f} {self.sign}"


UNITS: dict[str, Unit] = {
    "share": Unit({"%": Decimal("0.01")}, 0.9),
    "ms": Unit({"s": Decimal(1000), "ms": Decimal(1), "min": Decimal(60_000)}, 2500),
    "s": Unit({"s": Decimal(1), "ms": Decimal("0.001"), "min": Decimal(60)}, 30),
}
_QUANTITY = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,15})?) ?([^\s0-9.]*)")


LONG_S = 3_000.0  # 50 times the usual limit of a minute


class QuantityField(forms.Field):
    """A number with its unit; a number alone is in the usual one.

    0.9 without a sign may mean 0.9 % or 90 %, so it is refused. So is 20000 as a time: it may be in
    seconds or, as in files, in milliseconds.
    """

    def __init__(
        self,
        unit: str,
        *,
        example: float | None = None,
        is_whole: bool = False,
        bounds: Mapping[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        self.unit = UNITS[unit]
        self.is_share = unit == "share"
        self.is_whole = is_whole
        self.bounds = bounds or {}
        self.example = self.unit.to_text(example or self.unit.example)
        super().__init__(**{"widget": TextInput, **kwargs})
        self.widget.attrs |= {"inputmode": "decimal"}
        self.widget.attrs.setdefault("placeholder", f"for example {self.example}")

    def prepare_value(self, value: Any) -> object:
        is_stored = isinstance(value, int | float) and not isinstance(value, bool)
        return self.unit.to_text(value) if is_stored else value  # otherwise as typed

    def to_python(self, value: object) -> float | None:
        if value is None or isinstance(value, int | float):
            return value
        text = " ".join(str(value).split())
        return self._read(text) if text else None

    def _read(self, text: str) -> float:
        read = _QUANTITY.fullmatch(text)
        sign = (read[2] or self.unit.sign) if read else ""
        if read is None or sign not in self.unit.signs:
            raise ValidationError(
                f"“{text}” is not a valid value. Enter a number in {self.unit.sign}, for example"
                f" {self.example}."
            )
        number = Decimal(read[1])
        if self.is_share and not read[2] and 0 < number <= 1:
            share = self.unit.to_text(float(number))
            raise ValidationError(
                f"“{text}” is not clear. Enter “{share}”, or “{text} %” if you mean less."
            )
        if problem := self.doubt(text):
            raise ValidationError(problem)
        value = number * self.unit.signs[sign]
        if not self.is_whole:
            return float(value)
        if value != int(value):
            raise ValidationError(f"“{text}” is not a valid value. Give at most 3 decimals.")
        return int(value)

    def doubt(self, typed: object, *, long_s: float = LONG_S) -> str:
        """Return a question about a bare number that would be a very long time in seconds."""
        text = str(typed or "").strip()
        is_alone = re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text) is not None
        if self.is_share or not is_alone or float(text) < long_s:
            return ""
        return f"“{text}” is not clear. Enter “{text} s” or “{text} ms”."

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value is None:
            return
        for name, bound in self.bounds.items():
            is_kept, words = _BOUNDS[name]
            if not is_kept(value, bound):
                given, limit = self.unit.to_text(value), self.unit.to_text(bound)
                raise ValidationError(f"“{given}” is not possible: it must be {words} {limit}.")

    def has_changed(self, initial: object, data: object) -> bool:
        try:
            return self.to_python(initial) != self.to_python(data)
        except ValidationError:
            return True


_BOUNDS: dict[str, Any] = {
    "ge": (lambda value, bound: value >= bound, "at least"),
    "gt": (lambda value, bound: value > bound, "more than"),
    "le": (lambda value, bound: value <= bound, "at most"),
    "lt": (lambda value, bound: value < bound, "less than"),
}


def in_usual_unit(label: str) -> str:
    """Return a label with the unit of forms instead of that of files: Max time (s)."""
    return re.sub(r" \(ms\)$", " (s)", label)
