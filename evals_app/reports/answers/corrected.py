"""Says in plain sentences what pass rate people would find, and which answers to check next."""

from collections.abc import Mapping

from evals_app.engine.statistics.agreement import Proportion
from evals_app.engine.statistics.corrected import CorrectedRate, LabelPlan, NotCorrected
from evals_app.reports.answers.agreement import share_with_interval
from evals_app.reports.words.figures import count_text, whole_percent

_WHY_NOT: Mapping[NotCorrected, str] = {
    NotCorrected.NO_PASS_CHECKED: "no one has checked an answer that the judge passed",
    NotCorrected.NO_FAILURE_CHECKED: "no one has checked an answer that the judge failed",
    NotCorrected.NONE_FAILED: "of those checked people failed none, so it may miss any failure",
    NotCorrected.NONE_PASSED: "of those checked people passed none, so it may fail any good answer",
    NotCorrected.NO_INFORMATION: "its verdicts say no more about the answers than chance would",
}


def corrected_in_words(
    corrected: CorrectedRate | NotCorrected, judged: Proportion, *, run: int
) -> str:
    """Return what the judge passed in a run, and what people would pass; empty if not counted."""
    if judged.share is None:
        return ""
    passed = (
        f"In run {run} the judge passed {judged.count:,} of {count_text(judged.total, 'answer')}"
        f" ({whole_percent(judged.share)})"
    )
    if isinstance(corrected, NotCorrected):
        return f"{passed}. How many people would pass is unknown: {_WHY_NOT[corrected]}."
    found = share_with_interval(corrected.share, corrected.interval)
    return f"{passed}; people would pass about {found}."


def plan_in_words(plan: LabelPlan, *, run: int) -> str:
    """Return which answers to check next, and what that brings; empty if there are none."""
    if not plan.count:
        return ""
    if plan.passed and plan.failed:
        which = f"{plan.failed:,} that the judge failed and {plan.passed:,} that it passed"
    else:
        all_of = "one" if plan.count == 1 else "only ones"
        which = f"{all_of} that the judge {'passed' if plan.passed else 'failed'}"
    return (
        f"To know more, check {count_text(plan.count, 'more answer')} of run {run}: {which}. The range"
        f" is then about {100 * plan.width:.0f} points wide."
    )
