"""Limits of a case: what is measured, and whether it was kept."""

import re
from decimal import Decimal

import pytest

from evals_app.engine.record.grade import GradedAssertion, GradeStatus
from evals_app.engine.record.trial import Cause, Failure, Message, Trial, TurnRecord
from evals_app.engine.record.usage import Usage
from evals_app.engine.suites.suite_spec import LimitsSpec
from evals_app.engine.verdicts.limits import LIMITS, grade_limits
from tests.engine.makers import make_call, make_trial, make_turn

# The status of a grade and its cause.
Outcome = tuple[GradeStatus, Cause | None]
UNKNOWN: Outcome = GradeStatus.UNGRADED, Cause.CASE
FAILED: Outcome = GradeStatus.OK, Cause.AGENT
KEPT: Outcome = GradeStatus.OK, None
KEYS = [limit.key for limit in LIMITS]
MEASURED = make_trial(
    make_turn(
        usage=Usage(10, 5, cache_read=90),
        latency_ms=200.0,
        waited_ms=5000.0,
        cost_usd=Decimal("0.1"),
        messages=(Message("assistant", "", (make_call(),)),),
    ),
    make_turn(
        index=2,
        usage=Usage(20, 7),
        latency_ms=100.5,
        cost_usd=Decimal("0.2"),
        messages=(Message("assistant", "", (make_call(), make_call())),),
    ),
)


def limits_of(trial: Trial, **limits: float) -> list[GradedAssertion]:
    return list(grade_limits(trial, LimitsSpec.model_validate(limits)))


def test_what_limits_bound_is_measured_in_any_case() -> None:
    assert {limit.key: limit.measure(MEASURED) for limit in LIMITS} == {
        "max_prompt_tokens": 120,
        "max_response_tokens": 12,
        "max_time_ms": 300.5,
        "max_cost_usd": Decimal("0.3"),
        "max_tool_calls": 3,
    }


def test_a_limit_that_is_not_set_is_not_graded() -> None:
    assert limits_of(MEASURED) == []


@pytest.mark.parametrize(
    ("name", "limit", "is_kept", "shown"),
    [
        pytest.param("max_prompt_tokens", 120, True, "120", id="prompt: inclusive"),
        pytest.param("max_prompt_tokens", 119, False, "120", id="prompt: above"),
        pytest.param("max_response_tokens", 12, True, "12", id="response: inclusive"),
        pytest.param("max_response_tokens", 11, False, "12", id="response: above"),
        pytest.param("max_time_ms", 301, True, "301", id="time: below"),
        pytest.param("max_time_ms", 300, False, "301", id="time: half a millisecond above"),
        pytest.param("max_tool_calls", 3, True, "3", id="calls: inclusive"),
        pytest.param("max_tool_calls", 0, False, "3", id="calls: none allowed"),
    ],
)
def test_limits_are_inclusive(name: str, limit: int, shown: str, *, is_kept: bool) -> None:
    (graded,) = limits_of(MEASURED, **{name: limit})

    assert (graded.type, graded.family, graded.turn, graded.position) == (
        name,
        "limit",
        None,
        KEYS.index(name),
    )
    assert (graded.grade.passed, graded.grade.score) == (is_kept, None)
    assert graded.grade.cause is (None if is_kept else Cause.LIMIT)
    assert re.findall(r"[\d,]+", graded.grade.reason) == [shown, str(limit)]
    assert graded.grade.details["limit"] == limit
    assert graded.decides


@pytest.mark.parametrize(
    ("usages", "name", "outcome"),
    [
        pytest.param([(Usage(), None)], "max_prompt_tokens", UNKNOWN, id="nobody reports"),
        ([(Usage(1, 1), None), (Usage(), None)], "max_response_tokens", UNKNOWN),
        ([(Usage(1, 1), None), (Usage(), "It broke.")], "max_prompt_tokens", FAILED),
        ([(Usage(), None), (Usage(), "It broke.")], "max_prompt_tokens", UNKNOWN),
        pytest.param([(Usage(), None)], "max_time_ms", KEPT, id="time is always known"),
        pytest.param([(Usage(), None)], "max_tool_calls", KEPT, id="calls are always known"),
    ],
)
def test_a_limit_on_what_is_unknown(
    usages: list[tuple[Usage, str | None]], name: str, outcome: Outcome
) -> None:
    turns = [make_turn(index=n, usage=u, error=e) for n, (u, e) in enumerate(usages, 1)]

    (graded,) = limits_of(make_trial(*turns), **{name: 5000})

    assert (graded.grade.status, graded.grade.cause) == outcome
    assert graded.grade.passed is {UNKNOWN: None, FAILED: False, KEPT: True}[outcome]
    assert graded.grade.reason


def test_an_unknown_usage_is_shown_to_be_unknown() -> None:
    (silent,) = limits_of(make_trial(make_turn(usage=Usage())), max_prompt_tokens=5)
    broken = make_turn("", index=1, usage=Usage(), error="It broke.")
    (failed,) = limits_of(make_trial(broken), max_prompt_tokens=5)

    assert silent.grade.reason == "Prompt tokens: the agent reports no usage."
    assert silent.grade.details == {"limit": 5, "actual": None}
    assert failed.grade.reason == "Prompt tokens: unknown. Turn 1 failed: It broke."


@pytest.mark.parametrize(
    ("turn", "outcome", "reason"),
    [
        pytest.param(make_turn(model="claude-opus-5-5"), UNKNOWN, "claude-opus-5-5", id="no price"),
        (make_turn("", error="It broke."), UNKNOWN, "no price"),
        pytest.param(make_turn(usage=Usage()), UNKNOWN, "estimated_cost_usd", id="no usage"),
        (make_turn("", usage=Usage(), error="It broke."), FAILED, "It broke."),
    ],
)
def test_a_limit_on_a_cost_that_is_unknown(turn: TurnRecord, outcome: Outcome, reason: str) -> None:
    (graded,) = limits_of(make_trial(turn), max_cost_usd=0.5)

    assert (graded.grade.status, graded.grade.cause) == outcome
    assert reason in graded.grade.reason
    assert graded.grade.details == {"limit": 0.5, "actual": None}


@pytest.mark.parametrize(
    ("limit", "shown"),
    [
        pytest.param(0.3, None, id="inclusive: 0.1 and 0.2 are 0.3"),
        pytest.param(0.299999999, ["$0.30", "$0.299999999"], id="a billionth above"),
        pytest.param(0, ["$0.30", "$0"], id="nothing allowed"),
    ],
)
def test_a_limit_on_cost_is_exact(limit: float, shown: list[str] | None) -> None:
    (graded,) = limits_of(MEASURED, max_cost_usd=limit)

    assert (graded.type, graded.position) == ("max_cost_usd", KEYS.index("max_cost_usd"))
    assert graded.grade.passed is (shown is None)
    assert graded.grade.cause is (Cause.LIMIT if shown else None)
    assert re.findall(r"\$\d+(?:\.\d+)?", graded.grade.reason) == (shown or ["$0.30", "$0.30"])
    assert graded.grade.details == {"limit": limit, "actual": 0.3}


def test_limits_of_a_broken_trial_are_ungraded_and_still_measured() -> None:
    trial = MEASURED.but(failure=Failure(Cause.PROVIDER, "Away."))

    graded = limits_of(trial, max_prompt_tokens=5, max_tool_calls=5)

    assert {limit.grade.cause for limit in graded} == {Cause.PROVIDER}
    assert [limit.grade.details["actual"] for limit in graded] == [120, 3]


def test_a_limit_of_calls_is_not_kept_by_keeping_them_secret() -> None:
    trial = make_trial(make_turn("Done.", reports_calls=False))

    [graded] = grade_limits(trial, LimitsSpec(max_tool_calls=3))

    assert LIMITS[-1].measure(trial) is None
    assert (graded.grade.status, graded.grade.cause) == UNKNOWN


def test_calls_whose_spans_did_not_arrive_are_unknown_and_say_why() -> None:
    turn = make_turn(reports_calls=False, calls_missing="No span arrived.")

    (graded,) = limits_of(make_trial(turn), max_tool_calls=3)

    assert (graded.grade.status, graded.grade.cause) == UNKNOWN
    assert "No span arrived." in graded.grade.reason


def test_calls_of_a_turn_that_failed_are_unknown_because_the_agent_failed() -> None:
    trial = make_trial(make_turn("", error="HTTP 500", reports_calls=False))

    (graded,) = limits_of(trial, max_tool_calls=3)

    assert (graded.grade.passed, graded.grade.cause) == (False, Cause.AGENT)
    assert graded.grade.details["actual"] is None


def test_a_turn_that_failed_at_once_was_not_fast() -> None:
    trial = make_trial(make_turn("", error="HTTP 500", latency_ms=3.0), make_turn(index=2))

    (graded,) = limits_of(trial, max_time_ms=60_000)

    assert (graded.grade.passed, graded.grade.cause) == (False, Cause.AGENT)
