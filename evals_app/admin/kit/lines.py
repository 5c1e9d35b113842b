"""Fields of several lines: lists and mappings as rows of plain inputs.

The inputs of a column share one name (`getlist`), so lines never need renumbering. Columns are
texts or selects: an unchecked checkbox is not posted and would shift the others. Texts are kept as
typed, with spaces: a tool, an argument or a passage may contain them.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django import forms
from django.core.exceptions import ValidationError
from django.urls import reverse_lazy

from fixtures_app.editing.json_field import read_json
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.ground.json_data import canonical

Line = dict[str, Any]  # texts by column; a block has nested lines


@dataclass(frozen=True, slots=True)
class LineColumn:
    """One input of a line. `key` is the end of its name; without it, the name is the field's."""

    key: str
    label: str
    kind: Literal["text", "area", "select"] = "text"
    choices: tuple[tuple[str, str], ...] = ()
    placeholder: str = ""
    usual: str = ""  # the default choice
    names: str = ""  # the kind of name, such as tool or chunk, that the page suggests

    @property
    def suggestions(self) -> str:
        """The id of the list of names that the page suggests; "" for none."""
        return list_of(self.names)


def list_of(names: str) -> str:
    """Return the id of the one list of a page that has these names."""
    return f"ew-{names.replace(' ', '-')}" if names else ""


class TypedLines(list[Line]):
    """Lines as typed, as opposed to a value."""


class LinesWidget(forms.Widget):
    """Lines of inputs, with a button for another one."""

    template_name = "admin/evals_app/kit/lines.html"
    is_single = False  # exactly one line

    def __init__(self, columns: Sequence[LineColumn]) -> None:
        super().__init__()
        self.columns = columns

    def get_context(
        self, name: str, value: Any, attrs: dict[str, object] | None
    ) -> TemplateContext:
        context = super().get_context(name, value, attrs)
        given = context["widget"]["attrs"]
        lines = [self.inputs(name, line) for line in value or [{}]]
        # The label of the field belongs to the first input.
        lines[0][0]["id"] = given.get("id", "")
        context["widget"] |= {
            "lines": lines,
            "blank": self.inputs(name, {}),
            "is_single": self.is_single,
            "is_invalid": given.get("aria-invalid") == "true",
            "described_by": given.get("aria-describedby", ""),
        }
        return context

    def inputs(self, name: str, line: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the inputs of a line for the template."""
        return [
            {
                "name": f"{name}-{column.key}" if column.key else name,
                "column": column,
                "value": (value := line.get(column.key, "")),
                # Browsers remove newlines from single-line inputs.
                "is_area": column.kind == "area" or "\n" in value,
            }
            for column in self.columns
        ]

    def posted_lines(self, data: Any, name: str) -> list[Line]:
        """Return every posted line, including blank ones."""
        keys = [column.key for column in self.columns]
        posted = [data.getlist(f"{name}-{key}" if key else name) for key in keys]
        # Other clients may leave out inputs; the longest column counts.
        count = max(map(len, posted))
        padded = [[*values, *[""] * (count - len(values))] for values in posted]
        return [dict(zip(keys, values, strict=True)) for values in zip(*padded, strict=True)]

    def is_typed(self, line: Line) -> bool:
        """Whether a line is filled in."""
        typed = [column.key for column in self.columns if column.kind != "select"]
        return any(line[key] for key in typed)

    def value_from_datadict(self, data: object, files: object, name: str) -> TypedLines:
        return TypedLines(line for line in self.posted_lines(data, name) if self.is_typed(line))

    def value_omitted_from_data(self, data: object, files: object, name: str) -> bool:
        return False


class LinesField(ABC, forms.Field):
    """A field whose value is read from lines."""

    def __init__(self, columns: Sequence[LineColumn], **kwargs: Any) -> None:
        super().__init__(widget=LinesWidget(columns), **{"required": False, **kwargs})

    @abstractmethod
    def to_lines(self, value: Any) -> Iterable[Line]:
        """Write a value as lines."""

    @abstractmethod
    def read(self, lines: TypedLines) -> Any:
        """Read a value from lines.

        Raises:
            ValidationError: naming the line.
        """

    def prepare_value(self, value: Any) -> TypedLines:
        if isinstance(value, TypedLines):
            return value
        try:
            return TypedLines(self.to_lines(value or []))
        except (AttributeError, LookupError, TypeError, ValueError):
            # Stored in another shape by another version.
            return TypedLines()

    def to_python(self, value: Any) -> Any:
        return self.read(value) if isinstance(value, TypedLines) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            # As texts, because 1 == True.
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
        names: str = "",
        **kwargs: object,
    ) -> None:
        label = str(kwargs.get("label", "Value"))
        column = LineColumn("", label, kind=kind, placeholder=placeholder, names=names)
        super().__init__([column], **kwargs)

    def to_lines(self, value: Sequence[str]) -> Iterable[Line]:
        return ({"": str(text)} for text in value)

    def read(self, lines: TypedLines) -> list[str]:
        return [line[""] for line in lines]


class RecordLines(LinesField):
    """A list of small objects, one column per key; `json_keys` contain JSON, `number_keys` numbers.

    With `bare_key`, an object with only that key is written as its text.
    """

    def __init__(
        self,
        columns: Sequence[LineColumn],
        *,
        json_keys: frozenset[str] = frozenset(),
        number_keys: frozenset[str] = frozenset(),
        bare_key: str = "",
        **kwargs: object,
    ) -> None:
        super().__init__(columns, **kwargs)
        self.columns = columns
        self.json_keys = json_keys
        self.number_keys = number_keys
        self.bare_key = bare_key

    def to_lines(self, value: Sequence[Any]) -> Iterable[Line]:
        for item in value:
            record = {self.bare_key: item} if isinstance(item, str) else item
            yield {
                key: json.dumps(item, ensure_ascii=False) if key in self.json_keys else str(item)
                for key, item in record.items()
                if item not in (None, {}, [])
            }

    def read(self, lines: TypedLines) -> list[Any]:
        records = []
        special = self.json_keys | self.number_keys
        for number, line in enumerate(lines, 1):
            record = {}
            for column in self.columns:
                text = line[column.key]
                if column.key in self.json_keys and text.strip():
                    place = f"Line {number}, {column.label.lower()}"
                    record[column.key] = read_at(place, text, read_json)
                elif column.key in self.number_keys and text.strip():
                    # The spec refuses what is not a number.
                    is_number = text.isascii() and text.strip().isdecimal()
                    record[column.key] = int(text) if is_number else text
                elif text and text != column.usual and column.key not in special:
                    record[column.key] = text
            is_bare = list(record) == [self.bare_key]
            records.append(record[self.bare_key] if is_bare else record)
        return records


class KeyedTexts(LinesField):
    """A mapping from a few known keys to texts."""

    def __init__(self, keys: Sequence[str], *, key_label: str, **kwargs: object) -> None:
        choices = tuple((key, key) for key in keys)
        columns = [
            LineColumn("key", key_label, kind="select", choices=choices),
            LineColumn("text", str(kwargs.get("label", "Text"))),
        ]
        super().__init__(columns, **kwargs)

    def to_lines(self, value: Any) -> Iterable[Line]:
        return ({"key": str(key), "text": str(text)} for key, text in dict(value).items())

    def read(self, lines: TypedLines) -> dict[str, str]:
        texts: dict[str, str] = {}
        for number, line in enumerate(lines, 1):
            if line["key"] in texts:
                raise ValidationError(f"Line {number}: {line['key']} already has a text.")
            texts[line["key"]] = line["text"]
        return texts


def read_at(place: str, text: str, read: Callable[[str], object]) -> object:
    """Read a text; an error begins with its place."""
    try:
        return read(text)
    except ValidationError as error:
        message = str(error.messages[0])
        raise ValidationError(f"{place}: {message}" if place else message) from None


def keyed_lines(lines: TypedLines, label: str) -> Iterable[tuple[int, str, Line]]:
    """Yield lines with number and key; refuse missing and repeated keys."""
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        key = line["key"]
        if not key:
            raise ValidationError(f"Line {number}: {label.lower()} is missing.")
        if key in seen:
            raise ValidationError(f"Line {number}: {key} appears twice.")
        seen.add(key)
        yield number, key, line


# Asked for when a person goes to the field: a page itself need not read the tags of all cases.
OFFERS_TAGS: dict[str, object] = {
    "data-tags": reverse_lazy("admin:evals_app_tags"),
    "autocomplete": "off",
}


class TagsField(forms.CharField):
    """Tags as one text, separated by commas."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: object) -> object:
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        tags = (tag.strip() for tag in str(super().to_python(value)).split(","))
        return list(dict.fromkeys(tag for tag in tags if tag))

    def run_validators(self, value: object) -> None:
        pass

    def has_changed(self, initial: object, data: object) -> bool:
        return bool(self.to_python(initial or "") != self.to_python(data or ""))
