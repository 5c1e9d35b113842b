"""A run as Markdown: for a pull request, a chat, or a folder of results.

Text of agents and people is escaped: it can neither break a table nor become markup.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.figures import UNKNOWN, duration, percent, score_text
from evals_app.reports.gates import gate_texts
from evals_app.reports.judges import has_script
from evals_app.reports.run_json import AT_LEAST
from evals_app.reports.sums import sums

MOST_REASON = 500

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
_WORDS = {
    "passed": "✅ passed",
    "failed": "❌ failed",
    "errored": "⚠️ errored",
    "inconclusive": "❔ inconclusive",
    "cancelled": "🚫 cancelled",
    "not_run": "… not run",
    "queued": "… queued",
    "running": "… running",
}
_STOPPED = {
    "cancelled": "cancelled by a person",
    "deadline": "time limit reached",
    "budget": "cost limit reached",
}


def run_markdown(run: Mapping[str, Any], executions: Sequence[Mapping[str, Any]]) -> str:
    """Return a run and its executions as one Markdown document.

    Both have the keys of the JSON report. A run may also have `score_scale`, on which its scores
    are shown, `stand_in_note`, `snapshot` and `url`; an execution may also have `url`.
    """
    scale = run.get("score_scale", "0-1")
    is_over = run["verdict"] is not None
    executions = [dict(row, state=_state(row, is_over=is_over)) for row in executions]
    parts = [
        f"# {escaped(run['suite'])}: run {run['id']}",
        *_outcome(run),
        _table(("", ""), _facts(run, scale=scale)),
        *_gates(run.get("gates") or [], scale=scale),
        *_went_wrong(executions),
        *_cases(run.get("cases") or [], scale=scale),
        *_executions(executions, scale=scale),
    ]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Return a text for one line of Markdown, without markup, links or line breaks."""
    line = " ".join(text.split())
    # Addresses would become links.
    return re.sub(r"(?i)\b(https?|www)(?=[:.])", "\\1\u200b", _MARKUP.sub(r"\\\1", line))


def _outcome(run: Mapping[str, Any]) -> list[str]:
    counts = run["counts"]
    verdict = _WORDS[run["verdict"] or run["status"]]
    kinds = ("passed", "failed", "errored", "cancelled", "not_run")
    numbers = ", ".join(f"{counts[kind]:,} {kind.replace('_', ' ')}" for kind in kinds)
    lines = [f"**{verdict}**: {numbers}; {counts['total']:,} in total."]
    if run.get("is_scripted"):
        lines.append(
            "> Scripted: the agent follows a script. The verdict tests the checks, not an agent."
        )
    elif has_script(run["judge"] or ""):
        lines.append("> A judge follows a script: its verdicts mean nothing about the agent.")
    lines += [f"> {escaped(note)}" for note in run.get("notes") or []]
    if run.get("covers"):
        lines.append(f"> Not the whole suite: {escaped(run['covers'])}.")
    if run.get("stand_in_note"):
        lines.append(f"> {escaped(run['stand_in_note'])}")
    if run["stop_reason"] and counts["cancelled"] + counts["not_run"]:
        lines.append(f"> Stopped early: {_STOPPED[run['stop_reason']]}.")
    return lines


def _facts(run: Mapping[str, Any], *, scale: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("Agent", escaped(run["agent"])),
        ("Model", escaped(run.get("model") or UNKNOWN)),
        ("Judge", escaped(run.get("judge") or UNKNOWN)),
        ("Score", score_text(run["score"], scale=scale)),
        ("Cases passed", percent(run.get("pass_rate"))),
        ("Latency of a turn, median", duration(run.get("median_ms"))),
        ("Latency of a turn, p95", duration(run.get("p95_ms"))),
        *sums(_totals(run), run.get(AT_LEAST) or {}),
        ("Started", run.get("started_at") or UNKNOWN),
        ("Duration", duration(run["duration_ms"])),
        ("Snapshot", f"`{run['snapshot'][:12]}`" if run.get("snapshot") else UNKNOWN),
    ]
    if run["budget"]["max_cost_usd"] is not None:
        limit = usd_text(run["budget"]["max_cost_usd"])
        rows.append(("Spent", f"{usd_text(run['budget']['spent_usd'])} of at most {limit}"))
    if run.get("url"):
        rows.append(("Page", f"<{run['url']}>"))
    return rows


def _totals(run: Mapping[str, Any]) -> dict[str, Any]:
    tokens = {
        f"{who}_{kind}_tokens": run["tokens"][who][kind]
        for who in ("agent", "judge")
        for kind in ("prompt", "response")
    }
    return tokens | {f"{who}_cost_usd": cost for who, cost in run["cost_parts_usd"].items()}


def _gates(gates: Sequence[Mapping[str, Any]], *, scale: str) -> list[str]:
    rows = []
    for gate in gates:
        word = {True: "✅ passed", False: "❌ missed", None: "❔ unknown"}[gate["passed"]]
        if gate.get("reason"):
            word = f"{word}. {escaped(gate['reason'])}"
        rows.append((*gate_texts(gate, scale=scale), word))
    return _section("Gates", ("Gate", "Actual", ""), rows)


def _went_wrong(executions: Sequence[Mapping[str, Any]]) -> list[str]:
    by_cause: dict[str, list[Mapping[str, Any]]] = {}
    for execution in executions:
        if execution["cause"]:
            by_cause.setdefault(execution["cause"], []).append(execution)
    parts = ["## Failures and errors"] if by_cause else []
    # Failures first: they concern the agent.
    for cause, rows in sorted(by_cause.items(), key=lambda item: item[1][0]["state"] == "errored"):
        lines = [f"- {_link(row)}: {_reason(row['reason'] or '')}" for row in rows]
        heading = f"### {_WORDS[rows[0]['state']]}, cause {cause} ({len(rows):,})"
        parts += [heading, "\n".join(lines)]
    return parts


def _cases(cases: Sequence[Mapping[str, Any]], *, scale: str) -> list[str]:
    rows = [
        (
            escaped(case["name"]),
            _WORDS[case["verdict"] or "not_run"],
            percent(case["pass_rate"]),
            score_text(case["score"], scale=scale),
        )
        for case in cases
    ]
    return _section("Cases", ("Case", "Verdict", "Pass rate", "Score"), rows)


def _executions(executions: Sequence[Mapping[str, Any]], *, scale: str) -> list[str]:
    rows = [
        (
            _link(row),
            str(row["trial"]),
            _WORDS[row["state"]],
            score_text(row["score"], scale=scale),
            duration(row["time_ms"]),
            usd_text(row["cost_usd"]) if row["verdict"] else UNKNOWN,
        )
        for row in executions
    ]
    head = ("Case", "Trial", "Verdict", "Score", "Agent's time", "Cost")
    return _section("Executions", head, rows)


def _state(execution: Mapping[str, Any], *, is_over: bool) -> str:
    if execution["verdict"]:
        return str(execution["verdict"])
    # What is still queued when the run has ended did not run.
    is_left = is_over and execution["status"] == "queued"
    return "not_run" if is_left else str(execution["status"])


def _link(execution: Mapping[str, Any]) -> str:
    trial = f" (trial {execution['trial']})" if execution["trial"] > 1 else ""
    name = escaped(execution["case"]) + trial
    return f"[{name}](<{execution['url']}>)" if execution.get("url") else name


def _reason(text: str) -> str:
    return escaped(text if len(text) <= MOST_REASON else f"{text[:MOST_REASON]}…")


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"## {title}", _table(head, rows)] if rows else []


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
