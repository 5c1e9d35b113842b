"""Which run may be the baseline of its suite, and who made it that."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User

from evals_app.admin.agents.copies import copy_suite
from evals_app.library.baselines import (
    NotABaselineError,
    set_baseline,
    unset_baseline,
    why_no_baseline,
)
from evals_app.library.importing.file_import import import_files
from evals_app.models import Run, Suite
from evals_app.models.people.activity import COMMAND_LINE
from tests.api.clients import SUITE
from tests.library.written import AGENT, JUDGE
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("states", "changes", "word"),
    [
        pytest.param(["passed", "failed"], {}, "", id="a full run"),
        pytest.param(["passed", "errored"], {}, "", id="errors do not matter"),
        pytest.param(["passed"], {"is_whole": False, "replaced_model": "a/b"}, "", id="a model"),
        pytest.param(["passed", "queued"], {}, "ended", id="running"),
        pytest.param(["passed", "cancelled"], {}, "every case", id="cancelled"),
        pytest.param(["passed", "not_run"], {}, "every case", id="out of time"),
        pytest.param(["passed"], {"case_count": 1, "suite_case_count": 2}, "every", id="part"),
        (["passed"], {"case_count": None, "suite_case_count": None}, "every"),
        pytest.param(["passed"], {"is_tryout": True}, "try", id="try"),
        pytest.param(["failed", "errored"], {}, "passed", id="nothing passed"),
        pytest.param(["passed"], {"suite_id": None}, "deleted", id="no suite"),
    ],
)
def test_a_baseline_has_every_case(states: list[str], changes: dict[str, Any], word: str) -> None:
    run = make_run(states, **changes)

    problem = why_no_baseline(run)

    assert bool(problem) is bool(word)
    assert word in problem
    if problem:
        with pytest.raises(NotABaselineError):
            set_baseline(run)
        assert Suite.objects.get().baseline is None


def history() -> list[tuple[str, str]]:
    entries = LogEntry.objects.order_by("pk").values_list("user__username", "change_message")
    return list(entries)


def test_the_history_of_the_suite_names_who_changed_its_baseline() -> None:
    first, second = make_run(), make_run()
    ann = User.objects.create(username="ann")

    set_baseline(first, by=ann)
    set_baseline(first, by=ann)  # it is already
    set_baseline(second)
    unset_baseline(first, by=ann)  # it no longer is
    assert Suite.objects.get().baseline == second
    unset_baseline(second, by=ann)

    assert Suite.objects.get().baseline is None
    assert [
        (name, str(run.pk) in text)
        for (name, text), run in zip(history(), (first, second, second), strict=True)
    ] == [("ann", True), (COMMAND_LINE, True), ("ann", True)]


def test_a_copy_of_a_suite_has_no_baseline() -> None:
    suite = make_suite()
    set_baseline(make_run(suite=suite))
    suite.refresh_from_db()

    assert copy_suite(suite).baseline is None


def test_an_import_leaves_the_baseline_as_it_is() -> None:
    import_files([AGENT, JUDGE, SUITE])
    suite = Suite.objects.get(slug="talks")
    run = make_run(suite=suite)
    set_baseline(run)

    edited = replace(SUITE, content=SUITE.content.replace(b"suite: Talks", b"suite: Longer talks"))
    import_files([AGENT, JUDGE, edited])

    suite.refresh_from_db()
    assert (suite.name, suite.baseline) == ("Longer talks", run)


def test_a_deleted_run_leaves_its_suite_without_a_baseline() -> None:
    run = make_run()
    set_baseline(run)
    Run.objects.get(pk=run.pk).delete()

    assert Suite.objects.get().baseline is None
