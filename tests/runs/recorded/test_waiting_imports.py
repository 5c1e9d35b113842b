"""Large files wait on disk until a worker imports them, and are removed whatever happens."""

import logging
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from evals_app.models import Activity, ConversationImport, ConversationSet, Execution, Run
from evals_app.runs.recorded import waiting_imports
from evals_app.runs.recorded.import_conversations import (
    CLAIMED_FOR,
    CannotImportConversationsError,
    import_conversations,
)
from evals_app.runs.recorded.sets import remove_set
from evals_app.runs.recorded.waiting_imports import (
    MAX_ATTEMPTS,
    discard_import,
    has_waiting,
    import_waiting,
    keep_upload,
    remove_unnamed_uploads,
)
from tests.runs.recorded.conversations import content_of, file_of, make_set, row_of, rows_of

pytestmark = [pytest.mark.django_db(transaction=True)]

ANN = row_of("ann", ("user", "I am ann@example.org"), ("assistant", "It is 6.90."))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    return tmp_path / "uploads"


def kept(content: bytes, name: str = "week.jsonl", **how: Any) -> ConversationImport:
    return keep_upload(make_set(), name, [content], **{"is_masked": True, **how})


def test_a_file_waits_where_only_the_site_reads_it_and_is_imported_and_removed(
    folder: Path,
) -> None:
    row = kept(content_of([*rows_of(3), ANN]))
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert has_waiting()
    assert not Run.objects.exists()

    import_waiting()

    row.refresh_from_db()
    assert (row.added, row.read_count, row.kind) == (4, 4, "records")
    assert Activity.objects.latest("pk").origin == Activity.Origin.WORKER
    assert row.masked == {"e-mail": 1}
    assert row.finished_at
    assert ConversationSet.objects.get().count == 4
    assert not list(folder.iterdir())
    assert not has_waiting()
    assert Activity.objects.filter(kind="imported").count() == 1


def test_columns_are_read_as_chosen() -> None:
    chosen = {"Fall": "id", "x": "question", "y": "answer"}
    kept(b"Fall,x,y\n7,Where is it?,In Rome.\n", "fall.csv", columns=chosen)
    import_waiting()
    assert ConversationSet.objects.get().conversations.get().external_id == "7"


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("week.jsonl", b"[{", "JSON"),
        ("week.xlsx", b"PK no", "week.xlsx"),
        ("week.csv", b"a,b\n1,2\n", "columns"),
        ("week.json", b"[]", "conversations"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_is_removed(
    folder: Path, name: str, content: bytes, word: str
) -> None:
    row = kept(content, name)
    import_waiting()
    row.refresh_from_db()
    assert word in row.failure
    assert (row.upload, row.finished_at) == ("", None)
    assert not list(folder.iterdir())
    assert not has_waiting()


@pytest.mark.parametrize("error", [MemoryError, RuntimeError("ann@example.org")])
def test_what_breaks_is_noted_without_what_the_file_says(
    folder: Path, error: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_args: object, **_how: object) -> None:
        raise error

    row = kept(content_of([ANN]))
    monkeypatch.setattr(waiting_imports, "continue_import", broken)
    with caplog.at_level(logging.DEBUG):
        import_waiting()
    row.refresh_from_db()
    assert row.failure
    assert "ann@example.org" not in row.failure + caplog.text
    assert not list(folder.iterdir())


def test_a_file_that_kills_its_worker_again_and_again_is_given_up(folder: Path) -> None:
    row = kept(content_of(rows_of(1)))
    ConversationImport.objects.update(attempts=MAX_ATTEMPTS)
    import_waiting()
    row.refresh_from_db()
    assert str(MAX_ATTEMPTS) in row.failure
    assert not list(folder.iterdir())


def test_what_another_worker_imports_is_left_alone_until_it_gives_no_sign_of_life() -> None:
    row = kept(content_of(rows_of(1)))
    ConversationImport.objects.update(claimed_until=timezone.now() + CLAIMED_FOR)
    assert not has_waiting()
    ConversationImport.objects.update(claimed_until=timezone.now() - CLAIMED_FOR)
    import_waiting()
    row.refresh_from_db()
    assert row.finished_at


def test_a_file_that_no_worker_finds_is_an_error_after_an_hour(folder: Path) -> None:
    row = kept(content_of(rows_of(1)))
    next(folder.iterdir()).unlink()
    assert not has_waiting()
    ConversationImport.objects.update(created_at=timezone.now() - 31 * CLAIMED_FOR)
    assert not has_waiting()
    row.refresh_from_db()
    assert row.failure


def test_sending_the_file_again_continues_and_removes_the_first_one(folder: Path) -> None:
    first = kept(content_of(rows_of(2)))
    again = keep_upload(
        first.conversation_set, "week.jsonl", [content_of(rows_of(2))], is_masked=True
    )
    assert again == first
    assert len(list(folder.iterdir())) == 1
    with pytest.raises(CannotImportConversationsError):
        keep_upload(first.conversation_set, "week.jsonl", [b""], is_masked=False)
    assert len(list(folder.iterdir())) == 1


def test_a_discarded_import_leaves_nothing(folder: Path) -> None:
    row = kept(content_of(rows_of(1)))
    assert discard_import(row)
    assert not discard_import(row)
    assert not ConversationImport.objects.exists()
    assert not Run.all_runs.exists()
    assert not list(folder.iterdir())
    assert Activity.objects.get().text.startswith("Discarded")

    whole = import_conversations(row.conversation_set, file_of(rows_of(1)), masker=None)
    assert not discard_import(whole)
    assert Execution.objects.count() == 1


def test_a_removed_set_takes_its_files_along(folder: Path) -> None:
    remove_set(kept(content_of(rows_of(1))).conversation_set)
    assert not list(folder.iterdir())


def test_old_files_that_no_import_names_are_removed(folder: Path) -> None:
    kept(content_of(rows_of(1)))
    day = time.time() - waiting_imports.KEEP_S - 1
    for name, at in (("old", day), ("new", time.time())):
        (folder / name).write_bytes(b"")
        os.utime(folder / name, (at, at))
    os.utime(next(path for path in folder.iterdir() if len(path.name) > 3), (day, day))
    remove_unnamed_uploads()
    assert {path.name for path in folder.iterdir()} & {"old", "new"} == {"new"}
    assert len(list(folder.iterdir())) == 2
