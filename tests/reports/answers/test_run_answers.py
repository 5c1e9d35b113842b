from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from evals_app.models import Execution, Run
from evals_app.reports.answers.run_answers import (
    Answer,
    ExecutionStatus,
    ReachedCeiling,
    Status,
    StopReason,
)

MOMENT = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)


class Sample(Answer):
    first: str
    second: Any


class LongerSample(Sample):
    third: Any


@pytest.mark.parametrize(
    ("stored", "answered"),
    [
        (Decimal("0.5"), 0.5),
        (MOMENT, "2026-05-01T09:30:00+00:00"),
        (date(2026, 5, 1), "2026-05-01"),
        (None, None),
        ("", ""),
    ],
)
def test_an_answer_takes_what_is_not_given_from_the_row(stored: Any, answered: Any) -> None:
    row = {"unused": 1, "third": stored, "first": "from the row"}
    expected = {"first": "given", "second": 2, "third": answered}

    from_row = LongerSample.of(row, second=2, first="given")
    from_object = LongerSample.of_object(SimpleNamespace(**row), second=2, first="given")

    assert list(from_row.items()) == list(expected.items())
    assert from_object == expected


class Times(Answer):
    took_ms: float | None
    max_ms: int | None
    score: float


@pytest.mark.parametrize(
    ("took_ms", "answered"),
    [
        pytest.param(147.2409409998363, 147.241, id="noise of a clock"),
        pytest.param(0.0004, 0.0, id="less than a microsecond"),
        pytest.param(12.5, 12.5, id="nothing to round"),
        pytest.param(None, None, id="unknown"),
    ],
)
def test_durations_are_rounded_to_microseconds_and_nothing_else_is(
    took_ms: float | None, answered: float | None
) -> None:
    row = {"took_ms": took_ms, "max_ms": 20_000, "score": 1 / 3}

    assert Times.of(row) == {"took_ms": answered, "max_ms": 20_000, "score": 1 / 3}


def test_a_key_that_nothing_gives_is_an_error() -> None:
    with pytest.raises(KeyError, match="second"):
        Sample.of({"first": "a"})


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (Status, Run.Status),
        (ExecutionStatus, Execution.Status),
        (StopReason, Run.StopReason),
        (ReachedCeiling, Run.Ceiling),
    ],
)
def test_answers_list_the_words_of_the_models(words: Any, choices: Any) -> None:
    assert list(get_args(words)) == choices.values
