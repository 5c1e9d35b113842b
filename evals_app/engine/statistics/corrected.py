"""The pass rate that people would find, from the verdicts of a judge and labels of some of them."""

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from evals_app.engine.statistics.agreement import Agreement, Proportion
from evals_app.engine.statistics.rates import wilson_interval

NARROW = 0.2  # an interval of this width needs no more labels


class NotCorrected(StrEnum):
    """Why a judge's pass rate cannot be corrected."""

    NOTHING_JUDGED = "nothing_judged"
    NO_PASS_CHECKED = "no_pass_checked"  # noqa: S105 - people checked no answer that the judge passed
    NO_FAILURE_CHECKED = "no_failure_checked"  # or none that it failed
    NONE_FAILED = "none_failed"  # by people, so the specificity is unknown
    NONE_PASSED = "none_passed"  # by people, so the sensitivity is unknown
    NO_INFORMATION = "no_information"  # sensitivity + specificity <= 1: not better than chance


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """The estimated pass rate with its 95 % interval, and what the judge noticed of its run."""

    share: float
    interval: tuple[float, float]
    sensitivity: float
    specificity: float


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """How many more answers to check, by the judge's verdict, and how wide the interval then is."""

    passed: int
    failed: int
    width: float

    @property
    def count(self) -> int:
        return self.passed + self.failed


def correct_pass_rate(labels: Agreement, judged: Proportion) -> CorrectedRate | NotCorrected:
    """Estimate the pass rate that people would find among answers of which the judge passed `judged`.

    `labels` are of some of these answers, drawn by chance from those that the judge passed and from
    those that it failed; the shares drawn of both may differ, because "Check grades" draws about as
    many of each. So sensitivity and specificity are those of all judged answers, not of the labels
    (Begg & Greenes, Biometrics 39 (1983), 207-215), and the estimate is (q + specificity - 1) /
    (sensitivity + specificity - 1) of Rogan & Gladen, American Journal of Epidemiology 107 (1978),
    71-76, where q is the judge's pass rate. Then it is equal to q u + (1 - q) v, where people passed
    the share u of what the judge passed, and v of what it failed.

    The interval has the uncertainty of all three, each by Wilson: their distances from the estimate
    are added as squares (Newcombe, Statistics in Medicine 17 (1998), 873-890; Zou & Donner, Statistics
    in Medicine 27 (2008), 1693-1702).
    """
    if reason := _why_not(labels, judged):
        return reason
    passes, failures = _of_passes(labels), _of_failures(labels)
    q, u, v = (rate.share or 0.0 for rate in (judged, passes, failures))
    share = q * u + (1 - q) * v
    if u <= v or q in {0.0, 1.0}:
        return NotCorrected.NO_INFORMATION
    interval = _interval((u, passes.total), (v, failures.total), (q, judged.total))
    return CorrectedRate(share, interval, q * u / share, (1 - q) * (1 - v) / (1 - share))


def plan_labels(labels: Agreement, judged: Proportion, *, least: int, most: int) -> LabelPlan:
    """Return which further labels narrow the interval of the corrected pass rate most.

    At least `least` and at most `most`, in between until it is narrow; fewer if all are checked.
    """
    rates = {"passed": _of_passes(labels), "failed": _of_failures(labels)}
    q = judged.share or 0.0
    weights = {"passed": q, "failed": 1 - q}
    left = {
        "passed": judged.count - rates["passed"].total,
        "failed": judged.total - judged.count - rates["failed"].total,
    }
    # One more pass and one more failure, so that three labels that agree do not seem certain.
    shares = {by: (rate.count + 1) / (rate.total + 2) for by, rate in rates.items()}
    numbers = {by: rate.total for by, rate in rates.items()}

    def gain(by: str) -> float:
        variance = weights[by] ** 2 * shares[by] * (1 - shares[by])
        return variance / (numbers[by] + 1) - variance / (numbers[by] + 2)

    def width() -> float:
        both = ((shares[by], numbers[by]) for by in shares)
        low, high = _interval(*both, (q, judged.total))
        return high - low

    added: Counter[str] = Counter()
    while added.total() < most and (added.total() < least or width() > NARROW):
        unchecked = [by for by in left if left[by] > added[by]]
        if not unchecked:
            break
        chosen = max(unchecked, key=gain)
        added[chosen] += 1
        numbers[chosen] += 1
    return LabelPlan(added["passed"], added["failed"], width())


def _of_passes(labels: Agreement) -> Proportion:
    """Return how many of the answers that the judge passed people passed."""
    return Proportion(labels.both_passed, labels.both_passed + labels.only_judge_passed)


def _of_failures(labels: Agreement) -> Proportion:
    """Return how many of the answers that the judge failed people passed."""
    return Proportion(labels.only_people_passed, labels.only_people_passed + labels.both_failed)


def _why_not(labels: Agreement, judged: Proportion) -> NotCorrected | None:
    """Return what is not known; None if an estimate is possible."""
    unknown = {
        NotCorrected.NOTHING_JUDGED: not judged.total,
        NotCorrected.NO_PASS_CHECKED: judged.count and not _of_passes(labels).total,
        NotCorrected.NO_FAILURE_CHECKED: judged.count < judged.total
        and not _of_failures(labels).total,
        NotCorrected.NONE_FAILED: not labels.people_failed,
        NotCorrected.NONE_PASSED: not labels.people_passed,
    }
    return next((reason for reason, is_so in unknown.items() if is_so), None)


def _interval(*rates: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of q u + (1 - q) v for u, v and q, each with the number that it is of."""
    (u, _), (v, _), (q, _) = rates
    share, slopes = q * u + (1 - q) * v, (q, 1 - q, u - v)
    below = above = 0.0
    for (rate, total), slope in zip(rates, slopes, strict=True):
        low, high = wilson_interval(rate * total, total) if total else (0.0, 1.0)
        down, up = (rate - low, high - rate) if slope >= 0 else (high - rate, rate - low)
        below, above = below + (slope * down) ** 2, above + (slope * up) ** 2
    return max(0.0, share - math.sqrt(below)), min(1.0, share + math.sqrt(above))
