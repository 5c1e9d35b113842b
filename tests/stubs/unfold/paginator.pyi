from typing import TypeVar

from django.core.paginator import Page, Paginator

_Row = TypeVar("_Row")

class InfinitePage(Page[_Row]): ...

class InfinitePaginator(Paginator[_Row]):
    def _get_page(self, *args: object) -> InfinitePage[_Row]: ...
