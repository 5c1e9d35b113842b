"""Contents that nothing names any more go; all others stay."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evals_app.engine.specs.files import sha256_of
from evals_app.models import Attachment, Run, Snapshot, Suite, Turn
from evals_app.runs.process.retention import prune_as_scheduled, remove_unnamed_files
from evals_app.runs.starting.start_run import start_run
from tests.runs.suites import make_suite

pytestmark = pytest.mark.django_db


def store(*contents: bytes, days_ago: float = 2) -> None:
    Attachment.objects.store(contents)
    wanted_at = timezone.now() - timedelta(days=days_ago)
    Attachment.objects.filter(pk__in=map(sha256_of, contents)).update(wanted_at=wanted_at)


def stored() -> set[bytes]:
    return {bytes(row.content) for row in Attachment.objects.all()}


def suite_that_shows(*contents: bytes) -> Suite:
    suite = make_suite(cases=1)
    files = [
        {"path": f"{number}.txt", "sha256": sha256_of(content)}
        for number, content in enumerate(contents)
    ]
    Turn.objects.filter(case__suite=suite).update(files=files)
    return suite


def test_what_nothing_names_goes_after_a_day() -> None:
    store(b"uploaded by a form that was refused", b"list", b"bill")
    store(b"of a form that may still be open", days_ago=0.9)
    suite_that_shows(b"list", b"bill")

    assert remove_unnamed_files() == 1
    assert stored() == {b"of a form that may still be open", b"list", b"bill"}


def test_what_a_run_was_shown_stays_as_long_as_the_run() -> None:
    store(b"shown once")
    run = start_run(suite_that_shows(b"shown once"))
    Turn.objects.update(files=[])
    Attachment.objects.update(wanted_at=timezone.now() - timedelta(days=2))

    while_kept = remove_unnamed_files()
    Run.objects.filter(pk=run.pk).delete()
    afterwards = remove_unnamed_files()

    assert (while_kept, afterwards) == (0, 1)
    assert Snapshot.objects.exists()


def test_a_file_that_a_run_is_about_to_show_is_kept_for_another_day() -> None:
    """The suite may change, and the night come, while its run is being started."""
    store(b"list")
    start_run(suite_that_shows(b"list"))
    Run.objects.all().delete()
    Turn.objects.update(files=[])

    assert remove_unnamed_files() == 0


def test_a_file_that_is_uploaded_again_is_kept_for_another_day() -> None:
    store(b"list")
    Attachment.objects.store([b"list"])

    assert remove_unnamed_files() == 0


def test_a_file_that_is_named_meanwhile_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    store(b"list", b"bill")
    monkeypatch.setattr(
        # A seam between looking and removing: elsewhere it would be a race.
        "evals_app.runs.process.retention._named_files",
        lambda: iter([] if Attachment.objects.keep([sha256_of(b"list")]) else [set()]),
    )

    assert remove_unnamed_files() == 1
    assert stored() == {b"list"}


@pytest.mark.parametrize(
    ("number", "queries"),
    [
        pytest.param(0, 2, id="all are shown: snapshots are not read"),
        pytest.param(250, 7, id="three batches"),
    ],
)
def test_queries_grow_with_batches_and_nothing_else(
    django_assert_num_queries: Any, number: int, queries: int
) -> None:
    store(b"list")
    suite_that_shows(b"list")
    store(*(b"%d" % n for n in range(number)))

    with django_assert_num_queries(queries):
        removed = remove_unnamed_files()

    assert removed == number


def test_they_go_in_the_night_though_transcripts_stay_for_ever(settings: Any) -> None:
    settings.EVALS_KEEP_TRANSCRIPTS_DAYS = 0
    store(b"nobody's")

    assert prune_as_scheduled()["files"] == 1
    assert stored() == set()
