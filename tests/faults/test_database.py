"""A database that goes away, or whose disk is full, in the middle of a run: the run ends right."""

import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from evals_app.runs.ground.patience import AWAY
from evalsite import environment
from tests.faults.crew import (
    LEASE_S,
    RECOVERED_S,
    check_run,
    crew,
    eventually,
    finished,
    is_over,
    start,
)
from tests.faults.databases import default_database, filled, postgresql, small_disk

pytestmark = pytest.mark.django_db(transaction=True)

HERE = Path(__file__).parent


def settings_of(url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setenv("DATABASE_URL", url)
    return environment.database("DATABASE_URL", default=HERE, relative_to=HERE)


def once_it_answers(condition: Callable[[], bool]) -> Callable[[], bool]:
    """Take an error of the database for a no, and connect again."""

    def look() -> bool:
        try:
            return condition()
        except AWAY:
            connection.close()
            return False

    return look


def test_postgresql_restarted_in_the_middle_of_a_run(
    child_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with postgresql() as server, default_database(settings_of(server.url, monkeypatch)):
        call_command("migrate", verbosity=0)
        run = start(120)
        with crew(child_environment | {"DATABASE_URL": server.url}, tmp_path) as hurt:
            for how, away_s in ((signal.SIGINT, 1.0), (signal.SIGQUIT, LEASE_S + 1.0)):
                before = finished()
                eventually(once_it_answers(lambda n=before: finished() > n + 5), "results")  # type: ignore[misc]
                server.stop(how)
                time.sleep(away_s)
                server.start()
                connection.close()
            over = once_it_answers(lambda: is_over(run))

            eventually(over, "the end of the run", within_s=2 * RECOVERED_S)
            assert "The database answers again." in hurt.log
        check_run(run)


def test_a_disk_that_is_full_in_the_middle_of_a_run(
    child_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("this run is on PostgreSQL: its server would have to be on the full disk")
    with small_disk(megabytes=24) as disk:
        with closing(sqlite3.connect(disk / "test.sqlite3")) as copy:
            connection.ensure_connection()
            connection.connection.backup(copy)
        url = f"sqlite:///{disk / 'test.sqlite3'}"
        with default_database(settings_of(url, monkeypatch)):
            run = start(80)
            with crew(child_environment | {"DATABASE_URL": url}, tmp_path) as hurt:
                eventually(lambda: finished() > 5, "some results")
                with connection.cursor() as cursor:  # its log may hold space to be used again
                    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                with filled(disk):
                    eventually(lambda: "disk is full" in hurt.log, "somebody notices")
                    time.sleep(LEASE_S + 1.0)
                over = once_it_answers(lambda: is_over(run))

                eventually(over, "the end of the run", within_s=2 * RECOVERED_S)
                assert "The database answers again." in hurt.log
            check_run(run)
