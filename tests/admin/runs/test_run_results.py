import json
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from evals_app.admin.runs import run_cases
from evals_app.admin.runs.run_cases import count_cases, first_cases
from evals_app.admin.runs.run_causes import MAX_OF_A_CAUSE, CauseGroup, causes_so_far
from evals_app.admin.runs.run_results import gate_line, results
from evals_app.engine.graders import GRADERS
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.engine.verdicts.release_check import ReasonKind
from evals_app.models import Execution, GradeResult, Run, SnapshotCase
from evals_app.reports.answers.losses import TITLE
from evals_app.reports.words.causes import CAUSE_WORDS
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
            "The mean score is at least 4.0 of 5", "3.0 of 5", "Not met", id="score",
        ),
        pytest.param(
            {"name": "min_pass_rate", "limit": 0.9, "actual": 0.9, "passed": True},
            "At least 90 % of the cases pass", "90 %", "Met", id="rate",
        ),
        pytest.param(
            {"name": "max_p95_ms", "limit": 2000, "actual": 3100, "passed": False},
            "95 % of the replies arrive within 2.0 s", "3.1 s", "Not met", id="p95",
        ),
        pytest.param(
            {"name": "max_p95_ms", "limit": 2000, "actual": None, "passed": None},
            "95 % of the replies arrive within 2.0 s", "unknown", "Undecided", id="unknown",
        ),
        pytest.param(
            {"name": "max_cost_per_call_usd", "limit": 0.01, "actual": 0.0123, "passed": False},
            "A turn of the agent costs at most $0.01 on average", "$0.0123", "Not met",
            id="cost of a turn",
        ),
        pytest.param(
            {"name": "max_cost_usd", "limit": 5.0, "actual": None, "passed": None},
            "Agent and judge together cost at most $5.00", "unknown", "Undecided",
            id="cost in all, unknown",
        ),
        pytest.param(
            {"name": "max_regressions", "limit": 1, "actual": 2, "passed": False},
            "At most 1 case got worse since the released version", "2 cases", "Not met",
            id="regressions",
        ),
        pytest.param(
            {"name": "max_regressions", "limit": 0, "actual": 0, "passed": True},
            "No case got worse since the released version", "0 cases", "Met",
            id="no regressions",
        ),
        pytest.param(
            {"name": "max_score_drop", "limit": 0.05, "actual": 0.0512, "passed": False},
            "The mean score is at most 0.2 below the released version's", "0.2048 below", "Not met",
            id="a fall",
        ),
        pytest.param(
            {"name": "max_score_drop", "limit": 0.05, "actual": -0.1, "passed": True},
            "The mean score is at most 0.2 below the released version's", "0.4 above", "Met",
            id="a rise",
        ),
    ],
)  # fmt: skip
def test_a_gate_is_a_sentence_with_limit_and_actual(
    gate: dict[str, object], sentence: str, actual: str, word: str
) -> None:
    line = gate_line(gate, scale="1-5")

    assert (plain(line.sentence), plain(line.actual)) == (sentence, actual)
    assert line.word == word


@pytest.mark.parametrize(
    ("states", "headline", "notes"),
    [
        (["passed"], "1 of 1 case passed", []),
        (["passed", "failed"], "1 of 2 cases passed", ["All 2 were graded."]),
        (["passed", "failed", "errored"], "1 of 2 cases passed, 1 not graded", []),
        (["passed", "errored", "not_run"], "1 of 1 case passed, 1 not graded, 1 not run", []),
        (["errored"], "No case passed or failed, 1 not graded", []),
        (["measured"], "No case passed or failed, 1 only measured", []),
        (
            {"A": ["passed", "failed"], "B": ["passed", "skipped"]},
            "1 of 2 cases passed",
            ["All 2 were graded.", "2 of 4 conversations passed, 1 failed, 1 skipped."],
        ),
    ],
)  # fmt: skip
def test_the_headline_counts_cases_and_leaves_out_what_is_not_graded(
    states: Any, headline: str, notes: list[str]
) -> None:
    counted = results(make_run(states))["counted"]

    assert (counted.headline, list(counted.notes)) == (headline, notes)


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

    groups = causes_so_far(run)

    assert [(group.cause, names(group)) for group in groups] == [
        ("assertion", ["case 2", "case 4"]),
        ("agent", ["crash"]),
        ("judge", ["case 1"]),
    ]


def names(group: CauseGroup) -> list[str]:
    return [case.name for case in group.cases]


def test_a_cause_has_each_case_once_with_its_trials_and_the_most_frequent_reason() -> None:
    run = make_run({"Refund": ["failed", "passed", "failed"], "Hello": ["passed"]})
    make_execution(run, "Order", state="failed", reason="It says nothing.", position=2)
    make_execution(run, "Parcel", state="failed", position=3)

    (group,) = causes_so_far(run)

    assert names(group) == ["Refund", "Order", "Parcel"]
    assert (group.reason, group.same, group.is_shared) == (REASONS["assertion"], 3, True)
    assert (group.total, group.more) == (4, 0)
    assert group.cases[0].trials.tones == ["bad", "good", "bad"]
    assert [case.trials.in_words for case in group.cases] == ["1 of 3", "0 of 1", "0 of 1"]


def test_a_case_says_in_a_word_what_it_is_since_the_released_version() -> None:
    run = make_run({"A": ["failed"], "B": ["failed"], "C": ["passed"]})
    changes = {"A": ReasonKind.COLLAPSED, "B": ReasonKind.FAIL_AS_BEFORE, "C": ChangeKind.BETTER}

    shown = results(run, changes=changes)

    (group,) = shown["causes"]
    assert [case.change.word for case in group.cases] == ["worse", "failed before, too"]
    assert [case.change.word for case in shown["case_groups"][-1].cases] == ["better"]


def test_failures_are_grouped_by_the_kind_of_check_that_decided() -> None:
    run = make_run([])
    decided = {"A": "exact_match", "B": "contains", "C": "contains", "D": ""}
    for case, kind in decided.items():
        execution = make_execution(run, case, state="failed", reason=f"No {case}.")
        if kind:
            add_grade(execution, kind, reason="Other words.")
            add_grade(execution, kind, reason=execution.reason)

    assert [(group.title, group.total) for group in causes_so_far(run)] == [
        (GRADERS["contains"].label, 2),
        (GRADERS["exact_match"].label, 1),
        (CAUSE_WORDS["assertion"], 1),
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
    assert causes_so_far(make_run(["passed"] * 2)) == []


def test_one_frequent_cause_does_not_hide_another() -> None:
    run = make_run(["failed"] * (MAX_OF_A_CAUSE + 3) + ["errored"])

    often, rare = causes_so_far(run)

    assert (often.total, often.more) == (MAX_OF_A_CAUSE, 3)
    assert (rare.total, rare.more) == (1, 0)


def test_cases_show_rates_over_trials_and_scores_on_the_scale() -> None:
    suite = make_suite(score_scale="1-5")
    run = make_run(
        {"Refund": ["passed", "failed", "errored"], "Hello": ["passed"] * 3}, suite=suite
    )

    (refund,), (hello,) = (group.cases for group in results(run)["case_groups"])

    assert plain(refund.pass_rate) == "50 % (1 of 2 graded, 1 not graded)"
    assert plain(refund.score).startswith("3.5 of 5 ±")
    assert plain(refund.pass_at_k) == "k=1: 50 %, k=2: 100 %"
    assert plain(refund.pass_hat_k) == "k=1: 50 %, k=2: 0 %"
    assert [mark.label for mark in refund.trials.marks] == [
        "Refund, trial 1: Passed",
        "Refund, trial 2: Failed",
        "Refund, trial 3: Errored",
    ]
    assert plain(hello.pass_rate) == "100 % (3 of 3)"
    assert refund.trials.opens == refund.trials.marks[1].url  # the first that did not pass
    assert hello.trials.opens == hello.trials.marks[0].url


def test_the_share_of_cases_that_passed_has_an_interval() -> None:
    numbers = dict(results(make_run(["passed", "passed", "passed", "failed"]))["numbers"])

    assert plain(numbers["Cases passed"]) == "75 % (3 of 4; 95 % interval: 30.1 % to 95.4 %)"


def test_what_is_not_graded_is_beside_the_share_and_leaves_its_gate_undecided() -> None:
    shown = results(make_run(["passed"] * 5 + ["errored"] * 5, gates={"min_pass_rate": 0.6}))

    (gate,) = shown["gates"]
    assert "5 of 5 graded, 5 not graded" in dict(shown["numbers"])["Cases passed"]
    assert "5 of 5 graded, 5 not graded" in gate.actual
    assert gate.word == "Undecided"


def test_a_case_has_the_judge_tokens_of_its_trials_and_unknown_if_one_is() -> None:
    run = make_run({"A": ["passed", "failed"], "B": ["passed"], "C": ["not_run"]})
    run.executions.filter(case="A", trial=1).update(
        judge_prompt_tokens=1000, judge_response_tokens=5
    )
    run.executions.filter(case="B").update(judge_prompt_tokens=1000, judge_response_tokens=5)

    lines = [case for group in results(run)["case_groups"] for case in group.cases]
    tokens = {case.name: case.judge_tokens for case in lines}
    assert tokens == {"A": "unknown", "B": "1,005", "C": "—"}


def test_of_a_single_trial_nothing_is_shown_about_k() -> None:
    (group,) = results(make_run(["passed"]))["case_groups"]
    (case,) = group.cases

    assert case.pass_at_k == case.pass_hat_k == ""
    assert case.score == "1.00"


def test_few_cases_are_counted_as_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"A": ["passed", "failed"], "B": ["errored"], "C": ["measured"], "D": ["not_run"]}
    run = make_run(states | {"E": ["passed", "skipped"]})
    cases = first_cases(run)

    counted = count_cases(run, cases)
    monkeypatch.setattr(run_cases, "MAX_CASES", len(cases))

    assert counted == count_cases(run, cases)
    assert (counted["rerun_failed"], counted["rerun_errored"]) == (1, 2)


def test_cases_are_grouped_by_how_they_ended_and_show_their_question() -> None:
    run = make_run(
        {"A": ["passed"] * 2, "B": ["passed", "failed"], "C": ["failed"] * 2, "D": ["errored"] * 2}
        | {"E": ["passed"] * 2}
    )
    SnapshotCase.objects.create(
        snapshot=run.snapshot, position=2, content=json.dumps({"turns": [{"user": "Where is it?"}]})
    )

    # Like a part of a suite, whose cases keep their places in the snapshot.
    run.executions.update(position=F("position") + 7)
    SnapshotCase.objects.update(position=9)

    groups = results(run)["case_groups"]

    assert [case.name for case in results(run)["causes"][0].cases] == ["B", "C"]
    assert [(group.title, [case.name for case in group.cases]) for group in groups] == [
        ("2 cases failed", ["B", "C"]),
        ("1 case without a verdict", ["D"]),
        ("2 cases passed, 2 of 2", ["A", "E"]),
    ]
    assert [case.question for case in groups[0].cases] == ["", "Where is it?"]


def test_unknown_tokens_are_not_0() -> None:
    numbers = dict(results(make_run(["passed"], agent_prompt_tokens=12))["numbers"])

    assert numbers["Agent tokens"] == "12 prompt + unknown response"
    assert numbers["Judge tokens"] == "unknown"
