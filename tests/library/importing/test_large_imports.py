"""Large imports: nobody waits long for one, and nobody sees half of one."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evals_app.formats.importing import SourceFile
from evals_app.library import saving
from evals_app.library.deleting.restoring import restore_deleted
from evals_app.library.importing.file_import import import_files
from evals_app.library.saving import SuiteWriting
from evals_app.models import Assertion, Case, Suite, Turn
from evals_app.models.authored.suites import remove_forgotten_staged
from tests.library.written import AGENT, EVERYTHING

pytestmark = pytest.mark.django_db

FEW = 3


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "AT_ONCE", FEW)


def table(word: str, names: Iterator[int] | range, *, top: str = "") -> list[SourceFile]:
    rows = "".join(f"c{n},Where is order {n}?,{word} {n}\n" for n in names)
    return [AGENT, SourceFile("orders.csv", f"case,user,contains\n{top}{rows}".encode())]


def bring(files: list[SourceFile], **options: Any) -> str:
    return import_files(files, agent="shop", **options).changes[-1].what


def cases() -> list[tuple[str, str]]:
    spec = Suite.objects.with_everything().get().to_spec()
    return [(case.name, case.turns[0].model_dump_json()) for case in spec.cases]


def left_over() -> list[int]:
    """Count what belongs to no suite."""
    turns = Turn.objects.filter(case__suite=None)
    return [rows.count() for rows in (Case.with_staged.filter(suite=None), turns)]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(table("gone", range(8)), id="all of them"),
        pytest.param(table("sent", range(8), top="first,Hi,x\n"), id="one more at the top"),
        pytest.param(table("sent", range(4, 20)), id="some go, more come"),
        pytest.param(table("sent", range(2)), id="most go"),
        pytest.param(table("sent", reversed(range(8))), id="another order"),
    ],
)
def test_what_is_written_ahead_becomes_the_suite(second: list[SourceFile]) -> None:
    assert bring(table("sent", range(8))) == "created"
    assert bring(second) == "updated"
    after = cases()
    assert left_over() == [0, 0]
    assert Assertion.objects.count() == len(after)

    Suite.objects.all().delete()
    bring(second)
    assert cases() == after
    assert bring(second) == "unchanged"


def test_all_cases_that_go_can_be_restored() -> None:
    bring(table("sent", range(8)))
    (entry,) = import_files(table("sent", range(5, 20)), agent="shop").deleted

    restored = restore_deleted(entry, by=User.objects.create_user("ann"))

    assert [case.name for case in restored.rows] == [f"c{number}" for number in range(5)]
    assert Assertion.objects.count() == Suite.objects.get().cases.count() == 20


def test_a_few_edited_cases_of_many_keep_their_rows() -> None:
    bring(table("sent", range(20)))
    before = dict(Case.objects.values_list("name", "pk"))
    files = table("sent", range(20))
    edited = SourceFile("orders.csv", files[1].content.replace(b"sent 7", b"gone 7"))

    bring([AGENT, edited])

    assert dict(Case.objects.values_list("name", "pk")) == before


def test_what_is_written_ahead_is_seen_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    write = SuiteWriting.write

    def look_first(self: SuiteWriting) -> None:
        seen.extend([Case.with_staged.count(), Case.objects.count(), Suite.objects.count()])
        write(self)

    monkeypatch.setattr(SuiteWriting, "write", look_first)
    bring(table("sent", range(8)))

    assert seen == [8, 0, 0]


def test_an_import_that_fails_at_the_end_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bring(table("sent", range(8)))
    before = cases()

    def fail(_: SuiteWriting) -> None:
        raise OperationalError

    monkeypatch.setattr(SuiteWriting, "write", fail)
    with pytest.raises(OperationalError):
        bring(table("gone", range(8)))

    assert cases() == before
    assert left_over() == [0, 0]


def test_what_a_killed_import_leaves_goes_a_day_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SuiteWriting, "write", lambda _: None)
    monkeypatch.setattr(SuiteWriting, "clean_up", lambda _: None)
    bring(table("sent", range(8)))

    remove_forgotten_staged()
    assert left_over() == [8, 8]
    Case.with_staged.update(created_at=timezone.now() - timedelta(days=2))
    remove_forgotten_staged()
    assert left_over() == [0, 0]


def test_a_dry_run_writes_nothing() -> None:
    bring(table("sent", range(8)))

    with CaptureQueriesContext(connection) as queries:
        import_files([*EVERYTHING, *table("gone", range(9))[1:]], agent="shop", dry_run=True)

    verbs = {query["sql"].lstrip("(").split(maxsplit=1)[0] for query in queries}
    # PostgreSQL declares a cursor where rows are read in parts.
    assert verbs <= {"SELECT", "DECLARE", "SAVEPOINT", "RELEASE"}


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_waits_for_nobody_who_writes() -> None:
    """On SQLite a writer locks the whole database."""
    bring(table("sent", range(8)))
    is_locked, is_over = threading.Event(), threading.Event()

    def lock() -> None:
        try:
            with transaction.atomic():
                Suite.objects.update(description="Mine")
                is_locked.set()
                is_over.wait(60)
        finally:
            connection.close()

    other = threading.Thread(target=lock)
    other.start()
    try:
        assert is_locked.wait(60)
        report = import_files(table("gone", range(8)), agent="shop", dry_run=True)
        assert other.is_alive()
    finally:
        is_over.set()
        other.join()

    assert report.changes[-1].what == "updated"


@pytest.mark.django_db(transaction=True)
def test_others_write_while_a_large_import_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is staged is committed a few at a time."""
    bring(table("sent", range(2)))
    written: list[int] = []

    def elsewhere() -> None:
        try:
            written.append(Suite.objects.update(description="Mine"))
        finally:
            connection.close()

    def write_elsewhere() -> None:
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()

    monkeypatch.setattr(saving, "let_others_write", write_elsewhere)
    bring(table("gone", range(9)))

    assert written == [1, 1, 1]
    assert len(cases()) == 9
