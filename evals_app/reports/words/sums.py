"""Tokens and costs of a run, in words: all of them, or how many at least."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from evals_app.engine.llm.pricing import usd_text


def sums(
    totals: Mapping[str, Any], at_least: Mapping[str, float], *, asked: str = ""
) -> list[tuple[str, str]]:
    """Return the tokens and costs of agent and judge.

    Both are by the names of a run's columns: its totals, and what is known of those that are None.
    `asked` says where the agent was asked, if not in this run, which then costs what its judges cost.
    """
    agent, judge = totals["agent_cost_usd"], totals["judge_cost_usd"]
    known = [
        float(_total_or_minimum(totals, at_least, f"{who}_cost_usd") or 0)
        for who in ("agent", "judge")
    ]
    total = _usd(None if agent is None or judge is None else agent + judge, sum(known))
    return [
        (of_agent("Agent tokens", asked), _tokens(totals, at_least, "agent")),
        ("Judge tokens", _tokens(totals, at_least, "judge")),
        (of_agent("Agent cost", asked), _usd(agent, known[0])),
        ("Judge cost", _usd(judge, known[1])),
        ("Cost", total if not asked else _usd(judge, known[1])),
    ]


def of_agent(label: str, asked: str) -> str:
    """Return the label of what an agent took, which may have been asked elsewhere: `in run 12`."""
    return f"{label} {asked}" if asked else label


def run_sums(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the same for a run as REST returns it."""
    tokens = {
        f"{who}_{kind}_tokens": run["tokens"][who][kind]
        for who in ("agent", "judge")
        for kind in ("prompt", "response")
    }
    costs = {f"{who}_cost_usd": cost for who, cost in run["cost_parts_usd"].items()}
    return sums(tokens | costs, run["at_least"] or {}, asked=in_run(run["grades_of"]))


def in_run(number: int | None) -> str:
    """Return which run asked the agent, if this one grades that again."""
    return "" if number is None else f"in run {number}"


def _total_or_minimum(
    totals: Mapping[str, Any], at_least: Mapping[str, float], name: str
) -> float | Decimal | None:
    return at_least.get(name) if totals[name] is None else totals[name]


def _tokens(totals: Mapping[str, Any], at_least: Mapping[str, float], who: str) -> str:
    kinds = {kind: f"{who}_{kind}_tokens" for kind in ("prompt", "response")}
    if all(_total_or_minimum(totals, at_least, name) is None for name in kinds.values()):
        return "unknown"
    return " + ".join(
        f"{_count(totals[name], at_least.get(name))} {kind}" for kind, name in kinds.items()
    )


def _count(exact: int | None, least: float | None) -> str:
    if exact is not None:
        return f"{exact:,}"
    return f"at least {least:,.0f}" if least else "unknown"


def _usd(exact: float | Decimal | None, least: float) -> str:
    return f"at least {usd_text(least)}" if exact is None and least else usd_text(exact)
