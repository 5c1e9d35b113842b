"""Writes the gates of a run for people, the same on its page and in reports."""

from collections.abc import Mapping
from typing import Any

from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.figures import duration, percent, score_text

_SENTENCES = {
    "min_score": "The mean score must be at least {}",
    "min_pass_rate": "At least {} of the cases must pass",
    "max_p95_ms": "95 % of the replies must arrive within {}",
    "max_cost_per_call_usd": "A turn of the agent may cost at most {} on average",
    "max_cost_usd": "Agent and judge together may cost at most {}",
}


def gate_texts(gate: Mapping[str, Any], *, scale: str) -> tuple[str, str]:
    """Return what a gate of an answer requires, as a sentence, and the actual value."""
    name = gate["name"]

    def written(value: float) -> str:
        if name == "min_score":
            return score_text(value, scale=scale)
        if name.endswith("_usd"):
            return usd_text(value)
        return percent(value) if name == "min_pass_rate" else duration(value)

    actual = gate["actual"]
    sentence = _SENTENCES[name].format(written(gate["limit"]))
    return sentence, "unknown" if actual is None else written(actual)
