"""Pass rates corrected by labels, against numbers worked out by hand and against simulated runs."""

from itertools import product

import numpy as np
import pytest

from evals_app.engine.statistics.agreement import Agreement, Proportion
from evals_app.engine.statistics.corrected import (
    CorrectedRate,
    LabelPlan,
    NotCorrected,
    correct_pass_rate,
    plan_labels,
)

# Of 100 answers the judge passed 80. People checked 20 of those, and all 20 that it failed.
TWENTY_EACH, EIGHTY = Agreement(18, 2, 5, 15), Proportion(80, 100)


def corrected(labels: Agreement, judged: Proportion) -> CorrectedRate:
    found = correct_pass_rate(labels, judged)
    assert isinstance(found, CorrectedRate)
    return found


def test_the_rate_is_that_of_rogan_and_gladen_with_what_the_judge_notices_of_all_answers() -> None:
    found = corrected(TWENTY_EACH, EIGHTY)

    # People would pass 0.9 of the 80 and 0.25 of the 20: 72 + 5 = 77 of 100.
    assert found.share == pytest.approx(0.77)
    # Of these 77 the judge passed 72, of the other 23 it failed 15.
    assert found.sensitivity == pytest.approx(72 / 77)
    assert found.specificity == pytest.approx(15 / 23)
    rogan_gladen = (0.8 + 15 / 23 - 1) / (72 / 77 + 15 / 23 - 1)
    assert found.share == pytest.approx(rogan_gladen)


def test_the_interval_has_the_uncertainty_of_the_labels_and_of_the_run() -> None:
    found = corrected(TWENTY_EACH, EIGHTY)

    # Wilson: 18 of 20 is 0.69896 to 0.97213, 5 of 20 is 0.11186 to 0.46870, 80 of 100 is 0.71117 to
    # 0.86663. Below: 0.8 * 0.20104 = 0.16083, 0.2 * 0.13814 = 0.02763, 0.65 * 0.08883 = 0.05774;
    # the root of the sum of their squares is 0.17310. Above: 0.05770, 0.04374, 0.04331: 0.08439.
    assert found.interval == pytest.approx((0.77 - 0.17310, 0.77 + 0.08439), abs=5e-5)


def test_where_everything_was_checked_the_rate_is_that_of_people() -> None:
    # (0.8 + 0.6 - 1) / (28/30 + 0.6 - 1) = 0.75: people passed 30 of 40.
    assert corrected(Agreement(28, 4, 2, 6), Proportion(32, 40)).share == pytest.approx(0.75)


def test_more_labels_and_a_larger_run_each_narrow_the_interval() -> None:
    def width(labels: Agreement, judged: Proportion) -> float:
        low, high = corrected(labels, judged).interval
        return high - low

    twice = Agreement(36, 4, 10, 30)
    assert width(twice, Proportion(80, 100)) < width(TWENTY_EACH, EIGHTY)
    assert width(TWENTY_EACH, Proportion(800, 1000)) < width(TWENTY_EACH, EIGHTY)


@pytest.mark.parametrize(
    ("labels", "judged", "reason"),
    [
        (Agreement(), Proportion(0, 0), NotCorrected.NOTHING_JUDGED),
        (Agreement(), EIGHTY, NotCorrected.NO_PASS_CHECKED),
        (Agreement(0, 0, 5, 15), EIGHTY, NotCorrected.NO_PASS_CHECKED),
        (Agreement(18, 2), EIGHTY, NotCorrected.NO_FAILURE_CHECKED),
        (Agreement(18, 0, 5, 0), EIGHTY, NotCorrected.NONE_FAILED),
        (Agreement(0, 18, 0, 5), EIGHTY, NotCorrected.NONE_PASSED),
        (Agreement(10, 10, 10, 10), EIGHTY, NotCorrected.NO_INFORMATION),
        (Agreement(5, 15, 15, 5), EIGHTY, NotCorrected.NO_INFORMATION),
        (Agreement(18, 2), Proportion(80, 80), NotCorrected.NO_INFORMATION),
    ],
    ids=str,
)
def test_what_cannot_be_known_is_not_estimated(
    labels: Agreement, judged: Proportion, reason: NotCorrected
) -> None:
    assert correct_pass_rate(labels, judged) is reason


# Simulated runs

PASS_RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
NOTICED = ((0.9, 0.9), (0.7, 0.95), (0.95, 0.7), (0.7, 0.7), (0.8, 0.9))  # passes, failures
SIZES = ((100, 300), (200, 1000))  # labels, answers of the run
SMALL = ((50, 100),)


def simulated(
    setting: tuple[float, tuple[float, float], tuple[int, int]],
    chance: np.random.Generator,
    *,
    even: bool,
) -> tuple[Agreement, Proportion]:
    """Draw a run and labels of it: as many of both verdicts if possible, or whatever chance draws."""
    rate, (se, sp), (labels, answers) = setting
    weights = (rate * se, (1 - rate) * (1 - sp), rate * (1 - se), (1 - rate) * sp)
    cells = chance.multinomial(answers, weights).tolist()
    passed, failed = cells[0] + cells[1], cells[2] + cells[3]
    if even:
        of_failed = max(min(labels // 2, failed), labels - passed)
    else:
        of_failed = int(chance.hypergeometric(failed, passed, labels))
    of_passed = labels - of_failed
    good = int(chance.hypergeometric(cells[0], cells[1], of_passed))
    missed = int(chance.hypergeometric(cells[2], cells[3], of_failed))
    found = Agreement(good, of_passed - good, missed, of_failed - missed)
    return found, Proportion(passed, answers)


@pytest.mark.slow
@pytest.mark.parametrize("even", [True, False], ids=["as many of both", "by chance"])
@pytest.mark.parametrize(
    ("sizes", "most"), [(SIZES, 0.975), (SMALL, 0.99)], ids=["100 or 200 labels", "50 labels"]
)
def test_the_interval_has_the_true_rate_in_95_of_100_runs(
    sizes: tuple[tuple[int, int], ...], most: float, *, even: bool
) -> None:
    """Of 2,000 simulated runs of each setting; with few labels the interval is rather too wide."""
    chance = np.random.default_rng(1)
    covered: dict[object, float] = {}
    for setting in product(PASS_RATES, NOTICED, sizes):
        inside = []
        for _ in range(2000):
            found = correct_pass_rate(*simulated(setting, chance, even=even))
            if isinstance(found, CorrectedRate):
                low, high = found.interval
                inside.append(low <= setting[0] <= high)
        covered[setting] = sum(inside) / len(inside)

    assert {one: share for one, share in covered.items() if not 0.925 <= share <= most} == {}
    usual = [0.93 <= share <= 0.97 for share in covered.values()]
    assert sum(usual) >= (0.95 if sizes is SIZES else 0.6) * len(usual)


def test_labels_drawn_evenly_would_mislead_without_the_pass_rate_of_the_judge() -> None:
    # Of 1000 answers 900 are good. The judge passes 0.9 of them, and 0.2 of the others.
    labels, judged = Agreement(98, 2, 53, 47), Proportion(830, 1000)

    low, high = corrected(labels, judged).interval
    tpr, tnr = labels.passes_noticed.share or 0, labels.failures_noticed.share or 0
    naive = ((judged.share or 0) + tnr - 1) / (tpr + tnr - 1)

    assert low <= 0.9 <= high
    assert naive > 1


# What to check next


def test_the_labels_that_narrow_most_are_planned() -> None:
    # 0.8 * 18/20 and 0.2 * 5/20: the passes have more weight, and their variance counts 16-fold.
    plan = plan_labels(TWENTY_EACH, EIGHTY, least=0, most=10)

    assert (plan.passed, plan.failed, plan.count) == (10, 0, 10)
    low, high = corrected(TWENTY_EACH, EIGHTY).interval
    assert plan.width < high - low


@pytest.mark.parametrize(
    ("labels", "judged", "least", "plan"),
    [
        pytest.param(Agreement(), Proportion(50, 100), 20, (10, 10), id="nothing checked"),
        pytest.param(Agreement(), Proportion(100, 100), 20, (20, 0), id="the judge passed all"),
        pytest.param(Agreement(18, 2), Proportion(50, 100), 0, (0, 20), id="no failure checked"),
        pytest.param(Agreement(18, 2, 5, 5), Proportion(20, 30), 0, (0, 0), id="all checked"),
        pytest.param(Agreement(4, 1, 1, 4), Proportion(7, 12), 10, (2, 0), id="only two left"),
        pytest.param(
            Agreement(180, 20, 20, 180), Proportion(500, 1000), 0, (0, 0), id="narrow already"
        ),
        pytest.param(
            Agreement(180, 20, 20, 180), Proportion(500, 1000), 3, (2, 1), id="narrow, but asked"
        ),
        pytest.param(Agreement(), Proportion(0, 0), 20, (0, 0), id="nothing judged"),
    ],
)
def test_plans(labels: Agreement, judged: Proportion, least: int, plan: tuple[int, int]) -> None:
    found = plan_labels(labels, judged, least=least, most=20)

    assert isinstance(found, LabelPlan)
    assert (found.passed, found.failed) == plan
