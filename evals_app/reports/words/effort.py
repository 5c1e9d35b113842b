"""How much slower or more expensive a run is than another one, in words."""

from collections.abc import Callable

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.statistics.effort import MIN_MS, EffortChange, FigureChange
from evals_app.reports.words.figures import count_text, duration, rise_text

_TWICE = 2
_LOUD = 1.5  # how many times as much is said of cases that are too few for an interval


def effort_in_short(change: EffortChange) -> str:
    """Return in a sentence each how replies and costs differ; nothing of what chance may explain."""
    speed, cost = _speed(change), change.cost_usd
    parts = (
        [f"Replies take {_times(speed.times, 'as long', 'longer', 'less time')}."] if speed else []
    )
    if cost is not None and _is_said(cost):
        parts.append(f"Conversations cost {_times(cost.times, 'as much', 'more', 'less')}.")
    return " ".join(parts)


def effort_in_full(change: EffortChange) -> str:
    """Return the figures behind these sentences, each with its cases and its interval."""
    speed, cost = _speed(change), change.cost_usd
    parts = []
    if speed is not None:
        part = "95 of 100" if speed is change.p95_ms else "Half of the"
        parts.append(_figures(f"{part} replies took at most", speed, duration))
    if cost is not None and _is_said(cost):
        parts.append(_figures("A conversation cost", cost, usd_text))
    return " ".join(parts)


def _speed(change: EffortChange) -> FigureChange | None:
    """Return the figure that shows a difference in speed, if there is one."""
    figures = (change.p95_ms, change.median_ms)
    said = (figure for figure in figures if figure is not None and _is_said(figure))
    return next((figure for figure in said if abs(figure.head - figure.base) >= MIN_MS), None)


def _is_said(figure: FigureChange) -> bool:
    is_loud = max(figure.times, 1 / figure.times) >= _LOUD
    return figure.is_clear or (figure.interval is None and is_loud)


def _times(times: float, alike: str, more: str, less: str) -> str:
    """Write a ratio: 3.2 times as long, 20 % longer, 40 % less time."""
    if times >= _TWICE:
        return f"{_factor(times)} times {alike}"
    return f"{rise_text(abs(times - 1))} {more if times > 1 else less}"


def _factor(times: float) -> str:
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}".removesuffix(".0")  # noqa: PLR2004


def _figures(begin: str, figure: FigureChange, write: Callable[[float], str]) -> str:
    of = f"the same {count_text(figure.cases, 'case')}"
    sure = "too few to rule out chance"
    if figure.interval is not None:
        low, high = map(_factor_of_interval, figure.interval)
        sure = f"95 % interval: {low} to {high} times"
    return f"{begin} {write(figure.head)}, before {write(figure.base)} ({of}; {sure})."


def _factor_of_interval(times: float) -> str:
    return f"{times:.2f}" if times < _TWICE else _factor(times)
