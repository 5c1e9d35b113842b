from decimal import Decimal
from typing import Any

import pytest

from evals_app.admin.conversation.transcripts import (
    OPEN_TURNS,
    final_lines,
    grade_line,
    grade_state,
    judge_call,
    limit_lines,
    turn_lines,
    world_lines,
)
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.trial import ToolCall, TurnRecord
from evals_app.engine.record.usage import Usage
from evals_app.engine.verdicts.grading import SUSPICION
from evals_app.models import Execution
from tests.makers import make_grade, make_trial


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        pytest.param({}, "passed", id="passed"),
        pytest.param({"passed": False}, "failed", id="failed"),
        pytest.param({"passed": None}, "informational", id="without a verdict"),
        pytest.param({"status": "ungraded", "passed": None}, "ungraded", id="ungraded"),
        pytest.param({"status": "error", "passed": None}, "error", id="broke"),
        pytest.param({"status": "not_applicable", "passed": None}, "not_applicable", id="not so"),
    ],
)
def test_an_ungraded_check_is_never_shown_as_failed(columns: dict[str, Any], expected: str) -> None:
    assert grade_state(make_grade(**columns)) == expected


@pytest.mark.parametrize(
    ("columns", "facts"),
    [
        pytest.param({}, ["score 5.0 of 5"], id="score on the scale"),
        pytest.param({"score": None}, [], id="no score"),
        pytest.param({"threshold": 0.5}, ["score 5.0 of 5", "needs 3.0 of 5"], id="threshold"),
        pytest.param({"weight": 2.0}, ["score 5.0 of 5", "weight 2"], id="weight"),
        pytest.param({"weight": 0.0}, ["score 5.0 of 5", "weight 0, shown only"], id="weight 0"),
        pytest.param(
            {"weight": 0.3, "details": {"share": 0.3}},
            ["score 5.0 of 5", "30 % of the score"],
            id="the suite's rubric",
        ),
    ],
)
def test_a_grade_says_how_it_counts(columns: dict[str, Any], facts: list[str]) -> None:
    line = grade_line(make_grade(**columns), scale="1-5", known={})

    assert [fact.replace("\u00a0", " ") for fact in line.facts] == facts


@pytest.mark.parametrize(
    ("scale", "columns", "facts", "reason"),
    [
        pytest.param(
            "0-1",
            {
                "score": 1 / 3,
                "threshold": 0.8,
                "passed": False,
                "reason": "One. Score 0.33, needs 0.80.",
            },
            ["score 0.33", "needs 0.80"],
            "One.",
            id="compared",
        ),
        pytest.param(
            "1-5",
            {
                "score": 0.5,
                "threshold": 0.75,
                "passed": False,
                "reason": "One. Score 0.50, needs 0.75.",
            },
            ["score 3.0 of 5", "needs 4.0 of 5"],
            "One.",
            id="on the suite's scale only",
        ),
        pytest.param(
            "0-1",
            {"score": 0.25, "passed": None, "reason": "One. Score 0.25."},
            ["score 0.25"],
            "One.",
            id="only measured",
        ),
        pytest.param(
            "0-1",
            {
                "score": 0.7996,
                "threshold": 0.8,
                "passed": False,
                "reason": "One. Score 0.7996, needs 0.8000.",
            },
            [],
            "One. Score 0.7996, needs 0.8000.",
            id="so close that two places hide it",
        ),
        pytest.param(
            "0-1",
            {"score": 0.0, "passed": False, "reason": "The price. Score 2.50."},
            ["score 0.00"],
            "The price. Score 2.50.",
            id="a number of the check's own",
        ),
    ],
)
def test_a_score_is_beside_a_check_or_in_its_reason_but_not_in_both(
    scale: str, columns: dict[str, Any], facts: list[str], reason: str
) -> None:
    line = grade_line(make_grade(**columns), scale=scale, known={})

    assert [fact.replace("\u00a0", " ") for fact in line.facts] == facts
    assert line.reason == reason


def test_a_suspicion_is_a_warning_and_not_in_the_reason_too() -> None:
    grade = make_grade(
        family="judged", reason=f"Fine. {SUSPICION}", details={"flags": ["injection"]}
    )

    line = grade_line(grade, scale="0-1", known={})

    assert (line.reason, len(line.judgement.warnings)) == ("Fine.", 1)


def test_each_grade_stands_under_the_turn_that_it_judges() -> None:
    grades = [make_grade(2, label="second"), make_grade(1, label="first"), make_grade(None)]

    turns = turn_lines(make_trial(turns=2), grades, scale="0-1", known={})

    assert [[line.grade.label for line in turn.grades] for turn in turns] == [["first"], ["second"]]
    assert len(final_lines(grades, scale="0-1", known={})) == 1


def test_turns_that_did_not_run_are_shown_with_their_grades() -> None:
    trial = make_trial(turns=1, planned_turns=3)

    turns = turn_lines(trial, [make_grade(3, passed=False)], scale="0-1", known={})

    assert [turn.record is not None for turn in turns] == [True, False, False]
    assert turns[2].missed_checks == 1


def test_without_a_transcript_the_grades_remain() -> None:
    turns = turn_lines(None, [make_grade(1)], scale="0-1", known={})

    assert [(turn.number, turn.record, len(turn.grades)) for turn in turns] == [(1, None, 1)]


def test_a_short_conversation_is_open() -> None:
    turns = turn_lines(make_trial(turns=OPEN_TURNS), [], scale="0-1", known={})

    assert all(turn.is_open for turn in turns)


def test_of_a_long_conversation_only_the_first_trouble_is_open() -> None:
    grades = [make_grade(7, passed=False), make_grade(9, passed=False)]

    turns = turn_lines(make_trial(turns=OPEN_TURNS + 1), grades, scale="0-1", known={})

    assert [turn.number for turn in turns if turn.is_open] == [7]


def test_a_turn_shows_time_tokens_waiting_and_retries() -> None:
    record = TurnRecord(
        1,
        "Hi",
        usage=Usage(input_uncached=10, output=5, cache_read=4),
        latency_ms=1500,
        waited_ms=2000,
        first_token_ms=300,
        model="claude-haiku-5-5",
        cost_usd=Decimal("0.000123456"),
        attempts=(Attempt("529: overloaded.", 2000),),
        notes=("The answer was cut.",),
    )

    (turn,) = turn_lines(make_trial(turns=(1)).but(turns=(record,)), [], scale="0-1", known={})

    assert [fact.replace("\u00a0", " ") for fact in turn.facts] == [
        "1.5 s",
        "first token after 300 ms",
        "14 prompt + 5 response tokens",
        "4 of them read from the cache",
        "cost $0.000123",
        "waited 2.0 s for its turn at the provider",
        "claude-haiku-5-5",
        "The answer was cut.",
    ]
    assert len(turn.retries) == 1


def test_tokens_that_were_not_reported_are_not_0() -> None:
    record = TurnRecord(1, "Hi", usage=Usage())

    (turn,) = turn_lines(make_trial().but(turns=(record,)), [], scale="0-1", known={})

    assert "tokens not reported" in turn.facts


def test_a_tool_call_shows_what_was_asked_and_what_came_back() -> None:
    call = ToolCall("order.get", {"id": "A-1"}, {"state": "sent"}, None, 12.0)
    refused = ToolCall("order.cancel", {}, None, "Too late.")

    (turn,) = turn_lines(make_trial(calls=[call, refused]), [], scale="0-1", known={})

    assert [(line.call, line.args_short, line.result) for line in turn.messages[0].calls] == [
        (call, "id=A-1", '{\n  "state": "sent"\n}'),
        (refused, "", ""),
    ]


@pytest.mark.parametrize(
    ("call", "cost"),
    [
        pytest.param({"cost_usd": "0.000200000"}, "$0.0002", id="known"),
        pytest.param({"cost_usd": "0", "usage": {}}, "$0", id="a script"),
        pytest.param({"cost_usd": None, "usage": None}, "unknown", id="no price"),
        pytest.param({}, "unknown", id="an older version"),
    ],
)
def test_a_call_of_a_judge_shows_its_cost(call: dict[str, Any], cost: str) -> None:
    shown = judge_call(call)

    assert (shown["cost"], shown["tokens"]) == (cost, "unknown tokens")


def test_every_limit_that_is_set_has_a_row() -> None:
    execution = Execution(
        agent_prompt_tokens=None,
        agent_response_tokens=30,
        time_ms=900.0,
        agent_cost_usd=Decimal("0.0123"),
        tool_calls=2,
    )
    grades = [
        make_grade(None, family="limit", type="max_tool_calls", passed=False,
                   details={"limit": 1, "actual": 2}),
        make_grade(None, family="limit", type="max_prompt_tokens", passed=None,
                   status="ungraded", details={"limit": 100, "actual": None}),
        make_grade(None, family="limit", type="max_time_ms", passed=None, status="ungraded"),
        make_grade(None, family="limit", type="max_cost_usd", passed=False,
                   details={"limit": 0.01, "actual": 0.0123}),
    ]  # fmt: skip

    rows = [(row.label, row.limit, row.actual) for row in limit_lines(execution, grades)]

    assert rows == [
        ("Prompt tokens", "100", "unknown"),
        ("Time (ms)", "—", "900"),
        ("Cost", "$0.01", "$0.0123"),
        ("Tool calls", "1", "2"),
    ]


def test_changes_of_the_world_are_shown_field_by_field() -> None:
    before = {"id": "A-1", "type": "order", "status": "active", "data": {"n": 1, "same": "x"}}
    after = {"id": "A-1", "type": "order", "status": "closed", "data": {"same": "x", "new": True}}
    changes = {
        "created": [{"id": "t-1", "type": "ticket", "status": "active", "data": {}}],
        "updated": [{"id": "A-1", "type": "order", "before": before, "after": after}],
        "deleted": [],
        "relations_created": [{"id": "relation-1", "from": "t-1", "to": "A-1", "type": "about"}],
        "relations_deleted": [],
    }

    world = world_lines(changes)

    assert world.total == 3
    assert world.updated[0].fields == (
        ("status", "active", "closed"),
        ("n", "1", "—"),
        ("new", "—", "true"),
    )
    assert world.linked == ("t-1 → about → A-1",)


def test_an_untouched_world_has_no_changes() -> None:
    assert world_lines({}).total == 0
