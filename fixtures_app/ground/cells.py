"""Values of entities as the text of a cell in a table, and back."""

import json
import re
from datetime import date

from fixtures_app.ground.field_table import TIME_PATTERN, Field, FieldKind
from fixtures_app.ground.json_formats import FORMATS
from fixtures_app.ground.quoting import join_list
from fixtures_app.ground.strict_json import Json, fault_of, read_strictly
from fixtures_app.ground.words import near

_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_TEXTS = {
    FieldKind.TEXT,
    FieldKind.LONG_TEXT,
    FieldKind.DATE,
    FieldKind.TIME,
    FieldKind.DATE_TIME,
    FieldKind.CHOICE,
}
# Day and month with points, as in 2.12.2026; with other signs some countries write the month first.
_OTHER_DATE = re.compile(
    r"(?P<first>\d{1,2})(?P<sign>[./-])(?P<second>\d{1,2})(?P=sign)(?P<year>\d{4})"
)
_MONTHS = 12
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_JSON_BEGINS = re.compile(r'[\[{"]')
_MAX_DIGITS = 1000


def write_cell(kind: FieldKind, value: object) -> str | None:
    """Return the text of a value; None if a cell of this kind cannot show it."""
    if kind is FieldKind.OTHER:
        return _write_any(value)
    if isinstance(value, bool):
        return str(value).lower() if kind is FieldKind.YES_NO else None
    if kind in _TEXTS:
        return value if isinstance(value, str) else None
    if kind is FieldKind.WHOLE:
        return str(value) if isinstance(value, int) else None
    if kind is FieldKind.NUMBER:
        return json.dumps(value) if isinstance(value, int | float) else None
    if kind is FieldKind.TEXTS and isinstance(value, list):
        fits = all(isinstance(text, str) and text.strip() == text != "" for text in value)
        return "\n".join(value) if fits and not any("\n" in text for text in value) else None
    return None


def read_cell(one: Field, text: str) -> Json:
    """Return the value of a cell that is not empty.

    Raises:
        ValueError: it is not a value of this kind.
    """
    word = text.strip()
    match one.kind:
        case FieldKind.TEXT | FieldKind.LONG_TEXT:
            return text
        case FieldKind.NUMBER | FieldKind.WHOLE:
            return _read_number(word, is_whole=one.kind is FieldKind.WHOLE)
        case FieldKind.YES_NO:
            if word.casefold() not in _WORDS:
                raise ValueError("Write yes or no.")
            return _WORDS[word.casefold()]
        case FieldKind.DATE:
            return _read_date(word)
        case FieldKind.TIME:
            if not re.fullmatch(TIME_PATTERN.strip("^$"), word):
                raise ValueError("Write a time of 24 hours, for example 09:30.")
            return word
        case FieldKind.DATE_TIME:
            if not FORMATS.conforms(word, "date-time"):
                raise ValueError("Write a date and time, for example 2026-05-01T09:30:00Z.")
            return word
        case FieldKind.CHOICE:
            return _read_choice(one.choices, word)
        case FieldKind.TEXTS:
            return [line.strip() for line in text.splitlines() if line.strip()]
        case _:
            return read_any(text)


def read_any(text: str) -> Json:
    """Return a number, true, false, null or JSON if the text is one, or else the text.

    Raises:
        ValueError: it begins like JSON, but is not valid.
    """
    word = text.strip()
    if not _JSON_BEGINS.match(word) and not _is_literal(word):
        return text
    try:
        return read_strictly(word)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"This is not valid JSON: {at}: {fault_of(error)}.") from None
    except RecursionError:
        raise ValueError("This JSON is nested too deeply.") from None


def read_lines(text: str) -> dict[str, str]:
    """Return the texts of lines such as `total = 12`, by field.

    Raises:
        ValueError: a line has no `=`, or a name that another line has.
    """
    fields: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name:
            raise ValueError(f"Line {number}: write field = value, for example total = 12.")
        if name in fields:
            raise ValueError(f"Line {number}: {name!r} appears twice.")
        fields[name] = value
    return fields


def _is_literal(word: str) -> bool:
    if word in {"true", "false", "null"}:
        return True
    try:
        return isinstance(json.loads(word), int | float) and not word.endswith(("N", "y"))
    except (ValueError, RecursionError):
        return False


def _write_any(value: object) -> str:
    if isinstance(value, str):
        try:
            if value.strip() and read_any(value) == value:
                return value
        except ValueError:
            pass
    return json.dumps(value, ensure_ascii=False)


def _read_number(word: str, *, is_whole: bool) -> int | float:
    if len(word) > _MAX_DIGITS:
        raise ValueError("The number has too many digits.")
    if _WHOLE.fullmatch(word):
        return int(word)
    if is_whole:
        raise ValueError(f"Write a whole number, for example 12.{_without_comma(word)}")
    number = float(word) if _NUMBER.fullmatch(word) else float("inf")
    if abs(number) == float("inf"):
        raise ValueError(f"Write a number, for example 12.5.{_without_comma(word)}")
    return number


def _without_comma(word: str) -> str:
    plain = word.replace(",", ".")
    return f" Did you mean {plain}?" if plain != word and _NUMBER.fullmatch(plain) else ""


def _read_date(word: str) -> str:
    try:
        if date.fromisoformat(word).isoformat() == word:
            return word
    except ValueError:
        pass
    meant = meant_date(word)
    asks = f" Did you mean {meant}?" if meant else ""
    raise ValueError(f"Write a date as year-month-day, for example 2026-05-01.{asks}")


def meant_date(word: str) -> str:
    """Return a date in another order as year-month-day; "" if it is none, or could be two dates."""
    parts = _OTHER_DATE.fullmatch(word)
    if parts is None:
        return ""
    day, month, year = int(parts["first"]), int(parts["second"]), int(parts["year"])
    if parts["sign"] != "." and day != month:
        if max(day, month) <= _MONTHS:
            return ""
        day, month = max(day, month), min(day, month)
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _read_choice(choices: tuple[str, ...], word: str) -> str:
    same = {choice.casefold(): choice for choice in choices}
    if word in choices:
        return word
    if word.casefold() in same:
        return same[word.casefold()]
    raise ValueError(f"Choose one of {join_list(list(choices))}.{near(word, choices)}")
