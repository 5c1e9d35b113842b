"""A run as a folder of Markdown, as Struere writes it: `_summary.md`, and a file for each case.

The name of a file begins with `PASS_`, `FAIL_`, `ERROR_` or `NOTRUN_`.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evals_app.reports.answers.notes import run_notes
from evals_app.reports.answers.run_answers import Json
from evals_app.reports.renderers.conversations import (
    NO_CALLS,
    REMOVED,
    changed_data,
    facts,
    grade_state,
    json_text,
    messages,
    quote_of,
    speaker,
    turn_errors,
    turn_of,
)
from evals_app.reports.renderers.markdown import WORDS, escape_text, run_markdown, table
from evals_app.reports.renderers.results import Again, Outcome, Results, batches, outcome
from evals_app.reports.words.coverage import tested_thing
from evals_app.reports.words.figures import UNKNOWN, duration, score_text
from evals_app.reports.words.shares import share_of_trials

SUMMARY = "_summary.md"
CASES_AT_ONCE = 50
_PREFIXES: Mapping[Outcome, str] = {
    "passed": "PASS",
    "failed": "FAIL",
    "errored": "ERROR",
    "measured": "MEASURED",
    "not_run": "NOTRUN",
}
_MAX_NAME = 80  # characters of a case's name in that of its file
_SIGNS = {"passed": "✅ ", "failed": "❌ ", "ungraded": "❔ ", "error": "⚠️ "}

# A file: its path, and its content in pieces.
File = tuple[str, Iterator[str]]


def folder(runs: Sequence[Results]) -> Iterator[File]:
    """Return the files of a folder for each run."""
    for results in runs:
        name = folder_name(results.run)
        for path, content in _files(results):
            yield f"{name}/{path}", content


def folder_name(run: Json) -> str:
    """Return when a run started, its suite and its number: names that sort by time."""
    moment = re.sub(r"\D", "-", (run["started_at"] or run["created_at"])[:19])
    return f"{moment}-{run['suite']}-{run['id']}"


def _files(results: Results) -> Iterator[File]:
    names = _names(results)
    linked = Again(lambda: (row | {"url": names[row["case"]]} for row in results.executions))
    yield SUMMARY, run_markdown(replace(results, executions=linked))
    for some in batches(results.by_case(), CASES_AT_ONCE):
        ids = [row["id"] for _, rows in some for row in rows]
        whole = {row["id"]: row for row in results.details(ids)}
        for case, rows in some:
            yield names[rows[0]["case"]], _case(results, case, rows, whole)


def _names(results: Results) -> dict[str, str]:
    """Return the file of each case; no two are alike where capitals do not count."""
    taken = {SUMMARY}
    names = {}
    for case, rows in results.by_case():
        name = rows[0]["case"]
        stem = f"{_PREFIXES[outcome(case, rows)]}_{_slug(name)}"
        number = 1
        while (file := f"{stem}{f'-{number}' if number > 1 else ''}.md").lower() in taken:
            number += 1
        taken.add(file.lower())
        names[name] = file
    return names


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name)
    return re.sub(r"[^\w]+", "-", plain)[:_MAX_NAME].strip("-").lower() or "case"


def _case(
    results: Results, case: Json | None, executions: Sequence[Json], whole: Mapping[int, Json]
) -> Iterator[str]:
    name = executions[0]["case"]
    yield f"# {_PREFIXES[outcome(case, executions)]}: {escape_text(name)}\n\n"
    rate = share_of_trials(case, bounds=case["interval"]) if case else UNKNOWN
    run = results.run
    what, tested_name = tested_thing(run)
    yield (
        f"[{escape_text(run['suite_name'])}: run {run['id']}]({SUMMARY}). "
        f"{what} {escape_text(tested_name)}. Trials: {len(executions):,}. Passed: {rate}.\n"
    )
    yield from (f"\n> {escape_text(note)}\n" for note in run_notes(run))
    for execution in executions:
        yield from _trial(results, execution, whole.get(execution["id"], execution))


def _trial(results: Results, execution: Json, whole: Json) -> Iterator[str]:
    yield f"\n## Trial {execution['trial']}: {WORDS[results.state(execution)]}\n\n"
    if execution["reason"]:
        yield f"{_quote(execution['reason'])}\n\n"
    rows = facts(execution, scale=results.run["score_scale"])
    if execution["url"]:
        rows.append(("Page", f"<{execution['url']}>"))
    yield table(("", ""), rows) + "\n"
    for warning in whole.get("warnings") or ():
        yield f"\n> {escape_text(warning)}\n"
    yield from _conversation(execution, whole)
    yield from _checks(whole.get("grades") or (), scale=results.run["score_scale"])
    if whole.get("world_changes") and (changes := changed_data(whole)):
        yield f"\n### Changed data\n\n{_code(changes)}\n"


def _conversation(execution: Json, whole: Json) -> Iterator[str]:
    if whole.get("messages") is None:
        if execution["verdict"]:
            yield f"\n{REMOVED}\n"
        return
    yield "\n### Conversation\n"
    for message, calls in messages(whole):
        if message is not None:
            yield from _message(message)
        for call in calls:
            yield from _call(call)
    for label, error in turn_errors(whole):
        yield f"\n**{label}**\n\n{_quote(error)}\n"
    if whole["tool_calls"] is None:
        yield f"\n{NO_CALLS}\n"


def _message(message: Json) -> Iterator[str]:
    if message["reasoning"]:
        yield f"\n**Reasoning**\n\n{_quote(message['reasoning'])}\n"
    yield f"\n**{speaker(message)}**\n\n{_quote(message['content'])}\n"


def _call(call: Json) -> Iterator[str]:
    took = duration(call["duration_ms"])
    yield f"\n**Tool call** {escape_text(call['name'])} ({took})\n\n{_code(call['args'])}\n"
    if call["error"] is not None:
        yield f"\nError: {escape_text(call['error'])}\n"
    elif call["result"] is not None:
        yield f"\nResult:\n\n{_code(call['result'])}\n"


def _checks(grades: Sequence[Json], *, scale: str) -> Iterator[str]:
    if not grades:
        return
    rows = [
        (
            escape_text(grade["name"]),
            turn_of(grade),
            _SIGNS.get(grade_state(grade), "") + grade_state(grade).replace("_", " "),
            score_text(grade["score"], scale=scale),
            escape_text(grade["reason"]),
        )
        for grade in grades
    ]
    yield f"\n### Checks\n\n{table(('Check', 'Turn', 'Result', 'Score', 'Reason'), rows)}\n"
    quotes = [(grade["name"], quote) for grade in grades for quote in grade["evidence"]]
    if quotes:
        yield "\nEvidence:\n\n"
    for name, quote in quotes:
        yield f"- {escape_text(name)}: {escape_text(quote_of(quote))}\n"


def _quote(text: str) -> str:
    return "\n".join(f"> {escape_text(line)}  " for line in text.splitlines() or [""])


def _code(value: object) -> str:
    """Return JSON, or a text as it is, in a fence that it cannot close."""
    text = json_text(value)
    fence = "`" * max([3, *(len(marks) + 1 for marks in re.findall("`+", text))])
    return f"{fence}\n{text}\n{fence}"
