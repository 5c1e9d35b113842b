import pytest
from django.test import Client

from evals_app.admin.runs.run_results import (
    MAX_OF_A_CAUSE,
    CauseGroup,
    case_counts,
    causes,
    gate_line,
    headline,
    results,
)
from evals_app.engine.graders import GRADERS
from evals_app.models import Execution, GradeResult, Run
from evals_app.reports.answers.losses import TITLE
from tests.admin.run_pages import page_of
from tests.makers import REASONS, make_execution, make_run, make_suite

pytestmark = pytest.mark.django_db


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("gate", "sentence", "actual", "word"),
    [
        pytest.param(
            {"name": "min_score", "limit": 0.75, "actual": 0.5, "passed": False},
            "The mean score must be at least 4.0 of 5", "3.0 of 5", "Missed", id="score",
        ),
        pytest.param(
            {"name": "min_pass_rate", "limit": 0.9, "actual": 0.9, "passed": True},
            "At least 90 % of the cases must pass", "90 %", "Met", id="rate",
        ),
        pytest.param(
            {"name": "max_p95_ms", "limit": 2000, "actual": 3100, "passed": False},
            "95 % of the replies must arrive within 2.0 s", "3.1 s", "Missed", id="p95",
        ),
        pytest.param(
            {"name": "max_p95_ms", "limit": 2000, "actual": None, "passed": None},
            "95 % of the replies must arrive within 2.0 s", "unknown", "Undecided", id="unknown",
        ),
        pytest.param(
            {"name": "max_cost_per_call_usd", "limit": 0.01, "actual": 0.0123, "passed": False},
            "A turn of the agent may cost at most $0.01 on average", "$0.0123", "Missed",
            id="cost of a turn",
        ),
        pytest.param(
            {"name": "max_cost_usd", "limit": 5.0, "actual": None, "passed": None},
            "Agent and judge together may cost at most $5.00", "unknown", "Undecided",
            id="cost in all, unknown",
        ),
        pytest.param(
            {"name": "max_regressions", "limit": 1, "actual": 2, "passed": False},
            "At most 1 case may have got worse since the baseline", "2 cases", "Missed",
            id="regressions",
        ),
        pytest.param(
            {"name": "max_regressions", "limit": 0, "actual": 0, "passed": True},
            "No case may have got worse since the baseline", "0 cases", "Met",
            id="no regressions",
        ),
        pytest.param(
            {"name": "max_score_drop", "limit": 0.05, "actual": 0.0512, "passed": False},
            "The mean score may be at most 0.2 below the baseline's", "0.2048 below", "Missed",
            id="a fall",
        ),
        pytest.param(
            {"name": "max_score_drop", "limit": 0.05, "actual": -0.1, "passed": True},
            "The mean score may be at most 0.2 below the baseline's", "0.4 above", "Met",
            id="a rise",
        ),
    ],
)  # fmt: skip
def test_a_gate_is_a_sentence_with_limit_and_actual(
    gate: dict[str, object], sentence: str, actual: str, word: str
) -> None:
    line = gate_line(gate, scale="1-5")

    assert (plain(line.sentence), plain(line.actual)) == (sentence, actual)
    assert f"{word}</span>" in line.badge


@pytest.mark.parametrize(
    ("states", "gates", "expected"),
    [
        pytest.param(["passed"], {}, "The case passed.", id="one case"),
        pytest.param(["passed"] * 3, {}, "All 3 cases passed.", id="all"),
        pytest.param(["passed", "failed"], {}, "1 of 2 cases failed.", id="one failed"),
        (["failed", "errored"], {}, "1 of 2 cases failed, 1 case could not be decided."),
        (["passed"], {"max_p95_ms": 10000}, "The case passed, every gate was met."),
        (["passed"], {"max_p95_ms": 1}, "The case passed, 1 gate missed."),
    ],
)  # fmt: skip
def test_the_headline_says_why_the_run_ended_as_it_did(
    states: list[str], gates: dict[str, float], expected: str
) -> None:
    run = make_run(states, gates=gates)

    assert headline(run, case_counts(run)) == expected


def test_the_numbers_tell_the_cost_of_agent_and_judge_apart_and_together() -> None:
    run = make_run(["passed"], agent_cost_usd="0.0123", judge_cost_usd="0.002")

    numbers = dict(results(Run.objects.get(pk=run.pk))["numbers"])

    costs = {name: numbers[name] for name in ("Agent cost", "Judge cost", "Cost")}
    assert costs == {"Agent cost": "$0.0123", "Judge cost": "$0.002", "Cost": "$0.0143"}
    assert "Spent" not in numbers


@pytest.mark.parametrize(
    ("lost", "shown"),
    [(2, ["2 of 5 checks were not read", "(4)", "Check: a.yaml:7:"]), (0, ["(4)"])],
)
def test_the_page_shows_what_was_left_out_of_the_files_of_the_suite(
    lost: int, shown: list[str], admin_client: Client
) -> None:
    part = {
        "path": "a.yaml",
        "line": 7,
        "column": 0,
        "keys": "",
        "message": "Code.",
        "checks": lost,
    }
    losses = {"checks_lost": lost, "checks_read": 3, "parts": [part], "more": 3}
    pages = [
        admin_client.get(page_of(run)).content.decode()
        for run in (make_run(["passed"], losses=losses), make_run(["passed"]))
    ]

    assert all(text in pages[0] for text in shown)
    assert ("not read" in pages[0]) == bool(lost)
    assert TITLE in pages[0]
    assert TITLE not in pages[1]


def test_a_cost_that_is_unknown_is_never_0() -> None:
    run = make_run(["passed"], agent_cost_usd=None, judge_cost_usd="0", max_cost_usd="0.5")

    numbers = dict(results(Run.objects.get(pk=run.pk))["numbers"])

    assert (numbers["Agent cost"], numbers["Judge cost"]) == ("unknown", "$0")
    assert numbers["Cost"] == "unknown"
    assert numbers["Spent"] == "$0 of at most $0.50"


def test_failures_come_first_and_are_grouped_by_cause() -> None:
    run = make_run(["errored", "failed", "passed", "failed"])
    make_execution(run, "crash", state="failed", cause="agent", reason="It crashed.")

    groups = causes(run)

    assert [(group.cause, cases_by_reason(group)) for group in groups] == [
        ("assertion", [["case 2", "case 4"]]),
        ("agent", [["crash"]]),
        ("judge", [["case 1"]]),
    ]


def cases_by_reason(group: CauseGroup) -> list[list[str]]:
    return [[row.case for row in rows] for check in group.checks for _, rows in check.reasons]


def test_what_failed_in_the_same_words_is_shown_once() -> None:
    run = make_run({"Refund": ["failed"] * 3, "Hello": ["passed"]})
    make_execution(run, "Order", state="failed", reason="It says nothing.")
    make_execution(run, "Parcel", state="failed")

    (group,) = causes(run)

    assert cases_by_reason(group) == [["Refund"] * 3 + ["Parcel"], ["Order"]]
    (check,) = group.checks
    assert [reason for reason, _ in check.reasons] == [REASONS["assertion"], "It says nothing."]
    assert (group.total, group.more) == (5, 0)


def test_failures_are_grouped_by_the_kind_of_check_that_decided() -> None:
    run = make_run([])
    decided = {"A": "exact_match", "B": "contains", "C": "contains", "D": ""}
    for case, kind in decided.items():
        execution = make_execution(run, case, state="failed", reason=f"No {case}.")
        if kind:
            add_grade(execution, kind, reason="Other words.")
            add_grade(execution, kind, reason=execution.reason)

    (group,) = causes(run)

    assert [(check.kind, check.total) for check in group.checks] == [
        (GRADERS["contains"].label, 2),
        (GRADERS["exact_match"].label, 1),
        ("", 1),
    ]


def add_grade(execution: Execution, kind: str, *, reason: str) -> None:
    GradeResult.objects.create(
        execution=execution,
        position=0,
        family="text",
        type=kind,
        label=kind,
        weight=1,
        status="graded",
        passed=False,
        reason=reason,
    )


def test_a_run_that_passed_has_no_causes() -> None:
    assert causes(make_run(["passed"] * 2)) == []


def test_one_frequent_cause_does_not_hide_another() -> None:
    run = make_run(["failed"] * (MAX_OF_A_CAUSE + 3) + ["errored"])

    often, rare = causes(run)

    assert [check.total for check in often.checks] == [MAX_OF_A_CAUSE]
    assert (often.total, often.more) == (MAX_OF_A_CAUSE + 3, 3)
    assert (len(rare.checks), rare.more) == (1, 0)


def test_cases_show_rates_over_trials_and_scores_on_the_scale() -> None:
    suite = make_suite(score_scale="1-5")
    run = make_run(
        {"Refund": ["passed", "failed", "errored"], "Hello": ["passed"] * 3}, suite=suite
    )

    refund, hello = results(run)["cases"]

    assert plain(refund.pass_rate) == "50 % (1 of 2 graded, 1 not graded)"
    assert plain(refund.score) == "3.5 of 5"
    assert plain(refund.pass_at_k) == "k=1: 50 %, k=2: 100 %"
    assert plain(refund.pass_hat_k) == "k=1: 50 %, k=2: 0 %"
    assert [mark.label for mark in refund.trials] == [
        "Refund, trial 1: Passed",
        "Refund, trial 2: Failed",
        "Refund, trial 3: Errored",
    ]
    assert plain(hello.pass_rate) == "100 % (3 of 3)"
    assert refund.opens == refund.trials[1].pk  # the first that did not pass
    assert hello.opens == hello.trials[0].pk


def test_the_share_of_cases_that_passed_has_an_interval() -> None:
    numbers = dict(results(make_run(["passed", "passed", "passed", "failed"]))["numbers"])

    assert plain(numbers["Cases passed"]) == "75 % (3 of 4; 95 % interval: 30.1 % to 95.4 %)"


def test_what_is_not_graded_is_beside_the_share_and_leaves_its_gate_undecided() -> None:
    shown = results(make_run(["passed"] * 5 + ["errored"] * 5, gates={"min_pass_rate": 0.6}))

    (gate,) = shown["gates"]
    assert "5 of 5 graded, 5 not graded" in dict(shown["numbers"])["Cases passed"]
    assert "5 of 5 graded, 5 not graded" in gate.actual
    assert "Undecided" in gate.badge
    assert "undecided" in shown["headline"]


def test_a_case_has_the_judge_tokens_of_its_trials_and_unknown_if_one_is() -> None:
    run = make_run({"A": ["passed", "failed"], "B": ["passed"], "C": ["not_run"]})
    run.executions.filter(case="A", trial=1).update(
        judge_prompt_tokens=1000, judge_response_tokens=5
    )
    run.executions.filter(case="B").update(judge_prompt_tokens=1000, judge_response_tokens=5)

    assert [case.judge_tokens for case in results(run)["cases"]] == ["unknown", "1,005", "—"]


def test_of_a_single_trial_nothing_is_shown_about_k() -> None:
    (case,) = results(make_run(["passed"]))["cases"]

    assert case.pass_at_k == case.pass_hat_k == case.deviation == ""


def test_unknown_tokens_are_not_0() -> None:
    numbers = dict(results(make_run(["passed"], agent_prompt_tokens=12))["numbers"])

    assert numbers["Agent tokens"] == "12 prompt + unknown response"
    assert numbers["Judge tokens"] == "unknown"
