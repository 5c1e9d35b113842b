"""Runs read so that they can be compared."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evals_app.engine.statistics.comparison import MAX_RUNS, ChangeKind, change_of
from evals_app.formats.snapshots.snapshot_differences import SnapshotPart
from evals_app.models import Run, Suite, Turn
from evals_app.runs.reading.compared_runs import CannotCompareError, Comparison, compare_runs
from evals_app.runs.reading.outcomes import MAX_RESULTS, case_outcomes
from tests.makers import make_run
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db


def compared(*runs: Run) -> Comparison:
    return compare_runs([run.pk for run in runs])


def test_a_case_that_was_rewritten_between_two_runs_is_not_compared() -> None:
    suite = make_suite(cases=2)
    before = case_outcomes(finished(suite))
    same, rewritten = suite.cases.order_by("position")
    same.tags, same.trials = ["money"], 2
    same.save()
    Turn.objects.filter(case=rewritten).update(user="Something else entirely.")

    after = case_outcomes(finished(suite))

    assert list(after) == [same.name, rewritten.name]
    assert [change_of(before[name], after[name]) for name in after] == [
        ChangeKind.SAME,
        ChangeKind.CHANGED,
    ]
    assert (after[same.name].passed, after[same.name].graded_count) == (2, 2)


def test_a_run_with_another_agent_differs_in_the_agent_alone() -> None:
    suite = make_suite(["hello", "hello there"])
    rules = [{"when": "there", "reply": "Go away."}, {"reply": "hello"}]
    base, head = finished(suite), finished(suite, agent=make_agent("rude", rules=rules))

    comparison = compared(base, head)

    assert [run.run for run in comparison.runs] == [base, head] == [comparison.base, head]
    assert [(run.cases.passed, run.cases.total) for run in comparison.runs] == [(2, 2), (1, 2)]
    assert [(case.name, case.change) for case in comparison.cases.cases] == [
        ("case 2", ChangeKind.WORSE),
        ("case 1", ChangeKind.SAME),
    ]
    assert comparison.is_worse
    (against,) = comparison.heads
    assert [part.part for part in against.differences or ()] == [SnapshotPart.AGENT]


def test_a_run_of_a_suite_that_was_edited_differs_in_what_measures_it() -> None:
    suite = make_suite(cases=1)
    base = finished(suite)
    Suite.objects.filter(pk=suite.pk).update(min_pass_rate=0.5, trials=2)
    head = finished(Suite.objects.get(pk=suite.pk))

    (against,) = compared(base, head).heads

    assert [
        (part.part, part.part.is_yardstick, value.keys, value.after)
        for part in against.differences or ()
        for value in part.values
    ] == [
        (SnapshotPart.SUITE, True, "suite.min_pass_rate", "0.5"),
        (SnapshotPart.RUN, False, "suite.trials", "2"),
    ]


def test_runs_of_other_suites_match_cases_by_name_and_content() -> None:
    base = finished(make_suite(["hello", "hello 2"]))
    agent = make_agent("other")
    head = finished(make_suite(["hello", "good bye"], slug="other", name="Other", agent=agent))

    changes = {case.name: case.change for case in compared(base, head).cases.cases}

    assert changes == {"case 1": ChangeKind.SAME, "case 2": ChangeKind.CHANGED}


def test_settings_of_a_run_that_cannot_be_read_any_more_are_unknown() -> None:
    base = make_run(["passed"])  # whose snapshot holds nothing
    (against,) = compared(base, finished(make_suite())).heads

    assert against.differences is None


def test_a_resumed_run_is_compared_as_it_is_now() -> None:
    base, head = make_run(["passed"] * 2), make_run(["passed", "not_run"], stop_reason="deadline")
    assert compared(base, head).cases.counts == {ChangeKind.SAME: 1, ChangeKind.UNDECIDED: 1}

    case = head.case_results.get(name="case 2")
    case.verdict, case.passed = "passed", 1
    case.save()
    Run.objects.filter(pk=head.pk).update(finished_at="2026-01-01T00:00:00Z")

    assert compared(base, head).cases.counts == {ChangeKind.SAME: 2}


@pytest.mark.parametrize(
    ("runs", "named"),
    [
        pytest.param([], "two", id="none"),
        pytest.param(["ended"], "two", id="one"),
        pytest.param(["ended", 999_999], "999999", id="unknown"),
        pytest.param(["ended", "open"], "not ended", id="open"),
        pytest.param(["ended", "ended"], "twice", id="the same"),
        pytest.param(["ended", "without a summary"], "version", id="of another version"),
        pytest.param(list(range(MAX_RUNS + 1)), str(MAX_RUNS), id="too many"),
        pytest.param(["ended", "huge"], "400,001", id="too many cases"),
        pytest.param(["ended", 2**70], str(2**70), id="a number that no database has"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(
    runs: list[int | str], named: str
) -> None:
    known = {
        "ended": make_run(["passed"]).pk,
        "open": make_run(["running"]).pk,
        "without a summary": make_run(["passed"]).pk,
        "huge": make_run(["passed"], case_count=MAX_RESULTS).pk,
    }
    Run.objects.filter(pk=known["without a summary"]).update(summary={})

    with pytest.raises(CannotCompareError, match=named):
        compare_runs([known[run] if isinstance(run, str) else run for run in runs])


def test_the_number_of_queries_does_not_grow_with_cases_or_runs() -> None:
    few = [make_run(["passed"] * 2) for _ in range(2)]
    many = [make_run(["passed"] * 30) for _ in range(8)]

    for runs in (few, many):
        with CaptureQueriesContext(connection) as queries:
            compared(*runs)
        assert len(queries) == 3
        with CaptureQueriesContext(connection) as queries:
            compared(*runs)
        assert len(queries) == 1


def test_a_run_that_skipped_trials_is_compared_by_verdicts() -> None:
    base, head = (make_run({"A": ["passed", "failed"]}) for _ in range(2))
    assert not compared(base, head).heads[0].cases.by_verdict
    Run.objects.filter(pk=head.pk).update(skipped=1, total=3)

    assert compared(base, head).heads[0].cases.by_verdict
