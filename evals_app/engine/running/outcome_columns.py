"""Outcomes of the engine as the columns of results: stored by sites, and read by reports."""

from dataclasses import asdict
from typing import Any

from evals_app.engine.record.grade import GradedAssertion
from evals_app.engine.running.run_gateway import Outcome
from evals_app.engine.verdicts.case_summary import turn_times


def execution_columns(outcome: Outcome) -> dict[str, Any]:
    """Return what is known of a conversation that has ended; what is unknown is None."""
    trial, decision, judge = outcome.trial, outcome.decision, outcome.judge_usage
    return {
        "verdict": decision.verdict.value if decision else "",
        "cause": decision.cause.value if decision and decision.cause else "",
        "reason": decision.reason if decision else "",
        "score": decision.score if decision else None,
        "is_scripted": outcome.is_scripted,
        "agent_prompt_tokens": trial.usage.prompt_tokens,
        "agent_response_tokens": trial.usage.response_tokens,
        "judge_prompt_tokens": judge.prompt_tokens,
        "judge_response_tokens": judge.response_tokens,
        "agent_cost_usd": trial.cost_usd,
        "judge_cost_usd": outcome.judge_cost_usd,
        "time_ms": trial.time_ms,
        "tool_calls": len(trial.tool_calls) if trial.reports_calls else None,
        "turn_ms": turn_times(trial),
        "summary": dict(outcome.summary),
    }


def grade_columns(graded: GradedAssertion) -> dict[str, Any]:
    """Return what is known of a check that was graded, without its criterion."""
    grade = graded.grade
    return {
        "turn": graded.turn,
        "position": graded.position,
        "family": graded.family,
        "type": graded.type,
        "label": graded.label,
        "weight": graded.weight,
        "threshold": graded.threshold,
        "score": grade.score,
        "passed": grade.passed,
        "status": grade.status.value,
        "cause": grade.cause.value if grade.cause else "",
        "reason": grade.reason,
        "evidence": [asdict(quote) for quote in grade.evidence],
        "details": grade.details,
        "calls": [call.to_json() for call in grade.calls],
        "question": graded.question,
    }
