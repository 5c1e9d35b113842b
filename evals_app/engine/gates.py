"""Gates: conditions on a whole run, and the values they are compared with."""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from evals_app.engine.statistics import at_least, percentile
from evals_app.engine.suite import GatesSpec

P95 = 0.95


@dataclass(slots=True)
class Spending:
    """Costs added up: what is known, and how many of them are not."""

    known_usd: Decimal = Decimal(0)
    count: int = 0
    unknown: int = 0

    def add(self, cost_usd: Decimal | None) -> None:
        self.count += 1
        if cost_usd is None:
            self.unknown += 1
        else:
            self.known_usd += cost_usd


class TurnTimes:
    """The times of turns; one without an answer is slower than any limit."""

    def __init__(self) -> None:
        self._ms = array("d")
        self.failed = 0

    def __len__(self) -> int:
        return len(self._ms)

    def add(self, times: Iterable[float | None]) -> None:
        for ms in times:
            self.failed += ms is None
            self._ms.append(math.inf if ms is None else ms)

    def percentile(self, rank: float) -> float | None:
        """Return the nearest-rank percentile; None without turns, or if it falls on a failed turn."""
        ms = percentile(self._ms, rank)
        return None if ms is None or math.isinf(ms) else ms


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate with its limit, what was measured, and whether it passed (None: unknown).

    `reason` says why nothing was measured, or why a gate cannot pass although something was.
    """

    name: str
    limit: float
    actual: float | None
    passed: bool | None
    reason: str = ""


def check_gates(
    gates: GatesSpec,
    *,
    score: float | None,
    pass_rate: float | None,
    times: TurnTimes,
    agent: Spending,
    everyone: Spending,
) -> tuple[GateResult, ...]:
    """Compare each gate that is set with what was measured."""
    results = (
        _least("min_score", gates.min_score, score),
        _least("min_pass_rate", gates.min_pass_rate, pass_rate),
        _fast_enough(gates.max_p95_ms, times),
        _cheap_enough("max_cost_per_call_usd", gates.max_cost_per_call_usd, agent, len(times)),
        _cheap_enough("max_cost_usd", gates.max_cost_usd, everyone, min(1, everyone.count)),
    )
    return tuple(gate for gate in results if gate is not None)


def _least(name: str, limit: float | None, actual: float | None) -> GateResult | None:
    if limit is None:
        return None
    if actual is None:
        return GateResult(name, limit, None, None, "No conversation could be graded.")
    return GateResult(name, limit, actual, at_least(actual, limit))


def _fast_enough(limit: float | None, times: TurnTimes) -> GateResult | None:
    if limit is None:
        return None
    name, actual = "max_p95_ms", times.percentile(P95)
    if not len(times):
        return GateResult(name, limit, None, None, "No turn was measured.")
    if actual is None:
        verb = "was" if times.failed == 1 else "were"
        reason = f"{times.failed:,} of {_counted(len(times), 'turn')} {verb} never answered."
        return GateResult(name, limit, None, passed=False, reason=reason)
    return GateResult(name, limit, actual, at_least(limit, actual))


def _cheap_enough(
    name: str, limit: Decimal | None, spent: Spending, shares: int
) -> GateResult | None:
    """Compare the cost, divided by `shares`; money is compared exactly, without floats or tolerance."""
    if limit is None:
        return None
    if not shares:
        return GateResult(name, float(limit), None, None, "No cost was measured.")
    known = spent.known_usd / shares
    if not spent.unknown:
        return GateResult(name, float(limit), float(known), known <= limit)
    reason = f"The cost of {spent.unknown:,} of {_counted(spent.count, 'conversation')} is unknown."
    # The known part alone may exceed the limit.
    return GateResult(name, float(limit), None, False if known > limit else None, reason)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
