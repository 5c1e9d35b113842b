"""What goes wrong more often than before: only what chance does not explain, of several at once."""

import random

import pytest

from evals_app.engine.statistics.growth import (
    ENOUGH,
    Growth,
    Shares,
    grown_parts,
    growths,
    is_as_before,
)
from evals_app.engine.statistics.retest import Trials


def shares(failed_before: int, before: int, failed: int, now: int) -> Shares:
    return Shares(
        Trials(before - failed_before, failed_before),
        Trials(now - failed, failed),
    )


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (shares(20, 900, 14, 100), Growth.GREW),
        (shares(20, 900, 5, 100), Growth.NOT_SHOWN),
        (shares(20, 900, 2, 100), Growth.NOT_SHOWN),
        (shares(90, 900, 0, 100), Growth.NOT_SHOWN),  # fewer are no growth
        pytest.param(shares(0, 200, 2, 2), Growth.TOO_FEW, id="both of two conversations"),
        pytest.param(shares(0, ENOUGH, 0, ENOUGH - 1), Growth.TOO_FEW, id="a short day"),
        pytest.param(shares(0, 0, 30, 100), Growth.TOO_FEW, id="nothing before"),
        pytest.param(shares(0, 100, 0, 0), Growth.TOO_FEW, id="nothing now"),
        pytest.param(shares(8, 10, 10, 10), Growth.TOO_FEW, id="no failures could show it"),
        pytest.param(shares(0, 10, 10, 10), Growth.GREW, id="just enough"),
    ],
)
def test_a_share_grew_if_chance_does_not_explain_it(share: Shares, expected: Growth) -> None:
    assert growths([share]) == [expected]


def test_among_many_groups_more_evidence_is_asked_for() -> None:
    near = shares(20, 900, 10, 100)
    assert growths([near]) == [Growth.GREW]
    [first, *others] = growths([near, *[shares(20, 900, 2, 100)] * 9])
    assert first is Growth.NOT_SHOWN
    assert set(others) == {Growth.NOT_SHOWN}


def test_nothing_grew_of_nothing() -> None:
    assert growths([]) == []


def test_chance_alone_is_hardly_ever_called_growth() -> None:
    chance = random.Random(6)

    def day(count: int) -> int:
        return sum(chance.random() < 0.1 for _ in range(count))

    days = [shares(day(1000), 1000, day(100), 100) for _ in range(2000)]
    alarms = sum(growths([one]) == [Growth.GREW] for one in days)
    assert alarms <= 6  # 2 are expected at most


def test_a_share_that_doubles_is_found_within_days() -> None:
    chance = random.Random(7)
    found = [
        growths([shares(100, 1000, sum(chance.random() < 0.25 for _ in range(100)), 100)])
        for _ in range(200)
    ]
    assert found.count([Growth.GREW]) > 140


def test_parts_of_what_grew_are_compared_one_by_one() -> None:
    parts = [shares(2, 900, 9, 100), shares(18, 900, 2, 100), shares(0, 900, 1, 100)]
    assert grown_parts(parts) == [True, False, False]


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (shares(20, 900, 3, 100), True),  # the interval ends at 3.4 %
        (shares(20, 900, 4, 100), False),
        pytest.param(shares(20, 900, 0, ENOUGH - 1), False, id="too few to tell"),
        pytest.param(shares(0, 0, 0, 100), False, id="unknown before"),
    ],
)
def test_it_is_over_when_the_share_is_as_before(share: Shares, *, expected: bool) -> None:
    assert is_as_before(share) is expected
