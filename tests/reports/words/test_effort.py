"""Speed and cost in words."""

import pytest

from evals_app.engine.statistics.effort import EffortChange, FigureChange
from evals_app.reports.words.effort import effort_in_full, effort_in_short

SLOWER = FigureChange(2_100.0, 6_720.0, 40, (2.9, 3.5))


@pytest.mark.parametrize(
    ("change", "short", "full"),
    [
        pytest.param(EffortChange(), "", "", id="unknown"),
        pytest.param(
            EffortChange(p95_ms=SLOWER, median_ms=SLOWER),
            "Replies take 3.2 times as long.",
            "95 of 100 replies took at most 6.7 s, before 2.1 s (the same 40 cases; 95 %"
            " interval: 2.9 to 3.5 times).",
            id="slower",
        ),
        pytest.param(
            EffortChange(FigureChange(1_000.0, 800.0, 40, (0.7, 0.9))),
            "Replies take 20 % less time.",
            "Half of the replies took at most 800 ms, before 1.0 s (the same 40 cases; 95 %"
            " interval: 0.70 to 0.90 times).",
            id="half of them faster",
        ),
        pytest.param(
            EffortChange(p95_ms=FigureChange(1_000.0, 1_100.0, 40, (0.9, 1.3))), "", "", id="chance"
        ),
        pytest.param(
            EffortChange(p95_ms=FigureChange(0.5, 1.5, 40, (2.9, 3.1))), "", "", id="1 ms"
        ),
        pytest.param(
            EffortChange(
                p95_ms=FigureChange(20.0, 2_000.0, 1), cost_usd=FigureChange(0.0005, 0.009, 1)
            ),
            "Replies take 100 times as long. Conversations cost 18 times as much.",
            "95 of 100 replies took at most 2.0 s, before 20 ms (the same 1 case; too few to rule out"
            " chance). A conversation cost $0.009, before $0.0005 (the same 1 case; too few to rule"
            " out chance).",
            id="one case, 100 times slower",
        ),
        pytest.param(
            EffortChange(p95_ms=FigureChange(1_000.0, 1_300.0, 3)), "", "", id="three cases, a bit"
        ),
    ],
)
def test_only_what_chance_does_not_explain_is_said(
    change: EffortChange, short: str, full: str
) -> None:
    plain = effort_in_full(change).replace("\u00a0", " ")

    assert (effort_in_short(change).replace("\u00a0", " "), plain) == (short, full)
