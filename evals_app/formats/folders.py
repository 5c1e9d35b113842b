"""The eval files of folders."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from evals_app.formats.detect import eval_files
from evals_app.formats.foreign.attached import is_shown


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """Return files, and the eval files of folders in a stable order; without any, the tables."""
    for path in paths:
        if path.is_dir():
            # Some are known by the folders above them, which may lie above this one.
            home = path.resolve()
            inside = {(home / file).as_posix(): file for file in _visible(path)}
            yield from (path / inside[file] for file in eval_files(inside))
        else:
            yield path


def _visible(folder: Path) -> Iterator[Path]:
    """Walk a folder in a stable order; hidden files and attachments of suites are left out."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            inside = Path(parent, name).relative_to(folder)
            if not (name.startswith(".") or is_shown(inside.as_posix())):
                yield inside
