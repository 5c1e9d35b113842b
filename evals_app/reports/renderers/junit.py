"""Runs as JUnit XML, which build servers show: a test suite for each run, a test for each case and gate.

A test is what decides about the run, so several trials of a case are one test. Valid by the schemas of
Ant and of Jenkins, which both demand numbers where nothing is known: such a time is 0. Neither has an
attribute for a line, and Jenkins skips files with one, so the text of a failure begins with its place.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from evals_app.engine.llm.pricing import usd_text
from evals_app.reports.answers.decided import verdict_with_people
from evals_app.reports.answers.losses import TITLE, loss_lines
from evals_app.reports.answers.notes import run_notes
from evals_app.reports.answers.run_answers import Json, Row
from evals_app.reports.renderers.github import source_in
from evals_app.reports.renderers.results import WENT_WRONG, Outcome, Results, outcome, trial_name
from evals_app.reports.words.figures import score_text, token_sum
from evals_app.reports.words.gates import gate_texts, is_applied
from evals_app.reports.words.markup import legal
from evals_app.reports.words.shares import share_of_cases

# The XML element by which a test differs from one that passed.
# What was only measured did not pass either: "skipped" is the word for what is neither.
_ELEMENTS: Mapping[Outcome, str] = {
    "failed": "failure",
    "errored": "error",
    "not_run": "skipped",
    "measured": "skipped",
}
_GATES: Mapping[bool | None, Outcome] = {True: "passed", False: "failed", None: "errored"}
_UNKNOWN_MOMENT = "1970-01-01T00:00:00"  # of a run that has not started; the schema demands one


def junit(runs: Sequence[Results], *, root: str = "") -> Iterator[str]:
    """Return runs as one JUnit document; `root` is the folder of the repository."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
    for n, results in enumerate(runs):
        yield from _suite(n, results, root)
    yield "</testsuites>\n"


def _suite(number: int, results: Results, root: str) -> Iterator[str]:
    run = results.run
    gates = run["gates"] or []
    counts = Counter(outcome(case, rows) for case, rows in results.by_case())
    counts += Counter(_gate_outcome(gate) for gate in gates)
    attributes = {
        "id": number,
        "name": run["suite"],
        "package": run["suite"],
        "timestamp": (run["started_at"] or _UNKNOWN_MOMENT)[:19],
        "hostname": "localhost",
        "tests": counts.total(),
        "failures": counts["failed"],
        "errors": counts["errored"],
        "skipped": counts["not_run"] + counts["measured"],
        "time": _seconds(run["duration_ms"]),
    }
    yield f"  <testsuite{_attributes(attributes)}>\n    <properties>\n"
    for name, value in _properties(run):
        yield f"      <property{_attributes({'name': name, 'value': value})}/>\n"
    yield "    </properties>\n"
    for case, rows in results.by_case():
        place = _place(results, rows[0]["case"], root)
        yield _test(run["suite"], rows, outcome(case, rows), scale=run["score_scale"], place=place)
    for gate in gates:
        yield _gate(run, gate)
    lost = loss_lines(run["losses"])
    lines = [*run_notes(run), *([f"{TITLE}:", *lost] if lost else [])]
    lines += [run["url"]] if run["url"] else []
    text = escape(legal("\n".join(lines)))
    yield f"    <system-out>{text}</system-out>\n    <system-err></system-err>\n  </testsuite>\n"


def _properties(run: Json) -> list[tuple[str, str]]:
    return [
        ("run", str(run["id"])),
        ("verdict", run["verdict"] or run["status"]),
        *([("decision", run["decision"])] if run.get("decision") else []),
        ("is_scripted", str(run["is_scripted"]).lower()),
        ("is_simulated", str(run["is_simulated"]).lower()),
        ("covers", run["covers"] or "the whole suite"),
        *([("checks_lost", str(run["losses"]["checks_lost"]))] if run["losses"] else []),
        *([("grades_of", str(run["grades_of"]))] if run["grades_of"] else []),
        ("agent", run["agent"]),
        ("model", run["model"] or "none"),
        ("judge", run["judge"] or "none"),
        ("score", score_text(run["score"], scale=run["score_scale"])),
        ("pass_rate", share_of_cases(run)),
        ("agent_tokens", token_sum(**run["tokens"]["agent"])),
        ("judge_tokens", token_sum(**run["tokens"]["judge"])),
        ("cost_usd", usd_text(run["cost_usd"])),
    ]


def _place(results: Results, case: str, root: str) -> str:
    """Return the file and line of a case, as compilers write them; empty if they are unknown."""
    file, line = source_in(results, root), results.lines.get(case)
    return f"{file}:{line}" if file and line else ""


def _test(
    suite: str, executions: Sequence[Json], result: Outcome, *, scale: str, place: str
) -> str:
    times = [row["time_ms"] for row in executions if row["time_ms"] is not None]
    wrong = [row for row in executions if row["verdict"] in WENT_WRONG]
    if result == "not_run":
        return _element(suite, executions[0]["case"], sum(times), result, "It did not run.")
    if result == "measured":
        score = score_text(executions[0]["score"], scale=scale)
        message = f"Only measured: score {score}. {executions[0]['reason']}"
        return _element(suite, executions[0]["case"], sum(times), result, message)
    message = _first_of([row["reason"] or "" for row in wrong if row["verdict"] == result])
    cause = next((row["cause"] for row in wrong if row["verdict"] == result), None) or ""
    return _element(
        suite,
        executions[0]["case"],
        sum(times),
        result,
        message,
        kind=cause,
        text="\n".join([*([place] if place else []), *map(_in_words, wrong)]),
    )


def _first_of(reasons: Sequence[str]) -> str:
    """Return the one reason of several trials, or the first, and that there are others."""
    distinct = list(dict.fromkeys(reasons))
    first = distinct[0] if distinct else ""
    return first if len(distinct) < 2 else f"{len(distinct)} different reasons; the first: {first}"  # noqa: PLR2004


def _in_words(execution: Json) -> str:
    reason = f"{trial_name(execution)}: {execution['verdict']} ({execution['cause']})"
    judged = token_sum(**execution["tokens"]["judge"])
    lines = [f"{reason}. {execution['reason'] or ''}", f"  Judge tokens: {judged}"]
    if people := verdict_with_people(execution):
        lines.append(f"  Reviewed: {people}")
    return "\n".join([*lines, f"  {execution['url']}"] if execution["url"] else lines)


def _gate_outcome(gate: Row) -> Outcome:
    return _GATES[gate["passed"]] if is_applied(gate) else "not_run"


def _gate(run: Json, gate: Row) -> str:
    sentence, actual = gate_texts(gate, scale=run["score_scale"])
    message = f"Actual: {actual}. {gate['reason'] or ''}".rstrip()
    result = _gate_outcome(gate)
    return _element(f"{run['suite']}.gates", sentence, 0, result, message, kind="gate")


def _element(
    group: str,
    name: str,
    ms: float,
    result: Outcome,
    message: str,
    *,
    kind: str = "",
    text: str = "",
) -> str:
    head = f"    <testcase{_attributes({'classname': group, 'name': name, 'time': _seconds(ms)})}"
    if result == "passed":
        return f"{head}/>\n"
    element = _ELEMENTS[result]
    attributes = (
        {"message": message} if element == "skipped" else {"message": message, "type": kind}
    )
    body = f"      <{element}{_attributes(attributes)}>{escape(legal(text))}</{element}>"
    return f"{head}>\n{body}\n    </testcase>\n"


def _attributes(values: Mapping[str, object]) -> str:
    # Line breaks must be written by number: parsers make a space of others.
    breaks = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
    return "".join(
        f" {name}={quoteattr(legal(str(value)), breaks)}" for name, value in values.items()
    )


def _seconds(ms: float | None) -> str:
    return f"{(ms or 0) / 1000:.3f}"
