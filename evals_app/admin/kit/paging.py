"""Pages of the largest list, however it is filtered."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.core.paginator import Page
from django.db.models import QuerySet
from unfold import paginator

from evals_app.runs.reading.newest_rows import NEWEST, end_of, newest_keys


class InfinitePaginator(
    paginator.InfinitePaginator
):  # Unfold recognizes this name and counts nothing
    """Pages of rows, the newest first: finds the keys of a page, then reads these rows alone."""

    object_list: QuerySet[Any]

    newest: ClassVar = NEWEST

    def page(self, number: int | str) -> Page[Any]:
        place: int = self.validate_number(number)
        keys = self._keys(start=(place - 1) * self.per_page, stop=place * self.per_page)
        rows = self.object_list.model._default_manager.none()  # noqa: SLF001 - the documented API
        if keys:
            rows = self.object_list.filter(pk__in=keys)
        return self._get_page(rows, place, self)

    def _keys(self, *, start: int, stop: int) -> Sequence[int]:
        rows = self.object_list
        if not rows.query.where:
            return list(rows.values_list("pk", flat=True)[start:stop])
        every = rows.model._default_manager.all()  # noqa: SLF001
        below, enough = end_of(every), self.per_page
        found = newest_keys(rows, count=stop, enough=enough, below=below, newest=self.newest)
        return found[start:]
