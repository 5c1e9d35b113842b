from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from evals_app.admin.presentation import (
    CAUSES,
    LONGEST_JSON,
    SIGNS,
    badge,
    between,
    costs,
    duration,
    execution_state,
    first_words,
    json_text,
    percent,
    plural,
    run_badges,
    run_state,
    score_text,
    scripted_badge,
)
from evals_app.engine.trial import Cause, GradeStatus, Verdict
from evals_app.models import Execution, Run
from evals_app.reports.similarity import STAND_IN


def plain(text: str) -> str:
    """Read non-breaking spaces as spaces."""
    return text.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        pytest.param(None, "—", id="unknown is not 0"),
        pytest.param(0.0, "0 ms", id="nothing"),
        pytest.param(999.4, "999 ms", id="below a second"),
        pytest.param(1000.0, "1.0 s", id="a second"),
        pytest.param(59_940.0, "59.9 s", id="below a minute"),
        pytest.param(61_000.0, "1 min 1 s", id="a minute"),
        pytest.param(7_260_000.0, "2 h 1 min", id="hours"),
    ],
)
def test_durations_read_as_people_say_them(ms: float | None, expected: str) -> None:
    assert plain(duration(ms)) == expected


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        pytest.param(None, "—", id="the rate of nothing"),
        pytest.param(0.0, "0 %", id="none"),
        pytest.param(1.0, "100 %", id="all"),
        pytest.param(0.9, "90 %", id="a whole number"),
        pytest.param(2 / 3, "66.7 %", id="a fraction"),
        pytest.param(0.9999, "99.9 %", id="almost all is not all"),
        pytest.param(0.0001, "0.1 %", id="almost none is not none"),
    ],
)
def test_a_rate_is_never_rounded_to_all_or_none(rate: float | None, expected: str) -> None:
    assert plain(percent(rate)) == expected


@pytest.mark.parametrize(
    ("score", "scale", "expected"),
    [
        pytest.param(0.834, "0-1", "0.83", id="0 to 1"),
        pytest.param(0.0, "1-5", "1.0 of 5", id="a miss shows 1"),
        pytest.param(1.0, "1-5", "5.0 of 5", id="a hit shows 5"),
        pytest.param(0.5, "1-5", "3.0 of 5", id="the middle"),
        pytest.param(None, "1-5", "—", id="no score"),
    ],
)
def test_scores_are_shown_on_the_scale_of_the_suite(
    score: float | None, scale: str, expected: str
) -> None:
    assert plain(score_text(score, scale=scale)) == expected


@pytest.mark.parametrize(
    ("agent", "judge", "expected"),
    [
        pytest.param("0.012", "0.0003", ["$0.012", "$0.0003", "$0.0123"], id="known"),
        pytest.param("0", "0", ["$0", "$0", "$0"], id="scripts"),
        pytest.param("0.012", None, ["$0.012", "unknown", "unknown"], id="unknown is not 0"),
    ],
)
def test_costs_are_told_apart_and_together(
    agent: str, judge: str | None, expected: list[str]
) -> None:
    found = costs(Decimal(agent), None if judge is None else Decimal(judge))

    assert found == list(zip(["Agent cost", "Judge cost", "Cost"], expected, strict=True))


def test_every_verdict_grade_status_and_cause_has_words() -> None:
    statuses = {status.value for status in GradeStatus} - {"ok"}
    states = {*Verdict, *Run.Verdict, *Run.Status, *Execution.Status, *statuses}

    assert {str(state) for state in states} - {"finished"} <= SIGNS.keys()
    assert set(CAUSES) == set(Cause)


def test_a_badge_has_a_word_and_hides_its_icon_from_screen_readers() -> None:
    shown = badge("failed", word="<Missed>")

    assert "&lt;Missed&gt;</span>" in shown
    assert '<span class="material-symbols-outlined" aria-hidden="true">cancel</span>' in shown


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        pytest.param({"status": "queued"}, "queued", id="waits"),
        pytest.param({"status": "running"}, "running", id="goes on"),
        pytest.param({"status": "running", "stop_reason": "cancelled"}, "stopping", id="stopping"),
        pytest.param({"status": "finished", "verdict": "failed"}, "failed", id="ended"),
        pytest.param({"status": "cancelled", "verdict": "failed"}, "cancelled", id="cancelled"),
    ],
)
def test_the_state_of_a_run_is_its_verdict_once_it_has_ended(
    columns: dict[str, str], expected: str
) -> None:
    assert run_state(Run(**columns)) == expected


@pytest.mark.parametrize(
    ("run", "execution", "expected"),
    [
        pytest.param("running", {"status": "queued"}, "queued", id="still waits"),
        pytest.param("finished", {"status": "queued"}, "not_run", id="left in an ended run"),
        pytest.param("running", {"status": "running"}, "running", id="goes on"),
        pytest.param("cancelled", {"status": "cancelled"}, "cancelled", id="cancelled"),
        pytest.param("finished", {"status": "finished", "verdict": "passed"}, "passed", id="ended"),
    ],
)
def test_what_waits_in_a_run_that_has_ended_was_not_run(
    run: str, execution: dict[str, str], expected: str
) -> None:
    assert execution_state(Execution(**execution), run=Run(status=run)) == expected


def test_a_scripted_agent_or_judge_is_labelled() -> None:
    assert "Scripted<" in scripted_badge(Run(is_scripted=True))
    assert "Scripted judge<" in scripted_badge(Run(judge="scripted/mild"))
    assert scripted_badge(Run(judge="anthropic/claude-haiku-5-5")) == ""


@pytest.mark.parametrize("is_stand_in", [True, False])
def test_a_similarity_by_stand_in_is_labelled(
    is_stand_in: bool,  # noqa: FBT001 - both
) -> None:
    run = Run(status="finished", verdict="passed", is_similarity_stand_in=is_stand_in)

    assert "Passed<" in run_badges(run)
    assert (STAND_IN in run_badges(run)) == is_stand_in


def test_the_time_between_two_moments_needs_both() -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC)

    assert plain(between(start, start + timedelta(seconds=90))) == "1 min 30 s"
    assert between(None, start) == between(start, None) == "—"


def test_json_is_indented_and_a_text_stands_as_it_is() -> None:
    assert json_text({"näme": [1]}) == '{\n  "näme": [\n    1\n  ]\n}'
    assert json_text("as\nwritten") == "as\nwritten"


def test_long_json_is_cut_and_says_so() -> None:
    shown = json_text("x" * (LONGEST_JSON + 7))

    assert shown.endswith("\n… 7 more characters")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("one\n two", "one two", id="on one line"),
        pytest.param("a b c d e f", "a b c…", id="cut"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_first_words_are_one_line(text: str, expected: str) -> None:
    assert first_words(text, most=8 if len(text) < 9 else 5) == expected


def test_plurals() -> None:
    assert plural(1, "case") == "1 case"
    assert plural(2000, "case") == "2,000 cases"
    assert plural(2, "worker process", "worker processes") == "2 worker processes"
