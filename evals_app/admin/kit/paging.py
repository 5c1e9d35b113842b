"""Pages of the largest list, however it is filtered."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.core.paginator import Page
from django.db.models import F, QuerySet
from unfold import paginator


class InfinitePaginator(
    paginator.InfinitePaginator
):  # Unfold recognizes this name and counts nothing
    """Pages of rows, the newest first: finds the keys of a page, then reads these rows alone.

    With a limit, a database walks back from the newest row until the page is full. For rare or old
    matches that is the whole table, although an index would find them at once. So the newest rows
    are tried first; if they do not fill even a first page, all matches are looked up and sorted.
    """

    object_list: QuerySet[Any]

    # Cheap to read; most filters fill a page from them.
    newest: ClassVar = 20_000

    def page(self, number: int | str) -> Page[Any]:
        place: int = self.validate_number(number)
        keys = self._keys(start=(place - 1) * self.per_page, stop=place * self.per_page)
        rows = self.object_list.model._default_manager.none()  # noqa: SLF001 - the documented API
        if keys:
            rows = self.object_list.filter(pk__in=keys)
        return self._get_page(rows, place, self)

    def _keys(self, *, start: int, stop: int) -> Sequence[int]:
        keys = self.object_list.values_list("pk", flat=True)
        if keys.query.where:
            newest = list(keys.filter(pk__gt=self._last_key() - self.newest)[:stop])
            if len(newest) == stop:
                return newest[start:]
            if len(newest) < self.per_page:
                # A sum has no index, so the database uses the filters.
                keys = keys.order_by((F("pk") + 0).desc())
        return list(keys[start:stop])

    def _last_key(self) -> int:
        rows = self.object_list.model._default_manager.order_by("-pk")  # noqa: SLF001
        last: int | None = rows.values_list("pk", flat=True).first()
        return last or 0
