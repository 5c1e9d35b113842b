"""What counts as worse is the same wherever it is asked: one table, every place that answers."""

from typing import Any, NamedTuple

import pytest
from django.core.management import call_command

from evals_app.engine.statistics.comparison import ChangeKind, change_of, digests_of
from evals_app.engine.statistics.retest import Trials, find_suspects
from evals_app.engine.suites.suite_spec import GatesSpec
from evals_app.engine.verdicts.gates import RunCost, TurnTimes, check_gates
from evals_app.engine.verdicts.regressions import Regressions
from evals_app.models import CaseResult, Run
from evals_app.runs.notices import worse_than_baseline
from evals_app.runs.reading.compared_runs import changed_checks, compare_runs
from evals_app.runs.reading.outcomes import case_outcomes
from evals_app.runs.reading.run_readers import settlement_details
from evals_app.runs.reading.suite_verdict import case_changes
from tests.makers import make_run
from tests.runs.settlements import settled, two_runs_of_a_case_that_always_fails

pytestmark = pytest.mark.django_db

STEADY = "Steady"  # a case that passes in both runs


class Row(NamedTuple):
    """Passed and failed trials of a case in the base and in the head."""

    base: tuple[int, int]
    head: tuple[int, int]
    min_pass_rate: float = 1.0


WORSE = [
    pytest.param(Row((3, 0), (0, 3)), id="all passed before, none passes now"),
    pytest.param(Row((3, 0), (2, 1)), id="all passed before, fails now"),
    pytest.param(Row((1, 0), (0, 1)), id="one trial each"),
    pytest.param(Row((19, 1), (0, 20), 0.8), id="one unlucky trial, then none passes"),
    pytest.param(Row((4, 1), (0, 5), 0.8), id="beyond its own trials"),
    pytest.param(Row((19, 1), (0, 20)), id="failed before by one trial, then none passes"),
]
NOT_WORSE = [
    pytest.param(Row((4, 1), (2, 3), 0.8), id="its own trials may explain it"),
    pytest.param(Row((3, 0), (2, 1), 0.6), id="same verdict, one trial fewer"),
    pytest.param(Row((2, 1), (1, 2)), id="failed before, one trial fewer"),
    pytest.param(Row((0, 3), (3, 0)), id="better"),
]


def run_of(trials: tuple[int, int], row: Row) -> Run:
    """Write a run of two cases, of which one has these trials."""
    passed, failed = trials
    states = ["passed"] * passed + ["failed"] * failed
    run = make_run({"A": states, STEADY: ["passed"]})
    verdict = "passed" if passed / (passed + failed) >= row.min_pass_rate else "failed"
    CaseResult.objects.filter(run=run, name="A").update(verdict=verdict)
    return run


def both(row: Row) -> tuple[Run, Run]:
    return run_of(row.base, row), run_of(row.head, row)


def by_outcome(base: Run, head: Run) -> bool:
    before, after = case_outcomes(base), case_outcomes(head)
    return change_of(before["A"], after["A"]) is ChangeKind.WORSE


def by_comparison(base: Run, head: Run) -> bool:
    (cases,) = (entry.cases for entry in compare_runs([base.pk, head.pk]).heads)
    return cases.counts.get(ChangeKind.WORSE, 0) == 1


def by_gate(base: Run, head: Run) -> bool:
    cases = case_outcomes(head)
    regressions = Regressions("run 1", case_outcomes(base), digests=digests_of(cases), checks={})
    for outcome in cases.values():
        regressions.add(outcome)
    nothing: dict[str, Any] = {"score": None, "pass_rate": None, "times": TurnTimes()}
    nothing |= {"agent": RunCost(), "everyone": RunCost()}
    (gate,) = check_gates(GatesSpec(max_regressions=0), **nothing, regressions=regressions)
    assert ("“A”" in gate.reason) is (gate.passed is False)
    return gate.passed is False


def by_notice(base: Run, head: Run) -> bool:
    Run.objects.filter(pk=head.pk).update(baseline=base)
    worse = worse_than_baseline(Run.objects.get(pk=head.pk))
    return worse is not None and list(worse.first) == ["A"]


def by_dashboard(base: Run, head: Run) -> bool:
    changes = case_changes([(base, head)])[head.pk]
    return (changes.worse, changes.worse_names) == (1, ("A",))


PLACES = [by_outcome, by_comparison, by_gate, by_notice, by_dashboard]


@pytest.mark.parametrize("row", WORSE)
def test_a_fall_that_chance_does_not_explain_is_worse_everywhere(row: Row) -> None:
    base, head = both(row)

    assert [place.__name__ for place in PLACES if not place(base, head)] == []
    assert exit_code(base, head) == 1
    suspicion = find_suspects(case_outcomes(base), case_outcomes(head))
    assert [suspect.name for suspect in suspicion.suspects] == ["A"]


@pytest.mark.parametrize("row", NOT_WORSE)
def test_what_chance_may_explain_is_worse_nowhere(row: Row) -> None:
    base, head = both(row)

    assert [place.__name__ for place in PLACES if place(base, head)] == []
    assert exit_code(base, head) == 0


def exit_code(base: Run, head: Run) -> int:
    try:
        call_command("compare_runs", str(base.pk), str(head.pk), "--json")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


# Checks


def test_a_check_that_turned_is_worse_though_the_case_failed_before() -> None:
    base, head = two_runs_of_a_case_that_always_fails(trials=3)

    comparison = compare_runs([base.pk, head.pk])

    (case,) = comparison.cases.cases
    assert case.change is ChangeKind.CHECK_WORSE
    checks = changed_checks(comparison, [case])["case 1"]
    assert [check.is_worse for check in checks] == [True, False]
    assert ["hello" in check.label for check in checks] == [True, False]
    assert exit_code(base, head) == 1
    assert case_changes([(base, head)])[head.pk].worse_names == ("case 1",)
    Run.objects.filter(pk=head.pk).update(baseline=base)
    notice = worse_than_baseline(Run.objects.get(pk=head.pk))
    assert notice is not None
    assert list(notice.first) == ["case 1"]


@pytest.mark.parametrize("place", PLACES[1:])
def test_a_new_name_hides_no_fall(place: Any) -> None:
    row = Row((3, 0), (0, 3))
    base, head = both(row)
    CaseResult.objects.filter(run=base, name="A").update(name="B", digest="content")
    CaseResult.objects.filter(run=head, name="A").update(digest="content")

    assert place(base, head)
    assert exit_code(base, head) == 1


def test_a_gate_does_not_count_checks_and_says_so() -> None:
    base, head = two_runs_of_a_case_that_always_fails()
    cases = case_outcomes(head)
    regressions = Regressions("run 1", case_outcomes(base), digests=digests_of(cases), checks={})
    for outcome in cases.values():
        regressions.add(outcome)

    assert regressions.worse == 0
    assert "1 with a worse check" in regressions.apart()


def test_runs_that_noted_no_checks_are_compared_by_their_grades() -> None:
    base, head = two_runs_of_a_case_that_always_fails()
    CaseResult.objects.filter(run=base).update(checks="")

    (case,) = compare_runs([base.pk, head.pk]).cases.cases

    assert case.change is ChangeKind.CHECK_WORSE


def test_a_check_that_turned_is_settled_by_its_own_trials() -> None:
    base, head = two_runs_of_a_case_that_always_fails()

    settlement = settled(base, head)

    (suspect,) = settlement.read_cases()
    assert suspect.finding == "really_worse"
    assert "hello" in suspect.check_label
    assert (suspect.base, suspect.head) == (Trials(5, 0), Trials(0, 5))
    details = settlement_details(settlement.pk) or {}
    assert [case["check"] for case in details["cases"]] == [suspect.check_label]
