from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.utils import timezone

from evals_app.models import Review, Run, Transcript
from evals_app.runs.ground.workers import announce
from tests import makers

pytestmark = pytest.mark.django_db


def make_run(**changes: Any) -> Run:
    finished_at = timezone.now() - timedelta(days=changes.pop("days_ago", 100))
    return makers.make_run(["passed", "failed"], finished_at=finished_at, **changes)


def prune(*arguments: str) -> str:
    out = StringIO()
    call_command("prune_transcripts", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def refused(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        call_command("prune_transcripts", *arguments, stdout=StringIO())
    return str(caught.value)


def test_old_runs_lose_their_transcripts_and_are_named() -> None:
    run, pinned = make_run(), make_run(is_pinned=True)
    make_run()

    output = prune("--older-than", "90")

    assert f"Run {run.pk} of Refunds, ended " in output
    assert output.endswith("In all 1 run lost 2 transcripts. Results stay.\n")
    assert f"Run {pinned.pk}" not in output
    assert Transcript.objects.count() == 4


def test_a_dry_run_tells_and_removes_nothing() -> None:
    run = make_run(days_ago=91)
    make_run()
    row = run.executions.first()
    assert row is not None
    makers.make_grade(execution=row, calls=[{"prompt": "Is it kind?"}]).save()

    output = prune("--older-than", "90", "--dry-run")

    lost = "would lose 2 transcripts, 1 prompt of judges."
    assert output.splitlines() == [
        f"Run {run.pk} of Refunds, ended {run.finished_at:%Y-%m-%d}, {lost}",
        f"In all 1 run {lost} Results stay.",
    ]
    assert Transcript.objects.count() == 4
    run.refresh_from_db()
    assert run.pruned_at is None


def test_reviewed_conversations_go_if_asked_for_and_decisions_stay() -> None:
    run = make_run()
    make_run()
    row = run.executions.order_by("pk")[0]
    grade = makers.make_grade(execution=row, reason="Rude.", calls=[{"prompt": "Is it kind?"}])
    grade.save()
    Review.objects.create(
        execution=row, grade=grade, passed=True, reason="It is kind.", by_name="Ann"
    )
    assert "lost 1 transcript. 1 reviewed conversation stays." in prune("--older-than", "90")
    assert "Nothing to remove" in prune("--older-than", "90")

    planned = prune("--older-than", "90", "--include-reviewed", "--dry-run")
    done = prune("--older-than", "90", "--include-reviewed")

    lost = "lose 1 transcript, 1 prompt of judges.\n"
    assert (lost in planned, lost.replace("lose", "lost") in done) == (True, True)
    assert not Transcript.objects.filter(execution__run=run).exists()
    grade.refresh_from_db()
    assert (grade.calls, grade.reason) == ([], "Rude.")
    assert Review.objects.get().reason == "It is kind."
    assert "Nothing to remove" in prune("--older-than", "90", "--include-reviewed")


def test_how_many_runs_of_a_suite_stay_is_for_the_caller_to_say() -> None:
    make_run()
    make_run()

    assert "Nothing to remove" in prune("--older-than", "90", "--keep-last", "2")
    assert "In all 2 runs lost 4 transcripts" in prune("--older-than", "90", "--keep-last", "0")
    assert "Nothing to remove" in prune("--older-than", "90", "--keep-last", "0")


def test_the_age_may_come_from_the_settings(settings: Any) -> None:
    settings.EVALS_KEEP_TRANSCRIPTS_DAYS = 120
    make_run(days_ago=121)
    make_run(days_ago=119)

    output = prune("--keep-last", "0")

    assert "In all 1 run lost 2 transcripts" in output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], "--older-than DAYS", id="no age"),
        pytest.param(["--older-than", "0"], "not a number of days", id="0 days"),
        pytest.param(["--older-than", "9" * 30], "not a number of days", id="many days"),
        pytest.param(["--older-than", "1", "--keep-last", "-1"], "not a whole number", id="last"),
        pytest.param(["--older-than", "1", "--dry-run", "--vacuum"], "leave out", id="dry vacuum"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], expected: str) -> None:
    make_run()
    make_run()

    assert expected in refused(*arguments)
    assert Transcript.objects.count() == 4


@pytest.mark.postgres
def test_postgresql_makes_room_by_itself() -> None:
    assert "autovacuum" in refused("--older-than", "90", "--vacuum")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="of SQLite alone")
def test_nothing_is_vacuumed_under_a_worker() -> None:
    announce(processes=1)

    assert "stop it first" in refused("--older-than", "90", "--vacuum")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="of SQLite alone")
@pytest.mark.django_db(transaction=True)
def test_vacuum_leaves_no_free_pages() -> None:
    run = make_run()
    make_run()
    Transcript.objects.filter(execution__run=run).update(trial={"text": "word " * 200_000})
    prune("--older-than", "90")
    assert free_pages() > 100

    prune("--older-than", "90", "--vacuum")

    assert free_pages() == 0


def free_pages() -> int:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA freelist_count")
        return int(cursor.fetchone()[0])
