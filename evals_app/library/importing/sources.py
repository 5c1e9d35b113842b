"""Where suites come from: the files that they were imported from."""

import posixpath
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals_app.formats.importing import Imported
from evals_app.models import Suite

# The paths of pasted text and of pasted rows, which are not files.
PASTED = "pasted.yaml"
PASTED_ROWS = "pasted.csv"

_OF_TABLE = re.compile(r"(?:\.suite)?\.(?:csv|xlsx)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of an import, and the folders in which suites whose file is gone are archived.

    `root` is the folder, as a whole path, in which their paths begin; empty if unknown.
    """

    root: str
    folders: Collection[str]
    paths: Sequence[str]

    def source_of(self, path: str) -> str:
        """Return the path that a suite remembers; empty for pasted text."""
        if path in (PASTED, PASTED_ROWS):
            return ""
        return posixpath.normpath(posixpath.join(self.root, path))

    def missing_suites(self, imported: Imported) -> list[str]:
        """Return the slugs of suites that came from these folders and are not imported now."""
        if not self.folders:
            return []
        here = {suite.spec.slug for suite in imported.suites}
        begins = tuple(f"{folder.rstrip('/')}/" for folder in self.folders)
        read = set(map(self.source_of, self.paths))
        # Compared here: SQLite ignores case.
        stored = Suite.objects.current().exclude(source="").order_by("slug")
        return [
            slug
            for slug, source in stored.values_list("slug", "source")
            if slug not in here
            and source.startswith(begins)
            # A table may be imported by its own name and skipped in its folder.
            and (source in read or not _is_there(Path(source)))
        ]


def other_source(stored: str, new: str) -> str:
    """Return the file that a suite came from, if another file would replace it."""
    if not stored or not new or is_same_file(stored, new) or _was_renamed(stored):
        return ""
    return stored


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths may name the same file; one may begin in a higher folder.

    A table may exist as CSV and as a workbook.
    """
    shorter, longer = sorted((_OF_TABLE.sub("", one), _OF_TABLE.sub("", other)), key=len)
    return longer == shorter or longer.endswith(f"/{shorter}")


def _was_renamed(path: str) -> bool:
    """Whether a file no longer exists in a folder that does."""
    file = Path(path)
    return file.is_absolute() and _is_there(file.parent) and not _is_there(file)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # not readable, which does not mean that it is gone
