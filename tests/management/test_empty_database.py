"""The empty database that runs of files copy, made by processes as `run_evals` makes it."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.apps import apps

from evals_app.management import empty_database

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = """
import django
django.setup()
from evals_app.management.empty_database import make_empty_database
make_empty_database()
"""


def start(data: Path, cache: Path, *, before: str = "") -> subprocess.Popen[str]:
    own = {"EVALWELL_DATA_DIR": str(data), "XDG_CACHE_HOME": str(cache)}
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= own | {"DJANGO_SETTINGS_MODULE": "evalsite.settings"}
    return subprocess.Popen(
        [sys.executable, "-c", before + SCRIPT],
        cwd=ROOT,
        env=environment,
        text=True,
        stderr=subprocess.PIPE,
        umask=0o077,
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err


def groups_in(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [name for (name,) in connection.execute("SELECT name FROM auth_group ORDER BY name")]


@pytest.mark.slow
def test_it_is_migrated_once_and_then_copied(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "evalwell").mkdir(parents=True)
    (cache / "evalwell" / "empty-of-another-version.sqlite3").touch()

    at_once = [start(tmp_path / name, cache) for name in ("one", "two")]
    for process in at_once:
        finish(process)

    (kept,) = (cache / "evalwell").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "Viewer" in groups_in(kept)
    assert groups_in(kept) == groups_in(tmp_path / "one" / "evalwell.sqlite3")
    assert groups_in(kept) == groups_in(tmp_path / "two" / "evalwell.sqlite3")

    with closing(sqlite3.connect(kept)) as connection, connection:
        connection.execute("INSERT INTO auth_group (name) VALUES ('of the copy')")
    finish(start(tmp_path / "three", cache))

    assert "of the copy" in groups_in(tmp_path / "three" / "evalwell.sqlite3")

    as_another_user = "import os; os.geteuid = lambda: 4711"
    finish(start(tmp_path / "four", cache, before=as_another_user))

    assert "of the copy" not in groups_in(tmp_path / "four" / "evalwell.sqlite3")


@pytest.mark.slow
def test_it_is_migrated_where_nothing_can_be_kept(tmp_path: Path) -> None:
    finish(start(tmp_path / "data", Path("/dev/null")))

    assert "Viewer" in groups_in(tmp_path / "data" / "evalwell.sqlite3")


def test_a_migration_with_another_content_needs_another_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migration = tmp_path / "migrations" / "0001_initial.py"
    migration.parent.mkdir()
    configs = [*apps.get_app_configs(), SimpleNamespace(path=str(tmp_path))]
    monkeypatch.setattr(apps, "get_app_configs", lambda: configs)
    names = [empty_database.kept_file().name]

    for content in ("a", "b"):
        migration.write_text(content)
        names.append(empty_database.kept_file().name)

    assert len(set(names)) == 3
