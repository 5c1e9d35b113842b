"""The cases of runs side by side: their order, their differences, and what came of each run."""

from collections import Counter

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome, ChangeKind
from evals_app.engine.statistics.stratified import Stratum, compare_rates
from evals_app.reports.answers.compared_cases import Outcomes, compare_cases


def outcome(name: str, passed: int, failed: int, score: float | None, digest: str) -> CaseOutcome:
    verdict = Verdict.FAILED if failed else Verdict.PASSED if passed else None
    return CaseOutcome(name, digest, verdict, passed, failed, 0, score)


def run(**cases: tuple[int, int, float | None] | tuple[int, int, float | None, str]) -> Outcomes:
    """Write a run: passed and failed trials, score and content of each case."""
    return {
        name: outcome(name, *case[:3], digest=case[3] if len(case) > 3 else f"content of {name}")
        for name, case in cases.items()
    }


BASE = run(
    a=(1, 0, 1.0), b=(1, 0, 0.9), c=(0, 1, 0.2), d=(1, 1, 0.5), e=(1, 0, 1.0), gone=(1, 0, 1.0),
    same=(1, 0, 1.0), slipped=(1, 0, 1.0), open=(1, 0, 1.0), dear=(0, 3, 0.1),
)  # fmt: skip
HEAD = run(
    same=(1, 0, 1.0), a=(0, 1, 0.8), b=(0, 1, 0.0), c=(1, 0, 1.0), d=(2, 0, 1.0), new=(0, 1, 0.0),
    e=(1, 0, 1.0, "b"), slipped=(1, 0, 0.7), open=(0, 0, None), dear=(3, 0, 1.0),
)  # fmt: skip


def test_the_gravest_changes_come_first_and_in_each_the_largest() -> None:
    compared = compare_cases(BASE, HEAD)

    assert [(case.change, case.name) for case in compared.cases] == [
        (ChangeKind.WORSE, "b"),
        (ChangeKind.WORSE, "a"),
        (ChangeKind.FLAKY, "d"),
        (ChangeKind.BETTER, "dear"),
        (ChangeKind.BETTER, "c"),
        (ChangeKind.UNDECIDED, "open"),
        (ChangeKind.CHANGED, "e"),
        (ChangeKind.NEW, "new"),
        (ChangeKind.MISSING, "gone"),
        (ChangeKind.SAME, "slipped"),
        (ChangeKind.SAME, "same"),
    ]
    (head,) = compared.heads
    assert head.counts == compared.counts
    assert sum(compared.counts.values()) == len(compared.cases)


def test_the_test_is_over_the_trials_of_the_cases_that_can_be_compared() -> None:
    (head,) = compare_cases(BASE, HEAD).heads

    strata = [(1, 1, 0, 1)] * 2 + [(0, 1, 1, 1), (1, 2, 2, 2), (0, 3, 3, 3)] + [(1, 1, 1, 1)] * 2
    assert head.test == compare_rates(Counter(Stratum(*counts) for counts in strata))
    assert head.test.differing == 5


def test_each_run_counts_its_own_cases() -> None:
    before, after = compare_cases(BASE, HEAD).runs

    assert (before.total, before.passed, before.failed) == (10, 7, 3)
    assert (after.total, after.decided) == (10, 9)
    assert after.pass_rate == pytest.approx(2 / 3)
    low, high = after.interval or (0, 0)
    assert low == pytest.approx(0.354, abs=0.001)  # Wilson, 6 of 9
    assert high == pytest.approx(0.879, abs=0.001)


def test_a_run_without_decided_cases_has_no_rate() -> None:
    undecided = run(open=(0, 0, None))
    compared = compare_cases(undecided, undecided)

    assert (compared.runs[0].pass_rate, compared.runs[0].interval) == (None, None)
    assert compared.heads[0].verdict == "not_comparable"
    assert not compared.heads[0].is_worse


@pytest.mark.parametrize(
    ("name", "score", "rate"),
    [
        ("b", -0.9, -1.0),
        ("d", 0.5, 0.5),
        pytest.param("e", None, None, id="another content"),
        pytest.param("new", None, None, id="not in the base"),
        pytest.param("gone", None, None, id="not in the head"),
        pytest.param("open", None, None, id="no score"),
    ],
)
def test_differences_are_those_of_comparable_results(
    name: str, score: float | None, rate: float | None
) -> None:
    case = next(case for case in compare_cases(BASE, HEAD).cases if case.name == name)

    assert case.score_differences == [None if score is None else pytest.approx(score)]
    assert case.rate_differences == [None if rate is None else pytest.approx(rate)]


def test_a_case_has_the_gravest_change_of_all_heads() -> None:
    base = run(a=(1, 0, 1.0), b=(0, 1, 0.0))
    first = run(b=(1, 0, 1.0), a=(1, 0, 1.0))
    second = run(a=(0, 1, 0.0), c=(1, 0, 1.0))

    compared = compare_cases(base, first, second)

    assert [(case.name, case.change, case.changes) for case in compared.cases] == [
        ("a", ChangeKind.WORSE, [ChangeKind.SAME, ChangeKind.WORSE]),
        ("b", ChangeKind.BETTER, [ChangeKind.BETTER, ChangeKind.MISSING]),
        ("c", ChangeKind.NEW, [None, ChangeKind.NEW]),
    ]
    assert [outcome and outcome.passed for outcome in compared.cases[2].outcomes] == [None, None, 1]
    assert [head.counts for head in compared.heads] == [
        {ChangeKind.SAME: 1, ChangeKind.BETTER: 1},
        {ChangeKind.WORSE: 1, ChangeKind.NEW: 1, ChangeKind.MISSING: 1},
    ]
    assert [head.is_worse for head in compared.heads] == [False, True]


def test_cases_are_chosen_by_change_and_by_part_of_the_name() -> None:
    compared = compare_cases(BASE, HEAD)

    assert [case.name for case in compared.filter_by(change=ChangeKind.WORSE)] == ["b", "a"]
    assert [case.name for case in compared.filter_by(text="E")] == [
        *("dear", "open", "e", "new", "gone", "slipped", "same")
    ]
    assert compared.filter_by(change=ChangeKind.WORSE, text="z") == []
    assert compared.filter_by() is compared.cases


@pytest.mark.parametrize(
    ("falls", "rises", "verdict", "is_worse"),
    [
        pytest.param(0, 0, "no_clear_difference", False, id="equal"),
        pytest.param(6, 0, "worse", True, id="six fell"),
        pytest.param(0, 6, "better", False, id="six rose"),
        pytest.param(5, 0, "no_clear_difference", True, id="too few to be sure, but worse"),
        pytest.param(3, 3, "no_clear_difference", True, id="both"),
    ],
)
def test_the_suite_as_a_whole_is_tested(
    falls: int, rises: int, verdict: str, *, is_worse: bool
) -> None:
    names = [f"case {number}" for number in range(12)]
    base = run(
        **{name: (0, 1, 0.0) if i >= 12 - rises else (1, 0, 1.0) for i, name in enumerate(names)}
    )
    head = run(**{name: (0, 1, 0.0) if i < falls else (1, 0, 1.0) for i, name in enumerate(names)})

    (found,) = compare_cases(base, head).heads

    assert (found.verdict, found.is_worse) == (verdict, is_worse)


@pytest.mark.parametrize(
    ("cases", "base", "head", "verdict", "is_too_small"),
    [
        pytest.param(5, 10, 0, "worse", False, id="50 of 50, then none"),
        pytest.param(5, 0, 10, "better", False, id="none, then 50 of 50"),
        pytest.param(1, 10, 0, "worse", False, id="a single case, every trial"),
        pytest.param(3, 10, 9, "no_clear_difference", True, id="three cases, a trial fewer"),
        pytest.param(2, 10, 10, "no_clear_difference", False, id="equal"),
    ],
)
def test_few_cases_are_judged_by_their_trials(
    cases: int, base: int, head: int, verdict: str, *, is_too_small: bool
) -> None:
    before, after = (
        run(**{f"case{number}": (passed, 10 - passed, None) for number in range(cases)})
        for passed in (base, head)
    )

    (found,) = compare_cases(before, after).heads

    assert (found.verdict, found.is_too_small) == (verdict, is_too_small)


def test_many_small_falls_make_a_suite_worse_though_no_verdict_fell() -> None:
    names = [f"case {number}" for number in range(20)]
    base = {name: CaseOutcome(name, "a", Verdict.PASSED, 10, 0, 0, 1.0) for name in names}
    head = {name: CaseOutcome(name, "a", Verdict.PASSED, 9, 1, 0, 0.9) for name in names}

    (found,) = compare_cases(base, head).heads

    assert found.counts == {ChangeKind.FEWER: 20}
    assert (found.verdict, found.is_worse) == ("worse", True)


def test_cases_whose_content_was_not_noted_are_counted() -> None:
    base = run(a=(1, 0, 1.0, ""), b=(1, 0, 1.0))
    (found,) = compare_cases(base, run(a=(1, 0, 1.0), b=(1, 0, 1.0))).heads

    assert found.unknown_content == 1


def test_where_trials_were_skipped_verdicts_are_compared() -> None:
    names = [f"case {number}" for number in range(20)]
    # Both fail; one of them stopped at the first failed trial.
    base = {name: CaseOutcome(name, "a", Verdict.FAILED, 7, 3, 0, 0.7) for name in names}
    head = {name: CaseOutcome(name, "a", Verdict.FAILED, 0, 1, 0, 0.0) for name in names}
    open_case = CaseOutcome("open", "a", None, 0, 0, 1, None)

    (by_rate,) = compare_cases(base, head).heads
    (by_verdict,) = compare_cases(
        {**base, "open": open_case}, {**head, "open": open_case}, by_verdict=True
    ).heads

    assert by_rate.verdict == "worse"
    assert (by_verdict.verdict, by_verdict.by_verdict) == ("no_clear_difference", True)
    assert (by_verdict.test.cases, by_verdict.test.differing) == (20, 0)


def test_a_renamed_case_is_the_same_one_in_every_run() -> None:
    base = run(old=(3, 0, 1.0, "x"), stays=(3, 0, 1.0))
    first, second = (
        run(old=(3, 0, 1.0, "x"), stays=(3, 0, 1.0)),
        run(new=(0, 3, 0.0, "x"), old=(3, 0, 1.0, "y"), stays=(3, 0, 1.0)),
    )

    compared = compare_cases(base, first, second)

    by_name = {case.name: (case.old_name, case.changes) for case in compared.cases}
    assert by_name == {
        "new": ("old", [ChangeKind.SAME, ChangeKind.WORSE]),
        "old": ("", [None, ChangeKind.NEW]),
        "stays": ("", [ChangeKind.SAME, ChangeKind.SAME]),
    }
