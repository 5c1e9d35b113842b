"""The numbers of an execution, and how those of two executions differ."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evals_app.admin.kit.presentation import costs, tokens
from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.record.trial import Trial
from evals_app.engine.record.usage import total_cost
from evals_app.models import Execution
from evals_app.reports.words.figures import UNKNOWN, count, duration, score_text

# Without a judge the cost is the agent's.
JUDGE_NUMBERS = frozenset({"Judge tokens", "Judge cost", "Agent cost"})
UNKNOWNS = frozenset({UNKNOWN, "unknown"})
NOTHING = frozenset({"$0", "0 prompt + 0 response"})

_MINUS = "\u2212"  # as wide as a plus


def execution_numbers(
    execution: Execution, trial: Trial | None, *, scale: str
) -> list[tuple[str, str]]:
    """Return each number with its label."""
    usages = [turn.usage for turn in trial.turns] if trial else []
    return [
        ("Score", score_text(execution.score, scale=scale)),
        ("Agent time", duration(execution.time_ms)),
        (
            "Prompt tokens",
            _known_sum(execution.agent_prompt_tokens, [u.prompt_tokens for u in usages]),
        ),
        (
            "Response tokens",
            _known_sum(execution.agent_response_tokens, [u.response_tokens for u in usages]),
        ),
        ("Tool calls", count(execution.tool_calls)),
        (
            "Judge tokens",
            tokens(execution.judge_prompt_tokens, execution.judge_response_tokens),
        ),
        *costs(execution.agent_cost_usd, execution.judge_cost_usd),
    ]


def _known_sum(total: int | None, parts: Sequence[int | None]) -> str:
    """Write a sum, or the known part of it."""
    least = sum(part or 0 for part in parts)
    return f"at least {count(least)}" if total is None and least else count(total)


def number_differences(
    base: Execution | None, head: Execution | None, *, scale: str
) -> Mapping[str, str]:
    """Return how each number changed, by its label; numbers unknown on one side are left out."""
    if base is None or head is None:
        return {}
    before, after = _measurements(base), _measurements(head)
    written: dict[str, Callable[[Any], str]] = {
        "Score": lambda size: score_size(size, scale=scale),
        "Agent time": duration,
        **dict.fromkeys(("Agent cost", "Judge cost", "Cost"), usd_text),
    }
    return {
        label: with_sign(after[label] - value, written.get(label, count))
        for label, value in before.items()
        if value is not None and after[label] is not None
    }


def _measurements(execution: Execution) -> dict[str, Any]:
    agent, judge = execution.agent_cost_usd, execution.judge_cost_usd
    return {
        "Score": execution.score,
        "Agent time": execution.time_ms,
        "Prompt tokens": execution.agent_prompt_tokens,
        "Response tokens": execution.agent_response_tokens,
        "Tool calls": execution.tool_calls,
        "Agent cost": agent,
        "Judge cost": judge,
        "Cost": total_cost([agent, judge]),
    }


def score_size(size: float | None, *, scale: str) -> str:
    """Write the size of a difference of scores in 0..1 on the suite's scale."""
    if size is None:
        return UNKNOWN
    return f"{4 * size:.1f}" if scale == "1-5" else f"{size:.2f}"


def with_sign(difference: Any, written: Callable[[Any], str]) -> str:
    """Write a difference with its sign."""
    if not difference:
        return "no difference"
    return f"{'+' if difference > 0 else _MINUS}{written(abs(difference))}"
