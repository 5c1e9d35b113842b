"""Runs and executions as JSON: what REST answers and `run_evals --output` writes.

The functions take rows as mappings of columns, so that nothing here knows the database. The words
are those of the reference of commands; what is not known is null, never 0.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from evals_app.reports.coverage import COVERAGE_COLUMNS, coverage
from evals_app.reports.judges import with_flags_shown
from evals_app.reports.similarity import SIMILARITY_COLUMNS, similarity_json

SCHEMA_VERSION = 1

Row = Mapping[str, Any]
Json = dict[str, Any]
_Number = TypeVar("_Number", int, Decimal)

# What `run_json` needs of a run; with the summary it is whole.
RUN_COLUMNS = (
    *("id", "suite_slug", "judge", "is_scripted", *COVERAGE_COLUMNS, *SIMILARITY_COLUMNS),
    *("status", "verdict", "stop_reason", "score", "concurrency"),
    *("total", "passed", "failed", "errored", "cancelled", "not_run"),
    *("agent_prompt_tokens", "agent_response_tokens"),
    *("judge_prompt_tokens", "judge_response_tokens", "agent_cost_usd", "judge_cost_usd"),
    *("max_cost_usd", "spent_usd", "reserved_usd", "unsettled_usd"),
    *("created_at", "started_at", "finished_at"),
)
RUN_SUMMARY = "summary"
AT_LEAST = "at_least"  # in it: what is known of sums that are not, by their names

CASE_COLUMNS = (
    *("name", "verdict", "trials", "passed", "failed", "errored", "pass_rate", "score"),
    *("deviation", "interval_low", "interval_high", "pass_at_k", "pass_hat_k"),
)

EXECUTION_COLUMNS = (
    *("id", "run_id", "case", "position", "trial", "status", "verdict", "cause", "reason"),
    *("score", "summary", "is_scripted", "attempts", "started_at", "finished_at"),
    *("cost_usd", "judge_cost_usd", "time_ms", "prompt_tokens", "response_tokens"),
    *("judge_prompt_tokens", "judge_response_tokens"),
)
# And what `execution_json` needs besides, to show limits against what was measured.
MEASURED_COLUMNS = ("tool_calls",)

GRADE_COLUMNS = (
    *("execution_id", "type", "label", "turn", "family", "score", "passed", "status", "weight"),
    *("threshold", "cause", "reason", "evidence", "details"),
)

_COUNTS = ("total", "passed", "failed", "errored", "cancelled", "not_run")
_BUDGET = ("max_cost_usd", "spent_usd", "reserved_usd", "unsettled_usd")
_LIMITS = {
    "max_prompt_tokens": "prompt_tokens",
    "max_response_tokens": "response_tokens",
    "max_time_ms": "time_ms",
    "max_cost_usd": "cost_usd",
    "max_tool_calls": "tool_calls",
}


def document(run: Row, *, cases: Iterable[Json], executions: Iterable[Json]) -> Json:
    """Give the whole result of a run, as `--output` writes it.

    What is given as an iterator stays one: `written` takes it as it comes.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run_json(run) | run_details_json(run[RUN_SUMMARY], cases),
        "executions": executions,
    }


def documents(runs: Iterable[Json], *, rows: Iterable[Row]) -> Json:
    """Return the results of several runs; each is a `document` without its version.

    `rows` are the same runs as columns, to be added up.
    """
    parts = ({key: each[key] for key in ("run", "executions")} for each in runs)
    return {"schema_version": SCHEMA_VERSION, "total": total_json(list(rows)), "runs": parts}


def total_json(runs: Sequence[Row]) -> Json:
    """Return what several runs come to together; what one of them does not know is null."""
    each = [run_json(run) for run in runs]
    return {
        "runs": len(runs),
        "verdict": verdict_of_all([run["verdict"] for run in runs]),
        "verdicts": {
            verdict: sum(run["verdict"] == verdict for run in runs)
            for verdict in ("passed", "failed", "inconclusive")
        },
        "counts": {name: sum(run[name] for run in runs) for name in _COUNTS},
        "tokens": {
            who: {
                kind: _sum(run["tokens"][who][kind] for run in each)
                for kind in ("prompt", "response")
            }
            for who in ("agent", "judge")
        },
        **_costs(
            _sum(run["agent_cost_usd"] for run in runs), _sum(run["judge_cost_usd"] for run in runs)
        ),
    }


def verdict_of_all(verdicts: Collection[str]) -> str:
    """Return the verdict of runs together: failed if one failed, passed if all of them passed."""
    if "failed" in verdicts:
        return "failed"
    return "passed" if set(verdicts) == {"passed"} else "inconclusive"


def _sum(values: Iterable[_Number | None]) -> _Number | None:
    """Add up; None if one of them is unknown."""
    known = list(values)
    return None if None in known else sum(known)  # type: ignore[arg-type, return-value]  # no None


def written(value: Any, *, indent: str = "") -> Iterator[str]:  # noqa: ANN401 - whatever JSON holds
    """Write JSON piece by piece, an iterator as the list of what it gives.

    Together the pieces are what `json.dumps` with an indent of 2 makes of the whole.
    """
    inner = indent + "  "
    if isinstance(value, Iterator):
        opening, closing = "[", "]"
        parts = (("", each) for each in value)
    elif isinstance(value, Mapping) and _is_large(value):
        opening, closing = "{", "}"
        parts = ((f"{json.dumps(key, ensure_ascii=False)}: ", value[key]) for key in value)
    else:
        text = json.dumps(value, ensure_ascii=False, indent=2)
        yield text.replace("\n", "\n" + indent)  # in a text there is no line break
        return
    before = opening
    for name, each in parts:
        yield f"{before}\n{inner}{name}"
        yield from written(each, indent=inner)
        before = ","
    yield opening + closing if before == opening else f"\n{indent}{closing}"


def _is_large(value: Row) -> bool:
    return any(
        isinstance(each, Iterator) or (isinstance(each, Mapping) and _is_large(each))
        for each in value.values()
    )


def run_json(run: Row) -> Json:
    """Give a run as lists show it."""
    return {
        "id": run["id"],
        "suite": run["suite_slug"],
        "agent": run["agent_slug"],
        "model": run["model"] or None,
        "judge": run["judge"] or None,
        "is_scripted": run["is_scripted"],
        "is_tryout": run["is_tryout"],
        "is_whole": run["is_whole"],
        "covers": coverage(run) or None,
        "similarity": similarity_json(run),
        "status": run["status"],
        "verdict": run["verdict"] or None,
        "stop_reason": run["stop_reason"] or None,
        "score": run["score"],
        "counts": {name: run[name] for name in _COUNTS},
        "progress": {"done": run["total"] - run["not_run"], "total": run["total"]},
        "tokens": {"agent": _tokens(run, "agent_"), "judge": _tokens(run, "judge_")},
        **_costs(run["agent_cost_usd"], run["judge_cost_usd"]),
        "budget": {name: _usd(run[name]) for name in _BUDGET},
        "duration_ms": _duration_ms(run),
        "concurrency": run["concurrency"],
        "rerun_of": run["rerun_of_id"],
        "created_at": _time(run["created_at"]),
        "started_at": _time(run["started_at"]),
        "finished_at": _time(run["finished_at"]),
    }


def run_details_json(summary: Row, cases: Iterable[Json]) -> Json:
    """Give what is known once a run has ended: its cases, gates and so on. Before, all are empty."""
    return {
        "pass_rate": summary.get("pass_rate"),
        "median_ms": summary.get("median_ms"),
        "p95_ms": summary.get("p95_ms"),
        "pass_at_k": list(summary.get("pass_at_k", ())),
        "pass_hat_k": list(summary.get("pass_hat_k", ())),
        "cases": cases,
        "gates": [
            gate | {"reason": gate.get("reason") or None} for gate in summary.get("gates", ())
        ],
        "notes": list(summary.get("notes", ())),
        AT_LEAST: summary.get(AT_LEAST, {}),
    }


def case_json(case: Row) -> Json:
    """Give a case over its trials."""
    low, high = case["interval_low"], case["interval_high"]
    return {
        "name": case["name"],
        "verdict": case["verdict"] or None,
        "trials": case["trials"],
        "passed": case["passed"],
        "failed": case["failed"],
        "errored": case["errored"],
        "pass_rate": case["pass_rate"],
        "score": case["score"],
        "deviation": case["deviation"],
        "interval": None if low is None else [low, high],
        "pass_at_k": case["pass_at_k"],
        "pass_hat_k": case["pass_hat_k"],
    }


def execution_row_json(execution: Row) -> Json:
    """Give an execution as lists show it: without messages, tool calls and grades."""
    return {
        "id": execution["id"],
        "run": execution["run_id"],
        "case": execution["case"],
        "trial": execution["trial"],
        "status": execution["status"],
        "verdict": execution["verdict"] or None,
        "cause": execution["cause"] or None,
        "reason": execution["reason"] or None,
        "score": execution["score"],
        "is_scripted": execution["is_scripted"],
        "attempts": execution["attempts"],
        "summary": execution["summary"] or None,
        "duration_ms": _duration_ms(execution),
        "time_ms": execution["time_ms"],
        "tokens": {"agent": _tokens(execution, ""), "judge": _tokens(execution, "judge_")},
        **_costs(execution["cost_usd"], execution["judge_cost_usd"]),
        "started_at": _time(execution["started_at"]),
        "finished_at": _time(execution["finished_at"]),
    }


def execution_json(execution: Row, *, grades: Sequence[Row], trial: Row | None) -> Json:
    """Give everything about an execution; `trial` is the stored Trial, None before it ended."""
    return {
        **execution_row_json(execution),
        "limits": _limits(execution, grades),
        "grades": [_grade(grade) for grade in grades],
        **_conversation(trial or {}),
    }


def _limits(execution: Row, grades: Sequence[Row]) -> Json:
    """Give each limit with what was measured, whether or not it is set."""
    held = {grade["type"]: grade for grade in grades if grade["family"] == "limit"}
    return {
        limit: {
            "limit": held[limit]["details"].get("limit") if limit in held else None,
            "actual": _plain(execution[measured]),
            "passed": held[limit]["passed"] if limit in held else None,
        }
        for limit, measured in _LIMITS.items()
    }


def _grade(grade: Row) -> Json:
    return {
        "type": grade["type"],
        "name": grade["label"],
        "family": grade["family"],
        "turn": grade["turn"],
        "score": grade["score"],
        "passed": grade["passed"],
        "status": grade["status"],
        "cause": grade["cause"] or None,
        "weight": grade["weight"],
        "threshold": grade["threshold"],
        "reason": grade["reason"],
        "evidence": [{"speaker": ""} | each for each in grade["evidence"]],
        "details": with_flags_shown(grade["details"]),
    }


def _conversation(trial: Row) -> Json:
    """Tell what was said and done: messages in order, and the calls that belong to each."""
    messages: list[Json] = [
        {"role": each["role"], "content": each["text"], "turn": None}
        for each in trial.get("history", ())
    ]
    tool_calls: list[Json] = []
    turns: list[Json] = []
    for number, turn in enumerate(trial.get("turns", ()), 1):
        messages.append({"role": "user", "content": turn["user"], "turn": number})
        for message in turn["messages"]:
            tool_calls += [
                {
                    "turn": number,
                    "message": len(messages),
                    "name": call["name"],
                    "args": call["args"],
                    "result": call["result"],
                    "error": call["error"],
                    "duration_ms": call["duration_ms"],
                }
                for call in message["tool_calls"]
            ]
            messages.append({"role": message["role"], "content": message["text"], "turn": number})
        turns.append(_turn(number, turn))
    return {
        "messages": messages,
        "tool_calls": tool_calls,
        "turns": turns,
        "world_changes": trial.get("world_changes", {}),
        "trace_id": trial.get("trace_id"),
        "warnings": list(trial.get("warnings", ())),
    }


def _turn(number: int, turn: Row) -> Json:
    return {
        "turn": number,
        "error": turn["error"],
        "model": turn["model"],
        "latency_ms": turn["latency_ms"],
        "waited_ms": turn["waited_ms"],
        "first_token_ms": turn["first_token_ms"],
        "cost_usd": _usd(turn.get("cost_usd")),
        "attempts": list(turn["attempts"]),
        "notes": list(turn["notes"]),
        "files": list(turn.get("files", ())),
    }


def _tokens(row: Row, of: str) -> Json:
    return {kind: row[f"{of}{kind}_tokens"] for kind in ("prompt", "response")}


def _costs(agent: Decimal | None, judge: Decimal | None) -> Json:
    """Give the cost in all and of each side; one that is unknown makes the sum unknown."""
    total = None if agent is None or judge is None else agent + judge
    return {
        "cost_usd": _usd(total),
        "cost_parts_usd": {"agent": _usd(agent), "judge": _usd(judge)},
    }


def _plain(measured: float | Decimal | None) -> float | None:
    return float(measured) if isinstance(measured, Decimal) else measured


def _usd(amount: Decimal | str | None) -> float | None:
    # A transcript keeps money as text.
    return None if amount is None else float(amount)


def _duration_ms(row: Row) -> float | None:
    started: datetime | None = row["started_at"]
    finished: datetime | None = row["finished_at"]
    if started is None or finished is None:
        return None
    return round((finished - started).total_seconds() * 1000, 3)


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
