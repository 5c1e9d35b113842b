"""Where suites come from: the files that they were imported from."""

import posixpath
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals_app.formats import Imported
from evals_app.models import Suite

# A text that somebody pasted is no file, whatever it is called.
PASTED = "pasted.yaml"

_OF_TABLE = re.compile(r"(?:\.suite)?\.(?:csv|xlsx)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of an import, and the folders in which suites whose file is gone are archived.

    `root` is the folder, as a whole path, in which their paths begin; empty if it is unknown.
    """

    root: str
    folders: Collection[str]
    paths: Sequence[str]

    def source_of(self, path: str) -> str:
        """Return how a suite remembers its file; empty where that would mean nothing."""
        if path == PASTED:
            return ""
        return posixpath.normpath(posixpath.join(self.root, path))

    def gone(self, imported: Imported) -> list[str]:
        """Return the slugs of suites that came from these folders and are not imported now."""
        if not self.folders:
            return []
        here = {each.spec.slug for each in imported.suites}
        begins = tuple(f"{folder.rstrip('/')}/" for folder in self.folders)
        read = set(map(self.source_of, self.paths))
        # Compared here: to SQLite upper and lower case are the same.
        stored = Suite.objects.current().exclude(source="").order_by("slug")
        return [
            slug
            for slug, source in stored.values_list("slug", "source")
            if slug not in here
            and source.startswith(begins)
            # A table may be imported by its own name and be passed over in its folder.
            and (source in read or not _is_there(Path(source)))
        ]


def other_source(stored: str, new: str) -> str:
    """Return the file that a suite came from, if another one would take the suite over."""
    if not stored or not new or is_same_file(stored, new) or _was_renamed(stored):
        return ""
    return stored


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths can be of one file; one of them may begin further up than the other.

    A table may be kept as CSV and as a workbook.
    """
    shorter, longer = sorted((_OF_TABLE.sub("", one), _OF_TABLE.sub("", other)), key=len)
    return longer == shorter or longer.endswith(f"/{shorter}")


def _was_renamed(path: str) -> bool:
    """Whether a file is gone from a folder that is still there."""
    file = Path(path)
    return file.is_absolute() and _is_there(file.parent) and not _is_there(file)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # who may not look cannot say that it is gone
