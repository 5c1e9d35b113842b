"""Judges compared with people, against numbers worked out by hand and against the definitions."""

import random
import statistics
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals_app.engine.statistics.agreement import (
    Agreement,
    Kappa,
    Label,
    Proportion,
    compare,
    grade_on,
    weighted_kappa,
)

BOTH_PASS, JUDGE_PASSES = Label(person=True, judge=True), Label(person=False, judge=True)
JUDGE_FAILS, BOTH_FAIL = Label(person=True, judge=False), Label(person=False, judge=False)

# 40 answers: people passed 30 of them, the judge 32, and 34 got the same verdict.
FORTY = [*[BOTH_PASS] * 28, *[JUDGE_PASSES] * 4, *[JUDGE_FAILS] * 2, *[BOTH_FAIL] * 6]
TABLES = st.lists(st.integers(0, 30), min_size=4, max_size=4)


def near(*values: float) -> object:
    return pytest.approx(values, abs=5e-5)


def test_forty_labels_give_the_numbers_worked_out_by_hand() -> None:
    found = compare(FORTY)

    assert found == Agreement(28, 4, 2, 6)
    assert (found.n, found.people_passed, found.people_failed) == (40, 30, 10)
    # 34 / 40. Wilson: centre (0.85 + 3.8415/80) / 1.0960 = 0.8193,
    # half 1.9600/1.0960 * sqrt(0.85*0.15/40 + 3.8415/6400) = 0.1101.
    assert found.same_verdict == Proportion(34, 40)
    assert found.same_verdict.share == 0.85
    assert found.same_verdict.interval == near(0.7093, 0.9294)
    # People passed 30 of 40, so a judge that passes everything agrees in 30.
    assert found.commoner_passes
    assert found.commoner == Proportion(30, 40)
    # 28 / 30: centre 0.9974/1.1280 = 0.8841, half 1.7375 * sqrt(0.0020741 + 0.0010671) = 0.0974.
    assert found.passes_noticed == Proportion(28, 30)
    assert found.passes_noticed.interval == near(0.7868, 0.9815)
    # 6 / 10: centre 0.7921/1.3841 = 0.5722, half 1.4160 * sqrt(0.024 + 0.0096037) = 0.2596.
    assert found.failures_noticed == Proportion(6, 10)
    assert found.failures_noticed.interval == near(0.3127, 0.8318)
    # By chance 30/40 * 32/40 + 10/40 * 8/40 = 0.65; (0.85 - 0.65) / (1 - 0.65) = 4/7.
    # Its variance: the cells give (3.86575 + 0.81225 + 0.496125 + 4.788375) / 49 = 9.9625/49,
    # less (2.05/7)^2 = 4.2025/49, by 40 * 0.35^2 = 4.9: 5.76/240.1, so the error is 0.15489.
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(4 / 7)
    assert found.kappa.interval == near(4 / 7 - 0.30357, 4 / 7 + 0.30357)


@pytest.mark.parametrize(
    ("labels", "agreed", "commoner", "kappa"),
    [
        pytest.param([], None, None, None, id="none"),
        pytest.param([BOTH_PASS], 1.0, 1.0, None, id="one"),
        pytest.param([BOTH_PASS] * 10 + [BOTH_FAIL] * 9, 1.0, 10 / 19, None, id="19: too few"),
        pytest.param([BOTH_PASS] * 10 + [BOTH_FAIL] * 10, 1.0, 0.5, Kappa(1.0, None), id="20"),
        pytest.param([BOTH_PASS] * 40, 1.0, 1.0, None, id="all the same"),
        pytest.param([BOTH_FAIL] * 40, 1.0, 1.0, None, id="all failed"),
        # By chance 38/40, as often as they agree: worth no more than passing everything.
        ([BOTH_PASS] * 38 + [JUDGE_PASSES] * 2, 0.95, 0.95, Kappa(0.0, None)),
        ([JUDGE_PASSES] * 20 + [JUDGE_FAILS] * 20, 0.0, 0.5, Kappa(-1.0, None)),
    ],
)
def test_edges(
    labels: list[Label], agreed: float | None, commoner: float | None, kappa: Kappa | None
) -> None:
    found = compare(labels)

    assert (found.n, found.same_verdict.share, found.commoner.share) == (
        len(labels),
        agreed,
        commoner,
    )
    assert found.kappa == kappa


@pytest.mark.parametrize("labels", [[], [BOTH_PASS] * 40, [BOTH_FAIL] * 40], ids=len)
def test_a_rate_of_nothing_is_unknown(labels: list[Label]) -> None:
    found = compare(labels)

    rates = [found.passes_noticed, found.failures_noticed]
    assert None in [rate.share for rate in rates]
    assert [rate.share is None for rate in rates] == [rate.interval is None for rate in rates]


def test_grades_on_a_scale_are_weighted_by_the_square_of_their_distance() -> None:
    # People gave 1, 3 and 5 ten times each. The judge says 1, then 3 or 4 in turn, then 5.
    grades = [*[(1, 1)] * 10, *[(3, 3)] * 5, *[(3, 4)] * 5, *[(5, 5)] * 10]
    labels = [
        Label(person >= 3, judge >= 3, (person - 1) / 4, (judge - 1) / 4)
        for person, judge in grades
    ]

    found = compare([*labels, BOTH_PASS], scale="1-5").on_scale

    assert found is not None
    assert (found.n, found.same, found.near) == (30, 25, 5)  # the last has no grades
    # Squares observed: 5 * 1 / 30 = 1/6. By chance, people's 1, 3, 5 (10 each) against the judge's
    # 1, 3, 4, 5 (10, 5, 5, 10): 10 * (5*4 + 5*9 + 10*16 + 10*4 + 5*1 + 10*4 + 10*16 + 5*4 + 5*1)
    # / 900 = 10 * 495 / 900 = 5.5. Kappa = 1 - (1/6) / 5.5 = 32/33.
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(32 / 33)


@pytest.mark.parametrize(
    ("labels", "scale"),
    [
        pytest.param([BOTH_PASS], "1-5", id="no grades"),
        pytest.param([Label(True, True, 1.0, 1.0)], "pass_fail", id="no scale"),  # noqa: FBT003
        pytest.param([Label(True, True, 1.0, None)], "1-5", id="only people's"),  # noqa: FBT003
    ],
)
def test_without_two_grades_there_is_no_comparison_on_a_scale(
    labels: list[Label], scale: str
) -> None:
    assert compare(labels, scale=scale).on_scale is None


def test_few_grades_have_no_kappa() -> None:
    found = compare([Label(True, True, n / 18, n / 18) for n in range(19)], scale="0-10").on_scale  # noqa: FBT003

    assert found is not None
    assert found.kappa is None


@pytest.mark.parametrize(
    ("scale", "score", "grade"),
    [("1-5", 0.0, 1), ("1-5", 0.75, 4), ("1-5", 0.7, 4), ("0-10", 0.3, 3), ("0-1", 1.0, 10)],
)
def test_a_score_is_the_nearest_grade(scale: str, score: float, grade: int) -> None:
    assert grade_on(scale, score) == grade


def by_definition(pairs: list[tuple[int, int]]) -> float | None:
    """Return 1 - the squares observed / the squares of all people's with all judge's grades."""
    observed = statistics.fmean((person - judge) ** 2 for person, judge in pairs)
    people, judge = zip(*pairs, strict=True)
    expected = statistics.fmean((a - b) ** 2 for a, b in product(people, judge))
    return None if expected == 0 else 1 - observed / expected


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_kappa_is_what_its_definition_says(pairs: list[tuple[int, int]]) -> None:
    table = [[pairs.count((row, column)) for column in range(5)] for row in range(5)]

    found, expected = weighted_kappa(table), by_definition(pairs)

    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.value == pytest.approx(expected, abs=1e-9)
        assert found.interval is None or found.interval[0] <= found.value <= found.interval[1]


@pytest.mark.parametrize("cells", [(28, 4, 2, 6), (60, 15, 10, 40), (90, 5, 15, 40)], ids=str)
def test_the_interval_of_kappa_is_about_that_of_drawing_again(
    cells: tuple[int, int, int, int],
) -> None:
    agreement = Agreement(*cells)
    drawn = random.Random(7)
    kappas = []
    for _ in range(2000):
        places = drawn.choices(range(4), weights=cells, k=agreement.n)
        a, b, c, d = map(places.count, range(4))
        kappa = Agreement(a, b, c, d).kappa
        kappas += [kappa.value] if kappa else []
    cuts = statistics.quantiles(kappas, n=40)

    assert agreement.kappa is not None
    assert agreement.kappa.interval == pytest.approx((cuts[0], cuts[-1]), abs=0.06)


@given(TABLES)
def test_turning_every_verdict_round_swaps_the_rates(cells: list[int]) -> None:
    both, judge, people, none = cells
    found, turned = Agreement(both, judge, people, none), Agreement(none, people, judge, both)

    assert (found.same_verdict, found.commoner) == (turned.same_verdict, turned.commoner)
    assert (found.passes_noticed, found.failures_noticed) == (
        turned.failures_noticed,
        turned.passes_noticed,
    )
    if found.kappa and turned.kappa:
        assert found.kappa.value == pytest.approx(turned.kappa.value)
