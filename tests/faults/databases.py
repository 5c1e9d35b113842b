"""Databases of a test's own, to be stopped and filled: a PostgreSQL server, a small disk."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.db.utils import load_backend

from evals_app.runs.process.cluster import parent_death_signal

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
IS_ROOT = os.geteuid() == 0


@contextmanager
def default_database(changes: dict[str, Any]) -> Iterator[None]:
    """Have Django use another database in this process for as long as the block lasts."""
    before = connections["default"]
    settings = {**connections.settings["default"], **changes}
    other = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, "default")
    connections["default"] = other
    try:
        yield
    finally:
        other.close()
        connections["default"] = before


class PostgreSQL:
    """A server in a folder, on a free port; it dies with this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # PostgreSQL refuses to be run by root.
        self._who: dict[str, Any] = {"user": "postgres", "group": "postgres"} if IS_ROOT else {}
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def initialise(self) -> None:
        initdb, data = str(BINARIES[-1].with_name("initdb")), str(self._folder / "data")
        subprocess.run(
            [initdb, "-D", data, "-N", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"],
            check=True,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            **self._who,
        )

    def start(self) -> None:
        options = [f"port={self.port}", f"unix_socket_directories={self._folder}", "fsync=off"]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(BINARIES[-1]), "-D", str(self._folder / "data")]
                + [part for option in options for part in ("-c", option)],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                preexec_fn=parent_death_signal(),  # noqa: PLW1509 - no thread runs
                **self._who,
            )
        give_up = time.monotonic() + 30
        while True:
            try:
                psycopg.connect(self.url).close()
            except psycopg.OperationalError:
                assert time.monotonic() < give_up, (self._folder / "log").read_text()
                time.sleep(0.1)
            else:
                return

    def stop(self, how: signal.Signals) -> None:
        """End it: SIGINT is a fast stop, SIGQUIT an immediate one, without cleaning up."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None


@contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    """Run a PostgreSQL server of our own."""
    if not BINARIES:
        pytest.skip("no PostgreSQL server program in /usr/lib/postgresql")
    folder = Path(tempfile.mkdtemp(prefix="evalwell-postgresql-"))
    try:
        if IS_ROOT:
            try:
                shutil.chown(folder, "postgres", "postgres")
            except LookupError:
                pytest.skip("root cannot run PostgreSQL, and there is no user postgres")
        server = PostgreSQL(folder)
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def small_disk(*, megabytes: int) -> Iterator[Path]:
    """Return a file system of its own that is soon full."""
    if not IS_ROOT:
        pytest.skip("only root can mount a small disk")
    folder = Path(tempfile.mkdtemp(prefix="evalwell-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    try:
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("no file system may be mounted here")
        try:
            yield folder
        finally:
            # Lazily: processes that were left behind must not keep it.
            subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S607
    finally:
        folder.rmdir()


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no byte free on a file system for as long as the block lasts."""
    filler = folder / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        yield
    finally:
        filler.unlink()
