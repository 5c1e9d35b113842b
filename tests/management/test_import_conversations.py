"""Real conversations by the command: imported once, masked, and graded without an agent."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evals_app.models import Assertion, ConversationSet, Run, Transcript
from evals_app.runs.process.worker_loop import work
from evals_app.runs.recorded.sets import CannotRemoveSetError, remove_set
from tests.runs.recorded.conversations import content_of, row_of, rows_of
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


def called(*arguments: object) -> str:
    out = StringIO()
    call_command("import_conversations", *map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture
def week(tmp_path: Path) -> Path:
    path = tmp_path / "week.jsonl"
    talk = (("user", "I am ann@example.org"), ("assistant", "It is 6.90."))
    path.write_bytes(content_of([*rows_of(3), row_of("ann", *talk)]))
    return path


def test_a_file_is_imported_once_masked_and_a_sample_is_graded(week: Path) -> None:
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})

    told = called(week, "--set", "Help desk", "--grade", suite.slug, "--sample", 2)
    assert "4 conversations" in told
    assert "4 were here already" in called(week, "--set", "help-desk")
    work()

    assert ConversationSet.objects.get().count == 4
    assert Run.objects.get().total == 2
    stored = Transcript.objects.get(execution__case="ann").trial["turns"][0]["user"]
    assert "ann@example.org" not in stored


def test_conversations_of_a_run_are_copied() -> None:
    run = finished(make_suite())
    assert "3 conversations were imported" in called("--from-run", run.pk, "--set", "Ours")
    assert ConversationSet.objects.get(slug="ours").count == 3
    with pytest.raises(CommandError, match="no run 999"):
        called("--from-run", 999, "--set", "Ours")
    with pytest.raises(CommandError, match="Name a file"):
        called("--set", "Ours")


@pytest.mark.parametrize(
    "options",
    [("--column", "id"), ("--grade", "none"), ("--sample", "0")],
    ids=["a column without a name", "no such suite", "an empty sample"],
)
def test_wrong_usage_imports_nothing(week: Path, options: tuple[str, str]) -> None:
    with pytest.raises(CommandError):
        called(week, "--set", "Help desk", *options)
    assert not ConversationSet.objects.exists()


def test_a_set_is_removed_with_all_that_was_said_unless_a_run_grades_it(week: Path) -> None:
    suite = make_suite()
    Assertion.objects.create(suite=suite, type="contains", options={"value": "Answer"})
    called(week, "--set", "Help desk", "--grade", suite.slug)
    with pytest.raises(CannotRemoveSetError):
        remove_set(ConversationSet.objects.get())
    work()

    remove_set(ConversationSet.objects.get())

    assert not Transcript.objects.exists()
    assert not Run.all_runs.exists()
    assert not ConversationSet.objects.exists()
