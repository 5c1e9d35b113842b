"""Drawing grades that people check: rare outcomes are present, cases take turns, seeds decide."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from evals_app.engine.statistics.sampling import Outcome, SampleCandidate, draw, shares


def grades(
    check: str, outcome: Outcome, cases: Iterable[str], *, first: int
) -> list[SampleCandidate]:
    return [SampleCandidate(pk, check, outcome, case) for pk, case in enumerate(cases, first)]


def outcomes_of(drawn: Iterable[SampleCandidate]) -> Counter[tuple[str, str]]:
    return Counter((one.check, one.outcome) for one in drawn)


def names(count: int) -> list[str]:
    return [f"case {number}" for number in range(count)]


@pytest.mark.parametrize(
    ("sizes", "total", "expected"),
    [
        pytest.param({}, 5, {}, id="nothing"),
        pytest.param({"a": 3}, 5, {"a": 3}, id="all of it"),
        pytest.param({"a": 100, "b": 100}, 30, {"a": 15, "b": 15}, id="equal shares"),
        pytest.param({"a": 900, "b": 10}, 30, {"a": 20, "b": 10}, id="a rare one is whole"),
        pytest.param({"a": 90, "b": 30, "c": 2}, 32, {"a": 18, "b": 12, "c": 2}, id="proportional"),
        pytest.param({"a": 10, "b": 20}, 3, {"a": 1, "b": 2}, id="rounding"),
        pytest.param({"a": 9, "b": 9, "c": 9}, 2, {"a": 1, "b": 1, "c": 0}, id="too few for each"),
        pytest.param({"a": 0, "b": 2, "c": 1}, 2, {"a": 0, "b": 1, "c": 1}, id="an empty one"),
        pytest.param({"a": 9, "b": 9}, 0, {"a": 0, "b": 0}, id="none"),
    ],
)
def test_a_total_is_shared(
    sizes: Mapping[str, int], total: int, expected: Mapping[str, int]
) -> None:
    assert shares(sizes, total) == expected


def test_rare_outcomes_are_present() -> None:
    candidates = [
        *grades("polite", "passed", names(500), first=0),
        *grades("polite", "failed", names(3), first=1000),
        *grades("polite", "ungraded", names(1), first=2000),
        *grades("true", "passed", names(200), first=3000),
    ]

    drawn = draw(candidates, count=30, seed="1")

    # Equal shares of 7; of the 12 left, 493 : 193 go to the two that last.
    assert outcomes_of(drawn) == {
        ("polite", "passed"): 7 + 9,
        ("polite", "failed"): 3,
        ("polite", "ungraded"): 1,
        ("true", "passed"): 7 + 3,
    }
    assert len({one.grade for one in drawn}) == 30


def test_with_more_checks_than_grades_to_draw_outcomes_take_turns() -> None:
    candidates = [
        candidate
        for number in range(100)
        for candidate in grades(f"check {number}", "passed", ["A"], first=number)
    ]
    candidates += grades("check 7", "failed", ["B"], first=1000)
    candidates += grades("check 8", "failed", ["B"], first=1001)

    drawn = draw(candidates, count=10, seed="1")

    outcomes = Counter(one.outcome for one in drawn)
    assert outcomes == {"passed": 8, "failed": 2}
    assert max(outcomes_of(drawn).values()) == 1


def test_no_case_comes_twice_for_a_check_before_all_others_came_once() -> None:
    trials = [case for case in names(4) for _ in range(5)]
    candidates = [
        *grades("polite", "passed", trials, first=0),
        *grades("polite", "failed", ["case 0"], first=100),
    ]

    four = draw(candidates, count=4, seed="1")
    nine = draw(candidates, count=9, seed="1")

    assert Counter(one.case for one in four) == dict.fromkeys(names(4), 1)
    assert sorted(Counter(one.case for one in nine).values()) == [2, 2, 2, 3]


def test_of_a_case_the_score_nearest_to_the_threshold_comes_first() -> None:
    candidates = [
        SampleCandidate(pk, "polite", "passed", "A", distance=distance)
        for pk, distance in enumerate([0.5, 0.1, 0.3])
    ]

    assert [one.grade for one in draw(candidates, count=1, seed="1")] == [1]
    assert {one.grade for one in draw(candidates, count=2, seed="1")} == {1, 2}


@pytest.mark.parametrize(
    ("doubtful", "count", "first"),
    [
        pytest.param(2, 10, 2, id="all of a few"),
        pytest.param(30, 10, 5, id="half of the sample"),
        pytest.param(30, 1, 1, id="the only one"),
        pytest.param(0, 10, 0, id="none"),
    ],
)
def test_what_is_doubtful_comes_first(doubtful: int, count: int, first: int) -> None:
    others = grades("polite", "passed", names(500), first=0)
    odd = [replace(one, grade=one.grade + 1000, is_doubtful=True) for one in others[:doubtful]]

    drawn = draw([*others, *odd], count=count, seed="1")

    assert [one.is_doubtful for one in drawn[:first]] == [True] * first
    assert (len(drawn), len({one.grade for one in drawn})) == (count, count)


def test_bullets_of_a_rubric_are_drawn_one_by_one() -> None:
    rubric = [SampleCandidate(1, "rubric", "passed", "A", item=number) for number in range(1, 6)]

    drawn = draw(rubric, count=3, seed="1")

    assert len({one.item for one in drawn}) == 3


def test_equal_seeds_draw_equally_and_the_order_gives_nothing_away() -> None:
    candidates = [
        *grades("polite", "passed", names(50), first=0),
        *grades("polite", "failed", names(50), first=100),
    ]

    drawn = draw(candidates, count=20, seed="1")

    assert draw(reversed(candidates), count=20, seed="1") == drawn
    assert draw(candidates, count=20, seed="2") != drawn
    assert {one.outcome for one in drawn[:10]} == {"passed", "failed"}
