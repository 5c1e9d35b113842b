from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.check_counts import CheckCount, CheckIdentity, counts_text
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.engine.statistics.effort import CaseEffort
from evals_app.reports.answers import model_comparison
from evals_app.reports.answers.model_comparison import (
    MissCount,
    ModelComparison,
    PassShare,
    SeenCheck,
    TableRun,
    case_rows,
    column_names,
    compare_models,
)

POLITE = CheckIdentity(None, "judged", "llm_judge", "Is polite")
REFUND = CheckIdentity(2, "text", "contains", "Reply contains “refund”")
CHECKS = {"aa": POLITE, "bb": REFUND}


def a_case(
    name: str,
    passed: int,
    failed: int,
    *,
    errored: int = 0,
    score: float | None = None,
    ms: Sequence[float | None] = (),
    checks: Mapping[str, tuple[int, int]] | None = None,
    digest: str = "1",
) -> CaseOutcome:
    """Return a case that passes only if all of its trials do."""
    verdict = Verdict.FAILED if failed else Verdict.PASSED if passed else None
    counts = {key: CheckCount(*count) for key, count in (checks or {}).items()}
    effort = CaseEffort(tuple(ms), None)
    text = counts_text(counts)
    return CaseOutcome(name, digest, verdict, passed, failed, errored, score, text, effort)


def a_run(number: int, suite: str, model: str, *cases: CaseOutcome, **changes: Any) -> TableRun:
    """Return a run that has ended, or with a `status` an open one."""
    counts = {
        "passed": sum(case.passed for case in cases),
        "failed": sum(case.failed for case in cases),
        "errored": sum(case.errored for case in cases),
        **dict.fromkeys(("measured", "skipped", "cancelled", "not_run"), 0),
    }
    row = {
        "id": number,
        "group": None,
        "suite_slug": suite,
        "suite_name": suite.capitalize(),
        "suite_agent_slug": "shop",
        "agent_slug": "shop",
        "agent_name": "Shop",
        "model": model,
        "replaced_model": "",
        "judge": "",
        "is_scripted": False,
        "is_simulated": False,
        "score_scale": "0-1",
        "score": 0.5,
        "status": "finished",
        "verdict": "failed" if counts["failed"] else "passed",
        "total": sum(counts.values()),
        "created_at": None,
        "agent_prompt_tokens": 100,
        "agent_response_tokens": 20,
        "judge_prompt_tokens": 0,
        "judge_response_tokens": 0,
        "agent_cost_usd": Decimal("0.5"),
        "judge_cost_usd": Decimal(0),
        "summary": {"cases_digest": "one", "rubric_bullets": [], "at_least": {}},
    }
    return TableRun(row | counts | changes, {case.name: case for case in cases})


def an_open_run(number: int, suite: str, model: str) -> TableRun:
    changes = {"status": "running", "verdict": "", "summary": {}, "total": 4, "not_run": 3}
    return a_run(number, suite, model, **changes | {"passed": 1, "agent_cost_usd": None})


def find(seen: Sequence[SeenCheck]) -> Mapping[str, CheckIdentity]:
    return {check.key: CHECKS[check.key] for check in seen}


def two_models(**changes: Any) -> ModelComparison:
    return compare_models(
        [
            a_run(1, "greet", "a/x", a_case("hi", 5, 0, score=1.0, ms=[100, 200, 300, 400, 500])),
            a_run(2, "greet", "a/y", a_case("hi", 3, 2, score=0.5, ms=[10, 20, 30, 40, None])),
            a_run(3, "refund", "a/x", a_case("one", 4, 1, score=0.8), a_case("two", 5, 0)),
            a_run(
                4, "refund", "a/y", a_case("one", 0, 5, score=0.1), a_case("two", 4, 0, errored=1)
            )
            if not changes
            else a_run(4, "refund", "a/y", a_case("one", 0, 5), **changes),
        ],
        find,
    )


def test_a_suite_is_a_row_and_a_model_a_column() -> None:
    table = two_models()

    assert column_names(table.columns) == ["a/x", "a/y"]
    assert [(row.slug, [cell and cell.run for cell in row.cells]) for row in table.rows] == [
        ("greet", [1, 2]),
        ("refund", [3, 4]),
    ]
    cell = table.rows[1].cells[1]
    assert cell is not None
    assert (cell.verdict, cell.trials, cell.cases) == (
        "failed",
        PassShare(4, 9, 1),
        PassShare(1, 2, 0),
    )


def test_totals_of_a_column_are_over_all_its_suites() -> None:
    one, other = two_models().totals

    assert (one.trials, one.cases) == (PassShare(14, 15), PassShare(2, 3))
    assert one.trials.interval == pytest.approx((0.7018, 0.9881), abs=1e-4)
    assert one.score == pytest.approx(0.9)
    assert one.scored == 2
    assert (one.median_ms, one.p95_ms, one.replies) == (300, 500, 5)
    assert (other.median_ms, other.p95_ms) == (30, None)  # the slowest was never answered
    assert (one.sums["agent_prompt_tokens"], one.sums["agent_cost_usd"]) == (200, Decimal(1))
    assert one.verdicts == {"passed": 1, "failed": 1}
    assert other.trials == PassShare(7, 14, 1)


def test_a_column_is_tested_against_the_first_over_the_same_cases() -> None:
    one, other = two_models().totals

    assert one.against is None
    assert other.against is not None
    assert (other.against.test.cases, other.against.test.fell) == (3, 2)
    assert other.against.test.mean == pytest.approx(-(0.4 + 0.8 + 0.0) / 3)
    assert other.against.verdict == "worse"


def test_a_case_that_was_edited_in_between_is_not_compared() -> None:
    runs = [
        a_run(1, "greet", "a/x", a_case("hi", 5, 0)),
        a_run(2, "greet", "a/y", a_case("hi", 0, 5, digest="2"), summary={"cases_digest": "two"}),
    ]

    table = compare_models(runs, find)

    assert table.totals[1].against is not None
    assert table.totals[1].against.verdict == "not_comparable"
    assert not table.rows[0].has_same_cases


def test_what_is_unknown_of_one_run_is_unknown_in_total_but_at_least_the_rest() -> None:
    least = {"cases_digest": "one", "at_least": {"agent_cost_usd": 0.25}}
    totals = two_models(agent_cost_usd=None, summary=least).totals[1]

    assert totals.sums["agent_cost_usd"] is None
    assert totals.at_least == {"agent_cost_usd": 0.75}


def test_times_are_unknown_if_an_older_run_noted_only_its_median() -> None:
    totals = two_models(summary={"median_ms": 20.0}).totals[1]

    assert (totals.median_ms, totals.replies) == (None, 0)


def test_an_open_run_counts_in_no_total() -> None:
    runs = [a_run(1, "greet", "a/x", a_case("hi", 5, 0)), an_open_run(2, "refund", "a/x")]

    table = compare_models(runs, find)

    assert table.is_open
    assert (table.totals[0].runs, table.totals[0].open) == (2, 1)
    assert table.totals[0].trials == PassShare(5, 5)
    assert table.totals[0].sums["agent_cost_usd"] == Decimal("0.5")
    cell = table.rows[1].cells[0]
    assert cell is not None
    assert (cell.ended_count, cell.total, cell.cases) == (1, 4, None)


def test_a_column_without_runs_that_ended_knows_nothing() -> None:
    totals = compare_models([an_open_run(2, "refund", "a/x")], find).totals[0]

    assert (totals.score, totals.median_ms, totals.trials.rate) == (None, None, None)
    assert set(totals.sums.values()) == {None}


def test_a_second_run_with_the_same_agent_and_model_is_a_column_of_its_own() -> None:
    runs = [a_run(number, "greet", "a/x", a_case("hi", 1, 0)) for number in (1, 2)]

    table = compare_models(runs, find)

    assert column_names(table.columns) == ["a/x", "a/x (2)"]
    assert [cell and cell.run for cell in table.rows[0].cells] == [1, 2]


def test_the_suites_own_agent_and_model_come_first() -> None:
    runs = [
        a_run(1, "greet", "a/y", a_case("hi", 1, 0), replaced_model="a/x"),
        a_run(2, "greet", "a/x", a_case("hi", 1, 0)),
        a_run(3, "refund", "a/y", a_case("one", 1, 0), replaced_model="a/x"),
    ]

    table = compare_models(runs, find)

    assert column_names(table.columns) == ["a/x", "a/y"]
    assert [[cell and cell.run for cell in row.cells] for row in table.rows] == [[2, 1], [None, 3]]


def of_own(number: int, suite: str, model: str, **changes: Any) -> TableRun:
    """Return a run with the own agent of a suite, which no other suite has."""
    own = {"agent_slug": f"for-{suite}", "suite_agent_slug": f"for-{suite}"}
    return a_run(number, suite, model, a_case("hi", 1, 0), **own | changes)


@pytest.mark.parametrize(
    ("runs", "names", "grid"),
    [
        pytest.param(
            [of_own(1, "greet", "a/x"), of_own(2, "refund", "a/y")],
            ["each suite's own agent"],
            [[1], [2]],
            id="no model chosen",
        ),
        pytest.param(
            [
                *(of_own(1, "greet", "a/x"), of_own(2, "greet", "b/z", replaced_model="a/x")),
                *(of_own(3, "refund", "a/y"), of_own(4, "refund", "b/z", replaced_model="a/y")),
            ],
            ["own model", "b/z"],
            [[1, 2], [3, 4]],
            id="beside another model",
        ),
        pytest.param(
            [
                *(of_own(1, "greet", "a/x"), of_own(2, "greet", "a/y", replaced_model="a/x")),
                *(of_own(3, "refund", "a/y"), of_own(4, "refund", "a/x", replaced_model="a/y")),
            ],
            ["a/x", "a/y"],
            [[1, 2], [4, 3]],
            id="models of each other",
        ),
        pytest.param(
            [
                *(of_own(1, "greet", "m"), of_own(2, "greet", "m", agent_slug="for-refund")),
                *(of_own(3, "refund", "m"), of_own(4, "refund", "m", agent_slug="for-greet")),
            ],
            ["for-greet", "for-refund"],
            [[1, 2], [4, 3]],
            id="agents of each other",
        ),
    ],
)
def test_suites_of_several_agents_share_a_column_unless_these_are_compared(
    runs: list[TableRun], names: list[str], grid: list[list[int]]
) -> None:
    table = compare_models(runs, find)

    assert column_names(table.columns) == names
    assert [[cell and cell.run for cell in row.cells] for row in table.rows] == grid


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        pytest.param([("shop", "Shop", "")], ["Shop"], id="no model"),
        pytest.param([("a", "A", "m"), ("b", "B", "m")], ["A", "B"], id="agents"),
        pytest.param([("a", "A", "m"), ("b", "A", "m")], ["a", "b"], id="agents of one name"),
        pytest.param(
            [("a", "A", "m"), ("a", "A", "n"), ("b", "B", "")],
            ["A, m", "A, n", "B, no model"],
            id="both",
        ),
    ],
)
def test_a_column_is_named_by_what_tells_it_apart(
    columns: list[tuple[str, str, str]], names: list[str]
) -> None:
    assert column_names([model_comparison.ModelColumn(*column) for column in columns]) == names


def test_checks_are_counted_over_cases_and_suites_the_most_missed_first() -> None:
    runs = [
        a_run(1, "greet", "a/x", a_case("hi", 5, 0, checks={"aa": (5, 0)})),
        a_run(2, "greet", "a/y", a_case("hi", 3, 2, checks={"aa": (3, 2)})),
        a_run(3, "refund", "a/x", a_case("one", 5, 0, checks={"aa": (5, 0), "bb": (4, 1)})),
        a_run(4, "refund", "a/y", a_case("one", 4, 1, checks={"aa": (4, 1)})),
    ]

    missed = compare_models(runs, find).missed

    assert [(point.label, point.turn, point.counts) for point in missed] == [
        ("Is polite", None, (MissCount(0, 10), MissCount(3, 10))),
        ("Reply contains “refund”", 2, (MissCount(1, 5), None)),
    ]


def test_bullets_of_rubrics_are_counted_and_unknown_in_older_runs() -> None:
    bullet = {"text": "Names the day", "met": 2, "missed": 3, "undecided": 1}
    counted = {"rubric_items": {"met": 2}, "rubric_bullets": [bullet]}
    older = {"rubric_items": {"met": 2}}
    runs = [
        a_run(1, "greet", "a/x", a_case("hi", 5, 0), summary=counted),
        a_run(2, "greet", "a/y", a_case("hi", 5, 0), summary=older),
    ]

    table = compare_models(runs, find)

    assert [(point.kind, point.label, point.counts) for point in table.missed] == [
        ("bullet", "Names the day", (MissCount(3, 5), None))
    ]
    assert table.without_bullets == 1


def test_only_the_most_missed_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_comparison, "MAX_MISSED", 1)
    case = a_case("hi", 0, 4, checks={"aa": (3, 1), "bb": (0, 4)})

    table = compare_models([a_run(1, "greet", "a/x", case)], find)

    assert [point.label for point in table.missed] == ["Reply contains “refund”"]
    assert table.more_missed == 1


def test_cases_in_which_columns_differ_come_first() -> None:
    one = a_run(1, "greet", "a/x", a_case("a", 5, 0), a_case("b", 5, 0), a_case("c", 0, 5))
    other = a_run(2, "greet", "a/y", a_case("a", 5, 0), a_case("b", 2, 3), a_case("c", 0, 5))

    rows = case_rows([one, other, None])

    assert [(row.name, [cell and cell.trials for cell in row.cells]) for row in rows] == [
        ("b", [PassShare(5, 5), PassShare(2, 5), None]),
        ("c", [PassShare(0, 5), PassShare(0, 5), None]),
        ("a", [PassShare(5, 5), PassShare(5, 5), None]),
    ]
