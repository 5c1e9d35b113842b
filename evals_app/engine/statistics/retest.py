"""Test whether cases are really worse or better: fresh trials of the suspects, in three rounds.

A suspect is a case whose pass rate fell (or rose) from the base to the head. After 5, 10 and 20 fresh
trials of each version the pass rates are compared. The trials that raised the suspicion are not
tested: a case is often only suspected because it was unlucky, and would be so again.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Self

from evals_app.engine.statistics.check_counts import read_counts, turned_checks
from evals_app.engine.statistics.comparison import (
    BY_CHANCE,
    CaseOutcome,
    ChangeKind,
    match_cases,
)
from evals_app.engine.statistics.rates import fisher_exact
from fixtures_app.ground.strict_json import JsonObject

ENOUGH_TRIALS = 3  # of a case: with fewer, runs miss many cases that got worse
MIN_GAP = 0.15  # of two pass rates; below it more trials would hardly find a difference
LIKELY_TRIALS = 8  # of each version of a suspect, on average; tests simulate it

_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class Look:
    """One comparison, after `trials` fresh trials of each version.

    `alpha` is the share of false alarms among the differences that this round may find.
    """

    trials: int
    alpha: float


LOOKS = (Look(5, 0.01), Look(10, 0.015), Look(20, 0.025))


class Direction(StrEnum):
    """What a case is suspected of."""

    WORSE = "worse"
    BETTER = "better"


class SuspectState(StrEnum):
    """The state of a suspect: more trials follow only while it is open."""

    OPEN = "open"
    DECIDED = "decided"  # the difference is real
    DROPPED = "dropped"  # the gap is too small


class Finding(StrEnum):
    """The result of a suspect, in the order in which pages show them."""

    REALLY_WORSE = "really_worse"
    REALLY_BETTER = "really_better"
    CANNOT_TELL = "cannot_tell"
    WAS_FLAKY = "was_flaky"


@dataclass(frozen=True, slots=True)
class Trials:
    """Graded trials of one version of a case."""

    passed: int = 0
    failed: int = 0

    def __add__(self, more: "Trials") -> "Trials":
        return Trials(self.passed + more.passed, self.failed + more.failed)

    @property
    def total(self) -> int:
        return self.passed + self.failed

    @property
    def rate(self) -> float | None:
        return self.passed / self.total if self.total else None

    @property
    def is_mixed(self) -> bool:
        return bool(self.passed and self.failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A case that may be worse or better.

    `base_before` and `head_before` are the trials of the two runs, `base` and `head` those that are
    tested: fresh ones, or stored ones of a base that cannot be run again. `p` is one-sided. With a `check`,
    a trial counts as passed if that check passed, regardless of the others.
    """

    name: str  # in the head
    direction: Direction
    base_before: Trials
    head_before: Trials
    base: Trials = Trials()
    head: Trials = Trials()
    p: float | None = None
    state: SuspectState = SuspectState.OPEN
    check: str = ""  # the key of the check that got worse or better, where the verdict did not
    check_label: str = ""
    old_name: str = ""  # in the base, if that is another

    @property
    def base_name(self) -> str:
        """What the case is called in the base."""
        return self.old_name or self.name

    @property
    def gap(self) -> float | None:
        """How much the pass rate differs in the suspected direction; None before the first trials."""
        if self.base.rate is None or self.head.rate is None:
            return None
        fall = self.base.rate - self.head.rate
        return fall if self.direction is Direction.WORSE else -fall

    @property
    def finding(self) -> Finding:
        """What the trials so far show."""
        if self.state is SuspectState.DECIDED:
            is_worse = self.direction is Direction.WORSE
            return Finding.REALLY_WORSE if is_worse else Finding.REALLY_BETTER
        base, head = self.base_before + self.base, self.head_before + self.head
        if base.is_mixed and chance_of_gap(base, head, self.direction) > BY_CHANCE:
            return Finding.WAS_FLAKY
        return Finding.CANNOT_TELL

    def to_json(self) -> JsonObject:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        trials = ("base_before", "head_before", "base", "head")
        return cls(
            name=stored["name"],
            direction=Direction(stored["direction"]),
            p=stored["p"],
            state=SuspectState(stored["state"]),
            check=stored.get("check", ""),  # older retests have none
            check_label=stored.get("check_label", ""),
            old_name=stored.get("old_name", ""),
            **{key: Trials(**stored[key]) for key in trials},
        )


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The suspects of two runs, among the cases that can be compared.

    `few` counts compared cases with fewer than ENOUGH_TRIALS in one of the runs, `hopeless` those
    left out because their stored trials are too few for any result.
    """

    suspects: tuple[Suspect, ...]
    compared: int
    few: int
    hopeless: int


def find_suspects(
    base: Mapping[str, CaseOutcome],
    head: Mapping[str, CaseOutcome],
    *,
    directions: Collection[Direction] = (Direction.WORSE,),
    is_base_stored: bool = False,
) -> Suspicion:
    """Return the cases whose pass rate differs by one trial or more, or that of one of their checks.

    A check counts where the verdicts raise no suspicion; of several, the first one is tested. With `is_base_stored` the stored trials of the base are used instead of fresh ones.
    """
    suspects: list[Suspect] = []
    compared = few = hopeless = 0
    for before, after in _comparable(base, head):
        compared += 1
        few += min(before.graded_count, after.graded_count) < ENOUGH_TRIALS
        suspect = _suspect(before, after, directions)
        if suspect is None:
            continue
        if is_base_stored:
            suspect = replace(suspect, base=suspect.base_before)
        if is_base_stored and not _can_be_decided(suspect):
            hopeless += 1
        else:
            suspects.append(suspect)
    return Suspicion(tuple(suspects), compared, few, hopeless)


def _comparable(
    base: Mapping[str, CaseOutcome], head: Mapping[str, CaseOutcome]
) -> Iterator[tuple[CaseOutcome, CaseOutcome]]:
    for pair in match_cases(base, head):
        before, after = pair
        if before is None or after is None or pair.change is ChangeKind.CHANGED:
            continue
        if before.graded_count and after.graded_count:
            yield before, after


def _suspect(
    before: CaseOutcome, after: CaseOutcome, directions: Collection[Direction]
) -> Suspect | None:
    """Return a case as a suspect: by its verdicts, else by the first check that turned."""
    direction = _direction(before, after)
    if direction is not None and direction in directions:
        counts = Trials(before.passed, before.failed), Trials(after.passed, after.failed)
        return _of_counts(before, after, direction, *counts)
    turned = turned_checks(before.checks, after.checks)
    for way, keys in ((Direction.WORSE, turned.worse), (Direction.BETTER, turned.better)):
        if keys and way in directions:
            key = keys[0]
            counts = trials_of_check(before.checks, key), trials_of_check(after.checks, key)
            return replace(_of_counts(before, after, way, *counts), check=key)
    return None


def _of_counts(
    before: CaseOutcome, after: CaseOutcome, direction: Direction, base: Trials, head: Trials
) -> Suspect:
    return Suspect(
        name=after.name,
        old_name="" if before.name == after.name else before.name,
        direction=direction,
        base_before=base,
        head_before=head,
    )


def trials_of_check(checks: str, key: str) -> Trials:
    """Return the trials in which a check passed and failed; `checks` are those of a case in a run."""
    count = read_counts(checks).get(key)
    return Trials() if count is None else Trials(*count)


def _direction(before: CaseOutcome, after: CaseOutcome) -> Direction | None:
    if before.pass_rate is None or after.pass_rate is None:
        return None
    fall = before.pass_rate - after.pass_rate
    if abs(fall) < 1 / max(before.graded_count, after.graded_count) - _NOISE:
        return None
    return Direction.WORSE if fall > 0 else Direction.BETTER


def _can_be_decided(suspect: Suspect) -> bool:
    """Return whether a stored base has enough trials to show the largest difference that is possible."""
    last = LOOKS[-1]
    none, every = Trials(0, last.trials), Trials(last.trials, 0)
    extreme = none if suspect.direction is Direction.WORSE else every
    return p_value(replace(suspect, head=extreme)) <= last.alpha


def look_at(
    suspects: Sequence[Suspect], fresh: Mapping[str, tuple[Trials | None, Trials]], look: Look
) -> list[Suspect]:
    """Return the suspects after a round; `fresh` are all fresh trials of base and head so far.

    None for the base keeps its stored trials. Suspects that are not open stay as they are, but count
    among those of which a share may be false alarms. Worse and better are two questions.
    """
    tested = [_with_trials(suspect, fresh) for suspect in suspects]
    real: set[str] = set()
    for direction in Direction:
        asked = [suspect for suspect in tested if suspect.direction is direction]
        ps = [1.0 if suspect.p is None else suspect.p for suspect in asked]
        real |= {asked[place].name for place in discoveries(ps, alpha=look.alpha)}
    return [_after(suspect, is_real=suspect.name in real) for suspect in tested]


def _with_trials(suspect: Suspect, fresh: Mapping[str, tuple[Trials | None, Trials]]) -> Suspect:
    if suspect.state is not SuspectState.OPEN or suspect.name not in fresh:
        return suspect
    base, head = fresh[suspect.name]
    tested = replace(suspect, base=suspect.base if base is None else base, head=head)
    return replace(tested, p=p_value(tested))


def _after(suspect: Suspect, *, is_real: bool) -> Suspect:
    if suspect.state is not SuspectState.OPEN:
        return suspect
    if is_real:
        return replace(suspect, state=SuspectState.DECIDED)
    is_small = suspect.gap is not None and suspect.gap < MIN_GAP - _NOISE
    return replace(suspect, state=SuspectState.DROPPED) if is_small else suspect


def discoveries(ps: Sequence[float], *, alpha: float) -> set[int]:
    """Return the places of the p-values that count, a share `alpha` of them falsely at most.

    Source: Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995), 289-300.
    """
    ranked = sorted(range(len(ps)), key=ps.__getitem__)
    count = 0
    for rank, place in enumerate(ranked, 1):
        if ps[place] <= alpha * rank / len(ps):
            count = rank
    return set(ranked[:count])


def p_value(suspect: Suspect) -> float:
    """Return the chance of this gap if both versions pass equally often; 1 without trials."""
    return chance_of_gap(suspect.base, suspect.head, suspect.direction)


def chance_of_gap(base: Trials, head: Trials, direction: Direction) -> float:
    """Return the chance that the head is this much worse, or better, if both pass equally often."""
    low, high = (head, base) if direction is Direction.WORSE else (base, head)
    return fisher_exact(low.passed, low.total, high.passed, high.total)
