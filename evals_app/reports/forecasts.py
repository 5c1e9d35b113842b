"""A forecast as a few sentences for people, and as JSON for other tools."""

from decimal import Decimal
from typing import Any

from evals_app.engine.forecast import Forecast
from evals_app.engine.llm.pricing import usd_text

_EXACT = 100  # above it two digits say enough
_LONGEST_IN_SMALLER_UNIT = 90  # seconds, then minutes


def in_words(found: Forecast, *, max_cost_usd: Decimal | None = None) -> str:
    """Say what a run would take, and whether it may reach the most it may cost."""
    if not found.conversations:
        return "No conversation: no case fits."
    sentences = [f"Runs {_counted(found.conversations, 'conversation')}.", _likely(found)]
    if found.unpriced:
        named = " and ".join(found.unpriced)
        sentences.append(f"What that costs is unknown: there is no price for {named}.")
    if found.embedder:
        sentences.append(f"Comparing texts with {found.embedder} costs a little more.")
    if max_cost_usd is not None and found.cost_usd and found.cost_usd[1] > max_cost_usd:
        will = "will probably" if found.cost_usd[0] > max_cost_usd else "may"
        sentences.append(f"It {will} stop before the end, at {usd_text(max_cost_usd)}.")
    return " ".join(sentences)


def basis(found: Forecast) -> str:
    """Say what a forecast is drawn from."""
    if not found.earlier_runs:
        return "from the text of the cases; a guess"
    who = "script" if found.is_scripted else "agent" if found.is_outside else "model"
    text = f"from {_counted(found.earlier_runs, 'earlier run')} of this suite with this {who}"
    return (
        f"{text}, {_counted(found.new_cases, 'case')} without a result yet"
        if found.new_cases
        else text
    )


def forecast_json(found: Forecast) -> dict[str, Any]:
    """Give it with the names of REST."""
    low_s, high_s = found.duration_s or (None, None)
    agent = {"prompt": found.agent_prompt_tokens, "response": found.agent_response_tokens}
    judge = {"prompt": found.judge_prompt_tokens, "response": found.judge_response_tokens}
    low_usd, high_usd = found.cost_usd or (None, None)
    return {
        "conversations": found.conversations,
        "calls": {"agent": found.agent_calls, "judge": found.judge_calls},
        "tokens": {"agent": agent, "judge": judge},
        "cost_usd": {
            "low": None if low_usd is None else float(low_usd),
            "high": None if high_usd is None else float(high_usd),
        },
        "unpriced": list(found.unpriced),
        "duration_ms": {
            "low": None if low_s is None else round(low_s * 1000),
            "high": None if high_s is None else round(high_s * 1000),
        },
        "earlier_runs": found.earlier_runs,
        "basis": basis(found),
    }


def _likely(found: Forecast) -> str:
    calls = found.agent_calls + found.judge_calls
    time = _times(*found.duration_s) if found.duration_s else ""
    if not time and not calls:
        return "How long it takes and what it costs depends on the agent; a first run will show."
    if found.is_outside and not calls:
        return f"Takes {time}; what the agent itself pays is not known ({basis(found)})."
    if not calls:
        free = (
            "No chat model is called" if found.embedder else "No model is called, nothing is paid"
        )
        return f"{free}; takes {time} ({basis(found)})."
    tokens = (
        found.agent_prompt_tokens
        + found.agent_response_tokens
        + found.judge_prompt_tokens
        + found.judge_response_tokens
    )
    said = f"About {_rounded(calls)} model call{'' if calls == 1 else 's'}"
    if found.agent_calls and found.judge_calls:
        said += f", {_rounded(found.judge_calls)} of them by the judge"
    cost = f", {_costs(*found.cost_usd)}" if found.cost_usd else ""
    lasts = time or "for as long as the agent takes"
    return f"{said}, {_rounded(tokens)} tokens{cost}, {lasts} ({basis(found)})."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _rounded(count: int) -> str:
    """Give two significant digits of a number that is only likely."""
    return f"{round(count, 2 - len(str(count))) if count > _EXACT else count:,}"


def _costs(low: Decimal, high: Decimal) -> str:
    first, last = usd_text(low), usd_text(high)
    return f"about {last}" if first == last else f"{first} to {last}"


def _times(low_s: float, high_s: float) -> str:
    (low, unit), (high, high_unit) = _time(low_s), _time(high_s)
    if high == "0":
        return "less than a second"
    if low == "0":
        return f"up to {high} {_plural(high, high_unit)}"
    if unit != high_unit:
        return f"{low} {_plural(low, unit)} to {high} {_plural(high, high_unit)}"
    many = _plural(high, unit)
    return f"about {high} {many}" if low == high else f"{low} to {high} {many}"


def _time(seconds: float) -> tuple[str, str]:
    """Give a whole number, of hours with one decimal, and its unit."""
    if round(seconds) < _LONGEST_IN_SMALLER_UNIT:
        return f"{seconds:.0f}", "second"
    if round(seconds / 60) < _LONGEST_IN_SMALLER_UNIT:
        return f"{seconds / 60:.0f}", "minute"
    return f"{seconds / 3600:.1f}".removesuffix(".0"), "hour"


def _plural(number: str, unit: str) -> str:
    return unit if number == "1" else f"{unit}s"
