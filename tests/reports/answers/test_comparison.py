"""Comparisons in words."""

from collections import Counter
from typing import Any

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.agreement import Agreement
from evals_app.engine.statistics.comparison import CaseOutcome, ChangeKind
from evals_app.engine.statistics.stratified import RateTest
from evals_app.formats.snapshots.snapshot_differences import SnapshotPart
from evals_app.reports.answers.agreement import NOT_COMPARED
from evals_app.reports.answers.compared_cases import ComparedCase, HeadCases, RunCases
from evals_app.reports.answers.comparison import (
    AGREEMENT,
    CHANGES,
    PARTS,
    ChangedCheck,
    case_change,
    checks_text,
    counts_in_words,
    finding,
    headline,
    matrix,
    outcome_text,
)
from evals_app.reports.words.figures import UNKNOWN

RUN: dict[str, Any] = {
    AGREEMENT: Agreement(),
    "suite_name": "Refunds",
    "agent_name": "Shop",
    "agent_slug": "shop",
    "model": "openai/small",
    "is_scripted": False,
    "is_simulated": False,
    "is_whole": True,
    "similarity": "",
    "skipped": 0,
    "score": 0.5,
    "score_scale": "0-1",
    "judge": "openai/judge",
    "agent_prompt_tokens": 1000,
    "agent_response_tokens": 200,
    "agent_cost_usd": None,
    "judge_prompt_tokens": None,
    "judge_response_tokens": None,
    "judge_cost_usd": None,
    "summary": {
        "median_ms": 1500,
        "p95_ms": None,
        "at_least": {"agent_cost_usd": 0.25},
        "rubric_items": {"met": 3, "missed": 1, "undecided": 2},
    },
}


NOTHING = RateTest(0, 0, 0, None, None)


def head(test: RateTest = NOTHING, **counts: int) -> HeadCases:
    return HeadCases(Counter({ChangeKind(name): n for name, n in counts.items()}), test, 0)


def test_every_change_and_every_part_has_its_words() -> None:
    assert list(CHANGES) == list(ChangeKind)
    assert list(PARTS) == [part.value for part in SnapshotPart]


def test_the_matrix_has_a_value_for_each_run_and_never_0_for_unknown() -> None:
    old = RUN | {"judge": "", "score": None, "summary": {}}

    rows = {
        row.label: row.values
        for row in matrix([(RUN, RunCases(9, 6, 3)), (old, RunCases(2, 0, 0))])
    }

    assert {len(values) for values in rows.values()} == {2}
    assert rows["Agent"] == ("Shop", "Shop")
    assert "Differs from the suite" not in rows
    assert rows["Cases passed"] == ("66.7\u00a0% (6 of 9)", "— (0 graded, 2 not graded)")
    assert rows["95 % interval"] == ("35.4\u00a0% to 87.9\u00a0%", UNKNOWN)
    assert rows["Undecided cases"] == ("0", "2")
    assert rows["Score"] == ("0.50", UNKNOWN)
    assert rows["Turn latency, median"] == ("1.5\u00a0s", UNKNOWN)
    assert rows["Turn latency, p95"] == (UNKNOWN, UNKNOWN)
    assert rows["Judge tokens"] == ("unknown", "unknown")
    assert rows["Cost"][0].startswith("at least $0.25")
    assert rows["Rubric items met"] == ("75\u00a0% (3 of 4), 2 undecided", "unknown")
    assert rows["Agreement of the judge"] == (NOT_COMPARED, "no judge")


def test_the_matrix_has_the_agreement_of_a_judge_that_was_compared() -> None:
    run = RUN | {AGREEMENT: Agreement(28, 4, 2, 6)}

    rows = dict(matrix([(run, RunCases(9, 6, 3)), (run | {"judge": ""}, RunCases(9, 6, 3))]))

    assert rows["Agreement of the judge"] == ("85\u00a0% (34 of 40)", "no judge")


def test_what_one_of_the_runs_alone_has_is_shown_for_all() -> None:
    other = RUN | {
        "is_scripted": True,
        "model": "",
        "similarity": "embeddings openai/e",
        "is_whole": False,
        "rerun_of_id": 3,
        "from_file": "",
        "conversation_set_id": None,
        "grades_of_id": None,
        "settlement_id": None,
        "is_tryout": False,
        "case_count": 1,
        "suite_case_count": 1,
        "suite_agent_slug": "",
        "replaced_model": "",
    }

    rows = dict(matrix([(RUN, RunCases(1, 1, 0)), (other, RunCases(1, 1, 0))]))

    assert rows["Agent"] == ("Shop", "Shop (scripted)")
    assert rows["Model"] == ("openai/small", "")
    assert rows["Differs from the suite"] == ("", "re-run of run 3")
    assert rows["Texts compared by"] == ("", "embeddings of openai/e")


def test_a_run_without_rubrics_says_so() -> None:
    summary = {"rubric_items": None}
    rows = matrix([(RUN | {"summary": summary}, RunCases(1, 1, 0))])

    assert dict(rows)["Rubric items met"] == ("no rubric",)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        pytest.param(RateTest(0, 0, 0, None, None), ["no case in common"], id="nothing"),
        pytest.param(RateTest(1, 0, 0, 0.0, 1.0), ["the one case", "same"], id="one equal case"),
        pytest.param(RateTest(60, 0, 0, 0.0, 1.0), ["all 60 cases", "same"], id="equal"),
        pytest.param(
            RateTest(60, 9, 3, -0.08, 0.012),
            ["12 of 60 cases", "8 points lower", "clear difference", "1 of 100"],
            id="worse",
        ),
        pytest.param(
            RateTest(60, 3, 9, 0.155, 0.0002),
            ["16 points higher", "clear difference", "fewer than 1 of 100"],
            id="better",
        ),
        pytest.param(
            RateTest(60, 9, 3, -0.0167, 0.4),
            ["1.7 points lower", "no clear difference", "40 of 100"],
            id="noise",
        ),
        (RateTest(60, 5, 0, -0.01, 0.0625), ["5 of 60", "1 point lower", "All 5", "too few"]),
        (RateTest(60, 1, 0, -0.0004, 1.0), ["1 of 60 cases differs", "less than 0.1", "one case"]),
        pytest.param(RateTest(60, 4, 4, 0.0, 1.0), ["on average it is the same"], id="balanced"),
    ],
)
def test_a_finding_says_how_many_how_much_and_how_sure(test: RateTest, words: list[str]) -> None:
    text = finding(head(test))

    assert [word for word in words if word not in text] == []
    assert "may be" not in text
    assert ("no clear" in text) is ("no clear difference" in words)


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (
            RateTest(60, 9, 3, -0.1, 0.01),
            ["12 of 60", "verdict", "share of passed cases is 10 points"],
        ),
        (RateTest(60, 0, 0, 0.0, 1.0), ["verdict", "same"]),
    ],
)
def test_a_finding_over_verdicts_does_not_speak_of_pass_rates(
    test: RateTest, words: list[str]
) -> None:
    text = finding(HeadCases({}, test, 0, by_verdict=True))

    assert [word for word in words if word not in text] == []
    assert "pass rate" not in text


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (head(RateTest(9, 0, 0, 0.0, 1.0), same=9), ["No case", "no clear difference"]),
        (head(RateTest(9, 1, 0, -0.1, 1.0), worse=1, same=8), ["1 case got worse", "too few"]),
        (
            head(RateTest(60, 9, 3, -0.1, 0.01), worse=9, better=3),
            ["9 cases got worse, 3 cases got better", "clearly worse"],
        ),
        (head(RateTest(60, 3, 9, 0.1, 0.01), better=9), ["9 cases got better", "clearly better"]),
        (head(new=3, missing=2), ["No case can be compared"]),
        (head(same=2), ["No case can be compared"]),
        (
            head(RateTest(9, 0, 0, 0.0, 1.0), check_worse=1, same=8),
            ["No verdict", "but 1 case has a check that got worse"],
        ),
        (
            head(RateTest(9, 2, 0, -0.1, 0.5), worse=2, check_worse=2, check_better=1),
            ["2 cases got worse, 2 cases have a check that got worse, 1 case has a check"],
        ),
    ],
)
def test_the_headline_sums_up(found: HeadCases, words: list[str]) -> None:
    assert [word for word in words if word not in headline(found)] == []


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (None, UNKNOWN),
        (CaseOutcome("a", "", Verdict.PASSED, 1, 0, 0, 1.0), "passed, score 1.00"),
        (CaseOutcome("a", "", Verdict.FAILED, 1, 2, 1, None), "failed, 1 of 3 passed"),
        (CaseOutcome("a", "", None, 0, 0, 0, None), "undecided"),
    ],
)
def test_an_outcome_is_written_with_what_is_known(outcome: CaseOutcome | None, text: str) -> None:
    assert outcome_text(outcome, scale="0-1") == text


def test_counts_leave_out_what_did_not_happen() -> None:
    assert counts_in_words({ChangeKind.SAME: 56, ChangeKind.WORSE: 1_000}) == "1,000 worse, 56 same"


@pytest.mark.parametrize(
    ("outcomes", "change", "text"),
    [
        pytest.param([(3, 0), (2, 1)], ChangeKind.FEWER, "Same verdict, 1 trial fewer", id="fewer"),
        pytest.param([(0, 3), (2, 1)], ChangeKind.MORE, "Same verdict, 2 trials more", id="more"),
        ([(3, 0), (2, 2)], ChangeKind.FEWER, "Less often"),
        ([(3, 0), (2, 1), (1, 2)], ChangeKind.FEWER, "Less often"),
        pytest.param([(3, 0), (0, 3)], ChangeKind.WORSE, "Worse", id="another change"),
    ],
)
def test_a_case_that_kept_its_verdict_says_how_many_trials_did_not(
    outcomes: list[tuple[int, int]], change: ChangeKind, text: str
) -> None:
    results = tuple(CaseOutcome("a", "", Verdict.FAILED, *trials, 0, None) for trials in outcomes)

    assert case_change(ComparedCase("a", change, results, ())) == text


def test_checks_that_changed_are_named_once_for_all_runs() -> None:
    checks = [
        ChangedCheck(2, "Reply contains “x”", 1, is_worse=True),
        ChangedCheck(3, "Reply contains “x”", 1, is_worse=True),
        ChangedCheck(3, "Polite.", None, is_worse=False),
    ]

    assert checks_text(checks) == "Worse: Reply contains “x” (turn 1); Better: Polite"
