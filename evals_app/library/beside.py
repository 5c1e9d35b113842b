"""Find on disk what eval files name, in what is imported and beside it, and nowhere else."""

from collections.abc import Iterable
from pathlib import Path

from evals_app.engine.files import MAX_FILE_BYTES
from evals_app.formats import FindFile


def beside(given: Iterable[Path], *, root: Path = Path()) -> FindFile:
    """Give a way to files in these folders and in those of these files, and below.

    Paths begin at `root`.
    """
    resolved = (path.resolve() for path in given)
    folders = {path if path.is_dir() else path.parent for path in resolved}

    def find(path: str) -> bytes | None:
        # A link may lead anywhere; what counts is where it ends.
        try:
            file = (root / path).resolve()
            is_there = file.is_file()
        except (OSError, ValueError):
            return None  # no file can have such a name
        if not is_there or folders.isdisjoint(file.parents):
            return None
        with file.open("rb") as opened:
            return opened.read(MAX_FILE_BYTES + 1)  # one byte more tells that it is too long

    return find
