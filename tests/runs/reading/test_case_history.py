"""The history of a case: what came of it, what was changed in between, and by whom."""

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from evals_app.models import Assertion, CaseResult, Run, Suite
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.case_history import (
    COUNTED,
    MAX_EDITS,
    HistoryEntry,
    OfSuite,
    entries_of,
    most_telling,
)
from evals_app.runs.starting.rerun import rerun
from tests.makers import make_run, make_snapshot
from tests.makers import make_suite as make_empty_suite
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


def history(suite: Suite, name: str = "case 1", *, with_all: bool = False) -> list[HistoryEntry]:
    of_suite = OfSuite.find(suite.slug)
    assert of_suite is not None
    results = of_suite.results().filter(name=name)
    return entries_of(of_suite, list(results if with_all else results.filter(COUNTED)))


def note(row: Model, by: str, times: int = 1) -> None:
    user, _ = User.objects.get_or_create(username=by)
    for _ in range(times):
        LogEntry.objects.log_actions(user.pk, [row], CHANGE, "Edited.", single_object=True)


def edited(suite: Suite, value: str, *, by: str = "ada") -> None:
    """Let the first case ask for something else."""
    Assertion.objects.filter(turn__case__name="case 1").update(options={"value": value})
    note(suite.cases.get(name="case 1"), by)


def parts_of(entry: HistoryEntry) -> dict[str, list[tuple[str, str]]]:
    """Return who edited each part that differs, and what."""
    return {
        str(part.what.part): [(edit.by, edit.kind) for edit in part.edits]
        for part in entry.parts or ()
    }


def test_results_come_newest_first_and_nothing_differs_between_equal_runs() -> None:
    suite = make_suite(cases=2)
    first, second = finished(suite), finished(suite, trials=2)

    newest, oldest = history(suite)

    assert [newest.run, oldest.run] == [second, first]
    assert (newest.change, newest.is_same_case, parts_of(newest)) == ("same", True, {})
    assert len(newest.executions) == 2
    assert (oldest.before, oldest.change, oldest.is_same_case, oldest.parts) == (None,) * 4


def test_an_edit_of_the_case_is_named_with_its_values_and_who_made_it() -> None:
    suite = make_suite(cases=2)
    finished(suite)
    edited(suite, "goodbye")
    finished(suite)

    newest, _ = history(suite)
    (untouched, _) = history(suite, "case 2")

    assert (newest.change, newest.is_same_case) == ("changed", False)
    assert parts_of(newest) == {"case": [("ada", "case")]}
    ((part,)) = newest.parts or ()
    (value,) = part.what.values
    assert (value.keys, value.before, value.after) == (
        "turns[0].assertions[0].value",
        '"hello"',
        '"goodbye"',
    )
    assert (untouched.is_same_case, untouched.parts) == (True, ())


def test_an_edited_agent_and_an_edited_suite_are_with_namesakes_and_attributed() -> None:
    suite = make_suite()
    finished(suite)
    suite.agent.connection["rules"] = [{"reply": "Go away."}]
    suite.agent.save()
    note(suite.agent, "grace")
    finished(suite)
    Suite.objects.filter(pk=suite.pk).update(min_pass_rate=0.5)
    note(suite, "alan")
    finished(suite)

    newest, middle, _ = history(suite)

    assert (middle.change, parts_of(middle)) == ("worse", {"agent": [("grace", "agent")]})
    assert (newest.change, parts_of(newest)) == ("same", {"suite": [("alan", "suite")]})


def test_only_the_last_edits_between_two_runs_are_named() -> None:
    suite = make_suite()
    case = suite.cases.get(name="case 1")
    note(case, "before")
    finished(suite)
    note(case, "ada", times=MAX_EDITS)
    edited(suite, "bye", by="grace")
    finished(suite)
    note(case, "after")

    newest, _ = history(suite)

    names = [name for name, _ in parts_of(newest)["case"]]
    assert names == ["grace", *["ada"] * (MAX_EDITS - 1)]


def test_values_are_left_out_for_who_may_not_read_them() -> None:
    suite = make_suite()
    finished(suite)
    edited(suite, "goodbye")
    finished(suite)

    newest = history(suite)[0].without_values()

    ((part,)) = newest.parts or ()
    assert (part.what.values, part.what.more, len(part.edits)) == ((), 1, 1)


def test_trial_runs_and_settlements_are_left_out_unless_all_are_wanted() -> None:
    suite = make_suite()
    whole, tried = finished(suite), finished(suite, is_tryout=True)

    assert [entry.run for entry in history(suite)] == [whole]
    assert [entry.run for entry in history(suite, with_all=True)] == [tried, whole]


def test_a_frozen_rerun_of_some_cases_has_their_content() -> None:
    suite = make_suite(["bye", "hello", "bye"])
    first = finished(suite)
    Assertion.objects.filter(turn__case__name="case 3").update(options={"value": "b"})
    finished(suite)
    again = rerun(first, only="failed", version="frozen")
    work()

    newest, _, _ = history(suite, "case 3")

    assert newest.run == again
    assert str(first.pk) in newest.covers
    ((part,)) = newest.parts or ()
    assert [value.after for value in part.what.values] == ['"hello"']


def test_a_run_that_grades_again_says_so() -> None:
    run = make_run()
    again = make_run(grades_of=run, is_whole=False)

    newest, _ = history(run.suite, "case 1")  # type: ignore[arg-type]  # it has one

    assert newest.run == again
    assert str(run.pk) in newest.covers


def test_a_run_of_another_version_leaves_its_differences_unknown() -> None:
    suite = make_empty_suite()
    make_run(suite=suite)
    make_run(suite=suite, snapshot=make_snapshot(schema_version=1))

    newest, _ = history(suite)

    assert (newest.parts, newest.is_same_case, newest.change) == (None, None, "same")


def test_the_history_of_a_deleted_suite_is_found_by_its_slug() -> None:
    run = make_run()
    run.suite.delete()  # type: ignore[union-attr]  # it has one

    of_suite = OfSuite.find("refunds")

    assert of_suite is not None
    assert [row.run_id for row in of_suite.results().filter(name="case 1")] == [run.pk]
    assert OfSuite.find("nothing") is None


def test_another_suite_with_such_a_case_has_a_history_of_its_own() -> None:
    run = make_run()
    make_run(suite=make_empty_suite("other"))

    assert [entry.run for entry in history(run.suite)] == [run]  # type: ignore[arg-type]


def test_the_trial_that_did_not_pass_is_read_first() -> None:
    run = make_run({"case 1": ["passed", "failed", "passed"]})

    (entry,) = history(run.suite)  # type: ignore[arg-type]

    telling = most_telling(entry.executions)
    assert telling is not None
    assert telling.trial == 2
    assert most_telling(()) is None


def test_a_long_history_takes_no_more_queries() -> None:
    suite = make_suite()
    counts = []
    for words in (["a", "b"], ["c", "d", "e", "f"]):
        for word in words:
            edited(suite, word)
            finished(suite)
        history(suite)
        with CaptureQueriesContext(connection) as queries:
            entries = history(suite)
        counts.append(len(queries))

    assert len(entries) == 6
    assert counts[0] == counts[1] <= 7


def test_results_of_older_versions_do_not_say_whether_the_case_was_edited() -> None:
    suite = make_suite()
    finished(suite), finished(suite)
    CaseResult.objects.filter(run=Run.objects.order_by("pk").first()).update(digest="")

    newest, _ = history(suite)

    assert newest.is_same_case is None
