"""Find on disk what eval files name, in what is imported and beside it, and nowhere else."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

from evals_app.engine.files import MAX_FILE_BYTES

_MOST_PATHS = 10_000


@dataclass(frozen=True, slots=True)
class Beside:
    """A way to files in some folders, and below; paths begin at `root`."""

    folders: frozenset[Path]
    root: Path = Path()

    @classmethod
    def of(cls, given: Iterable[Path], *, root: Path = Path()) -> Self:
        """Lead to the folders that are given and to those of the files that are given."""
        resolved = (path.resolve() for path in given)
        return cls(frozenset(path if path.is_dir() else path.parent for path in resolved), root)

    def find(self, path: str) -> bytes | None:
        """Give the content of a file; None: there is none."""
        file = self._file(self.root / path)
        if file is None:
            return None
        with file.open("rb") as opened:
            return opened.read(MAX_FILE_BYTES + 1)  # one byte more tells that it is too long

    def find_paths(self, pattern: str) -> list[str]:
        """Give the paths of the files that fit a pattern."""
        if Path(pattern).is_absolute():
            return []
        try:
            fitting = list(islice(self.root.glob(pattern), _MOST_PATHS))
        except (OSError, ValueError):
            return []  # no path can look so
        return [each.relative_to(self.root).as_posix() for each in fitting if self._file(each)]

    def _file(self, path: Path) -> Path | None:
        # A link may lead anywhere; what counts is where it ends.
        try:
            file = path.resolve()
            is_there = file.is_file()
        except (OSError, ValueError):
            return None  # no file can have such a name
        return None if not is_there or self.folders.isdisjoint(file.parents) else file
