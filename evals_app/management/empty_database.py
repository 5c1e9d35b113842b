"""An empty, migrated SQLite database, kept for commands that need a new one each time.

Migrating takes longer than a short run. So it is done once for each state of the migrations, and the
result is copied.
"""

import os
import shutil
import sqlite3
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from evals_app import __version__
from evals_app.models.people import roles


def make_empty_database() -> None:
    """Make the database of the settings, which does not exist yet."""
    try:
        kept = kept_file()
        # Someone else's file might send our keys anywhere.
        if kept.stat().st_uid == os.geteuid():
            shutil.copyfile(kept, settings.DATABASES["default"]["NAME"])
            return
    except (OSError, RuntimeError):  # it is missing, or there is no folder for caches
        pass
    call_command("migrate", verbosity=0)
    with suppress(OSError, RuntimeError, DatabaseError):
        _keep()


def _keep() -> None:
    """Keep a copy of the database in place of those of other versions."""
    file = kept_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    others = [path for path in file.parent.glob("empty-*.sqlite3") if path != file]
    # Commands that run at the same time each write a file of their own.
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        copy = Path(folder) / file.name
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(copy)])
        with copy.open("rb") as written:
            os.fsync(written.fileno())  # or a power failure could leave an empty file forever
        copy.replace(file)
    for path in others:
        path.unlink(missing_ok=True)


def kept_file() -> Path:
    """Return where the database of these migrations is kept."""
    caches = Path.home() / ".cache" / os.environ.get("XDG_CACHE_HOME", "")
    return caches / "evalwell" / f"empty-{_digest()}.sqlite3"


def _digest() -> str:
    """Return a digest of everything that an empty database follows from."""
    digest = sha256(repr([__version__, django.__version__, sqlite3.sqlite_version]).encode())
    apps_of_site = apps.get_app_configs()
    files = [path for app in apps_of_site for path in Path(app.path).glob("migrations/*.py")]
    for path in sorted([*files, Path(roles.__file__)]):
        digest.update(repr((path.parts[-3:], path.read_bytes())).encode())
    return digest.hexdigest()[:32]
