"""The eval files below paths: their names, contents and changes."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evals_app.formats.detect import EXPECTED
from evals_app.formats.folders import files_in
from evals_app.formats.foreign.attached import FindFile
from evals_app.formats.importing import SourceFile
from evals_app.formats.reading.parsed_file import MAX_BYTES
from evals_app.management import usage_error

# Readers refuse more than this; one more byte is read so that they notice.
MAX_BYTES = MAX_BYTES + 1

# Time of writing, size and number of a file; None: there is none.
Stamp = tuple[int, int, int] | None


def read_paths(paths: Sequence[str]) -> list[SourceFile]:
    """Read the named files, and the eval files of the named folders.

    Raises:
        CommandError: a path does not exist or cannot be read, or there is no eval file at all.
    """
    problems = [
        f"There is no file or folder {path}."
        for path in paths
        if _is_text(path) and not Path(path).exists()
    ]
    if not all(paths):
        # Python takes it for the current folder; in a shell it is a variable that is not set.
        problems.append("One of the paths is empty; write . for the current folder.")
    once: dict[Path, Path] = {}
    for file in files_in(map(Path, paths)):
        once.setdefault(file.resolve(), file)
    files = []
    for file in once.values():
        shown = os.path.relpath(file)
        if not _is_text(shown):
            readable = os.fsencode(shown).decode(errors="backslashreplace")
            problems.append(f"{readable}: rename it: its name is not UTF-8.")
            continue
        try:
            with file.open("rb") as opened:
                files.append(SourceFile(Path(shown).as_posix(), opened.read(MAX_BYTES)))
        except FileNotFoundError:
            continue  # named, and reported above
        except OSError as error:
            problems.append(f"{shown} cannot be read: {error.strerror}.")
    if not files and not problems:
        problems.append(f"There is no eval file in {', '.join(paths)}. {EXPECTED}.")
    if problems:
        raise usage_error("\n".join(problems))
    return files


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class Lookout:
    """Notices when something changes that an import of these paths reads.

    `pause` waits for a moment between two looks.
    """

    def __init__(self, paths: Sequence[str], *, pause: Callable[[], None]) -> None:
        self._paths = paths
        self._pause = pause
        self._seen: Mapping[Path, Stamp] = {}
        self._beside: dict[Path, Stamp] = {}

    def begin(self) -> None:
        """Remember how the files are, just before an import reads them."""
        self._beside.clear()
        self._seen = {file: _stamp(file) for file in files_in(map(Path, self._paths))}

    def over(self, find: FindFile) -> FindFile:
        """Watch other paths that an import finds or misses."""

        def find_watched(path: str) -> bytes | None:
            self._beside.setdefault(Path(path), _stamp(Path(path)))
            return find(path)

        return find_watched

    def wait(self) -> None:
        """Return when something has changed and then stayed the same for a moment."""
        before = {**self._beside, **self._seen}
        last = now = before
        while now == before or now != last:
            self._pause()
            last = now
            now = {file: _stamp(file) for file in (*before, *files_in(map(Path, self._paths)))}


def _stamp(path: Path) -> Stamp:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
