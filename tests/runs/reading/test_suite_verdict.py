"""How suites stand: their verdict is of the last full run, whatever was run since."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from evals_app.models import Suite
from evals_app.runs.reading.suite_verdict import SuiteVerdict, standings, with_last_runs
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db


def standing_of(suite: Suite) -> SuiteVerdict:
    (standing,) = standings(list(with_last_runs(Suite.objects.filter(pk=suite.pk))))
    return standing


def test_a_part_that_passes_does_not_change_the_verdict() -> None:
    suite = make_suite()
    whole = make_run(["failed", "passed"], suite=suite)
    part = make_run(["passed"], suite=suite, is_whole=False, case_count=1, suite_case_count=2)

    standing = standing_of(suite)

    assert (standing.verdict_run, standing.later) == (whole, part)
    assert (standing.verdict_run.verdict, standing.verdict_run.pass_rate) == ("failed", 0.5)
    assert part.in_short == f"run {part.pk}, 1 of 2 cases: passed"


def test_the_last_whole_run_has_nothing_later() -> None:
    suite = make_suite()
    make_run(["passed"], suite=suite, is_tryout=True)
    whole = make_run(["passed"], suite=suite)
    make_run(["queued"], suite=suite)

    assert standing_of(suite) == SuiteVerdict(whole, None)


def test_a_suite_that_was_only_tried_by_hand_has_no_verdict() -> None:
    suite = make_suite()
    tried = make_run(["passed"], suite=suite, is_tryout=True)

    standing = standing_of(suite)

    assert (standing.verdict_run, standing.later, standing.has_parts_only) == (None, tried, True)


def test_a_suite_that_was_never_run_has_nothing() -> None:
    standing = standing_of(make_suite())

    assert (standing, standing.has_parts_only) == (SuiteVerdict(), False)


def test_a_run_that_was_stopped_is_named_as_such() -> None:
    suite = make_suite()
    whole = make_run(["passed"], suite=suite)
    stopped = make_run(["failed", "not_run"], suite=suite, stop_reason="budget")

    standing = standing_of(suite)

    assert (standing.verdict_run, standing.later) == (whole, stopped)
    assert stopped.in_short == f"run {stopped.pk}, out of budget: failed"


def test_many_suites_take_as_many_queries_as_one(
    django_assert_num_queries: Callable[[int], AbstractContextManager[Any]],
) -> None:
    for number in range(6):
        suite = make_suite(f"suite-{number}")
        make_run(["passed"], suite=suite)
        make_run(["failed"], suite=suite, is_tryout=True)

    with django_assert_num_queries(2):
        assert len(standings(list(with_last_runs(Suite.objects.all())))) == 6
