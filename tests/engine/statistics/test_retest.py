"""Suspects, the tests of their fresh trials, and how often these are wrong: simulated."""

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.engine.statistics.retest import (
    LIKELY_TRIALS,
    LOOKS,
    Direction,
    Finding,
    Suspect,
    SuspectState,
    Trials,
    discoveries,
    find_suspects,
    look_at,
)

BOTH = tuple(Direction)


def outcome(
    name: str, passed: int, failed: int, *, errored: int = 0, digest: str = ""
) -> CaseOutcome:
    verdict = Verdict.ERRORED if errored else Verdict.FAILED if failed else Verdict.PASSED
    return CaseOutcome(name, digest, verdict, passed, failed, errored, None)


def outcomes(*cases: CaseOutcome) -> dict[str, CaseOutcome]:
    return {case.name: case for case in cases}


def suspect(name: str = "a", **changes: Any) -> Suspect:
    usual: dict[str, Any] = {
        "direction": Direction.WORSE,
        "base_before": Trials(3, 0),
        "head_before": Trials(2, 1),
    }
    return Suspect(name=name, **usual | changes)


# Which cases are suspects


@pytest.mark.parametrize(
    ("base", "head", "direction"),
    [
        ((3, 0), (2, 1), "worse"),
        ((3, 0), (0, 3), "worse"),
        ((1, 2), (3, 0), "better"),
        ((3, 0), (3, 0), None),
        ((10, 0), (9, 1), "worse"),
        ((1, 0), (0, 1), "worse"),
        pytest.param((2, 1), (3, 2), None, id="by less than a trial: 67 % and 60 % of five"),
        pytest.param((3, 0), (4, 1), "worse", id="unequal numbers of trials"),
    ],
)
def test_a_case_is_suspected_once_its_rate_differs_by_a_trial(
    base: tuple[int, int], head: tuple[int, int], direction: str | None
) -> None:
    result = find_suspects(
        outcomes(outcome("a", *base)), outcomes(outcome("a", *head)), directions=BOTH
    )

    assert [row.direction for row in result.suspects] == ([direction] if direction else [])
    assert result.compared == 1


def test_what_cannot_be_compared_is_no_suspect() -> None:
    base = outcomes(
        outcome("changed", 3, 0, digest="a"), outcome("gone", 3, 0), outcome("broken", 3, 0)
    )
    head = outcomes(
        outcome("changed", 0, 3, digest="b"),
        outcome("new", 0, 3),
        outcome("broken", 0, 0, errored=3),
    )

    assert find_suspects(base, head) == find_suspects({}, {})


def test_only_what_is_asked_for_is_suspected_and_few_trials_are_counted() -> None:
    base = outcomes(outcome("fell", 3, 0), outcome("rose", 0, 2), outcome("same", 3, 0))
    head = outcomes(outcome("fell", 1, 2), outcome("rose", 2, 0), outcome("same", 3, 0))

    result = find_suspects(base, head)

    assert [row.name for row in result.suspects] == ["fell"]
    assert (result.compared, result.few) == (3, 1)


@pytest.mark.parametrize(("stored", "suspects"), [(1, 0), (2, 1), (3, 1)])
def test_a_stored_trial_that_could_never_decide_is_not_asked(stored: int, suspects: int) -> None:
    result = find_suspects(
        outcomes(outcome("a", stored, 0)), outcomes(outcome("a", 0, 3)), is_base_stored=True
    )

    assert (len(result.suspects), result.hopeless) == (suspects, 1 - suspects)
    assert all(row.base == Trials(stored, 0) for row in result.suspects)


# What a look says


def test_a_look_decides_drops_and_leaves_open() -> None:
    suspects = [suspect(name) for name in ("fell", "same", "unsure", "errored")]
    fresh: dict[str, tuple[Trials | None, Trials]] = {
        "fell": (Trials(5, 0), Trials(0, 5)),
        "same": (Trials(5, 0), Trials(5, 0)),
        "unsure": (Trials(5, 0), Trials(4, 1)),
        "errored": (Trials(0, 0), Trials(5, 0)),
    }

    after = look_at(suspects, fresh, replace(LOOKS[0], alpha=0.05))

    assert [row.state for row in after] == [
        SuspectState.DECIDED,
        SuspectState.DROPPED,
        SuspectState.OPEN,
        SuspectState.OPEN,
    ]
    assert [row.finding for row in after] == ["really_worse", *["cannot_tell"] * 3]


def test_what_is_no_longer_open_stays_as_it_is() -> None:
    decided = suspect("fell", state=SuspectState.DECIDED, p=0.001)
    dropped = suspect("same", state=SuspectState.DROPPED, p=0.9)

    after = look_at([decided, dropped], {"fell": (Trials(9, 1), Trials(9, 1))}, LOOKS[1])

    assert after == [decided, dropped]


def test_a_stored_base_is_compared_with_fresh_trials_of_the_head() -> None:
    stored = suspect(base_before=Trials(20, 0), base=Trials(20, 0))

    (after,) = look_at([stored], {"a": (None, Trials(0, 5))}, LOOKS[0])

    assert (after.finding, after.base) == (Finding.REALLY_WORSE, Trials(20, 0))


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({}, "cannot_tell"),
        ({"base_before": Trials(2, 1)}, "was_flaky"),
        ({"base": Trials(4, 1)}, "was_flaky"),
        ({"base_before": Trials(19, 1), "head_before": Trials(0, 20)}, "cannot_tell"),
        ({"state": SuspectState.DECIDED, "base": Trials(4, 1)}, "really_worse"),
        ({"state": SuspectState.DECIDED, "direction": Direction.BETTER}, "really_better"),
    ],
)
def test_the_finding_follows_from_the_trials(changes: dict[str, Any], finding: str) -> None:
    assert suspect(**changes).finding == finding


def test_a_suspect_is_stored_and_read() -> None:
    row = suspect(base=Trials(4, 1), p=0.25, state=SuspectState.DROPPED)

    assert Suspect.from_json(row.to_json()) == row


# The statistics


@given(st.lists(st.floats(0, 1), max_size=40), st.sampled_from([0.01, 0.015, 0.025, 0.2]))
def test_discoveries_agree_with_scipy(ps: list[float], alpha: float) -> None:
    adjusted = stats.false_discovery_control(ps) if ps else []
    # At the very border the two ways of rounding differ.
    clear = {place for place, p in enumerate(adjusted) if abs(p - alpha) > 1e-9}

    discovered = discoveries(ps, alpha=alpha)

    assert discovered & clear == {place for place in clear if adjusted[place] <= alpha}


# How often it is wrong


class Simulated(NamedTuple):
    """Cases found to be really worse or better: of those planted, and of all others."""

    detected: int
    false: int
    suspects: int
    trials: float  # a case: those of the head's run, and all fresh ones


class Site:
    """200 cases: 60 % pass nearly always, 25 % mostly, 15 % are flaky; some get worse."""

    CASES = 200

    def __init__(self, *, seed: int, planted: int = 0, trials: int = 3) -> None:
        self._draw = random.Random(seed)
        self._planted, self._trials = planted, trials

    def compare(
        self,
        *,
        directions: tuple[Direction, ...] = (Direction.WORSE,),
        is_base_stored: bool = False,
    ) -> Simulated:
        """Settle one comparison."""
        rates = {str(case): self._rate() for case in range(self.CASES)}
        planted = [str(case) for case in range(self._planted)]
        before = rates | dict.fromkeys(planted, 0.95)
        after = rates | dict.fromkeys(planted, 0.40)
        suspects = find_suspects(
            self._run(before),
            self._run(after),
            directions=directions,
            is_base_stored=is_base_stored,
        ).suspects
        used = self._settle(list(suspects), before, after, is_base_stored=is_base_stored)
        wrong = {row.name for row in used[0] if row.state is SuspectState.DECIDED}
        return Simulated(
            detected=len(wrong & set(planted)),
            false=len(wrong - set(planted)),
            suspects=len(suspects),
            trials=self._trials + used[1] / self.CASES,
        )

    def _rate(self) -> float:
        kind = self._draw.random()
        low, high = (0.95, 1.0) if kind < 0.60 else (0.80, 0.95) if kind < 0.85 else (0.2, 0.8)
        return self._draw.uniform(low, high)

    def _run(self, rates: Mapping[str, float]) -> dict[str, CaseOutcome]:
        passed = {name: self._passed(rate, self._trials) for name, rate in rates.items()}
        return outcomes(
            *(outcome(name, count, self._trials - count) for name, count in passed.items())
        )

    def _passed(self, rate: float, trials: int) -> int:
        return sum(self._draw.random() < rate for _ in range(trials))

    def _settle(
        self,
        suspects: list[Suspect],
        before: Mapping[str, float],
        after: Mapping[str, float],
        *,
        is_base_stored: bool,
    ) -> tuple[list[Suspect], int]:
        passed = {row.name: [0, 0] for row in suspects}
        used = done = 0
        for look in LOOKS:
            fresh: dict[str, tuple[Trials | None, Trials]] = {}
            for row in suspects:
                if row.state is not SuspectState.OPEN:
                    continue
                more, counts = look.trials - done, passed[row.name]
                counts[1] += self._passed(after[row.name], more)
                counts[0] += 0 if is_base_stored else self._passed(before[row.name], more)
                used += more if is_base_stored else 2 * more
                base, head = (Trials(count, look.trials - count) for count in counts)
                fresh[row.name] = (None if is_base_stored else base, head)
            suspects = look_at(suspects, fresh, look)
            done = look.trials
        return suspects, used


def shares(results: list[Simulated]) -> tuple[float, float, float]:
    """Return the share of comparisons with a false alarm, cases found, and trials a case."""
    count = len(results)
    return (
        sum(row.false > 0 for row in results) / count,
        sum(row.detected for row in results) / count,
        sum(row.trials for row in results) / count,
    )


@pytest.mark.parametrize(
    ("comparisons", "trials", "how"),
    [
        pytest.param(400, 3, {}, id="three trials"),
        pytest.param(400, 1, {}, id="one trial: each case whose verdict fell"),
        pytest.param(150, 3, {"directions": BOTH}, id="worse and better"),
        pytest.param(150, 10, {"is_base_stored": True}, id="stored trials of the old version"),
    ],
)
def test_at_most_one_of_20_comparisons_of_equal_versions_raises_an_alarm(
    comparisons: int, trials: int, how: dict[str, object]
) -> None:
    site = Site(seed=13, trials=trials)

    alarms, _, _ = shares([site.compare(**how) for _ in range(comparisons)])  # type: ignore[arg-type]

    assert alarms <= 0.05


def test_three_of_four_cases_that_fell_from_95_to_40_percent_are_found() -> None:
    site = Site(seed=13, planted=10)

    alarms, detected, trials = shares([site.compare() for _ in range(200)])

    assert detected / 10 >= 0.75
    assert trials <= 7
    assert alarms <= 0.05


def test_the_usual_number_of_trials_is_what_a_forecast_assumes() -> None:
    site = Site(seed=13, planted=2)
    results = [site.compare() for _ in range(100)]

    fresh = sum((row.trials - 3) * Site.CASES / 2 for row in results)

    assert fresh / sum(row.suspects for row in results) == pytest.approx(LIKELY_TRIALS, abs=1)
