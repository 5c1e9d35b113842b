"""Fresh sites for measurements: a data directory and a database of their own, gone afterwards.

A site is migrated and filled once; each measurement works on a copy of it.
"""

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import psycopg
from psycopg import sql

from benchmarks.processes import measured

Kind = Literal["sqlite", "postgresql"]

KINDS: tuple[Kind, ...] = ("sqlite", "postgresql")
_OURS = ("EVALWELL_", "EVALS_", "ANTHROPIC_", "OPENAI_", "DATABASE_URL", "DJANGO_")
_numbers = count(1)


@dataclass(frozen=True)
class Site:
    """A site on this machine; `environment` is all that its processes need."""

    kind: Kind
    folder: Path
    address: str  # of the database
    variables: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        own = {"EVALWELL_DATA_DIR": str(self.folder), "DATABASE_URL": self.address}
        own["EVALWELL_LOG_LEVEL"] = "WARNING"
        return {**clean_environment(), **own, **self.variables}

    def manage(self, *arguments: str) -> None:
        """Run a command of manage.py to its end."""
        measured(command(*arguments), self.environment)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Read from the database."""
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.folder / "site.sqlite3")) as connection:
                return connection.execute(statement).fetchall()
        with psycopg.connect(self.address) as server:
            return server.execute(statement.encode()).fetchall()


@contextmanager
def filled_site(
    kind: Kind,
    *,
    files: Mapping[str, str],
    variables: Mapping[str, str],
    server: str,
) -> Iterator[Site]:
    """Make a site that has imported `files`.

    `variables` go into the environment of its processes; `server` is PostgreSQL's address.
    """
    with _new_site(kind, variables=variables, server=server, original=None) as site:
        site.manage("migrate", "--verbosity", "0")
        written = site.folder / "files"
        written.mkdir()
        for name, text in files.items():
            (written / name).write_text(text, encoding="utf-8")
        site.manage("import_evals", str(written))
        yield site


@contextmanager
def copy_of(original: Site, *, server: str) -> Iterator[Site]:
    """Make a copy of a site for as long as the block lasts."""
    with _new_site(
        original.kind, variables=original.variables, server=server, original=original
    ) as site:
        yield site


@contextmanager
def _new_site(
    kind: Kind, *, variables: Mapping[str, str], server: str, original: Site | None
) -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="evalwell-benchmark-") as name:
        folder = Path(name)
        if kind == "sqlite":
            file = folder / "site.sqlite3"
            if original is not None:
                shutil.copyfile(original.folder / file.name, file)
            yield Site(kind, folder, f"sqlite:///{file}", variables)
            return
        database = f"evalwell_benchmark_{os.getpid()}_{next(_numbers)}"
        template = "template1" if original is None else _name_in(original.address)
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        try:
            _administer(server, create.format(sql.Identifier(database), sql.Identifier(template)))
            yield Site(kind, folder, f"{server.rpartition('/')[0]}/{database}", variables)
        finally:
            _administer(server, drop.format(sql.Identifier(database)))


def clean_environment() -> dict[str, str]:
    """Return the environment without anything that sites read: neither the operator's data nor keys."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}


def command(*arguments: str) -> Sequence[str]:
    """Return the command line of a command of manage.py."""
    return [sys.executable, "manage.py", *arguments]


def _administer(server: str, statement: sql.Composed) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(statement)


def _name_in(address: str) -> str:
    return address.rpartition("/")[2]
