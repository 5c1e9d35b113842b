"""What a dialect is: a way to write evals."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from evals_app.formats.foreign.draft import Draft, rows
from evals_app.formats.foreign.shapes import ReaderContext
from evals_app.formats.reading.parsed_file import ParsedFile

# Whether a file is of a dialect, by its path and its data.
Detect = Callable[[str, object], bool]


@dataclass(frozen=True, slots=True)
class Dialect:
    """A way to write evals: how its files are recognised, a sample of them, and who reads them.

    Each dialect is a package with a description in its `DIALECT`. The module `reader` of that package
    is loaded with the first file to read.
    """

    name: str
    title: str
    # The page of the documentation.
    page: str
    # For people who import for the first time: what to bring, and the files of a small example.
    about: str
    sample: tuple[tuple[str, str], ...]
    # Whether the sample says which agent is tested.
    names_agent: bool = True
    # The package of a dialect that is read as a whole, because its files refer to each other.
    package: str = ""
    # Names and ends of paths by which its files are found in a folder.
    files: tuple[str, ...] = ()
    # Recognised by its data. Only `is_certain` outweighs keys that look like ours.
    is_certain: Detect = lambda *_: False
    is_likely: Detect = lambda *_: False

    def finds(self, path: str) -> bool:
        return _pattern(self.files).search(path) is not None

    def read(self, documents: Sequence[ParsedFile], around: ReaderContext) -> Iterator[Draft]:
        drafts: Iterator[Draft] = import_module(f"{self.package}.reader").read(documents, around)
        return drafts


@cache
def _pattern(files: tuple[str, ...]) -> re.Pattern[str]:
    paths = "|".join(re.escape(file).replace(r"\*", "[^/]*") for file in files)
    return re.compile(rf"(?:^|/)(?:{paths})\Z")


def rows_under(data: object, key: str) -> list[dict[str, object]]:
    """Return the mappings in a list of a file, of whatever shape it is."""
    return [row for row, _ in rows(data, key, ())]
