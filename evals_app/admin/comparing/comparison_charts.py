"""The charts of a comparison, with the tables behind them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evals_app.admin.kit.charts import Chart, ChartPoint, Series, line_chart, scatter_chart
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.usage import total_cost
from evals_app.reports.words.figures import UNKNOWN, score_text
from evals_app.runs.reading.compared_runs import Comparison

_BINS = 10
_SEVERAL = 2


@dataclass(frozen=True, slots=True)
class ChartTable:
    """A chart and the numbers that it shows, with the title of each column."""

    chart: Chart
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def score_distribution(comparison: Comparison, labels: Sequence[str]) -> ChartTable | None:
    """Return how many cases of each run have which score, in ten bins; None if none has a score."""
    counts = [_count_per_bin(comparison, place) for place in range(len(labels))]
    if not any(map(sum, counts)):
        return None
    bins = [_bin_label(number, scale=comparison.base.score_scale) for number in range(_BINS)]
    series = [
        Series(label, [round(100 * count / (sum(numbers) or 1), 1) for count in numbers])
        for label, numbers in zip(labels, counts, strict=True)
    ]
    return ChartTable(
        line_chart(bins, series, x="score", y="cases, %"),
        ("Score", *(f"{label}, cases" for label in labels)),
        tuple(
            (name, *(f"{numbers[place]:,}" for numbers in counts))
            for place, name in enumerate(bins)
        ),
    )


def _count_per_bin(comparison: Comparison, place: int) -> list[int]:
    outcomes = [case.outcomes[place] for case in comparison.cases.cases]
    scores = [outcome.score for outcome in outcomes if outcome is not None]
    counts = Counter([int(_BINS * score) for score in scores if score is not None])
    # A score of exactly 1 belongs to the last bin.
    return [counts[number] for number in range(_BINS - 1)] + [counts[_BINS - 1] + counts[_BINS]]


def _bin_label(number: int, *, scale: str) -> str:
    low, high = (score_text(edge / _BINS, scale=scale) for edge in (number, number + 1))
    return f"{low.split()[0]} to {high.split()[0]}"


def cost_and_quality(comparison: Comparison, labels: Sequence[str]) -> ChartTable | None:
    """Return cost against pass rate; None unless both are known of several runs."""
    costs = [
        total_cost([entry.run.agent_cost_usd, entry.run.judge_cost_usd])
        for entry in comparison.runs
    ]
    rates = [entry.cases.pass_rate for entry in comparison.runs]
    points = [
        ChartPoint(label, float(cost), round(100 * rate, 1))
        for label, cost, rate in zip(labels, costs, rates, strict=True)
        if cost is not None and rate is not None
    ]
    if len(points) < _SEVERAL or not any(point.x for point in points):
        return None
    return ChartTable(
        scatter_chart(points, x="cost of the run, USD", y="cases passed, %", is_percent=True),
        ("Run", "Cost", "Cases passed"),
        tuple(
            (label, UNKNOWN if cost is None else usd_text(cost), entry.cases.share)
            for label, cost, entry in zip(labels, costs, comparison.runs, strict=True)
        ),
    )
