from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from evals_app.admin.kit.presentation import (
    SIGNS,
    badge,
    between,
    costs,
    execution_state,
    first_words,
    plural,
    run_badges,
    run_state,
    scripted_badge,
)
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.models import Execution, Run
from evals_app.reports.words.causes import CAUSE_WORDS
from evals_app.reports.words.similarity import STAND_IN


@pytest.mark.parametrize(
    ("agent", "judge", "expected"),
    [
        pytest.param("0.012", "0.0003", ["$0.012", "$0.0003", "$0.0123"], id="known"),
        pytest.param("0", "0", ["$0", "$0", "$0"], id="scripts"),
        pytest.param("0.012", None, ["$0.012", "unknown", "unknown"], id="unknown is not 0"),
    ],
)
def test_costs_are_distinguished_and_together(
    agent: str, judge: str | None, expected: list[str]
) -> None:
    lines = costs(Decimal(agent), None if judge is None else Decimal(judge))

    assert lines == list(zip(["Agent cost", "Judge cost", "Cost"], expected, strict=True))


def test_every_verdict_grade_status_and_cause_has_words() -> None:
    statuses = {status.value for status in GradeStatus} - {"ok"}
    states = {*Verdict, *Run.Verdict, *Run.Status, *Execution.Status, *statuses}

    assert {str(state) for state in states} - {"finished"} <= SIGNS.keys()
    assert set(CAUSE_WORDS) == set(Cause)


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

    assert between(start, start + timedelta(seconds=90)).split() == ["1", "min", "30", "s"]
    assert between(None, start) == between(start, None) == "—"


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
