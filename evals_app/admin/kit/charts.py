"""Charts for pages: readable without colour, and each page has the same numbers in a table behind its chart.

Unfold's script draws every `<canvas class="chart">` with the Chart.js that it ships. `admin/evals_app/kit/chart.html` is
such a canvas; text takes its colour from the theme, in review.js.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.html import format_html
from django.utils.safestring import SafeString

from evals_app.reports.words.figures import percent

# All have a contrast of 3:1 or more on white and on Unfold's dark ground; dashes also differ.
MIN_CHART = 5  # points; fewer are words, a table or a small line
_LINES: tuple[tuple[str, list[int]], ...] = (
    ("#2f6fdb", []),
    ("#0d8a72", [6, 4]),
    ("#d9480f", [2, 3]),
    ("#a855f7", [10, 4, 2, 4]),
    ("#d6336c", [12, 6]),
)
# Six shapes and five lines: the first thirty series of a chart all look different.
_SHAPES = ("circle", "rect", "triangle", "rectRot", "star", "crossRot")
_GRID = "rgba(127,127,127,.25)"
_MARK = "rgba(127,127,127,.9)"


@dataclass(frozen=True, slots=True)
class Series:
    """What one line connects: a value for each label, None where it is unknown."""

    label: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """A single place in a chart, with its own shape."""

    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """What `admin/evals_app/kit/chart.html` draws."""

    kind: str  # a type of Chart.js
    data: str  # JSON
    options: str  # JSON


def line_chart(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    x: str = "",
    y: str,
    is_percent: bool = False,
    marks: Mapping[int, str] = MappingProxyType({}),
    marked: str = "",
) -> Chart:
    """Return one line for each series over the labels; `x` and `y` are the titles of the axes.

    At the places of `marks` a thin line crosses the chart, with its words below the label; `marked`
    is what all of them mean.
    """
    datasets = [
        _look(place)
        | {"label": line.label, "data": list(line.values), "spanGaps": True, "clip": False}
        for place, line in enumerate(series)
    ]
    if marks:
        crossing = [100 if place in marks else None for place in range(len(labels))]
        thin = {
            "type": "bar",
            "barThickness": 1,
            "backgroundColor": _MARK,
            "borderColor": _MARK,
            "pointStyle": "line",
        }
        datasets.append(thin | {"label": marked, "data": crossing})
    names = [[label, marks[n]] if n in marks else label for n, label in enumerate(labels)]
    across = {"grid": {"display": False}} | _title(x)
    return _chart(
        "line",
        {"labels": names, "datasets": datasets},
        x=across,
        y=_scale(y, is_percent=is_percent),
    )


def scatter_chart(
    points: Sequence[ChartPoint], *, x: str, y: str, is_percent: bool = False
) -> Chart:
    """Return one shape for each point; `x` and `y` are the titles of the axes, `is_percent` is of y."""
    datasets = [
        _look(place)
        | {"label": point.label, "data": [{"x": point.x, "y": point.y}], "pointRadius": 7}
        for place, point in enumerate(points)
    ]
    return _chart(
        "scatter",
        {"datasets": datasets},
        x=_scale(x, is_percent=False),
        y=_scale(y, is_percent=is_percent),
    )


def _look(place: int) -> dict[str, object]:
    colour, dash = _LINES[place % len(_LINES)]
    return {
        "borderColor": colour,
        "backgroundColor": colour,
        "borderDash": dash,
        "borderWidth": 2,
        "pointStyle": _SHAPES[place % len(_SHAPES)],
        "pointRadius": 4,
    }


def _scale(title: str, *, is_percent: bool) -> dict[str, object]:
    scale: dict[str, object] = {"min": 0, "grid": {"color": _GRID}} | _title(title)
    return scale | {"max": 100, "ticks": {"stepSize": 25}} if is_percent else scale


def _title(text: str) -> dict[str, object]:
    return {"title": {"display": True, "text": text}} if text else {}


def _chart(kind: str, data: dict[str, object], **scales: dict[str, object]) -> Chart:
    legend = {"position": "bottom", "labels": {"usePointStyle": True}}
    options = {
        "animation": False,
        "font": {"family": "system-ui"},  # as in admin.css
        "maintainAspectRatio": False,
        "plugins": {"legend": legend},
        "scales": scales,
    }
    return Chart(kind, json.dumps(data), json.dumps(options))


_WIDE, _HIGH, _EDGE = 90, 22, 3


def sparkline(shares: Sequence[float], *, breaks: Collection[int] = ()) -> SafeString | str:
    """Return shares as a small line, the newest last, and in words; one share is not a line.

    `breaks` are places that the line does not lead to, because something else was measured before.
    """
    if len(shares) < 2:  # noqa: PLR2004 - the ends of a line
        return ""
    step = (_WIDE - 2 * _EDGE) / (len(shares) - 1)
    places = [
        (_EDGE + number * step, _HIGH - _EDGE - share * (_HIGH - 2 * _EDGE))
        for number, share in enumerate(shares)
    ]
    return format_html(
        '<svg class="sparkline" width="{}" height="{}" viewBox="0 0 {} {}" aria-hidden="true" fill="none"'
        ' stroke="currentColor" stroke-width="1.5"><path d="{}"/>'
        '<circle cx="{}" cy="{}" r="2.2" fill="currentColor"/></svg>'
        '<span class="sr-only">Last runs: {}</span>',
        *(_WIDE, _HIGH, _WIDE, _HIGH),
        " ".join(
            f"{'M' if not place or place in breaks else 'L'}{x:.1f},{y:.1f}"
            for place, (x, y) in enumerate(places)
        ),
        *(f"{number:.1f}" for number in places[-1]),
        ", ".join(
            f"{percent(share)}{' (other cases)' if place in breaks else ''}"
            for place, share in enumerate(shares)
        ),
    )
