"""Pages of lists, by cursor: no table is counted, and every page costs the same."""

from typing import Any

from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

LARGEST = 2**63 - 1
_DIGITS = len(str(LARGEST))


class NewestFirst(CursorPagination):
    """The newest first, 50 on a page; `page_size` up to 200."""

    ordering: str | tuple[str, ...] = "-id"
    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def decode_cursor(self, request: Request) -> Cursor | None:
        cursor = super().decode_cursor(request)
        if cursor is not None and cursor.position is not None and not _is_id(cursor.position):
            # A made-up cursor must not reach the database as a number.
            raise NotFound(self.invalid_cursor_message)
        return cursor

    def get_page_size(self, request: Request) -> int | None:
        given = request.query_params.get("page_size")
        if given is not None and not (_is_id(given) and 0 < int(given) <= self.max_page_size):
            message = f"page_size must be a whole number from 1 to {self.max_page_size}."
            raise ValidationError({"page_size": message})
        return super().get_page_size(request)

    def get_paginated_response_schema(self, schema: Any) -> dict[str, Any]:
        link = {"type": ["string", "null"], "format": "uri"}
        keys = {"next": link, "previous": link, "results": schema}
        return {"type": "object", "required": [*keys], "properties": keys}


class ByPosition(NewestFirst):
    """In the order of the cases, trial by trial."""

    ordering = ("position", "trial")


def _is_id(text: Any) -> bool:
    return (
        isinstance(text, str)
        and text.isascii()
        and text.isdigit()
        and len(text) <= _DIGITS
        and int(text) <= LARGEST
    )
