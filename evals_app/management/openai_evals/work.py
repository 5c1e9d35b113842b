"""What every part of a save needs: objects and lists, from the folder or else from the API."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from evals_app.formats.openai_evals.mentions import Mentions
from evals_app.formats.reading.parsed_file import MAX_BYTES
from evals_app.management.openai_evals.api import Api, ApiPage, Query, read_page
from evals_app.management.openai_evals.folder import Folder
from evals_app.management.openai_evals.report import SaveReport
from fixtures_app.ground.strict_json import JsonObject


@dataclass(kw_only=True, eq=False)
class Work:
    """A save at work; `tell` gets a line for each eval and for each long pause."""

    api: Api
    folder: Folder
    tell: Callable[[str], None]
    report: SaveReport = field(default_factory=SaveReport)
    named: Mentions = field(default_factory=Mentions)
    # Where the importer looks for items: the id of a file, and the folder of an eval that it is for.
    items_for: set[tuple[str, str]] = field(default_factory=set)

    async def thing(self, name: str, *parts: str, query: Query = ()) -> JsonObject:
        """Return an object that never changes, and save it if it is not in the folder.

        Raises:
            FailedError: it could not be had.
            StoppedError: nothing can be had any more.
        """
        saved = self.folder.read(name)
        if isinstance(saved, dict):
            return saved
        text, data = await self.api.read(*parts, query=query)
        self.folder.write(name, text)
        return data

    async def series(self, stem: str, *parts: str, again: bool = False) -> AsyncIterator[ApiPage]:
        """Give the pages of a list: those in the folder, then the others, which are saved.

        Raises:
            FailedError: a page could not be had.
            StoppedError: nothing can be had any more.
        """
        number, last = 0, None
        for last in () if again else self._saved_pages(stem):
            number += 1
            yield last
        if last is not None and not last.has_more:
            return
        after = last.cursor if last is not None else ""
        number = number if after else 0
        async for page in self.api.pages(*parts, after=after):
            if page.entries or not number:
                for text in readable(page):
                    number += 1
                    self.folder.write(_page_name(stem, number), text)
            yield page

    def _saved_pages(self, stem: str) -> Iterator[ApiPage]:
        for number in count(1):
            page = read_page(self.folder.text(_page_name(stem, number)))
            if page is None:
                return
            yield page


def readable(page: ApiPage) -> Iterator[str]:
    """Return a page as it was sent; in several parts where it is too large for the importer."""
    entries = page.entries
    if len(page.text.encode("utf-8", "surrogatepass")) <= MAX_BYTES or len(entries) == 1:
        yield page.text
        return
    middle = len(entries) // 2
    for part, is_last in ((entries[:middle], False), (entries[middle:], True)):
        has_more = page.data.get("has_more") if is_last else True
        ids = {"first_id": _id(part[0]), "last_id": _id(part[-1])}
        data = page.data | {"data": part, "has_more": has_more} | ids
        yield from readable(ApiPage(json.dumps(data, ensure_ascii=False), data))


def _page_name(stem: str, number: int) -> str:
    return f"{stem}.json" if number == 1 else f"{stem}-{number}.json"


def _id(entry: object) -> object:
    return entry.get("id") if isinstance(entry, dict) else None
