"""Writes the gates of a run for people, the same on its page and in reports."""

from collections.abc import Mapping
from typing import Any

from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.words.figures import duration, percent, rise_text, score_text
from evals_app.reports.words.shares import share_text

_WORDS = {True: "met", False: "missed", None: "undecided"}

_SENTENCES = {
    "min_score": "The mean score must be at least {}",
    "min_pass_rate": "At least {} of the cases must pass",
    "max_p95_ms": "95 % of the replies must arrive within {}",
    "max_cost_per_call_usd": "A turn of the agent may cost at most {} on average",
    "max_cost_usd": "Agent and judge together may cost at most {}",
    "max_regressions": "At most {} may have got worse since the released version",
    "max_score_drop": "The mean score may be at most {} below the released version's",
    "max_p95_increase": "95 % of the replies may take at most {} longer than in the released version",
    "max_cost_increase": "A conversation may cost at most {} more than in the released version",
}

# The same after “We may ship if”.
_CONDITIONS = {
    "min_score": "the mean score is at least {}",
    "min_pass_rate": "at least {} of the cases pass",
    "max_p95_ms": "95 % of the replies arrive within {}",
    "max_cost_per_call_usd": "a turn of the agent costs at most {} on average",
    "max_cost_usd": "agent and judge together cost at most {}",
    "max_regressions": "at most {} got worse since the released version",
    "max_score_drop": "the mean score is at most {} below the released version's",
    "max_p95_increase": "95 % of the replies take at most {} longer than in the released version",
    "max_cost_increase": "a conversation costs at most {} more than in the released version",
}

# The same as a person writes it, where more than a number differs.
_TO_WRITE = {
    "max_regressions": "at most {} cases got worse since the released version",
    "min_judge_agreement": "each judge that decides agrees with people in at least {} of the answers",
}

# What more and less of it is.
_RISES = {"max_p95_increase": ("longer", "shorter"), "max_cost_increase": ("more", "less")}


def is_applied(gate: Mapping[str, object]) -> bool:
    """Whether a gate of an answer or a summary counts: there was something to compare with."""
    return bool(gate.get("is_applied", True))  # older runs do not say


def gate_word(gate: Mapping[str, Any]) -> str:
    """Return in a word how a gate of an answer or a summary ended."""
    return _WORDS[gate["passed"]] if is_applied(gate) else "not applied"


def gate_condition(gate: Mapping[str, Any], *, scale: str) -> str:
    """Return what a gate of an answer requires, as it follows “We may ship if”."""
    if gate["name"] == "max_regressions" and gate["limit"] == 0:
        return "no case got worse since the released version"
    return _CONDITIONS[gate["name"]].format(_value_text(gate["name"], gate["limit"], scale))


def gate_to_write(name: str) -> str:
    """Return what a gate requires, as it follows “We may ship if”, with {} for its number.

    Empty if there are no words for it.
    """
    words = _TO_WRITE.get(name) or _CONDITIONS.get(name, "")
    return words.replace("{}", "$ {}") if name.endswith("_usd") else words


def gate_texts(gate: Mapping[str, Any], *, scale: str) -> tuple[str, str]:
    """Return what a gate of an answer requires, as a sentence, and the actual value."""
    name, actual = gate["name"], gate["actual"]
    sentence = _SENTENCES[name].format(_value_text(name, gate["limit"], scale))
    if name == "max_regressions" and gate["limit"] == 0:
        sentence = "No case may have got worse since the released version"
    if actual is None:
        return sentence, "unknown"
    if name == "min_pass_rate" and gate.get("graded"):
        passed = round(actual * gate["graded"])
        return sentence, share_text(passed, gate["graded"], not_graded=gate["not_graded"] or 0)
    if name == "max_score_drop":
        fell = f"{_value_text(name, abs(actual), scale)} {'above' if actual < 0 else 'below'}"
        return sentence, f"{fell}{_coverage_of_value(gate)}"
    if name in _RISES:
        return sentence, f"{_value_text(name, abs(actual), scale)} {_RISES[name][actual < 0]}"
    return sentence, f"{_value_text(name, actual, scale)}{_coverage_of_value(gate)}"


def _value_text(name: str, value: float, scale: str) -> str:
    """Write a value that a gate limits."""
    if name == "min_score":
        return score_text(value, scale=scale)
    if name.endswith("_usd"):
        return usd_text(value)
    if name == "max_regressions":
        return f"{value:,.0f} case{'' if value == 1 else 's'}"
    if name == "max_score_drop":
        return f"{round(4 * value if scale == '1-5' else value, 4):g}"
    if name in _RISES:
        return rise_text(value)
    return percent(value) if name == "min_pass_rate" else duration(value)


def _coverage_of_value(gate: Mapping[str, object]) -> str:
    """Return what a value covers if something is left out."""
    if not gate.get("not_graded"):
        return ""
    return f" ({gate['graded']:,} graded, {gate['not_graded']:,} not graded)"
