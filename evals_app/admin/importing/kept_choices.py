"""What a person chose for tables, kept in their session for the next files with the same headers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from django.contrib.sessions.backends.base import SessionBase

from evals_app.formats.foreign.shapes import KeptChoices, TableChoices
from evals_app.formats.table_mapping import ColumnShown, SheetShown
from evals_app.formats.tables.chosen import header_key

_KEY = "choices_of_tables"
_MAX_COLUMNS = 500  # and as many ways to compare
_MAX_HEADERS = 50
_MAX_TEXTS = 100  # of one row of headers
_MAX_CHARS = 200  # of a text that is kept
_T = TypeVar("_T")


def kept_choices(session: SessionBase) -> KeptChoices:
    """Return what was chosen since the person signed in, or forgot it."""
    return KeptChoices(**session.get(_KEY, {}))


def keep_choices(session: SessionBase, chosen: TableChoices, sheets: Iterable[SheetShown]) -> None:
    """Keep what was chosen for sheets, instead of what was chosen for their headers before."""
    kept, shown = kept_choices(session), list(sheets)
    rows = [_texts_of(sheet) for sheet in shown if sheet.header_row == chosen.header_row]
    headers = [row for row in kept.headers if [*row] not in rows] + [row for row in rows if row]
    session[_KEY] = {
        "columns": _newest(kept.columns, _by_key(chosen.columns)),
        "checks": _newest(kept.checks, _checks_of(kept, chosen, shown)),
        "headers": headers[-_MAX_HEADERS:],
    }


def forget_choices(session: SessionBase) -> None:
    """Forget everything that was kept."""
    session.pop(_KEY, None)


def kept_in_words(sheets: Iterable[SheetShown], columns: Iterable[str]) -> list[str]:
    """Return what of these sheets and `columns` is as it was chosen for an earlier file."""
    shown = list(sheets)
    kinds = {texts.name: None for texts in _texts_in(shown) if texts.is_kept}
    return [
        *(["the row of the headers"] if any(sheet.has_kept_header for sheet in shown) else []),
        *columns,
        *(f"how “{name}” is compared" for name in kinds),
    ]


def _texts_of(sheet: SheetShown) -> list[str]:
    texts = [column.header for column in sheet.columns if len(column.header) <= _MAX_CHARS]
    return texts[:_MAX_TEXTS]


def _texts_in(sheets: Iterable[SheetShown]) -> Iterator[Any]:
    return (texts for sheet in sheets for column in sheet.columns for texts in column.texts)


def _by_key(chosen: Mapping[str, _T]) -> dict[str, _T]:
    keys = {header_key(header): item for header, item in chosen.items()}
    return {key: item for key, item in keys.items() if len(key) <= _MAX_CHARS}


def _checks_of(
    kept: KeptChoices, chosen: TableChoices, sheets: Iterable[SheetShown]
) -> dict[str, Mapping[str, str]]:
    """Return the ways to compare the answers in sheets, by header and kind; the usual ones are none."""
    ways: dict[str, Mapping[str, str]] = {}
    answers = (column for sheet in sheets for column in sheet.columns if _has_answers(column))
    for key, column in _by_key({column.header: column for column in answers}).items():
        kinds = {texts.kind for texts in column.texts}
        new = {kind: way for kind, way in chosen.checks.items() if kind in kinds}
        merged = dict(kept.checks.get(key, {})) | new
        if new:
            ways[key] = {kind: way for kind, way in merged.items() if way}
    return ways


def _has_answers(column: ColumnShown) -> bool:
    return any(texts.kind for texts in column.texts)


def _newest(kept: Mapping[str, _T], new: Mapping[str, _T]) -> dict[str, _T]:
    """Return the newest choices, with what is new last."""
    items = [(key, item) for key, item in kept.items() if key not in new]
    return dict([*items, *new.items()][-_MAX_COLUMNS:])
