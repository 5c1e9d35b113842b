from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.graders.effort import Cost, Latency
from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Trial, TurnRecord
from evals_app.engine.record.usage import Usage
from evals_app.engine.record.view import View
from evals_app.engine.suites.case_spec import LimitsSpec
from evals_app.engine.verdicts.case_summary import turn_times
from evals_app.engine.verdicts.limits import grade_limits
from tests.engine.makers import make_trial, make_turn


def turns(*costs: str | None, each_ms: float = 400.0) -> list[TurnRecord]:
    return [
        make_turn(index=n, latency_ms=each_ms, cost_usd=None if cost is None else Decimal(cost))
        for n, cost in enumerate(costs, 1)
    ]


def view_of(*records: TurnRecord, turn: int | None = None) -> View:
    return View(make_trial(*records), None if turn is None else records[turn - 1])


@pytest.mark.parametrize(
    ("max_ms", "turn", "passes"),
    [
        pytest.param(400, 1, True, id="at"),
        pytest.param(399, 2, False, id="above"),
        pytest.param(800, None, True, id="sum"),
        pytest.param(799, None, False, id="long"),
    ],
)
def test_a_turn_or_the_whole_conversation_stays_in_time(
    *, max_ms: int, turn: int | None, passes: bool
) -> None:
    grade = Latency(max_ms=max_ms).grade(view_of(*turns("0", "0"), turn=turn))

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert f"{0.4 if turn else 0.8} s" in grade.reason
    assert f"{max_ms / 1000:g} s" in grade.reason


def test_a_limit_beyond_every_conversation_cannot_fail() -> None:
    assert Latency(max_ms=1_500_000).cannot_fail()
    assert Latency(max_ms=60_000).cannot_fail() is None


def test_a_little_above_the_limit_does_not_read_like_it() -> None:
    grade = Latency(max_ms=100).grade(view_of(*turns("0", each_ms=100.2), turn=1))

    assert grade.passed is False
    assert "0.1002 s" in grade.reason


def test_what_no_clock_can_measure_is_not_above_the_limit() -> None:
    grade = Latency(max_ms=100).grade(view_of(*turns("0", each_ms=100.0000001), turn=1))

    assert grade.passed is True


def test_waiting_for_a_provider_is_not_the_agents_time() -> None:
    record = make_turn(latency_ms=90.0, waited_ms=60_000.0)

    assert Latency(max_ms=100).grade(view_of(record, turn=1)).passed is True


@pytest.mark.parametrize(
    ("max_usd", "turn", "passes", "shown"),
    [
        pytest.param(0.01, 1, True, ["$0.01"], id="at"),
        pytest.param(0.01, 2, False, ["$0.02", "$0.01"], id="above"),
        pytest.param(0.03, None, True, ["conversation", "$0.03"], id="sum"),
        pytest.param(0.029999999, None, False, ["$0.03", "$0.029999999"], id="a little above"),
        pytest.param(0, 1, False, ["$0.01", "$0"], id="nothing"),
    ],
)
def test_a_turn_or_the_whole_conversation_costs_no_more(
    *, max_usd: float, turn: int | None, passes: bool, shown: list[str]
) -> None:
    grader = Cost.model_validate({"max_usd": max_usd})

    grade = grader.grade(view_of(*turns("0.01", "0.02"), turn=turn))

    assert (grade.passed, grade.score) == (passes, float(passes))
    assert [part for part in shown if part not in grade.reason] == []


@pytest.mark.parametrize(
    ("record", "says"),
    [
        pytest.param(make_turn(model="claude-x"), "claude-x", id="no price"),
        pytest.param(make_turn(usage=Usage()), "estimated_cost_usd", id="no usage"),
    ],
)
@pytest.mark.parametrize("turn", [1, None])
def test_a_cost_that_nobody_knows_is_not_graded(
    record: TurnRecord, says: str, turn: int | None
) -> None:
    grade = Cost.model_validate({"max_usd": 1}).grade(view_of(record, turn=turn))

    assert (grade.status, grade.cause) == (GradeStatus.UNGRADED, Cause.CASE)
    assert (grade.score, grade.passed) == (None, None)
    assert says in grade.reason


def test_one_unknown_turn_leaves_the_others_graded() -> None:
    known, unknown = turns("0.01", None)
    grader = Cost.model_validate({"max_usd": 1})

    assert grader.grade(view_of(known, unknown, turn=1)).passed is True
    assert grader.grade(view_of(known, unknown)).status is GradeStatus.UNGRADED


def test_a_turn_that_failed_costs_what_nobody_reports_and_the_agent_is_to_blame() -> None:
    broken = make_turn(usage=Usage(), error="It crashed.")

    grade = Cost.model_validate({"max_usd": 1}).grade(view_of(broken))

    assert (grade.score, grade.passed, grade.cause) == (0.0, False, Cause.AGENT)


@pytest.mark.parametrize(
    ("grader", "options"),
    [
        pytest.param(Latency, {"max_ms": 0}, id="no time at all"),
        pytest.param(Cost, {"max_usd": -1}, id="less than nothing"),
        pytest.param(Cost, {"max_usd": "1"}, id="cost as text"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused(
    grader: type[PlainGrader], options: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        grader.model_validate(options)


def test_a_closed_row_reads_as_a_sentence() -> None:
    assert Latency(max_ms=3000).summary() == "Takes at most 3 s"
    assert Cost.model_validate({"max_usd": 0.005}).summary() == "Costs at most $0.005"


def test_a_time_that_is_unknown_is_not_graded_and_never_0() -> None:
    turns = (make_turn(index=1, latency_ms=90.0), make_turn(index=2, latency_ms=None))
    trial = make_trial(*turns)

    unknown = Latency(max_ms=1000).grade(View(trial, None))
    assert (unknown.status, unknown.passed, unknown.cause) == (
        GradeStatus.UNGRADED,
        None,
        Cause.CASE,
    )
    assert Latency(max_ms=1000).grade(View(trial, turns[0])).passed
    assert trial.time_ms is None
    assert turn_times(trial) == []
    [limit] = grade_limits(trial, LimitsSpec(max_time_ms=1000))
    assert (limit.grade.status, limit.grade.passed) == (GradeStatus.UNGRADED, None)
    assert Trial.from_json(trial.to_json()) == trial
