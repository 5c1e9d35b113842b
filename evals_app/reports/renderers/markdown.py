"""A run as Markdown: for a pull request, a chat, or a folder of results.

Text of agents and people is escaped: it can neither break a table nor become markup.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.answers.decided import verdict_with_people
from evals_app.reports.answers.losses import TITLE, loss_lines
from evals_app.reports.answers.notes import run_notes
from evals_app.reports.answers.run_answers import Json, Row
from evals_app.reports.renderers.results import Results, trial_name
from evals_app.reports.words.causes import CAUSE_WORDS
from evals_app.reports.words.coverage import tested_thing, unit
from evals_app.reports.words.figures import (
    UNKNOWN,
    decided_after,
    duration,
    interval,
    moment,
    score_text,
    token_sum,
)
from evals_app.reports.words.gates import gate_texts, gate_word, is_applied
from evals_app.reports.words.regrading import STEADINESS_HEADS, steadiness_rows
from evals_app.reports.words.shares import share_of_cases, share_of_trials
from evals_app.reports.words.sums import run_sums

MAX_REASON = 500

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~!&])")
WORDS = {
    "passed": "✅ passed",
    "failed": "❌ failed",
    "errored": "⚠️ errored",
    "measured": "📏 measured",
    "inconclusive": "❔ inconclusive",
    "skipped": "⏭ skipped",
    "cancelled": "🚫 cancelled",
    "not_run": "… not run",
    "queued": "… queued",
    "running": "… running",
}


def markdown(runs: Sequence[Results]) -> Iterator[str]:
    """Return runs and their executions as one Markdown document."""
    for n, results in enumerate(runs):
        yield "\n" if n else ""
        yield from run_markdown(results)


def run_markdown(results: Results) -> Iterator[str]:
    """Return one run, from its verdict down to each execution."""
    yield run_head(results.run)
    for section in (_went_wrong(results), _cases(results), _executions(results)):
        yield from section


def run_head(run: Json) -> str:
    """Return what a run is and how it ended, without its cases."""
    scale = run["score_scale"]
    parts = [
        f"# {escape_text(run['suite_name'])}: run {run['id']}",
        *_outcome(run),
        table(("", ""), _facts(run, scale=scale)),
        *_losses(run),
        *_gates(run["gates"] or [], scale=scale),
        *_noise(run["judge_noise"] or []),
    ]
    return "\n\n".join(parts) + "\n"


def escape_text(text: str) -> str:
    """Return a text for one line of Markdown, without markup, links or line breaks."""
    line = " ".join(text.split())
    # Addresses would become links.
    return re.sub(r"(?i)\b(https?|www)(?=[:.])", "\\1\u200b", _MARKUP.sub(r"\\\1", line))


def _outcome(run: Json) -> list[str]:
    counts = run["counts"]
    verdict = WORDS[run["verdict"] or run["status"]]
    kinds = ("passed", "failed", "errored", "measured", "skipped", "cancelled", "not_run")
    shown = (kind for kind in kinds if counts[kind] or kind != "measured")
    numbers = ", ".join(f"{counts[kind]:,} {kind.replace('_', ' ')}" for kind in shown)
    lines = [f"**{verdict}**: {numbers}; {counts['total']:,} in total."]
    return [*lines, *(f"> {escape_text(note)}" for note in run_notes(run))]


def _facts(run: Row, *, scale: str) -> list[tuple[str, ...]]:
    head, name = tested_thing(run)
    rows: list[tuple[str, ...]] = [
        (head, escape_text(name)),
        ("Model", escape_text(run.get("model") or UNKNOWN)),
        ("Judge", escape_text(run.get("judge") or UNKNOWN)),
        ("Score", score_text(run["score"], scale=scale)),
        (f"{unit(run)}s passed", share_of_cases(run, bounds=run["pass_rate_interval"])),
        ("Latency of a turn, median", duration(run.get("median_ms"))),
        ("Latency of a turn, p95", duration(run.get("p95_ms"))),
        *run_sums(run),
        ("Started", moment(run["started_at"])),
        ("Duration", duration(run["duration_ms"])),
        ("Snapshot", f"`{run['snapshot'][:12]}`" if run.get("snapshot") else UNKNOWN),
    ]
    if run["budget"]["max_cost_usd"] is not None:
        limit = usd_text(run["budget"]["max_cost_usd"])
        rows.append(("Spent", f"{usd_text(run['budget']['spent_usd'])} of at most {limit}"))
    if run.get("url"):
        rows.append(("Page", f"<{run['url']}>"))
    return rows


def _gates(gates: Sequence[Row], *, scale: str) -> list[str]:
    rows = []
    for gate in gates:
        sign = {True: "✅", False: "❌", None: "❔"}[gate["passed"]] if is_applied(gate) else "⚪"
        word = f"{sign} {gate_word(gate)}"
        if gate.get("reason"):
            word = f"{word}. {escape_text(gate['reason'])}"
        rows.append((*gate_texts(gate, scale=scale), word))
    return ["## Gates", table(("Gate", "Actual", ""), rows)] if rows else []


def _losses(run: Row) -> list[str]:
    lines = [f"- {escape_text(line)}" for line in loss_lines(run["losses"])]
    return [f"## {TITLE}", "\n".join(lines)] if lines else []


def _noise(checks: Sequence[Row]) -> list[str]:
    rows = [tuple(map(escape_text, row)) for row in steadiness_rows(checks)]
    return ["## How steady is the judge", table(STEADINESS_HEADS, rows)] if rows else []


def _went_wrong(results: Results) -> Iterator[str]:
    by_cause: dict[str, list[str]] = {}
    states: dict[str, str] = {}
    for row in results.executions:
        if row["cause"]:
            people = verdict_with_people(row)
            why = reason_line(f"{row['reason'] or ''} {people and f'Reviewed: {people}'}")
            line = f"- {link_to(row)}: {why}"
            by_cause.setdefault(row["cause"], []).append(line)
            states[row["cause"]] = row["verdict"]
    if by_cause:
        yield "\n## Failures and errors\n"
    # Failures first: they concern the agent.
    for cause, lines in sorted(by_cause.items(), key=lambda item: states[item[0]] == "errored"):
        yield f"\n### {WORDS[states[cause]]}: {CAUSE_WORDS[cause]} ({len(lines):,})\n\n"
        yield "\n".join(lines) + "\n"


def _cases(results: Results) -> Iterator[str]:
    scale = results.run["score_scale"]
    what = unit(results.run)
    head = (what, "Verdict", "Pass rate", "95 % interval", "Score", "Judge tokens")
    rows = (
        (
            escape_text(case["name"]),
            WORDS[case["verdict"] or "not_run"],
            share_of_trials(case),
            interval(case["interval"]) or decided_after(case["trials"], case["skipped"]) or UNKNOWN,
            score_text(case["score"], scale=scale),
            token_sum(**case["tokens"]["judge"]),
        )
        for case in results.cases
    )
    yield from _section(f"{what}s", head, rows)


def _executions(results: Results) -> Iterator[str]:
    scale = results.run["score_scale"]
    what = unit(results.run)
    head = (what, "Trial", "Verdict", "Score", "Agent's time", "Judge tokens", "Cost")
    rows = (
        (
            link_to(row),
            str(row["trial"]),
            WORDS[results.state(row)],
            score_text(row["score"], scale=scale),
            duration(row["time_ms"]),
            *(
                (token_sum(**row["tokens"]["judge"]), usd_text(row["cost_usd"]))
                if row["verdict"]
                else (UNKNOWN, UNKNOWN)
            ),
        )
        for row in results.executions
    )
    yield from _section("Conversations" if what == "Case" else "Gradings", head, rows)


def link_to(execution: Row) -> str:
    """Return the name of an execution, as a link if it has an address."""
    name = escape_text(trial_name(execution))
    return f"[{name}](<{execution['url']}>)" if execution.get("url") else name


def reason_line(text: str) -> str:
    """Return a reason on one line."""
    return escape_text(text if len(text) <= MAX_REASON else f"{text[:MAX_REASON]}…")


def _section(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    is_empty = True
    for row in rows:
        if is_empty:
            yield f"\n## {title}\n\n{_line(head)}\n{_line(['---'] * len(head))}\n"
        is_empty = False
        yield f"{_line(row)}\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells are Markdown."""
    return "\n".join(map(_line, [head, ["---"] * len(head), *rows]))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
