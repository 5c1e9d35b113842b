"""Pages of lists, by cursor: no table is counted, and every page costs the same."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination, PageNumberPagination
from rest_framework.request import Request

from evals_app.requests.problems import unknown
from evals_app.runs.reading.newest_rows import NEWEST, newest_keys

MAX_ID = 2**63 - 1
_TEXTS = ("slug", "username")  # columns; all others that sort are numbers
_DIGITS = len(str(MAX_ID))
_MAX_ROWS = 200  # of a page
_CURSOR = (
    "This cursor is not from an answer. Follow the address in `next` or `previous`, or leave"
    " `cursor` out to begin with the first page."
)


class _Sized:
    """Pages of 50; `page_size` up to 200."""

    page_size: int | None = 50
    page_size_query_param: str | None = "page_size"
    max_page_size: int | None = _MAX_ROWS

    def get_page_size(self, request: Request) -> int | None:
        """Return the size that is asked for, else the usual one."""
        given = request.query_params.get("page_size")
        if given is None:
            return self.page_size
        if not (is_id(given) and 0 < int(given) <= _MAX_ROWS):
            message = f"page_size must be a whole number from 1 to {_MAX_ROWS}."
            raise ValidationError({"page_size": message})
        return int(given)


class NewestFirst(_Sized, CursorPagination):
    """The newest first."""

    ordering: str | tuple[str, ...] = "-id"

    def get_ordering(self, request: Request, queryset: Any, view: Any) -> tuple[str, ...]:
        """Return the columns that `ordering=` asks for, else the usual ones."""
        given = request.query_params.get("ordering")
        if given is None:
            usual = self.ordering
            return (usual,) if isinstance(usual, str) else usual
        sign, name = ("-", given[1:]) if given.startswith("-") else ("", given)
        if name not in view.orderings:
            words = [sign + name for name in view.orderings for sign in ("", "-")]
            raise unknown(given, words, what="ordering", keys="ordering")
        return tuple(sign + column for column in view.orderings[name])

    def decode_cursor(self, request: Request) -> Cursor | None:
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            raise ValidationError({"cursor": _CURSOR}) from None
        if cursor is None or cursor.position is None:
            return cursor
        # A made-up cursor must not reach the database.
        is_text = str(self.ordering[0]).removeprefix("-") in _TEXTS
        position = str(cursor.position)
        if not (is_text and "\0" not in position) and not is_id(position):
            raise ValidationError({"cursor": _CURSOR})
        return cursor

    def get_paginated_response_schema(self, schema: dict[str, object]) -> dict[str, object]:
        link = {"type": ["string", "null"], "format": "uri"}
        keys: dict[str, object] = {"next": link, "previous": link, "results": schema}
        count = {"type": "integer", "description": "With `?count=true`: how many on all pages."}
        return {"type": "object", "required": [*keys], "properties": keys | {"count": count}}


class NewestMatches(NewestFirst):
    """The newest executions first, however they are filtered."""

    newest: ClassVar = NEWEST

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any] | None:
        """Find the keys of the page first, unless the database finds its rows as fast.

        `view.end_of_matches()` is a key above those of all that match. Only the rows of the page are
        joined with what `view.columns` are read from: SQLite would begin with the smaller table.
        """
        if isinstance(queryset, QuerySet):
            if self._is_filtered(request, queryset, view):
                queryset = queryset.filter(pk__in=self._keys(request, queryset, view))
            queryset = queryset.values(*view.columns)
        page: list[Any] | None = super().paginate_queryset(queryset, request, view)
        return page

    def _is_filtered(self, request: Request, rows: QuerySet[Any], view: Any) -> bool:
        cursor = self.decode_cursor(request)
        is_forward = cursor is None or not cursor.reverse
        is_usual = self.get_ordering(request, rows, view) == (self.ordering,)
        filters = view.filterset_class.base_filters.keys()
        return is_forward and is_usual and bool(filters & request.query_params.keys())

    def _keys(self, request: Request, rows: QuerySet[Any], view: Any) -> Sequence[int]:
        cursor, below = self.decode_cursor(request), view.end_of_matches()
        if cursor is not None and cursor.position is not None:
            below = min(below, int(cursor.position))
        count = (self.get_page_size(request) or 0) + 1  # one more shows that a page follows
        found = rows.filter(pk__lt=below)
        return newest_keys(found, count=count, enough=count, below=below, newest=self.newest)


class NewestRunFirst(NewestFirst):
    """Results of a case, the newest run first."""

    ordering = "-run_id"


class ByPosition(NewestFirst):
    """In the order of the cases, trial by trial."""

    ordering = ("position", "trial")


class ByPlace(NewestFirst):
    """In the order that people gave them."""

    ordering = ("position", "id")


class ByNumber(_Sized, PageNumberPagination):
    """Pages of a list that is in memory, by their number."""

    invalid_page_message = (
        "There is no such page. Follow `next`, or leave `page` out for the first one."
    )


def is_id(text: object) -> bool:
    """Whether a text is a whole number that the database can look for."""
    return (
        isinstance(text, str)
        and text.isascii()
        and text.isdigit()
        and len(text) <= _DIGITS
        and int(text) <= MAX_ID
    )
