"""Processes that are killed while they import or grade real conversations: none is lost or doubled."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models import Count

from evals_app.models import (
    Assertion,
    ConversationGrading,
    ConversationImport,
    ConversationSet,
    DueImport,
    Execution,
    GradeResult,
    ImportedConversation,
    Run,
    Transcript,
)
from evals_app.runs.recorded.daily_imports import note_due_imports
from evals_app.runs.recorded.grade_conversations import WantedConversations, start_grading
from evals_app.runs.recorded.waiting_gradings import ask_for_grading
from evals_app.runs.recorded.waiting_imports import keep_upload
from tests.faults.crew import ROOT, crew, eventually, is_over, send
from tests.runs.recorded.conversations import content_of, imported, row_of, rows_of
from tests.runs.recorded.daily import every_day, owner, put
from tests.runs.suites import make_suite

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]

COUNT = 4_000
KILLS = 3


def check_conversations(count: int) -> None:
    """Assert that each conversation is there once, with all that belongs to it."""
    row = ConversationImport.objects.get()
    assert (row.added, row.known, row.changed, row.repeated) == (count, 0, 0, 0)
    target = ConversationSet.objects.get()
    assert (target.count, target.days) == (count, {"2026-11-16": count})
    ids = target.conversations.values_list("external_id", flat=True)
    assert sorted(map(int, ids)) == list(range(count))
    positions = row.run.executions.values_list("position", flat=True)
    assert sorted(positions) == list(range(count))
    assert Transcript.objects.filter(execution__run=row.run_id).count() == count
    assert (row.run.status, row.run.total, row.run.measured) == ("finished", count, count)
    assert Run.all_runs.filter(is_import=True).count() == 1


def written() -> int:
    return ImportedConversation.objects.count()


def test_an_import_killed_at_random_is_continued(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    chance = random.Random(30)
    file = tmp_path / "week.jsonl"
    file.write_bytes(content_of(rows_of(COUNT, date="2026-11-16")))
    words = [sys.executable, "manage.py", "import_conversations", str(file), "--set", "Help desk"]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(words, cwd=ROOT, env=child_environment, stdout=subprocess.DEVNULL)

    for _ in range(KILLS):
        before, process = written(), start()
        eventually(lambda n=before: written() > n, "more conversations")  # type: ignore[misc]
        time.sleep(chance.uniform(0, 0.3))
        send(signal.SIGKILL, process.pid)
        process.wait()
        assert not Run.objects.exists()  # out of sight
    assert written() < COUNT

    assert start().wait(60) == 0
    check_conversations(COUNT)
    assert start().wait(60) == 0  # once more imports nothing
    assert written() == COUNT


def test_workers_killed_at_random_while_they_grade(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    chance = random.Random(30)
    row = imported(rows_of(1_000))
    suite = make_suite()
    for position in range(3):
        check = {"type": "contains", "options": {"value": "Answer"}}
        Assertion.objects.create(suite=suite, position=position, **check)
    [run] = start_grading(row.conversation_set, suite, WantedConversations())

    def graded() -> int:
        return Execution.objects.filter(run=run, status="finished").count()

    with crew(child_environment, tmp_path) as hurt:
        for _ in range(KILLS):
            before = graded()
            eventually(lambda n=before: graded() > n or is_over(run), "more grades")  # type: ignore[misc]
            time.sleep(chance.uniform(0, 0.3))
            send(signal.SIGKILL, *hurt.hands[:-2])  # all workers
        assert not is_over(run)
        eventually(lambda: is_over(run), "the end of the run")

    run.refresh_from_db()
    assert (run.status, run.total, run.passed, run.errored) == ("finished", 1_000, 1_000, 0)
    sources = Counter(Execution.objects.filter(run=run).values_list("source", flat=True))
    assert sources == Counter(row.run.executions.values_list("pk", flat=True))
    grades = GradeResult.objects.filter(execution__run=run)
    per_execution = grades.values("execution").annotate(n=Count("pk")).values_list("n", flat=True)
    assert list(per_execution) == [3] * 1_000
    assert not GradeResult.objects.exclude(execution__run=run).exists()


def test_workers_killed_while_they_import_a_large_file(
    child_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    environment = child_environment | {"EVALWELL_DATA_DIR": str(tmp_path)}
    target = ConversationSet.objects.create(slug="help-desk", name="Help desk")
    content = content_of(rows_of(COUNT, date="2026-11-16"))
    keep_upload(target, "week.jsonl", [content], is_masked=True)

    for _ in range(2):
        with crew(environment, tmp_path) as hurt:
            before = written()
            eventually(lambda n=before: written() > n, "more conversations")  # type: ignore[misc]
            send(signal.SIGKILL, *hurt.tree)
            hurt.wait()
        # As if the time for a sign of life had passed.
        ConversationImport.objects.update(claimed_until=None)
    assert written() < COUNT
    with crew(environment, tmp_path):
        eventually(lambda: ConversationSet.objects.get().count > 0, "the end of the import")
    check_conversations(COUNT)
    assert not list((tmp_path / "uploads").iterdir())


def test_workers_killed_while_they_start_grading(
    child_environment: dict[str, str], tmp_path: Path
) -> None:
    chance = random.Random(30)
    first = imported(rows_of(COUNT))
    target = first.conversation_set
    second = imported([row_of(f"b{n}") for n in range(COUNT)], target)
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    row = ask_for_grading(target, suite, WantedConversations())
    assert isinstance(row, ConversationGrading)

    def done() -> int:
        return ConversationGrading.objects.get().done

    for _ in range(KILLS):
        with crew(child_environment, tmp_path) as hurt:
            eventually(lambda: done() > 0, "prepared conversations")
            time.sleep(chance.uniform(0, 0.5))
            send(signal.SIGKILL, *hurt.tree)
            hurt.wait()
        # As if the time for a sign of life had passed.
        ConversationGrading.objects.update(claimed_until=None, done=0)
    assert row.runs.count() < 2
    with crew(child_environment, tmp_path):
        eventually(lambda: row.runs.count() == 2 and all(map(is_over, row.runs)), "the end of both")
        eventually(lambda: Run.all_runs.filter(is_import=False).count() == 2, "no other run")

    assert sorted(run.total for run in row.runs) == [COUNT, COUNT]
    sources = Counter(Execution.objects.filter(run__in=row.runs).values_list("source", flat=True))
    own = Execution.objects.filter(run__in=[first.run_id, second.run_id])
    assert sources == Counter(own.values_list("pk", flat=True))
    row.refresh_from_db()
    assert (row.done, row.failure, row.finished_at is None) == (2 * COUNT, "", False)


def test_workers_killed_between_a_daily_import_and_its_grading(
    child_environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exports = tmp_path / "exports"
    exports.mkdir()
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(settings, "IMPORT_FOLDERS", [str(exports)])
    environment = child_environment | {
        "EVALWELL_DATA_DIR": str(tmp_path),
        "EVALWELL_IMPORT_FOLDERS": str(exports),
    }
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    target = ConversationSet.objects.create(slug="help-desk", name="Help desk")
    every_day(target, exports, suite)
    put(exports, "week.jsonl", rows_of(COUNT, date="2026-11-16"))
    note_due_imports()

    def die_once(condition: Callable[[], bool], what: str) -> None:
        with crew(environment, tmp_path) as hurt:
            eventually(condition, what)
            send(signal.SIGKILL, *hurt.tree)
            hurt.wait()
        # As if the time for a sign of life had passed.
        ConversationImport.objects.update(claimed_until=None)
        DueImport.objects.update(claimed_until=None)
        ConversationGrading.objects.update(claimed_until=None)

    die_once(ConversationImport.objects.exists, "the copy of the file")
    die_once(lambda: written() > 0, "some conversations")
    die_once(lambda: ConversationSet.objects.get().count > 0, "the end of the import")
    die_once(Run.objects.exists, "the start of the run")
    with crew(environment, tmp_path):
        eventually(lambda: DueImport.objects.get().state == "ended", "the end")
    check_conversations(COUNT)
    assert DueImport.objects.get().topics == {"": [0, COUNT]}
    [run] = Run.objects.all()
    assert (run.total, run.passed, run.created_by) == (COUNT, COUNT, owner())
    assert (exports / "week.jsonl").exists()
