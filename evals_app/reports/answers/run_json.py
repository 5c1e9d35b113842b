"""Runs and executions as JSON: what REST answers and `run_evals --output` writes.

The functions take rows as mappings of columns, so that nothing here knows the database. What is
unknown is null, never 0. `answers` has the keys.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeVar, get_args

from evals_app.engine.verdicts.limits import LIMITS
from evals_app.engine.verdicts.run_summary import RunVerdict
from evals_app.reports.answers.decided import REVIEWED_COLUMNS, reviewed_json, reviewed_run_json
from evals_app.reports.answers.losses import losses_json
from evals_app.reports.answers.run_answers import (
    Budget,
    CaseResultJson,
    CountsJson,
    ExecutionDetails,
    ExecutionRow,
    Gate,
    GradeJson,
    Json,
    JudgeNoise,
    LeftOutJson,
    MessageJson,
    ProgressJson,
    RegradingJson,
    ReviewJson,
    Row,
    RunDetails,
    RunRow,
    ShownFileJson,
    TokenCount,
    Tokens,
    ToolCallJson,
    TurnJson,
    UserSideJson,
    in_json,
)
from evals_app.reports.words.coverage import COVERAGE_COLUMNS, coverage
from evals_app.reports.words.gates import is_applied
from evals_app.reports.words.judges import flags_shown
from evals_app.reports.words.shares import CASE_COUNTS
from evals_app.reports.words.similarity import SIMILARITY_COLUMNS, similarity_json

SCHEMA_VERSION = 1

_Number = TypeVar("_Number", int, Decimal)

TOKEN_COLUMNS = (
    *("agent_prompt_tokens", "agent_response_tokens"),
    *("judge_prompt_tokens", "judge_response_tokens"),
)
# The columns that `run_json` needs.
RUN_COLUMNS = (
    *(
        "id",
        "suite_slug",
        "judge",
        "is_scripted",
        "is_simulated",
        *COVERAGE_COLUMNS,
        *SIMILARITY_COLUMNS,
    ),
    *("status", "verdict", "stop_reason", "score", "concurrency"),
    *("total", "passed", "failed", "errored", "measured", "skipped", "cancelled", "not_run"),
    *(*TOKEN_COLUMNS, "agent_cost_usd", "judge_cost_usd"),
    *("max_cost_usd", "spent_usd", "reserved_usd", "unsettled_usd", "reached_ceiling"),
    *("baseline_id", "suite__baseline_id", "reviewed", "group"),
    *("created_at", "started_at", "finished_at"),
)
RUN_SUMMARY = "summary"
DETAIL_COLUMNS = (*RUN_COLUMNS, RUN_SUMMARY, "losses", "regrading")  # of `run_details_json`
AT_LEAST = "at_least"  # in it: the known part of sums that are not fully known, by name
RUBRIC_ITEMS = "rubric_items"  # in it: bullets of rubrics met, missed, undecided; None without any
RUBRIC_BULLETS = "rubric_bullets"  # in it: the same for each bullet, with its text
JUDGE_NOISE = "judge_noise"  # in it: how steady each judged check is; None unless graded repeatedly
CASES_DIGEST = "cases_digest"  # in it: of the names and contents of its cases; older runs lack it
_OF_SUMMARY = (
    *("pass_rate", "pass_rate_interval", *CASE_COUNTS),
    *("median_ms", "p95_ms", "notes", AT_LEAST),
)

CASE_COLUMNS = (
    *("name", "verdict", "trials", "passed", "failed", "errored", "measured", "skipped"),
    "pass_rate",
    *("score", "deviation", "interval_low", "interval_high", "pass_at_k", "pass_hat_k"),
    *("digest", "checks", "turn_ms", "cost_usd"),
)

EXECUTION_COLUMNS = (
    *("id", "run_id", "source_id", "case", "position", "trial"),
    *("status", "verdict", "cause", "reason"),
    *("score", "summary", "is_scripted", "attempts", "started_at", "finished_at"),
    *(*TOKEN_COLUMNS, "agent_cost_usd", "judge_cost_usd", "time_ms"),
    *REVIEWED_COLUMNS,
)
REVIEW_COLUMNS = (
    *("id", "execution_id", "kind", "grade_id", "item", "passed", "score", "reason"),
    *("judged_passed", "judged_score", "was_blind", "is_label", "carried_from_id"),
    *("by_name", "created_at", "withdrawn_at", "withdrawn_by__username"),
)
_OF_TRIAL = (
    "messages",
    "tool_calls",
    "turns",
    "user_side",
    "world_changes",
    "trace_id",
    "warnings",
)
# The columns that `execution_json` needs too, to show limits with measured values.
MEASURED_COLUMNS = ("tool_calls",)

IS_COMPARED = "is_compared"  # whether people graded answers that its judge graded
REUSED = "is_reused"  # whether the first answer of its judge was, as text; null without one
GRADE_COLUMNS = (
    *("id", "execution_id", "type", "label", "turn", "family", "score", "passed", "status"),
    *("weight", "threshold", "cause", "reason", "evidence", "details"),
    *("yardstick__digest", IS_COMPARED, REUSED),
)


def document(run: Row, *, cases: Iterable[Json], executions: Iterable[Json]) -> Json:
    """Return the whole result of a run, as `--output` writes it.

    Iterators stay iterators: `json_pieces` reads them while it writes.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run_details_json(run, cases),
        "executions": executions,
    }


def documents(runs: Iterable[Json], *, rows: Iterable[Row], comparison: Json | None) -> Json:
    """Return the results of several runs; each is a `document` without its version.

    `rows` are the same runs as columns, to be added up; `comparison` is their table.
    """
    parts = ({key: run[key] for key in ("run", "executions")} for run in runs)
    return {
        "schema_version": SCHEMA_VERSION,
        "total": total_json(list(rows)),
        "comparison": comparison,
        "runs": parts,
    }


def total_json(runs: Sequence[Row]) -> Json:
    """Return the sums over several runs; a value that is unknown for one of them is null."""
    answers = [run_json(run) for run in runs]
    written = [run for run in runs if not run["is_simulated"]]
    counted = written or runs
    return {
        "runs": len(runs),
        "simulated_left_out": len(runs) - len(counted),
        "verdict": verdict_of_all([run["verdict"] for run in runs]),
        "verdicts": {
            verdict: sum(run["verdict"] == verdict for run in runs)
            for verdict in get_args(RunVerdict)
        },
        "counts": {name: sum(run[name] for run in counted) for name in CountsJson.KEYS},
        "tokens": {
            side: {
                kind: _sum(_tokens_of(run, side)[kind] for run in answers)
                for kind in TokenCount.KEYS
            }
            for side in Tokens.KEYS
        },
        **_costs(*(_sum(_cost_of(run, side) for run in runs) for side in Tokens.KEYS)),
    }


def _tokens_of(answer: Json, side: str) -> Json:
    """Return the tokens of a side of a run; those of an agent that was not asked again count there."""
    was_asked = side == "judge" or answer["grades_of"] is None
    tokens: Json = answer["tokens"][side]
    return tokens if was_asked else dict.fromkeys(tokens, 0)


def _cost_of(run: Row, side: str) -> Decimal | None:
    """Return what a side of a run cost; an agent that was not asked again cost nothing more."""
    if side == "agent" and run["grades_of_id"] is not None:
        return Decimal(0)
    cost: Decimal | None = run[f"{side}_cost_usd"]
    return cost


def verdict_of_all(verdicts: Collection[str]) -> str:
    """Return the verdict of runs together: failed if one failed, passed if all passed.

    Runs that only measured leave it to the others.
    """
    if "failed" in verdicts:
        return "failed"
    left = set(verdicts) - {"measured"}
    if not left and verdicts:
        return "measured"
    return "passed" if left == {"passed"} else "inconclusive"


def _sum(values: Iterable[_Number | None]) -> _Number | None:
    """Add up; None if one of them is unknown."""
    known = list(values)
    return None if None in known else sum(known)  # type: ignore[arg-type, return-value]  # no None


def json_pieces(value: object, *, indent: str = "") -> Iterator[str]:
    """Write JSON piece by piece, an iterator as a list.

    Together the pieces are the same as `json.dumps` with an indent of 2.
    """
    inner = indent + "  "
    if isinstance(value, Iterator):
        opening, closing = "[", "]"
        parts = (("", item) for item in value)
    elif isinstance(value, Mapping) and _is_large(value):
        opening, closing = "{", "}"
        parts = ((f"{json.dumps(key, ensure_ascii=False)}: ", value[key]) for key in value)
    else:
        text = json.dumps(value, ensure_ascii=False, indent=2)
        yield text.replace("\n", "\n" + indent)  # in a text there is no line break
        return
    before = opening
    for name, item in parts:
        yield f"{before}\n{inner}{name}"
        yield from json_pieces(item, indent=inner)
        before = ","
    yield f"\n{indent}{closing}" if before == "," else opening + closing


def _is_large(value: Row) -> bool:
    return any(
        isinstance(item, Iterator) or (isinstance(item, Mapping) and _is_large(item))
        for item in value.values()
    )


def run_json(run: Row) -> Json:
    """Return a run as lists show it."""
    return RunRow.of(run, **_of_run(run))


def run_details_json(run: Row, cases: Iterable[Json]) -> Json:
    """Return a run with what is known once it has ended: its cases, gates and so on."""
    summary: Row = run[RUN_SUMMARY]
    gates = summary.get("gates")
    return RunDetails.of(
        run,
        **_of_run(run),
        **{key: summary.get(key) for key in _OF_SUMMARY},
        cases_measured=summary.get("cases_measured", 0 if summary else None),
        pass_at_k=summary.get("pass_at_k") or None,
        pass_hat_k=summary.get("pass_hat_k") or None,
        losses=losses_json(run["losses"]),
        regrading=_regrading(run["regrading"]),
        judge_noise=judge_noise_json(summary),
        cases=cases if summary else None,
        gates=None if gates is None else [_gate(gate) for gate in gates],
    )


def _gate(gate: Row) -> Json:
    counts = {name: gate.get(name) for name in ("graded", "not_graded")}  # older runs lack them
    reason = gate.get("reason") or None
    return Gate.of(gate, reason=reason, is_applied=is_applied(gate), **counts)


def _regrading(stored: Row) -> Json | None:
    if not stored:
        return None
    left_out = {why: LeftOutJson.of(cases) for why, cases in stored["left_out"].items()}
    unused = stored.get("unused_checks", [])  # older runs lack them
    judge = stored["judge"] or None
    return RegradingJson.of(stored, judge=judge, left_out=left_out, unused_checks=unused)


def judge_noise_json(summary: Row) -> list[Json] | None:
    """Return how steady each judged check is, from the summary of a run; the least steady first."""
    checks = summary.get(JUDGE_NOISE)
    if checks is None:
        return None
    answers = [JudgeNoise.of(check, name=check["label"]) for check in checks]
    return sorted(answers, key=lambda check: (-(check["flip_rate"] or 0), check["name"]))


def _of_run(run: Row) -> Json:
    """Return what is not a column of the same name."""
    return {
        **{key: run[key] or None for key in ("model", "judge", "verdict", "stop_reason")},
        "suite": run["suite_slug"],
        "agent": run["agent_slug"],
        "covers": coverage(run) or None,
        "similarity": similarity_json(run),
        "counts": CountsJson.of(run),
        "progress": ProgressJson.of(run, done=run["total"] - run["not_run"]),
        "budget": Budget.of(run, reached_ceiling=run["reached_ceiling"] or None),
        "rerun_of": run["rerun_of_id"],
        "grades_of": run["grades_of_id"],
        "baseline": run["baseline_id"],
        "is_baseline": run["id"] == run["suite__baseline_id"],
        "reviewed": reviewed_run_json(run["reviewed"]),
        **_effort(run, source=run["grades_of_id"]),
    }


def case_json(case: Row, sums: Row) -> Json:
    """Return a case over its trials; `sums` are their tokens by column, None where unknown."""
    low, high = case["interval_low"], case["interval_high"]
    return CaseResultJson.of(
        case,
        verdict=case["verdict"] or None,
        interval=None if low is None else [low, high],
        pass_at_k=case["pass_at_k"] or None,
        pass_hat_k=case["pass_hat_k"] or None,
        tokens=_tokens(sums),
        digest=case["digest"] or None,
        checks=json.loads(case["checks"]) if case["checks"] else None,
    )


def execution_row_json(execution: Row) -> Json:
    """Return an execution as lists show it: without messages, tool calls and grades."""
    return ExecutionRow.of(execution, **_of_execution(execution))


def execution_json(
    execution: Row, *, grades: Sequence[Row], reviews: Sequence[Row], trial: Row | None
) -> Json:
    """Return everything about an execution; `trial` is the stored Trial, None before it ended."""
    return ExecutionDetails.of(
        execution,
        **_of_execution(execution),
        limits=_limits(execution, grades),
        grades=[_grade(grade) for grade in grades] if execution["verdict"] else None,
        reviews=list(map(review_json, reviews)),
        **(dict.fromkeys(_OF_TRIAL) if trial is None else _conversation(trial)),
    )


def _of_execution(execution: Row) -> Json:
    return {
        **{key: execution[key] or None for key in ("verdict", "cause", "reason", "summary")},
        "run": execution["run_id"],
        "reviewed": reviewed_json(execution),
        "source": execution["source_id"],
        **_effort(execution, source=execution["source_id"]),
    }


def _limits(execution: Row, grades: Sequence[Row]) -> Json:
    """Return each limit with the measured value, whether or not it is set."""
    limits: Json = {
        limit.key: {"limit": None, "actual": in_json(execution[limit.column]), "passed": None}
        for limit in LIMITS
    }
    for grade in grades:
        if grade["family"] == "limit" and grade["type"] in limits:
            limit = grade["details"].get("limit")
            limits[grade["type"]] |= {"limit": limit, "passed": grade["passed"]}
    return limits


def _grade(grade: Row) -> Json:
    details: Json = grade["details"]
    flags = flags_shown(details, is_compared=grade[IS_COMPARED])
    return GradeJson.of(
        grade,
        name=grade["label"],
        cause=grade["cause"] or None,
        evidence=[quote | {"speaker": quote.get("speaker") or None} for quote in grade["evidence"]],
        details=details | ({"flags": flags} if "flags" in details else {}),
        yardstick=grade["yardstick__digest"],
        is_reused=None if grade[REUSED] is None else grade[REUSED] == "true",
    )


def review_json(review: Row) -> Json:
    """Return what a person said."""
    return ReviewJson.of(
        review,
        grade=review["grade_id"],
        carried_from=review["carried_from_id"],
        by=review["by_name"],
        withdrawn_by=review["withdrawn_by__username"],
    )


def _conversation(trial: Row) -> Json:
    """Return what happened: messages in order, and the calls that belong to each."""
    messages = [_message(message, turn=None) for message in trial.get("history", ())]
    tool_calls: list[Json] = []
    turns: list[Json] = []
    for number, turn in enumerate(trial.get("turns", ()), 1):
        messages.append(_message({"role": "user", "text": turn["user"]}, turn=number))
        for message in turn["messages"]:
            tool_calls += [
                ToolCallJson.of(call, turn=number, message=len(messages))
                for call in message["tool_calls"]
            ]
            messages.append(_message(message, turn=number))
        turns.append(_turn(number, turn))
    reports_calls = all(turn.get("reports_calls", True) for turn in trial.get("turns", ()))
    return {
        "messages": messages,
        "tool_calls": tool_calls if tool_calls or reports_calls else None,
        "turns": turns,
        "user_side": _user_side(trial),
        "world_changes": trial.get("world_changes", {}),
        "trace_id": trial.get("trace_id"),
        "warnings": list(trial.get("warnings", ())),
    }


def _user_side(trial: Row) -> Json | None:
    """Return which model had a part in the user's side; older transcripts have none."""
    if not trial.get("user_model"):
        return None
    calls = trial.get("user_calls", ())
    cost = _sum(None if (usd := call["cost_usd"]) is None else Decimal(usd) for call in calls)
    return UserSideJson.of(
        model=trial["user_model"],
        stopped=trial.get("user_stopped") or None,
        calls=len(calls),
        cost_usd=in_json(cost) if calls else 0.0,
    )


def _message(message: Row, *, turn: int | None) -> Json:
    reasoning = message.get("reasoning") or None  # older transcripts have none
    return MessageJson.of(
        role=message["role"], content=message["text"], reasoning=reasoning, turn=turn
    )


def _turn(number: int, turn: Row) -> Json:
    cost = turn.get("cost_usd")  # as text in a transcript; older ones have none
    return TurnJson.of(
        turn,
        turn=number,
        cost_usd=None if cost is None else float(cost),
        files=[ShownFileJson.of({"sha256": ""} | file) for file in turn.get("files", ())],
    )


def _effort(row: Row, *, source: int | None) -> Json:
    """Return tokens, costs and duration of a run or an execution.

    What has a `source` grades its conversations again: only judges cost, the agent did so before.
    """
    start, end = row["started_at"], row["finished_at"]
    return {
        "tokens": _tokens(row),
        **_costs(row["agent_cost_usd"], row["judge_cost_usd"]),
        **({} if source is None else {"cost_usd": in_json(row["judge_cost_usd"])}),
        "duration_ms": round((end - start).total_seconds() * 1000, 3) if start and end else None,
    }


def _tokens(row: Row) -> Json:
    return {side: {kind: row[name] for kind, name in of.items()} for side, of in _TOKENS.items()}


_TOKENS = {
    side: {kind: f"{side}_{kind}_tokens" for kind in TokenCount.KEYS} for side in Tokens.KEYS
}


def _costs(agent: Decimal | None, judge: Decimal | None) -> Json:
    """Return the total cost and that of each side; if one is unknown, the total is unknown."""
    total = None if agent is None or judge is None else agent + judge
    return {
        "cost_usd": in_json(total),
        "cost_parts_usd": {"agent": in_json(agent), "judge": in_json(judge)},
    }
