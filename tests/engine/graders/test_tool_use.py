from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evals_app.engine.graders.kit.base import MAX_TEXT_BYTES
from evals_app.engine.graders.tool_use import ToolUse
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, ToolCall
from evals_app.engine.record.view import View
from tests.engine.graders.makers import make_call, make_trial, make_turn, view_of

TO_PARIS = make_call("search_flights", destination="Paris")
TO_PARIS_SOON = make_call("search_flights", destination="Paris", day="today")
TO_ROME = make_call("search_flights", destination="Rome")
WEATHER = make_call("get_weather", city="Paris")

BARE = make_call("search_flights")

SEARCH: dict[str, Any] = {"tool": "search_flights"}
WITHOUT_OUTPUT = SEARCH | {"args": {"destination": "Paris"}}
FULL = WITHOUT_OUTPUT | {"expected_output": "AF 1"}
TO_PARIS_AT_LEAST = WITHOUT_OUTPUT | {"args_match": "subset"}
LOUD = {"destination": {"fuzzy": "PARIS"}}


@pytest.mark.parametrize(
    ("options", "calls", "reply", "score"),
    [
        pytest.param(WITHOUT_OUTPUT, [TO_PARIS], "", 1.0, id="tool and arguments"),
        pytest.param(WITHOUT_OUTPUT, [TO_ROME], "", 0.625, id="tool alone"),
        pytest.param(WITHOUT_OUTPUT, [WEATHER], "", 0.0, id="another tool"),
        pytest.param(WITHOUT_OUTPUT, [], "", 0.0, id="no tool"),
        pytest.param(WITHOUT_OUTPUT, [TO_ROME, WEATHER, TO_PARIS], "", 1.0, id="the best call"),
        pytest.param(WITHOUT_OUTPUT, [TO_PARIS_SOON], "", 0.625, id="one argument too many"),
        pytest.param(TO_PARIS_AT_LEAST, [TO_PARIS_SOON], "", 1.0, id="subset"),
        pytest.param(FULL, [TO_PARIS], "Take af 1.", 1.0, id="everything"),
        pytest.param(FULL, [TO_PARIS], "Take BA 1.", 0.8, id="without the output"),
        pytest.param(FULL, [TO_ROME], "Take AF 1.", 0.7, id="without the arguments"),
        pytest.param(FULL, [TO_ROME], "", 0.5, id="tool, with an output expected"),
        pytest.param(FULL, [WEATHER], "Take AF 1.", 0.2, id="output alone"),
        pytest.param(SEARCH, [TO_ROME], "", 1.0, id="only a tool is asked for"),
        pytest.param(SEARCH, [WEATHER], "", 0.0, id="and was not called"),
        pytest.param(SEARCH | {"args": {}}, [TO_ROME], "", 0.625, id="no arguments allowed"),
        pytest.param(SEARCH | {"args": {}}, [BARE], "", 1.0, id="no arguments as wanted"),
        pytest.param(SEARCH | {"args": LOUD}, [TO_PARIS], "", 1.0, id="matcher"),
        pytest.param({"tool": "search"}, [TO_PARIS], "", 0.0, id="part of a name"),
    ],
)
def test_each_part_that_is_right_gives_its_share(
    options: dict[str, Any], calls: list[ToolCall], reply: str, score: float
) -> None:
    grade = ToolUse.model_validate(options).grade(view_of(reply, calls=calls))

    assert grade.score == (score if score == 1 else pytest.approx(score, abs=1e-9))
    assert grade.passed is None


@pytest.mark.parametrize(
    ("calls", "reply", "reason"),
    [
        pytest.param(
            [TO_PARIS],
            "Take AF 1.",
            "and no other arguments was called, as expected:"
            ' search_flights({"destination": "Paris"}). The reply contains “AF 1”.',
            id="met",
        ),
        pytest.param(
            [make_call("search_flights", destinations="Paris")],
            "No flights.",
            "not expected; expected destination = Paris. The reply does not contain",
            id="nearest call",
        ),
        pytest.param([make_call("search_flight")], "", "Did you mean 'search_flight'?", id="near"),
    ],
)
def test_expected_and_actual_stand_side_by_side(
    calls: list[ToolCall], reply: str, reason: str
) -> None:
    assert reason in ToolUse.model_validate(FULL).grade(view_of(reply, calls=calls)).reason


def test_the_details_say_which_part_gave_what() -> None:
    grade = ToolUse.model_validate(FULL).grade(view_of("AF 1", calls=[TO_ROME]))

    assert grade.details == {
        "parts": {"tool": 1.0, "args": 0.0, "output": 1.0},
        "weights": {"tool": 0.5, "args": 0.3, "output": 0.2},
        "called": ['search_flights({"destination": "Rome"})'],
    }


def test_a_long_reply_is_searched_to_its_end() -> None:
    view = view_of("x" * (MAX_TEXT_BYTES + 1) + " AF 1", calls=[TO_PARIS])

    assert ToolUse.model_validate(FULL).grade(view).score == 1.0


@pytest.mark.parametrize(
    ("calls", "status"),
    [
        pytest.param([], GradeStatus.UNGRADED, id="none"),
        pytest.param([make_call("search_flights", to="Rome")], GradeStatus.UNGRADED, id="another"),
        pytest.param([TO_PARIS], GradeStatus.OK, id="this one"),
    ],
)
def test_an_agent_that_reports_no_calls_is_not_graded_on_them(
    calls: list[ToolCall], status: GradeStatus
) -> None:
    turn = make_turn("To Paris.", calls=tuple(calls), reports_calls=False)

    grade = ToolUse.model_validate(FULL).grade(View(make_trial(turn), turn))

    assert (grade.status, grade.cause is Cause.CASE) == (status, status is GradeStatus.UNGRADED)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"tool": ""}, id="empty tool"),
        pytest.param({"tool": "a", "expected_output": ""}, id="empty output"),
        pytest.param({"tool": "a", "args": {"x": {"regex": "("}}}, id="bad matcher"),
        pytest.param({"tool": "a", "args_match": "superset"}, id="unknown way"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ToolUse.model_validate(options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tool": "a"}, "Uses a"),
        ({"tool": "a", "args": {}}, "Uses a without arguments"),
        ({"tool": "a", "expected_output": "b"}, "Uses a, and the reply contains “b”"),
        (WITHOUT_OUTPUT, "Uses search_flights with destination = Paris and no other arguments"),
    ],
)
def test_a_closed_row_reads_as_a_sentence(options: dict[str, Any], sentence: str) -> None:
    assert ToolUse.model_validate(options).summary() == sentence


def test_doubled_backslashes_in_arguments_warn() -> None:
    assert ToolUse.model_validate({"tool": "a", "args": {"x": {"regex": r"\\d"}}}).warnings()


@given(st.lists(st.sampled_from([TO_PARIS, TO_ROME, WEATHER]), max_size=5), st.text(max_size=20))
def test_the_score_is_a_sum_of_shares(calls: list[ToolCall], reply: str) -> None:
    grade = ToolUse.model_validate(FULL).grade(view_of(reply, calls=calls))

    assert grade.score is not None
    assert 0.0 <= grade.score <= 1.0
