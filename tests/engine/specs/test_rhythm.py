from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest
from pydantic import ValidationError

from evals_app.engine.specs.rhythm import Rhythm

ZURICH = {"time_zone": "Europe/Zurich"}


def moments(after: str, count: int, **rhythm: Any) -> list[str]:
    """Return the next moments in UTC, as day and time."""
    start = datetime.fromisoformat(f"{after}:00+00:00")
    found = list(islice(Rhythm(**rhythm).moments(after=start), count))
    assert {moment.tzinfo for moment in found} == {UTC}
    return [f"{moment:%m-%d %H:%M}" for moment in found]


@pytest.mark.parametrize(
    ("rhythm", "after", "expected"),
    [
        (
            {"frequency": "hourly", "at": "03:20"},
            "2026-11-26T10:20",
            ["11-26 11:20", "11-26 12:20"],
        ),
        ({"at": "03:00"}, "2026-11-26T02:59", ["11-26 03:00", "11-27 03:00"]),
        ({"at": "03:00"}, "2026-11-26T03:00", ["11-27 03:00", "11-28 03:00"]),
        ({"frequency": "weekdays"}, "2026-11-27T04:00", ["11-30 03:00", "12-01 03:00"]),
        (
            {"frequency": "cron", "cron": "0 22 * * FRI"},
            "2026-11-26T00:00",
            ["11-27 22:00", "12-04 22:00"],
        ),
        pytest.param(
            {"at": "03:00", **ZURICH},
            "2026-10-24T12:00",
            ["10-25 02:00", "10-26 02:00"],
            id="winter time begins",
        ),
        pytest.param(
            {"at": "02:30", **ZURICH},
            "2026-10-24T12:00",
            ["10-25 00:30", "10-26 01:30"],
            id="a time that comes twice",
        ),
        pytest.param(
            {"at": "02:30", **ZURICH},
            "2026-03-28T12:00",
            ["03-29 01:00", "03-30 00:30"],
            id="a time that is skipped",
        ),
        pytest.param(
            {"frequency": "hourly", "at": "00:30", **ZURICH},
            "2026-10-24T23:45",
            ["10-25 00:30", "10-25 01:30"],
            id="both hours of the same name",
        ),
    ],
)
def test_moments_follow_the_clock_of_the_zone(
    rhythm: dict[str, Any], after: str, expected: list[str]
) -> None:
    assert moments(after, 2, **rhythm) == expected


@pytest.mark.parametrize(
    ("rhythm", "field", "word"),
    [
        ({"at": "3am"}, "at", "03:00"),
        ({"at": "24:00"}, "at", "03:00"),
        ({"time_zone": "Europe/Zürich"}, "time_zone", "Did you mean 'Europe/Zurich'"),
        ({"frequency": "cron"}, "cron", "five"),
        ({"frequency": "cron", "cron": "0 3 * *"}, "cron", "4 fields"),
        ({"frequency": "cron", "cron": "@daily"}, "cron", "1 fields"),
        ({"frequency": "cron", "cron": "61 3 * * *"}, "cron", "'61' is not a valid minute"),
        ({"frequency": "cron", "cron": "0 3 * * FRY"}, "cron", "'FRY' is not a valid day-of-week"),
        ({"frequency": "cron", "cron": "0 3 30 2 *"}, "cron", "'30' is not a valid day-of-month"),
        ({"frequency": "cron", "cron": "* * * * *"}, "cron", "5 minutes"),
        ({"frequency": "cron", "cron": "0,3 4 1 * *"}, "cron", "5 minutes"),
        ({"cron": "0 3 * * *"}, "cron", "frequency"),
    ],
)
def test_a_time_that_is_not_one_is_explained(rhythm: dict[str, Any], field: str, word: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Rhythm(**rhythm)

    (error,) = refused.value.errors()
    assert error["loc"] == (field,)
    assert word in error["msg"]


@pytest.mark.parametrize(
    ("rhythm", "words"),
    [
        ({"frequency": "hourly", "at": "00:05"}, "every hour at :05"),
        ({"at": "03:00"}, "every day at 03:00"),
        ({"frequency": "weekdays", "at": "22:15"}, "Monday to Friday at 22:15"),
        ({"frequency": "cron", "cron": "*/30 8-17 * * *"}, "every 30th minute"),
    ],
)
def test_it_is_put_into_words(rhythm: dict[str, Any], words: str) -> None:
    assert Rhythm(**rhythm).in_words.startswith(words)
