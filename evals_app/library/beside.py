"""Find on disk what suites show, in the folders of their files and nowhere else."""

from collections.abc import Iterable
from pathlib import Path

from evals_app.engine.files import MAX_FILE_BYTES
from evals_app.formats import FindFile


def beside(files: Iterable[Path], *, root: Path = Path()) -> FindFile:
    """Give a way to files in the folders of these files, and below; paths begin at `root`."""
    folders = {file.resolve().parent for file in files}

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
