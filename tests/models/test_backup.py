"""The commands of docs/backup.md: a copy that is made while everything runs can be restored."""

import os
import re
import shutil
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from tests.migrations.stored import DATABASES

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "backup.md"
ENOUGH = 20  # transactions before the copy is begun
# What belongs to the machine, not to the copy.
SERVICE = ("systemctl ", "evalwell ")
OWNER = " -o evalwell -g evalwell"


def commands(section: str) -> list[str]:
    """Return the shell blocks of a section: backup, then restore."""
    _, _, text = PAGE.read_text().partition(f"\n## {section}\n")
    return re.findall(r"```sh\n(.*?)```", text.partition("\n## ")[0], re.DOTALL)


def run(block: str, folder: Path, **environment: str) -> str:
    """Run a block in a folder that stands for the root of the machine."""
    lines = [line for line in block.splitlines() if not line.startswith(SERVICE)]
    script = "\n".join(lines).replace(OWNER, "")
    script = re.sub(r"(/var|/etc)/", rf"{folder}\1/", script)
    done = subprocess.run(
        ["/bin/sh", "-eu", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
    )
    return done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for folder in ("var/lib/evalwell", "var/backups", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/evalwell.env").write_text("EVALWELL_HTTPS=1\n")
    return tmp_path


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="the program sqlite3 is not installed")
def test_a_copy_of_sqlite_that_is_made_while_rows_are_written_is_restored(machine: Path) -> None:
    data = machine / "var/lib/evalwell"
    file = data / "evalwell.sqlite3"
    (data / "secret_key").write_text("secret")
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript((DATABASES / "0.1.0" / "sqlite.sql").read_text())
    is_busy, is_over = threading.Event(), threading.Event()

    def write() -> None:
        """Write pairs, each in one transaction."""
        with closing(sqlite3.connect(file, timeout=30)) as writer:
            number = 0
            while not is_over.is_set():
                with writer:
                    pair = [(f"{side}{number}",) for side in "ab"]
                    writer.executemany("INSERT INTO evals_app_tally VALUES (?, 1)", pair)
                number += 1
                if number == ENOUGH:
                    is_busy.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert is_busy.wait(60)
        backup, restore = commands("SQLite")
        assert run(backup, machine) == "ok\n"
    finally:
        is_over.set()
        writer.join()
    file.write_bytes(b"broken")
    (data / "secret_key").unlink()
    run(restore, machine)

    with closing(sqlite3.connect(file)) as database:
        pairs = dict(
            database.execute(
                "SELECT substr(name, 1, 1), count(*) FROM evals_app_tally"
                " WHERE name GLOB '[ab][0-9]*' GROUP BY 1"
            )
        )
        suites = database.execute("SELECT count(*) FROM evals_app_suite").fetchone()
    assert pairs["a"] == pairs["b"] >= ENOUGH
    assert suites[0] > 0
    assert (data / "secret_key").read_text() == "secret"
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.postgres
@pytest.mark.skipif(not shutil.which("pg_dump"), reason="pg_dump is not installed")
@pytest.mark.django_db
def test_a_dump_of_postgresql_is_restored_over_what_is_there(machine: Path) -> None:
    given = connection.settings_dict
    server = f"postgresql://{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT']}"
    copy = f"{given['NAME']}_restored"
    backup, restore = commands("PostgreSQL")

    (machine / "etc/evalwell.env").write_text(f"DATABASE_URL={server}/{given['NAME']}\n")
    run(backup, machine)
    with closing(psycopg.connect(f"{server}/postgres", autocommit=True)) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(copy)))
        try:
            for _ in ("into an empty database", "over another"):
                run(restore, machine, DATABASE_URL=f"{server}/{copy}")
            with closing(psycopg.connect(f"{server}/{copy}")) as restored:
                found = restored.execute("SELECT app, name FROM django_migrations").fetchall()
        finally:
            admin.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(copy)))

    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        assert sorted(found) == sorted(cursor.fetchall())
