"""Runs as one HTML page to send by mail: it opens offline, loads nothing, and can be searched.

A mail takes some 20 MB and a browser some 10,000 executions, so what went wrong comes first, and what
no longer fits is named at the top.
"""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from evals_app.reports.answers.losses import TITLE, loss_lines
from evals_app.reports.answers.notes import run_notes
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.conversation_html import conversation
from evals_app.reports.renderers.conversations import facts
from evals_app.reports.renderers.results import WENT_WRONG, Results, batches, trial_name
from evals_app.reports.words.coverage import tested_thing, unit
from evals_app.reports.words.figures import (
    UNKNOWN,
    duration,
    interval,
    moment,
    score_text,
    token_sum,
)
from evals_app.reports.words.gates import gate_texts, gate_word
from evals_app.reports.words.markup import Markup, scrolling_table, tag
from evals_app.reports.words.regrading import STEADINESS_HEADS, steadiness_rows
from evals_app.reports.words.shares import share_of_cases, share_of_trials
from evals_app.reports.words.sums import run_sums

MAX_EXECUTIONS = 10_000
MAX_CONVERSATIONS = 8_000_000  # characters of HTML
_MAX_WHY = 300  # characters of a reason in the list
_AT_ONCE = 100
_WITH_CONVERSATION = ("finished", "cancelled")  # statuses of executions that have a conversation

STATES = {
    "passed": "Passed",
    "failed": "Failed",
    "errored": "Errored",
    "measured": "Measured",
    "inconclusive": "Inconclusive",
    "cancelled": "Cancelled",
    "skipped": "Skipped",
    "not_run": "Not run",
    "queued": "Queued",
    "running": "Running",
}
_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


@dataclass(slots=True)
class _Listed:
    """The executions of a page, as far as they fit."""

    names_runs: bool  # because there are several
    counts: Counter[str] = field(default_factory=Counter)
    pieces: list[Markup] = field(default_factory=list)
    characters: int = 0
    without_conversation: int = 0
    left_out: int = 0

    def add(self, results: Results, rows: Iterable[Json]) -> None:
        """Add executions of a run, a few at once."""
        for some in batches(rows, _AT_ONCE):
            fitting = some[: max(0, MAX_EXECUTIONS - len(self.pieces))]
            self.left_out += len(some) - len(fitting)
            ids = [row["id"] for row in fitting if row["status"] in _WITH_CONVERSATION]
            has_room = self.characters < MAX_CONVERSATIONS
            whole = {row["id"]: row for row in results.details(ids)} if ids and has_room else {}
            for row in fitting:
                self._add_one(results, row, whole.get(row["id"]))

    def _add_one(self, results: Results, row: Json, whole: Json | None) -> None:
        state = results.state(row)
        inside = None
        if whole is not None and self.characters < MAX_CONVERSATIONS:
            inside = conversation(whole, scale=results.run["score_scale"])
            self.characters += len(inside)
        self.without_conversation += inside is None and bool(row["verdict"])
        self.counts[state] += 1
        of_run = f" {results.run['suite_name']}, run {results.run['id']}" if self.names_runs else ""
        self.pieces.append(_execution(results, row, state, inside, of_run))

    @property
    def notes(self) -> list[Markup]:
        """Return notes on what is left out, so that no one takes the page for complete."""
        notes = []
        if self.without_conversation:
            notes.append(
                f"To keep this file small, it leaves out what was said in {self.without_conversation:,}"
                " conversations. What went wrong comes first. The page of each conversation has it."
            )
        if self.left_out:
            notes.append(
                f"{self.left_out:,} more conversations are not listed. The tables and the JSON report"
                " have all of them."
            )
        return [tag("p", note, class_="note") for note in notes]


def html_page(runs: Sequence[Results]) -> Iterator[str]:
    """Return runs as one page."""
    listed = _Listed(names_runs=len(runs) > 1)
    for results in runs:
        listed.add(results, (row for row in results.executions if row["verdict"] in WENT_WRONG))
    for results in runs:
        listed.add(results, (row for row in results.executions if row["verdict"] not in WENT_WRONG))
    title = ", ".join(f"{entry.run['suite_name']}: run {entry.run['id']}" for entry in runs)
    yield page_head(title, script=_SCRIPT)
    for results in runs:
        yield _run(results)
        yield from _cases(results)
    yield tag("h2", "Conversations")
    yield "".join(listed.notes)
    yield _filters(listed.counts)
    yield from listed.pieces
    yield f"<script>{_SCRIPT}</script></body></html>\n"


def page_head(title: str, *, style: str = "", script: str = "") -> str:
    """Return the beginning of a page that loads nothing: it runs this script alone, or none."""
    allowed = f"; script-src '{_hash(script)}'" if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'{allowed}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(_STYLE + style)),
    )
    return f'<!doctype html>\n<html lang="en">{head}<body>'


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _run(results: Results) -> Markup:
    run = results.run
    counts = run["counts"]
    numbers = ", ".join(
        f"{counts[kind]:,} {STATES[kind].lower()}"
        for kind in counts
        if kind != "total" and counts[kind]
    )
    return tag(
        "header",
        tag("h1", f"{run['suite_name']}: run {run['id']}"),
        tag(
            "p",
            badge(run["verdict"] or run["status"]),
            f" {numbers or 'nothing ran'}; {counts['total']:,} in total.",
        ),
        [tag("p", note, class_="note") for note in run_notes(run)],
        _losses(run),
        _facts(_numbers(run)),
        _gates(run),
        _noise(run),
    )


def _losses(run: Json) -> Markup:
    lines = [tag("li", line) for line in loss_lines(run["losses"])]
    summary = tag("summary", f"{TITLE} ({len(lines):,})")
    return tag("details", summary, tag("ul", lines)) if lines else Markup()


def _cases(results: Results) -> Iterator[Markup]:
    """Show cases over their trials; with one trial each, the executions say all."""
    cases = list(islice(results.cases, MAX_EXECUTIONS))
    if all(case["trials"] <= 1 for case in cases):
        return
    what = unit(results.run)
    names = (what, "Verdict", "Passed", "95 % interval", "Score", "Judge tokens")
    rows = (
        [
            tag("td", case["name"]),
            tag("td", badge(case["verdict"] or "not_run")),
            tag("td", share_of_trials(case)),
            tag("td", interval(case["interval"]) or UNKNOWN),
            tag("td", score_text(case["score"], scale=results.run["score_scale"])),
            tag("td", token_sum(**case["tokens"]["judge"])),
        ]
        for case in cases
    )
    table = scrolling_table(names, rows, title=f"{what}s")
    yield tag("details", tag("summary", f"{what}s over their trials ({len(cases):,})"), table)


def _numbers(run: Json) -> list[tuple[str, str | Markup]]:
    rows: list[tuple[str, str | Markup]] = [
        tested_thing(run),
        ("Model", run["model"] or "none"),
        ("Judge", run["judge"] or "none"),
        ("Score", score_text(run["score"], scale=run["score_scale"])),
        (f"{unit(run)}s passed", share_of_cases(run, bounds=run["pass_rate_interval"])),
        ("Latency of a turn, median", duration(run["median_ms"])),
        ("Latency of a turn, p95", duration(run["p95_ms"])),
        *run_sums(run),
        ("Started", moment(run["started_at"])),
        ("Duration", duration(run["duration_ms"])),
    ]
    if run["url"]:
        rows.append(("Page", tag("a", run["url"], href=run["url"])))
    return rows


def _facts(rows: Iterable[tuple[str, str | Markup]]) -> Markup:
    return tag("dl", (tag("div", tag("dt", name), tag("dd", value)) for name, value in rows))


def _gates(run: Json) -> Markup | None:
    if not run["gates"]:
        return None
    classes = {True: "passed", False: "failed", None: "unknown"}
    lines = []
    for gate in run["gates"]:
        sentence, actual = gate_texts(gate, scale=run["score_scale"])
        text = f" {sentence}. Actual: {actual}. {gate['reason'] or ''}"
        lines.append(
            tag(
                "p",
                tag(
                    "span", gate_word(gate).capitalize(), class_=f"badge {classes[gate['passed']]}"
                ),
                text,
            )
        )
    return tag("section", tag("h2", "Gates"), lines)


def _noise(run: Json) -> Markup | None:
    if not run["judge_noise"]:
        return None
    rows = ([tag("td", cell) for cell in row] for row in steadiness_rows(run["judge_noise"]))
    title = "How steady is the judge"
    return tag("section", tag("h2", title), scrolling_table(STEADINESS_HEADS, rows, title=title))


def badge(state: str) -> Markup:
    """Return how something ended, as a word on a colour."""
    return tag("span", STATES[state], class_=f"badge {state}")


def _filters(counts: Counter[str]) -> Markup:
    states = [("", f"All ({counts.total():,})")]
    states += [(state, f"{STATES[state]} ({counts[state]:,})") for state in STATES if counts[state]]
    choices = [
        tag("label", tag("input", type="radio", name="state", value=state, checked=not state), text)
        for state, text in states
    ]
    return tag(
        "form",
        tag("label", "Search ", tag("input", type="search", name="search", autocomplete="off")),
        tag("fieldset", tag("legend", "Verdict"), choices),
        tag("span", "", id="shown", role="status", class_="quiet"),
        id="filters",
        class_="filters",
        role="search",
        hidden=True,
    )


def _execution(
    results: Results, row: Json, state: str, inside: Markup | None, of_run: str
) -> Markup:
    shown: list[tuple[str, str | Markup]] = [*facts(row, scale=results.run["score_scale"])]
    if row["url"]:
        shown.append(("Page", tag("a", "Open in Evalwell", href=row["url"])))
    reason = row["reason"] or ""
    return tag(
        "details",
        tag(
            "summary",
            badge(state),
            " ",
            tag("span", trial_name(row), class_="name"),
            tag("span", of_run, class_="quiet") if of_run else None,
            tag("span", _short(reason), class_="why") if reason else None,
        ),
        tag(
            "div",
            tag("p", reason, class_="written") if len(reason) > _MAX_WHY else None,
            _facts(shown) if row["verdict"] else tag("p", "No verdict.", class_="quiet"),
            inside,
            class_="inside",
        ),
        class_="execution",
        data_state=state,
    )


def _short(reason: str) -> str:
    return reason if len(reason) <= _MAX_WHY else f"{reason[:_MAX_WHY]}…"
