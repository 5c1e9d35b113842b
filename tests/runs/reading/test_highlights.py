"""What is worth a look in the last full runs of a suite."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import CaseResult, Execution, Run, Snapshot, Suite
from evals_app.runs.reading import highlights as module
from evals_app.runs.reading.highlights import (
    MAX_RUNS,
    MIN_GRADES,
    SHOWN,
    FlakyCase,
    Notable,
    notable,
)
from tests.makers import make_execution, make_grade, make_run, make_snapshot, make_suite
from tests.runs.suites import finished
from tests.runs.suites import make_suite as make_real_suite

pytestmark = pytest.mark.django_db


def look(run: Run | None) -> Notable:
    suite = Suite.objects.get(runs=run)
    noted = notable(suite)
    assert noted is not None
    return noted


def runs_of(verdicts: Mapping[str, Sequence[str]], **changes: Any) -> Run:
    """Write a run for each column: `{"Refund": ["passed", "failed"]}` are two runs of one case.

    Each was started with other settings, unless `changes` say otherwise.
    """
    made = []
    for number, states in enumerate(zip(*verdicts.values(), strict=True)):
        settings = {"snapshot": make_snapshot(number=number)} | changes
        cases = {name: state.split() for name, state in zip(verdicts, states, strict=True)}
        made.append(make_run(cases, **settings))
    return made[-1]


def test_a_suite_that_never_ran_as_a_whole_has_nothing() -> None:
    suite = make_suite()
    make_run(suite=suite, is_tryout=True)
    make_run(["passed", "not_run"], suite=suite, stop_reason="budget")

    assert notable(suite) is None


def test_a_case_is_flaky_if_its_verdict_comes_and_goes_or_its_trials_disagree() -> None:
    run = runs_of(
        {
            "steady": ["passed", "passed", "passed", "passed"],
            "always fails": ["failed", "failed", "failed", "failed"],
            "fixed once": ["failed", "failed", "passed", "passed"],
            "comes and goes": ["passed", "failed", "passed", "failed"],
            "disagrees": ["passed failed", "failed failed", "failed", "failed"],
            "errored once": ["passed", "errored", "passed", "passed"],
        }
    )

    assert look(run).flaky == [
        FlakyCase("comes and goes", runs=4, passed=2, changes=3, mixed=0),
        FlakyCase("disagrees", runs=4, passed=0, changes=0, mixed=1),
    ]


def test_an_edit_of_the_agent_and_its_removal_explain_two_changes() -> None:
    same = finished(make_real_suite(["hello"])).snapshot
    spec = SnapshotSpec.read(same.content)
    rude = spec.agent.model_copy(update={"system_prompt": "Be rude."})
    content = spec.model_copy(update={"agent": rude}).canonical()
    other = Snapshot.objects.create(sha256="0" * 64, schema_version=2, content=content)

    def runs(*snapshots: Snapshot) -> list[FlakyCase]:
        Run.objects.all().delete()
        for state, snapshot in zip(("passed", "failed", "passed"), snapshots, strict=True):
            run = make_run({"luck": [state]}, snapshot=snapshot)
        return list(look(run).flaky)

    assert runs(same, other, same) == []
    assert runs(same, same, same) == [FlakyCase("luck", runs=3, passed=2, changes=2, mixed=0)]


def test_results_from_before_an_edit_of_the_case_do_not_count() -> None:
    run = runs_of({"edited": ["passed", "failed", "passed", "passed"]})
    CaseResult.objects.update(digest="new")
    CaseResult.objects.filter(run__lt=run.pk - 1).update(digest="old")

    assert look(run).flaky == []


def test_parts_trial_runs_and_grading_again_do_not_count() -> None:
    run = make_run({"luck": ["passed"]})
    make_run({"luck": ["failed"]}, is_tryout=True)
    make_run({"luck": ["failed"]}, is_whole=False)
    make_run({"luck": ["failed"]}, grades_of=run)

    noted = look(run)

    assert (noted.flaky, noted.span.ids) == ([], [run.pk])


def graded(run: Run, case: str, *checks: tuple[str, bool | None]) -> None:
    grades = [
        make_grade(label=label, passed=passed, status="ok" if passed is not None else "ungraded")
        for label, passed in checks
    ]
    make_execution(run, case, number=2, grades=grades, counts=False)


def test_checks_that_never_failed_were_graded_often_enough() -> None:
    for number in range(MIN_GRADES):
        run = make_run({"A": ["passed"], "B": ["passed"]})
        graded(run, "A", ("sure", True), ("unsure", number > 0), ("alone", True))
        graded(run, "B", ("sure", True), ("open", None))
        if number:
            graded(run, "C", ("rare", True))

    sure = look(run).sure

    assert [(check.label, check.graded, check.case, check.has_more_cases) for check in sure] == [
        ("sure", 2 * MIN_GRADES, "A", True),
        ("alone", MIN_GRADES, "A", False),
    ]


def test_the_slowest_and_the_dearest_case_name_the_conversation_that_took_the_most() -> None:
    run = make_run(
        {"quick": ["passed", "passed"], "slow": ["passed", "failed"], "broken": ["errored"]}
    )
    times = {"quick": (100, 200), "slow": (900, 700), "broken": (99_000,)}
    for case, taken in times.items():
        for trial, time_ms in enumerate(taken, 1):
            Execution.objects.filter(case=case, trial=trial).update(
                time_ms=time_ms, agent_cost_usd=None if case == "broken" else time_ms / 10_000
            )
    worst = Execution.objects.get(case="slow", trial=1).pk

    noted = look(run)

    assert [(case.name, case.average) for case in noted.slowest] == [("slow", 800), ("quick", 150)]
    assert [(case.name, case.highest) for case in noted.costliest] == [
        ("slow", 0.09),
        ("quick", 0.02),
    ]
    assert noted.slowest[0].execution == noted.costliest[0].execution == worst


def test_conversations_that_cost_nothing_are_not_dear() -> None:
    run = make_run()
    Execution.objects.update(agent_cost_usd=0)

    assert look(run).costliest == []


def test_lists_are_short_and_only_the_last_runs_count() -> None:
    for _ in range(MAX_RUNS + 1):
        run = make_run({f"case {number:02}": ["passed", "failed"] for number in range(SHOWN + 1)})

    noted = look(run)

    assert [len(part) for part in (noted.flaky, noted.slowest)] == [SHOWN, SHOWN]
    assert len(noted.span.runs) == MAX_RUNS


@pytest.mark.parametrize(
    ("most", "runs", "cut"), [(6, 3, None), (5, 2, None), (2, 1, None), (1, 1, 1)]
)
def test_large_suites_are_looked_at_over_fewer_runs(
    monkeypatch: pytest.MonkeyPatch, most: int, runs: int, cut: int | None
) -> None:
    monkeypatch.setattr(module, "MAX_EXECUTIONS", most)
    monkeypatch.setattr(module, "MAX_RESULTS", most)
    for _ in range(3):
        run = make_run({"A": ["passed"], "B": ["failed"]})

    noted = look(run)

    for span in (noted.span, noted.flaky_span):
        assert (len(span.runs), span.most) == (runs, cut)
    assert [case.name for case in noted.slowest] == (["A"] if cut else ["A", "B"])


def test_what_ended_runs_say_is_read_once() -> None:
    first = make_run({"A": ["failed"]})
    before = look(first)
    with CaptureQueriesContext(connection) as queries:
        again = look(first)
    second = make_run({"A": ["passed"]})

    assert again is before
    assert len(queries) == 2  # the suite, and its runs
    assert len(look(second).span.runs) == 2
