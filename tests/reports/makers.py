"""Results of runs as reports receive them, written the short way."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evals_app.reports.renderers.results import Results

NO_TOKENS = {"agent": {"prompt": 0, "response": 0}, "judge": {"prompt": 0, "response": 0}}


def a_run(**changes: Any) -> dict[str, Any]:
    """Return a run of two cases, one of which failed."""
    counts = {
        "total": 2,
        "passed": 1,
        "failed": 1,
        "errored": 0,
        "measured": 0,
        "skipped": 0,
        "cancelled": 0,
        "not_run": 0,
    }
    return {
        "id": 7,
        "suite": "refunds",
        "suite_name": "Refunds",
        "agent": "shop",
        "agent_name": "Shop agent",
        "model": None,
        "judge": None,
        "is_scripted": False,
        "is_simulated": False,
        "status": "finished",
        "verdict": "failed",
        "stop_reason": None,
        "score": 0.5,
        "score_scale": "0-1",
        "covers": None,
        "grades_of": None,
        "losses": None,
        "regrading": None,
        "judge_noise": None,
        "stand_in_note": "",
        "counts": counts,
        "pass_rate": 0.5,
        "pass_rate_interval": [0.095, 0.905],
        "cases_passed": 1,
        "cases_failed": 1,
        "cases_measured": 0,
        "cases_not_graded": 0,
        "median_ms": 850.0,
        "p95_ms": 3100.0,
        "gates": [],
        "notes": [],
        "reviewed": None,
        "at_least": {},
        "tokens": {
            "agent": {"prompt": 1200, "response": None},
            "judge": {"prompt": 0, "response": 0},
        },
        "cost_usd": None,
        "cost_parts_usd": {"agent": 0.0123, "judge": None},
        "budget": {"max_cost_usd": None, "spent_usd": 0.02, "reached_ceiling": None},
        "started_at": None,
        "finished_at": None,
        "duration_ms": 90_000.0,
        "snapshot": "abcdef0123456789",
        "url": "",
        "source": "",
    } | changes


def an_execution(**changes: Any) -> dict[str, Any]:
    """Return an execution that failed, as lists show it."""
    return {
        "id": 3,
        "run": 7,
        "case": "Angry customer",
        "trial": 1,
        "status": "finished",
        "verdict": "failed",
        "cause": "assertion",
        "reason": "It does not say “refund”.",
        "score": 0.25,
        "reviewed": None,
        "is_scripted": False,
        "duration_ms": 198_800.0,
        "time_ms": 850.0,
        "tokens": NO_TOKENS,
        "cost_usd": 0.002,
        "cost_parts_usd": {"agent": 0.002, "judge": 0.0},
        "started_at": "2026-05-01T09:30:00+00:00",
        "finished_at": "2026-05-01T09:33:18+00:00",
        "url": "",
    } | changes


def passed(**changes: Any) -> dict[str, Any]:
    """Return an execution that passed."""
    return an_execution(**{"verdict": "passed", "cause": None, "reason": None} | changes)


def a_case(**changes: Any) -> dict[str, Any]:
    """Return a case that failed."""
    return {
        "name": "Angry customer",
        "verdict": "failed",
        "trials": 1,
        "passed": 0,
        "failed": 1,
        "errored": 0,
        "measured": 0,
        "skipped": 0,
        "pass_rate": 0.0,
        "interval": [0.0, 0.79],
        "score": 0.25,
        "tokens": NO_TOKENS,
    } | changes


def a_grade(**changes: Any) -> dict[str, Any]:
    """Return a check that failed."""
    return {
        "type": "contains",
        "name": "Reply contains “refund”",
        "family": "text",
        "turn": 1,
        "score": 0.0,
        "passed": False,
        "status": "ok",
        "cause": "assertion",
        "weight": 1.0,
        "threshold": None,
        "reason": "The reply does not contain “refund”.",
        "evidence": [],
        "details": {},
    } | changes


def details(execution: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return an execution with its conversation: a question, a tool call and a reply."""
    call = {"turn": 1, "message": 1, "name": "order.get", "args": {"id": 7}, "result": {"paid": 1}}
    return (
        execution
        | {
            "grades": [a_grade()],
            "messages": [
                {"role": "user", "content": "Where is it?", "reasoning": None, "turn": 1},
                {"role": "assistant", "content": "", "reasoning": None, "turn": 1},
                {"role": "assistant", "content": "On its way.", "reasoning": "Sent?", "turn": 1},
            ],
            "tool_calls": [call | {"error": None, "duration_ms": 3.0}],
            "turns": [{"turn": 1, "error": None}],
            "world_changes": {},
            "warnings": [],
        }
        | changes
    )


def results(
    run: dict[str, Any] | None = None,
    executions: Sequence[dict[str, Any]] = (),
    *,
    cases: Sequence[dict[str, Any]] = (),
    lines: Mapping[str, int] = MappingProxyType({}),
    **changes: Any,
) -> Results:
    """Return the results of a run; `changes` are those of every conversation."""

    def read(ids: Sequence[int]) -> Iterable[dict[str, Any]]:
        return (details(row, **changes) for row in executions if row["id"] in ids)

    return Results(run or a_run(), cases, executions, read, lines)
