"""The verdict of a case over its trials, and whether more trials could still change it."""

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.rates import at_least


def case_verdict(
    passed: int, failed: int, errored: int, measured: int = 0, *, min_pass_rate: float
) -> Verdict | None:
    """Return the verdict of a case whose trials ended like this; errored ones count in no rate.

    None: not one trial has ended.
    """
    if graded := passed + failed:
        reached = at_least(passed / graded, min_pass_rate)
        return Verdict.PASSED if reached else Verdict.FAILED
    if measured:
        return Verdict.MEASURED
    return Verdict.ERRORED if errored else None


def is_certain(passed: int, failed: int, *, left: int, min_pass_rate: float) -> bool:
    """Return whether no outcome of the remaining trials can change the verdict of a case.

    The pass rate is lowest if all of them fail and highest if all pass. One that errors counts in
    no rate, so the rate stays between the two. While no trial passed or failed, nothing is certain.
    """
    worst = case_verdict(passed, failed + left, 0, min_pass_rate=min_pass_rate)
    best = case_verdict(passed + left, failed, 0, min_pass_rate=min_pass_rate)
    return passed + failed > 0 and worst is best
