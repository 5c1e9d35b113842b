"""Fields of values and of conditions on values: name, comparison, kind, value."""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError

from evals_app.admin.kit.lines import (
    Line,
    LineColumn,
    LinesField,
    LinesWidget,
    TypedLines,
    keyed_lines,
    read_at,
)
from evals_app.admin.kit.values import KINDS, needs_text, read_value, write_value
from fixtures_app.ground.json_data import canonical

VALUE_HELP = "Choose “number” for 14 and “text” for “14”: to an agent they differ."
MATCHERS_HELP = f"{VALUE_HELP} Several values: a, b, c."

MUSTS: tuple[tuple[str, str], ...] = (
    ("equals", "is exactly"),
    ("fuzzy", "is close to"),
    ("contains", "contains"),
    ("regex", "matches pattern"),
    ("any_of", "is one of"),
    ("present", "is present"),
    ("absent", "is absent"),
)
_WITHOUT_VALUE = {"present": True, "absent": False}
_KIND = LineColumn("kind", "Kind of value", kind="select", choices=KINDS)
_VALUE = LineColumn("value", "Value")
_MUST = LineColumn("must", "Comparison", kind="select", choices=MUSTS)


class ValueLines(LinesField):
    """A mapping from names to plain values."""

    def __init__(self, *, key_label: str, names: str = "", **kwargs: object) -> None:
        super().__init__([LineColumn("key", key_label, names=names), _VALUE, _KIND], **kwargs)
        self.key_label = key_label

    def to_lines(self, value: Any) -> Iterable[Line]:
        for key, item in dict(value).items():
            kind, text = write_value(item)
            yield {"key": key, "kind": kind, "value": text}

    def read(self, lines: TypedLines) -> dict[str, Any]:
        return {
            key: _read(number, line) for number, key, line in keyed_lines(lines, self.key_label)
        }


class MatcherLines(LinesField):
    """Conditions on arguments or fields, by their names."""

    def __init__(self, *, noun: str = "Argument", names: str = "", **kwargs: object) -> None:
        super().__init__([LineColumn("key", noun, names=names), _MUST, _VALUE, _KIND], **kwargs)
        self.noun = noun

    def to_lines(self, value: Any) -> Iterable[Line]:
        return ({"key": key, **write_matcher(matcher)} for key, matcher in dict(value).items())

    def read(self, lines: TypedLines) -> dict[str, Any]:
        return {
            key: read_matcher(number, line) for number, key, line in keyed_lines(lines, self.noun)
        }


UNSAID = object()  # the value of a blank input where null, "", [] and {} are values


class _OneMatcher(LinesWidget):
    """A line without a button for another one."""

    is_single = True

    def is_typed(self, line: Line) -> bool:
        needs_value = line["must"] not in _WITHOUT_VALUE and needs_text(line["kind"])
        return bool(line["value"].strip()) or not needs_value


class MatcherField(LinesField):
    """A condition on one value; `UNSAID` if blank."""

    def __init__(self, **kwargs: object) -> None:
        columns = [_MUST, _VALUE, _KIND]
        super().__init__(columns, **kwargs)
        self.widget = _OneMatcher(columns)

    def prepare_value(self, value: object) -> TypedLines:
        if value is UNSAID:
            return TypedLines()
        return value if isinstance(value, TypedLines) else TypedLines(self.to_lines(value))

    def to_lines(self, value: object) -> Iterable[Line]:
        return [write_matcher(value)]

    def read(self, lines: TypedLines) -> Any:
        return read_matcher(None, lines[0]) if lines else UNSAID

    def has_changed(self, initial: object, data: object) -> bool:
        # As texts, because 1 == True.
        try:
            value = self.to_python(data)
        except ValidationError:
            return True
        before, after = ([] if item is UNSAID else [item] for item in (initial, value))
        return canonical(before) != canonical(after)


def write_matcher(matcher: object) -> Line:
    """Write a matcher as a comparison, a kind and a value; what has none of its own as JSON."""
    must, operand = _taken_apart(matcher)
    kind, text = ("text", "") if must in _WITHOUT_VALUE else _write_operand(must, operand)
    return {"must": must, "kind": kind, "value": text}


def _taken_apart(matcher: object) -> tuple[str, object]:
    if isinstance(matcher, dict) and len(matcher) == 1:
        ((key, operand),) = matcher.items()
        if key == "present" and isinstance(operand, bool):
            return ("present" if operand else "absent"), None
        if key in {"fuzzy", "contains", "regex", "any_of"}:
            return key, operand
    return "equals", matcher


def _write_operand(must: str, operand: object) -> tuple[str, str]:
    if must == "regex" and isinstance(operand, str):
        return "text", operand
    if must == "any_of" and isinstance(operand, list):
        written = [write_value(item) for item in operand]
        kinds = {kind for kind, _ in written}
        is_plain = not any("," in text for _, text in written)
        if is_plain and kinds in ({"text"}, {"number"}):
            return kinds.pop(), ", ".join(text for _, text in written)
    return write_value(operand)


def read_matcher(number: int | None, line: Line) -> object:
    """Read the matcher of a line.

    Raises:
        ValidationError: naming the line, if it has a number.
    """
    must, kind, text = line["must"] or "equals", line["kind"], line["value"]
    if must in _WITHOUT_VALUE:
        return {"present": _WITHOUT_VALUE[must]}
    if must == "regex" and kind != "json":
        return {"regex": text}  # a pattern is always text, with its spaces
    if must == "any_of" and kind in {"text", "number"}:
        parts = [part for part in text.split(",") if part.strip()]
        return {"any_of": [_read(number, line | {"value": part}) for part in parts]}
    value = _read(number, line)
    return value if must == "equals" else {must: value}


def _read(number: int | None, line: Line) -> object:
    where = f"Line {number}" if number else ""
    if needs_text(line["kind"]) and not line["value"].strip():
        problem = (
            'The value is missing. For an empty text, choose “list or object (JSON)” and enter "".'
        )
        raise ValidationError(f"{where}: {problem}" if where else problem)
    return read_at(where, line["value"], lambda text: read_value(line["kind"], text))
