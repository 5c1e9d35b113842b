"""Fields of several lines: lists and mappings as rows of plain inputs.

The inputs of a column share one name (`getlist`), so lines never need renumbering. Columns are
texts or selects: an unchecked checkbox is not posted and would shift the others. Texts are kept as
they are typed, spaces too: a tool, an argument or a passage may have them.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django import forms
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string

from fixtures_app.admin.json_field import read_json
from fixtures_app.json_data import json_problems
from fixtures_app.library import canonical

Line = dict[str, Any]  # texts by column; a block holds lines of its own


@dataclass(frozen=True, slots=True)
class Column:
    """One input of a line. `key` ends its name; a column without key has the field's own."""

    key: str
    label: str
    kind: Literal["text", "area", "select"] = "text"
    choices: tuple[tuple[str, str], ...] = ()
    placeholder: str = ""
    usual: str = ""  # the choice that goes without saying
    offers: str = ""  # the names that the page offers for it: tools, chunks


class Typed(list[Line]):
    """Lines as they were typed, to tell them from a value."""


class LinesWidget(forms.Widget):
    """Lines of inputs, with a button for another one."""

    template_name = "admin/evals_app/lines.html"

    def __init__(self, columns: Sequence[Column]) -> None:
        super().__init__()
        self.columns = columns

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:  # noqa: ANN401 - Django's signature
        context: dict[str, Any] = super().get_context(name, value, attrs)
        given = context["widget"]["attrs"]
        lines = [self.inputs(name, line) for line in value or [{}]]
        # The label of the field leads to the first input.
        lines[0][0]["id"] = given.get("id", "")
        context["widget"] |= {
            "lines": lines,
            "blank": self.inputs(name, {}),
            "is_invalid": given.get("aria-invalid") == "true",
            "described_by": given.get("aria-describedby", ""),
        }
        return context

    def inputs(self, name: str, line: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Give what the template makes the inputs of a line from."""
        return [
            {
                "name": f"{name}-{column.key}" if column.key else name,
                "column": column,
                "value": (value := line.get(column.key, "")),
                # Browsers take newlines out of an input of one line.
                "is_area": column.kind == "area" or "\n" in value,
            }
            for column in self.columns
        ]

    def _render(self, template_name: str, context: dict[str, Any], renderer: object = None) -> Any:  # noqa: ANN401 - safe text
        # Django looks for the templates of widgets in packages alone.
        return render_to_string(template_name, context)

    def posted(self, data: Any, name: str) -> list[Line]:  # noqa: ANN401 - as a form posts it
        """Give every line of the page, blank ones too."""
        keys = [column.key for column in self.columns]
        posted = [data.getlist(f"{name}-{key}" if key else name) for key in keys]
        # A hand-made request may leave inputs out; lines are as many as the longest column.
        count = max(map(len, posted))
        padded = [[*values, *[""] * (count - len(values))] for values in posted]
        return [dict(zip(keys, values, strict=True)) for values in zip(*padded, strict=True)]

    def is_typed(self, line: Line) -> bool:
        """Whether anything stands in a line."""
        typed = [column.key for column in self.columns if column.kind != "select"]
        return any(line[key] for key in typed)

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Typed:  # noqa: ANN401 - Django's signature
        return Typed(line for line in self.posted(data, name) if self.is_typed(line))

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:  # noqa: ANN401 - Django's signature
        return False


class LinesField(ABC, forms.Field):
    """A field whose value is read from lines."""

    def __init__(self, columns: Sequence[Column], **kwargs: Any) -> None:
        super().__init__(widget=LinesWidget(columns), **{"required": False, **kwargs})

    @abstractmethod
    def written(self, value: Any) -> Iterable[Line]:  # noqa: ANN401 - what the field holds
        """Write a value as lines."""

    @abstractmethod
    def read(self, lines: Typed) -> Any:  # noqa: ANN401 - what the field holds
        """Read a value from lines.

        Raises:
            ValidationError: naming the line.
        """

    def prepare_value(self, value: Any) -> Typed:  # noqa: ANN401 - a value, or lines as typed
        if isinstance(value, Typed):
            return value
        try:
            return Typed(self.written(value or []))
        except (AttributeError, LookupError, TypeError, ValueError):
            # Stored by a version that had another shape; lines cannot show it.
            return Typed()

    def to_python(self, value: Any) -> Any:  # noqa: ANN401 - see above
        return self.read(value) if isinstance(value, Typed) else value

    def has_changed(self, initial: Any, data: Any) -> bool:  # noqa: ANN401 - see above
        try:
            # As texts: 1 and true are equal, and are not the same.
            return canonical(self.to_python(data) or None) != canonical(initial or None)
        except ValidationError:
            return True


class TextLines(LinesField):
    """A list of texts, each a line or, in an `area`, several."""

    def __init__(
        self,
        *,
        placeholder: str = "",
        kind: Literal["text", "area"] = "text",
        offers: str = "",
        **kwargs: Any,
    ) -> None:
        label = str(kwargs.get("label", "Value"))
        column = Column("", label, kind=kind, placeholder=placeholder, offers=offers)
        super().__init__([column], **kwargs)

    def written(self, value: Sequence[str]) -> Iterable[Line]:
        return ({"": str(each)} for each in value)

    def read(self, lines: Typed) -> list[str]:
        return [line[""] for line in lines]


class RecordLines(LinesField):
    """A list of small objects, one column for each key; `json_keys` hold JSON, `number_keys` numbers.

    With `bare_key` an object that says nothing else is that key's text alone.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        json_keys: frozenset[str] = frozenset(),
        number_keys: frozenset[str] = frozenset(),
        bare_key: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(columns, **kwargs)
        self.columns = columns
        self.json_keys = json_keys
        self.number_keys = number_keys
        self.bare_key = bare_key

    def written(self, value: Sequence[Any]) -> Iterable[Line]:
        for each in value:
            record = {self.bare_key: each} if isinstance(each, str) else each
            yield {
                key: json.dumps(item, ensure_ascii=False) if key in self.json_keys else str(item)
                for key, item in record.items()
                if item not in (None, {}, [])
            }

    def read(self, lines: Typed) -> list[Any]:
        records: list[Any] = []
        special = self.json_keys | self.number_keys
        for number, line in enumerate(lines, 1):
            record: dict[str, Any] = {}
            for column in self.columns:
                text = line[column.key]
                if column.key in self.json_keys and text.strip():
                    record[column.key] = _located(number, column.label, text)
                elif column.key in self.number_keys and text.strip():
                    record[column.key] = _typed_value(number, text)
                elif text and text != column.usual and column.key not in special:
                    record[column.key] = text
            is_bare = list(record) == [self.bare_key]
            records.append(record[self.bare_key] if is_bare else record)
        return records


def _located(number: int, label: str, text: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return read_json(text)
    except ValidationError as error:
        message = f"Line {number}, {label.lower()}: {error.messages[0]}"
        raise ValidationError(message) from None


def read_value(text: str) -> Any:  # noqa: ANN401 - JSON
    """Read a value as a person types it: 5, true, null, [1, 2] and "5" as JSON, the rest as text.

    Raises:
        ValidationError: it begins like JSON and is none.
    """
    text = text.strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if text[:1] in {"{", "[", '"'}:
            return read_json(text)
        return text
    if isinstance(value, float) and (problems := list(json_problems(value))):
        return text if problems else value  # NaN, Infinity: words, not numbers
    return read_json(text)


def write_value(value: Any) -> str:  # noqa: ANN401 - JSON
    """Write a value so that `read_value` reads it back."""
    if isinstance(value, str):
        try:
            is_plain = value.strip() == value != "" and read_value(value) == value
            is_plain = is_plain and "\n" not in value  # it is shown in one line
        except ValidationError:
            is_plain = False
        if is_plain:
            return value
    return json.dumps(value, ensure_ascii=False)


VALUE_HELP = 'Numbers, true and false are read as such; for text put them in quotes: "5".'


class ValueLines(LinesField):
    """A mapping from names to plain values."""

    def __init__(self, *, key_label: str, value_label: str, **kwargs: Any) -> None:
        columns = [Column("key", key_label), Column("value", value_label)]
        super().__init__(columns, **kwargs)
        self.key_label = key_label

    def written(self, value: Any) -> Iterable[Line]:  # noqa: ANN401 - a mapping, or nothing
        pairs = value.items() if value else ()
        return ({"key": key, "value": write_value(item)} for key, item in pairs)

    def read(self, lines: Typed) -> dict[str, Any]:
        return {
            key: _typed_value(number, line["value"])
            for number, key, line in _keyed(lines, self.key_label)
        }


class ChosenTexts(LinesField):
    """A mapping from a few known keys to texts."""

    def __init__(self, keys: Sequence[str], *, key_label: str, **kwargs: Any) -> None:
        choices = tuple((key, key) for key in keys)
        columns = [
            Column("key", key_label, kind="select", choices=choices),
            Column("text", str(kwargs.get("label", "Text"))),
        ]
        super().__init__(columns, **kwargs)

    def written(self, value: Any) -> Iterable[Line]:  # noqa: ANN401 - a mapping, or nothing
        pairs = value.items() if value else ()
        return ({"key": str(key), "text": str(text)} for key, text in pairs)

    def read(self, lines: Typed) -> dict[str, str]:
        found: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            if line["key"] in found:
                message = f"Line {number}: there is a text for {line['key']} already."
                raise ValidationError(message)
            found[line["key"]] = line["text"]
        return found


MUSTS: tuple[tuple[str, str], ...] = (
    ("equals", "equals"),
    ("fuzzy", "is about"),
    ("contains", "contains"),
    ("regex", "matches pattern"),
    ("any_of", "is one of"),
    ("present", "is present"),
    ("absent", "is absent"),
)
_WITHOUT_VALUE = {"present": True, "absent": False}


class MatcherLines(LinesField):
    """What arguments, or fields, must be: name, how to compare, with what."""

    def __init__(self, *, noun: str = "Argument", **kwargs: Any) -> None:
        columns = [
            Column("key", noun),
            Column("must", "Must", kind="select", choices=MUSTS),
            Column("value", "Value"),
        ]
        super().__init__(columns, **kwargs)
        self.noun = noun

    def written(self, value: Any) -> Iterable[Line]:  # noqa: ANN401 - a mapping, or nothing
        for key, matcher in value.items() if value else ():
            must, operand = _split(matcher)
            yield {"key": key, "must": must, "value": _operand_text(must, operand)}

    def read(self, lines: Typed) -> dict[str, Any]:
        return {
            key: _matcher(number, line["must"], line["value"])
            for number, key, line in _keyed(lines, self.noun)
        }


def _split(matcher: Any) -> tuple[str, Any]:  # noqa: ANN401 - JSON
    if isinstance(matcher, dict) and len(matcher) == 1:
        ((key, operand),) = matcher.items()
        if key == "present":
            return ("present" if operand else "absent"), None
        if key in {"fuzzy", "contains", "regex", "any_of"}:
            return key, operand
    return "equals", matcher


def _operand_text(must: str, operand: Any) -> str:  # noqa: ANN401 - JSON
    if must in _WITHOUT_VALUE:
        return ""
    if must == "regex" and isinstance(operand, str):
        is_quoted = operand.startswith('"') or "\n" in operand
        return json.dumps(operand, ensure_ascii=False) if is_quoted else operand
    if must == "any_of" and isinstance(operand, list):
        texts = [write_value(each) for each in operand]
        if not any("," in each or each.startswith("[") for each in texts):
            return ", ".join(texts)
    return write_value(operand)


def _matcher(number: int, must: str, text: str) -> Any:  # noqa: ANN401 - JSON
    if must in _WITHOUT_VALUE:
        return {"present": _WITHOUT_VALUE[must]}
    if must == "regex":
        # A pattern is text whatever it looks like; only one that is quoted as JSON is unquoted.
        return {"regex": _typed_value(number, text) if text.startswith('"') else text}
    if must == "any_of":
        value = text.strip()
        if value.startswith("["):
            return {"any_of": _typed_value(number, value)}
        return {"any_of": [_typed_value(number, part) for part in value.split(",") if part.strip()]}
    if not text.strip():
        names = dict(MUSTS)
        message = f'Line {number}: "{names.get(must, must)}" needs a value. An empty text is "".'
        raise ValidationError(message)
    value = _typed_value(number, text)
    return value if must == "equals" else {must: value}


def _typed_value(number: int, text: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return read_value(text)
    except ValidationError as error:
        message = f"Line {number}: {error.messages[0]}"
        raise ValidationError(message) from None


def _keyed(lines: Typed, label: str) -> Iterable[tuple[int, str, Line]]:
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        key = line["key"]
        if not key:
            message = f"Line {number}: {label.lower()} is missing."
            raise ValidationError(message)
        if key in seen:
            message = f"Line {number}: {key} stands twice."
            raise ValidationError(message)
        seen.add(key)
        yield number, key, line


class TagsField(forms.CharField):
    """Tags as one text, separated by commas."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:  # noqa: ANN401 - a list, or text as typed
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:  # noqa: ANN401 - text in, list out
        if isinstance(value, list):
            return value
        tags = (each.strip() for each in str(super().to_python(value)).split(","))
        return list(dict.fromkeys(tag for tag in tags if tag))

    def run_validators(self, value: Any) -> None:  # noqa: ANN401 - those of texts do not apply
        pass

    def has_changed(self, initial: Any, data: Any) -> bool:  # noqa: ANN401 - a list, and text
        return bool(self.to_python(initial or "") != self.to_python(data or ""))
