"""Scores, rates and times as people read them."""

import pytest

from evals_app.reports.words.figures import (
    count,
    duration,
    percent,
    score_text,
    whole_interval,
    whole_percent,
)


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


@pytest.mark.parametrize(("number", "expected"), [(None, "unknown"), (1234.0, "1,234")])
def test_a_count_has_its_thousands_apart(number: float | None, expected: str) -> None:
    assert count(number) == expected


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (0.001, "1 %"), (0.5, "50 %"), (0.999, "99 %"), (1, "100 %")]
)
def test_only_what_is_exactly_nothing_or_all_reads_so(share: float, text: str) -> None:
    assert plain(whole_percent(share)) == text


@pytest.mark.parametrize(
    ("bounds", "text"),
    [((0.699, 0.9721), "70 to 97 %"), ((0.0, 0.004), "0 to 1 %"), ((0.904, 1.0), "90 to 100 %")],
)
def test_ranges_read_in_whole_percents(bounds: tuple[float, float], text: str) -> None:
    assert plain(whole_interval(bounds)) == text
