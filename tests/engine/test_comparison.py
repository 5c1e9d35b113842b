"""Two runs compared: the change of each case, and whether the whole suite changed."""

import random
from collections import Counter

import numpy as np
import pytest
from scipy.stats import permutation_test

from evals_app.engine.comparison import (
    CaseOutcome,
    Change,
    change_of,
    matched,
    rate_differences,
    sign_flip,
)
from evals_app.engine.trial import Verdict


def outcome(
    passed: int,
    failed: int,
    *,
    name: str = "Refund",
    errored: int = 0,
    digest: str = "a",
    min_rate: float = 1.0,
) -> CaseOutcome:
    graded = passed + failed
    verdict = None
    if graded:
        verdict = Verdict.PASSED if passed / graded >= min_rate else Verdict.FAILED
    elif errored:
        verdict = Verdict.ERRORED
    return CaseOutcome(name, digest, verdict, passed, failed, errored, None)


@pytest.mark.parametrize(
    ("base", "head", "change"),
    [
        pytest.param(outcome(3, 0), outcome(3, 0), Change.SAME, id="passed twice"),
        pytest.param(outcome(3, 0), outcome(2, 1), Change.WORSE, id="fails now"),
        pytest.param(outcome(0, 3), outcome(3, 0), Change.BETTER, id="passes now"),
        pytest.param(outcome(2, 1), outcome(3, 0), Change.FLAKY, id="was mixed, passes now"),
        pytest.param(
            outcome(2, 1, min_rate=0.6), outcome(0, 3), Change.FLAKY, id="was mixed, fails now"
        ),
        pytest.param(
            outcome(19, 1, min_rate=0.8), outcome(0, 20), Change.WORSE, id="one unlucky trial"
        ),
        pytest.param(
            outcome(0, 20), outcome(19, 1, min_rate=0.8), Change.BETTER, id="one unlucky trial now"
        ),
        pytest.param(
            outcome(1, 19), outcome(20, 0), Change.BETTER, id="was mixed, rose beyond chance"
        ),
        pytest.param(
            outcome(4, 1, min_rate=0.8), outcome(0, 5), Change.WORSE, id="1 of 42 by chance"
        ),
        pytest.param(
            outcome(4, 1, min_rate=0.8), outcome(1, 4), Change.FLAKY, id="1 of 10 by chance"
        ),
        pytest.param(outcome(1, 0), outcome(0, 1), Change.WORSE, id="a single trial each"),
        pytest.param(outcome(19, 1), outcome(0, 20), Change.WORSE, id="failed before, collapsed"),
        pytest.param(outcome(0, 20), outcome(19, 1), Change.BETTER, id="still fails, rose"),
        pytest.param(outcome(4, 1), outcome(0, 5), Change.SAME, id="failed before, fell a little"),
        pytest.param(
            outcome(3, 0), outcome(2, 1, min_rate=0.6), Change.SAME, id="passes, with a trial less"
        ),
        pytest.param(outcome(3, 0), outcome(0, 0, errored=3), Change.UNDECIDED, id="errored now"),
        pytest.param(outcome(0, 0), outcome(3, 0), Change.UNDECIDED, id="did not run before"),
        pytest.param(outcome(3, 0), outcome(0, 3, digest="b"), Change.CHANGED, id="rewritten"),
        pytest.param(outcome(3, 0, digest=""), outcome(0, 3), Change.WORSE, id="old row"),
        pytest.param(None, outcome(0, 3), Change.NEW, id="new"),
        pytest.param(outcome(0, 3), None, Change.MISSING, id="missing"),
    ],
)
def test_a_case_changes_by_verdict_and_content(
    base: CaseOutcome | None, head: CaseOutcome | None, change: Change
) -> None:
    assert change_of(base, head) is change


def test_a_case_that_neither_run_has_is_an_error() -> None:
    with pytest.raises(ValueError, match="case"):
        change_of(None, None)


def test_cases_are_matched_by_name_and_compared_by_content() -> None:
    base = {name: outcome(3, 0, name=name) for name in ("Old", "Both", "Rewritten")}
    head = {
        "New": outcome(3, 0, name="New"),
        "Both": outcome(1, 2, name="Both"),
        "Rewritten": outcome(0, 3, name="Rewritten", digest="b"),
    }
    assert [(name, bool(a), bool(b)) for name, a, b in matched(base, head)] == [
        ("New", False, True),
        ("Both", True, True),
        ("Rewritten", True, True),
        ("Old", True, False),
    ]
    assert rate_differences(base, head) == {round(-2 / 3, 9): 1}


def _by_scipy(values: list[float]) -> float:
    result = permutation_test(
        (np.array(values),),
        lambda sample, axis: np.sum(sample, axis=axis),
        permutation_type="samples",
        alternative="two-sided",
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(result.pvalue)


@pytest.mark.parametrize("seed", range(8))
def test_a_small_comparison_agrees_with_scipy_exactly(seed: int) -> None:
    draw = random.Random(seed)
    values = [draw.choice([-1.0, -2 / 3, -1 / 3, 1 / 3, 2 / 3]) for _ in range(draw.randint(2, 12))]
    result = sign_flip(Counter([*values, 0.0, 0.0]))
    # Pairs: all signs are counted, and a difference of 0 changes nothing.
    assert result.p == pytest.approx(_by_scipy(values))
    assert (result.cases, result.differing) == (len(values) + 2, len(values))


@pytest.mark.parametrize("seed", range(4))
def test_a_large_comparison_agrees_with_scipy(seed: int) -> None:
    draw = random.Random(seed)
    values = [draw.choice([-1.0, -0.5, 0.5, 1.0, 0.25]) for _ in range(18)]
    assert sign_flip(Counter(values)).p == pytest.approx(_by_scipy(values), abs=0.02)


def test_nothing_to_compare_proves_nothing() -> None:
    assert sign_flip({}).p is None
    assert not sign_flip({}).is_certain
    assert sign_flip({0.0: 40}).p == 1.0


def _run(draw: random.Random, rates: list[float], trials: int = 3) -> dict[str, CaseOutcome]:
    results = {}
    for number, rate in enumerate(rates):
        passed = sum(draw.random() < rate for _ in range(trials))
        results[f"case {number}"] = outcome(passed, trials - passed, name=f"case {number}")
    return results


def _rates(draw: random.Random, cases: int) -> list[float]:
    kinds = draw.choices([(0.95, 1.0), (0.8, 0.95), (0.3, 0.8)], [60, 25, 15], k=cases)
    return [draw.uniform(*kind) for kind in kinds]


def test_equal_versions_raise_few_alarms_and_a_fall_of_fifteen_points_is_seen() -> None:
    draw = random.Random(13)
    alarms = seen = 0
    for _ in range(400):
        rates = _rates(draw, 60)
        base, same = _run(draw, rates), _run(draw, rates)
        alarms += sign_flip(rate_differences(base, same)).is_certain
    for _ in range(50):
        rates = _rates(draw, 60)
        fallen = [max(0.0, rate - 0.15) for rate in rates]
        result = sign_flip(rate_differences(_run(draw, rates), _run(draw, fallen)))
        seen += result.is_certain and (result.mean or 0) < 0
    assert alarms <= 20
    assert seen >= 45
