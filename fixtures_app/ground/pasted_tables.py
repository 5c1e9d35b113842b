"""A table that was copied from a spreadsheet: its fields, guessed from the values, and its entities."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TypedDict

from fixtures_app.ground.cells import meant_date, read_cell
from fixtures_app.ground.field_table import Field, FieldKind
from fixtures_app.ground.strict_json import Json

MAX_INPUTS = 9_000  # of the page that shows the rows, which cannot save more than 10,000
_INPUTS_BESIDE = 5  # of a row: its ref, its status, its type, its place, its version
MAX_COLUMNS = 200
MAX_CHOICES = 8
_LONG = 200  # characters, from which a text is long
_SHORT = 40  # characters, up to which a text may be a choice
_SEPARATORS = "\t;,"
_REFS = ("ref", "id")
_STATUS = "status"
_CODE = re.compile(r"-?0\d|\+|.*[eE]|-?\d{16}")  # not a number: 007, +49, 1E5, numbers of cards
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}\.\d{3}", re.ASCII)
_SIGNS = ((",", "."), (".", ","))  # before decimals, and between groups of three digits
_GUESSED = (
    *(FieldKind.WHOLE, FieldKind.NUMBER, FieldKind.YES_NO),
    *(FieldKind.DATE, FieldKind.TIME, FieldKind.DATE_TIME),
)


class PastedEntity(TypedDict):
    """An entity as in a file."""

    ref: str
    type: str
    status: str
    data: dict[str, Json]


@dataclass(frozen=True, slots=True)
class PastedTable:
    """The columns of a table by their headings, each with a text for every row."""

    columns: dict[str, list[str]]
    numbers: Sequence[int]  # of the rows, empty ones counted

    @property
    def size(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def values(self) -> dict[str, list[str]]:
        """The columns that are fields, and not the ref or the status of an entity."""
        return {
            name: texts
            for name, texts in self.columns.items()
            if name.casefold() not in {*_REFS, _STATUS}
        }

    def column(self, *names: str) -> list[str]:
        """Return the first column with one of these headings; empty texts if there is none."""
        for name, texts in self.columns.items():
            if name.casefold() in names:
                return texts
        return [""] * self.size


def read_pasted_table(text: str) -> PastedTable:
    """Read rows as a spreadsheet copies them, or CSV; the first has the headings.

    Dates such as 1.5.2026 and numbers such as 12,5 are written as 2026-05-01 and 12.5, where the
    whole column says that they are meant.

    Raises:
        ValueError: it is not a table; says in which row.
    """
    text = re.sub(r"\r\n?", "\n", text)
    first = text.lstrip("\n").partition("\n")[0]
    separator = max(_SEPARATORS, key=first.count)
    rows = [(n, row) for n, row in enumerate(_rows(text, separator), 1) if any(row)]
    if len(rows) < 2:  # noqa: PLR2004 - headings and one row
        raise ValueError("Paste the headings and at least one row below them.")
    (_, heads), *others = rows
    return PastedTable(_columns(heads, others), [number for number, _ in others])


def _rows(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the cells of all lines.

    Quotes enclose a cell only if they end where it ends: programs copy 5" and "so-called" as they are.
    """
    enclosed, bare = r'"([^"]*+(?:""[^"]*+)*+)" *', f"([^{separator}\n]*)"
    row = []
    for match in re.finditer(f"(?:{enclosed}|{bare})({separator}|\n|\\Z)", text):
        inside, outside, end = match.groups()
        row.append((outside if inside is None else inside.replace('""', '"')).strip())
        if end != separator:
            yield row
            row = []


def _columns(
    heads: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]]
) -> dict[str, list[str]]:
    heads = _without_empty_end(heads)
    if len(heads) > MAX_COLUMNS:
        raise ValueError(f"The table has {len(heads)} columns; up to {MAX_COLUMNS} are possible.")
    _check_heads(heads)
    most = MAX_INPUTS // (len(heads) + _INPUTS_BESIDE)
    if len(rows) > most:
        raise ValueError(
            f"The table has {len(rows):,} rows; one page can show {most:,} of this width."
            " Import more as a file: see Test data in Help."
        )
    for number, row in rows:
        if len(_without_empty_end(row)) > len(heads):
            raise ValueError(f"Row {number} has more cells than there are headings.")
    texts = [[row[at] if at < len(row) else "" for _, row in rows] for at in range(len(heads))]
    return dict(zip(heads, map(_as_written_here, texts), strict=True))


def _check_heads(heads: Sequence[str]) -> None:
    for number, head in enumerate(heads, 1):
        if not head:
            raise ValueError(f"Column {number} has no heading. Write one, or delete the column.")
        if head in heads[: number - 1]:
            raise ValueError(f"Two columns have the heading “{head}”.")
    for names in (_REFS, (_STATUS,)):
        same = [head for head in heads if head.casefold() in names]
        if len(same) > 1:
            raise ValueError(
                f"“{same[0]}” and “{same[1]}” are both the {names[-1]} of a row. Rename one of them."
            )


def _without_empty_end(row: Sequence[str]) -> Sequence[str]:
    end = max((number for number, cell in enumerate(row, 1) if cell), default=0)
    return row[:end]


def _as_written_here(texts: list[str]) -> list[str]:
    """Return dates and numbers of a column as cells of this product have them."""
    filled = list(filter(None, texts))
    if filled and all(map(meant_date, filled)):
        return list(map(meant_date, texts))
    for point, group in _SIGNS:
        matches = [_number(point, group).fullmatch(text) for text in filled]
        if all(matches) and any(match and _tells(match, point, group) for match in matches):
            plain = (text.replace(group, "").replace(point, ".") for text in texts)
            return [text and f"{Decimal(text).normalize():f}" for text in plain]
    return texts


@cache
def _number(point: str, group: str) -> re.Pattern[str]:
    digits = rf"\d+|\d{{1,3}}(?:{re.escape(group)}\d{{3}})+"
    return re.compile(rf"-?(?:{digits})(?:{re.escape(point)}(\d+))?", re.ASCII)


def _tells(match: re.Match[str], point: str, group: str) -> bool:
    """Whether a number shows what its signs mean: 1.234,50 and 12,5 do, 1,234 may be a thousand."""
    is_decimal = point == "," and match[1] is not None and len(match[1]) != 3  # noqa: PLR2004
    return is_decimal or (point in match[0] and group in match[0])


def guess_fields(table: PastedTable) -> tuple[Field, ...]:
    """Return a field for each column, of the kind that all its values have."""
    return tuple(_guess(name, list(filter(None, texts))) for name, texts in table.values.items())


def _guess(name: str, texts: Sequence[str]) -> Field:
    for kind in _GUESSED if texts else ():
        if _is_column_of(kind, texts):
            return Field(name, kind)
    distinct = dict.fromkeys(texts)
    is_short = all(len(text) <= _SHORT and "\n" not in text and "," not in text for text in texts)
    if is_short and 1 < len(distinct) <= min(MAX_CHOICES, len(texts) // 2):
        return Field(name, FieldKind.CHOICE, choices=tuple(distinct))
    is_long = any("\n" in text or len(text) > _LONG for text in texts)
    return Field(name, FieldKind.LONG_TEXT if is_long else FieldKind.TEXT)


def _is_column_of(kind: FieldKind, texts: Sequence[str]) -> bool:
    try:
        for text in texts:
            read_cell(Field("", kind), text)
    except ValueError:
        return False
    is_number = kind in (FieldKind.WHOLE, FieldKind.NUMBER)
    return not is_number or not (
        any(map(_CODE.match, texts)) or _are_versions(texts) or _may_be_thousands(texts)
    )


def _are_versions(texts: Sequence[str]) -> bool:
    """Whether 1.10 is not 1.1 here; amounts, such as 12.50, have the same decimals in all rows."""
    decimals = [text.partition(".")[2] for text in texts]
    return len(set(map(len, decimals))) > 1 and any(one.endswith("0") for one in decimals)


def _may_be_thousands(texts: Sequence[str]) -> bool:
    """Whether 1.234 may be 1,234 here, as some countries write it."""
    pointed = [text for text in texts if "." in text]
    return bool(pointed) and all(map(_THOUSANDS.fullmatch, pointed))


def entities_of(table: PastedTable, kind: str, fields: Sequence[Field]) -> list[PastedEntity]:
    """Return an entity of type `kind` for each row; an empty cell has no value.

    Raises:
        ValueError: a value is not of its field's kind, a column has no field, or refs repeat.
    """
    known = {one.name: one for one in fields}
    for name in table.values:
        if name not in known:
            raise ValueError(
                f"The entity type {kind} exists and has no field “{name}”. Add it there, or write "
                "another word for a row."
            )
    refs = _refs(table, kind)
    statuses = table.column(_STATUS)
    return [
        {
            "ref": refs[row],
            "type": kind,
            "status": statuses[row] or "active",
            "data": dict(_data(table, known, row)),
        }
        for row in range(table.size)
    ]


def _data(table: PastedTable, known: dict[str, Field], row: int) -> Iterator[tuple[str, Json]]:
    for name, texts in table.values.items():
        if texts[row]:
            try:
                yield name, read_cell(known[name], texts[row])
            except ValueError as error:
                raise ValueError(f"Row {table.numbers[row]}, {name}: {error}") from None


def _refs(table: PastedTable, kind: str) -> list[str]:
    """Return the refs of all rows; those without one are called order-1, order-2."""
    given = table.column(*_REFS)
    first: dict[str, int] = {}
    for row, ref in zip(table.numbers, given, strict=True):
        if ref and ref in first:
            raise ValueError(f"Rows {first[ref]} and {row} have the same id, “{ref}”.")
        first[ref] = row
    free = (name for n in range(1, 2 * len(given) + 1) if (name := f"{kind}-{n}") not in first)
    return [ref or next(free) for ref in given]
