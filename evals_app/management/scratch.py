"""A data folder for one command, removed when it ends.

It is chosen by a variable that the settings read, so it must be made before them.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evals_app.management import INTERRUPTED

DATA_DIR = "EVALWELL_DATA_DIR"
# Each of these names existing data.
_CHOSEN = ("DATABASE_URL", DATA_DIR)
# Workers of another site would take our work from this queue.
_SHARED_QUEUE = "EVALWELL_REDIS_URL"

_folders: list[Path] = []


def has_own_data() -> bool:
    """Whether the operator has chosen a database or a data folder."""
    return any(os.environ.get(name, "").strip() for name in _CHOSEN)


def is_temporary() -> bool:
    """Whether the data of this command is removed with it."""
    return bool(_folders)


@contextmanager
def temporary_data() -> Iterator[None]:
    """Have settings that are read in this block find an empty data folder of their own."""
    folder = Path(tempfile.mkdtemp(prefix="evalwell-"))
    _folders.append(folder)
    os.environ[DATA_DIR] = str(folder)
    os.environ.pop(_SHARED_QUEUE, None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))  # or the folder would stay
    try:
        yield
    finally:
        remove()


def remove() -> None:
    """Remove the folder."""
    while _folders:
        shutil.rmtree(_folders.pop(), ignore_errors=True)
