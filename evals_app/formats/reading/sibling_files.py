"""Find the files that eval files name, in the imported folders and next to imported files only."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

from evals_app.engine.specs.files import MAX_FILE_BYTES

_MAX_PATHS = 10_000


@dataclass(frozen=True, slots=True)
class SiblingFiles:
    """Access to files in some folders and below; paths begin at `root`."""

    folders: frozenset[Path]
    root: Path = Path()

    @classmethod
    def of(cls, given: Iterable[Path], *, root: Path = Path()) -> Self:
        resolved = (path.resolve() for path in given)
        return cls(frozenset(path if path.is_dir() else path.parent for path in resolved), root)

    def find(self, path: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        file = self._file(self.root / path)
        if file is None:
            return None
        with file.open("rb") as opened:
            return opened.read(MAX_FILE_BYTES + 1)  # one byte more shows that it is too long

    def find_paths(self, pattern: str) -> list[str]:
        if Path(pattern).is_absolute():
            return []
        try:
            fitting = list(islice(self.root.glob(pattern), _MAX_PATHS))
        except (OSError, ValueError):
            return []  # not a valid path
        return [path.relative_to(self.root).as_posix() for path in fitting if self._file(path)]

    def _file(self, path: Path) -> Path | None:
        # A link may lead anywhere; its target counts.
        try:
            file = path.resolve()
            is_there = file.is_file()
        except (OSError, ValueError):
            return None  # not a valid name of a file
        return None if not is_there or self.folders.isdisjoint(file.parents) else file
