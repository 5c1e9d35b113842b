"""Tools for runs: forecast them, start them, read how they went and why, compare them."""

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from evals_app.engine.llm.pricing import usd_text
from evals_app.engine.specs.base_spec import Name, Slug, Spec
from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.engine.verdicts.run_summary import RunVerdict
from evals_app.library.importing.rights import Rights
from evals_app.mcp.answers import (
    MAX_ROWS,
    ChangedCase,
    CheckData,
    ComparedData,
    ConversationData,
    RunsData,
    RunWithConversations,
    StartedData,
    WhyData,
)
from evals_app.mcp.tool import Caller, PartOfAnswer, Told, lines_of
from evals_app.models import Execution, Run, Suite
from evals_app.reports.answers.comparison import (
    case_change,
    checks_text,
    counts_in_words,
    finding,
    headline,
    outcome_text,
)
from evals_app.reports.answers.decided import verdict_with_people
from evals_app.reports.answers.forecasts import forecast_json, in_words
from evals_app.reports.answers.notes import run_notes
from evals_app.reports.answers.run_answers import Json, Row, RunRow
from evals_app.reports.answers.run_json import execution_row_json, run_json
from evals_app.reports.renderers.conversations import (
    NO_CALLS,
    REMOVED,
    changed_data,
    grade_state,
    messages,
    quote_of,
    speaker,
    turn_errors,
)
from evals_app.reports.words.figures import count_text, duration, score_text
from evals_app.reports.words.gates import gate_texts, gate_word
from evals_app.reports.words.shares import share_of_cases
from evals_app.requests.bodies import Ceiling, RunId, StartRun, suite_and_agent
from evals_app.requests.problems import refused_at
from evals_app.requests.starts import start_once
from evals_app.requests.waiting import wait_until
from evals_app.runs.ground.workers import live_workers
from evals_app.runs.money.ceilings import month_left
from evals_app.runs.reading.compared_runs import changed_checks
from evals_app.runs.reading.compared_runs import compare_runs as compare
from evals_app.runs.reading.run_readers import execution_details, execution_rows, run_rows
from evals_app.runs.release import release_of
from evals_app.runs.reporting import results_of
from evals_app.runs.starting.forecast import forecast
from fixtures_app.ground.words import near

MAX_RUNS = 50
MAX_EXECUTIONS = 500
MAX_CASES = 500
MAX_WAIT_S = 20
MAX_CHARS = 4_000  # of one message, one result of a tool, one reason
_SHORT = 300  # characters of a reason in a list

Show = Literal["failed", "errored", "passed", "measured", "all"]


class StartLimitedRun(StartRun):
    """A run to start."""

    max_cost_usd: Ceiling = Field(
        description="The run stops before a call that could cost more than this."
    )
    idempotency_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="A second call with the same key returns the same run and starts no other.",
    )


class RunQuery(PartOfAnswer):
    """The run to read."""

    run: RunId
    show: Show | None = Field(
        default=None, description="Conversations to list. Default: those that failed or errored."
    )
    wait_s: int = Field(
        default=0,
        ge=0,
        le=MAX_WAIT_S,
        description="How many seconds to wait for the run to end, if it is still in progress.",
    )


class JustRun(Spec):
    """A run."""

    run: RunId


class FindRuns(Spec):
    """Which runs to list."""

    suite: Slug | None = Field(default=None, description="Only runs of this suite.")
    verdict: RunVerdict | None = Field(default=None, description="Only runs with this verdict.")
    before: RunId | None = Field(
        default=None, description="Only runs before this one, to read the next part of the list."
    )


class ExecutionQuery(PartOfAnswer):
    """The execution to explain: by its number, or by its run and case."""

    execution: RunId | None = None
    run: RunId | None = Field(
        default=None, description="With case: its first conversation that failed."
    )
    case: Name | None = Field(default=None, description="Name of a case of the run.")


class TwoRuns(PartOfAnswer):
    """The runs to compare."""

    base: RunId = Field(description="The run to compare with.")
    head: RunId = Field(description="The later run, which may be better or worse.")


class ReleasedSuite(PartOfAnswer):
    """The suite to answer about."""

    suite: Slug


def may_we_ship(_caller: Caller, given: ReleasedSuite) -> Told:
    """Answer whether what a suite tests may be shipped, with the reasons."""
    suite = Suite.objects.select_related("agent", "baseline").filter(slug=given.suite).first()
    if suite is None:
        hint = near(given.suite, Suite.objects.values_list("slug", flat=True))
        raise refused_at("suite", f"There is no suite {given.suite!r}.{hint}")
    release = release_of(suite)
    words = map(release.words, (*release.check.reasons, *release.check.notes))
    decided = [f"{release.decision.in_words}."] if release.decision else []
    reasons = (f"{sentence} {detail}" for sentence, detail in words)
    return Told("\n".join([release.sentence, *decided, *reasons]), release.to_json())


def list_runs(_caller: Caller, given: FindRuns) -> Told:
    """List runs, newest first."""
    rows = run_rows()
    if given.suite is not None:
        rows = rows.filter(suite_slug=given.suite)
    if given.verdict is not None:
        rows = rows.filter(verdict=given.verdict)
    if given.before is not None:
        rows = rows.filter(pk__lt=given.before)
    found = list(rows.order_by("-pk")[: MAX_RUNS + 1])
    runs = [run_json(row) for row in found[:MAX_RUNS]]
    before = runs[-1]["id"] if len(found) > MAX_RUNS else None
    lines = [f"- {_run_line(run)}" for run in runs]
    if before is not None:
        lines.append(f"There are more: call list_runs with before: {before}.")
    text = lines_of(lines, empty="There is no such run.")
    return Told(text, RunsData.of(runs=runs, before=before))


def _run_line(run: Json) -> str:
    model = f", model {run['model']}" if run["model"] else ""
    covers = f"; not the whole suite: {run['covers']}" if run["covers"] else ""
    state = run["verdict"] or run["status"]
    return (
        f"run {run['id']}: suite {run['suite']}, agent {run['agent']}{model}: {state};"
        f" {_counts(run)}{covers}; created {run['created_at'][:16]}"
    )


def _counts(run: Json) -> str:
    counts = run["counts"]
    kinds = [kind for kind in counts if kind != "total" and counts[kind]]
    numbers = ", ".join(f"{counts[kind]:,} {kind.replace('_', ' ')}" for kind in kinds)
    return f"{numbers or 'nothing'} of {count_text(counts['total'], 'conversation')}"


def forecast_run(caller: Caller, given: StartRun) -> Told:
    """Return the forecast of a run."""
    suite, agent = suite_and_agent(given, caller.user)
    by = caller.user.pk
    expected = forecast(suite, by=by, agent=agent, **given.choices())
    left = month_left(by)
    text = in_words(expected, max_cost_usd=given.max_cost_usd, month_left_usd=left)
    return Told(text, forecast_json(expected, month_left_usd=left))


def start_run(caller: Caller, given: StartLimitedRun) -> Told:
    """Start a run."""
    body = StartRun(**given.model_dump(exclude={"idempotency_key"}))
    run, is_new = start_once(body, key=given.idempotency_key, user=caller.user)
    did = "was started" if is_new else "was started before with this idempotency_key"
    text = f"Run {run.pk} {did}: {count_text(run.total, 'conversation')}."
    if not live_workers().exists():
        text += " No worker is running, so it waits until your administrator starts one."
    text += f" Follow it: read_run with run: {run.pk} and wait_s: {MAX_WAIT_S}."
    return Told(text, StartedData.of(run=run_row(run.pk), is_new=is_new))


def read_run(_caller: Caller, given: RunQuery) -> Told:
    """Return how a run went, failures first."""
    find_run(given.run)
    note = (
        ""
        if _wait(given.run, given.wait_s)
        else "This call did not wait, because too many others are waiting. "
    )
    run = results_of(find_run(given.run), link=lambda _model, _key: "").run
    kinds = [given.show] if given.show else ["failed", "errored"]
    rows = _rows_of(run["id"], kinds)
    lines = [note + _run_line(run), *_outcome(run), *_executions(rows, kinds)]
    data = RunWithConversations.of(
        run={key: run[key] for key in RunRow.KEYS},
        notes=list(run_notes(run)),
        conversations=[_conversation_data(row) for row in rows[:MAX_ROWS]],
        more=len(rows) > MAX_ROWS,
    )
    return Told("\n".join(lines), data)


def _rows_of(run: int, kinds: Sequence[str]) -> list[Json]:
    """Return conversations of a run, kind by kind, and one more than are listed."""
    rows = execution_rows().filter(run=run).order_by("position", "trial")
    shown: list[Row] = []
    for kind in kinds:
        wanted = rows if kind == "all" else rows.filter(verdict=kind)
        shown += wanted[: MAX_EXECUTIONS + 1 - len(shown)]
    return [execution_row_json(row) for row in shown]


def _conversation_data(row: Json) -> Json:
    reason = row["reason"] and _short(row["reason"], _SHORT)
    return ConversationData.of(row, execution=row["id"], reason=reason)


def run_row(pk: int) -> Json:
    """Return a run as lists show it."""
    return run_json(run_rows().get(pk=pk))


def find_run(pk: int) -> Run:
    """Return a run, without its summary."""
    run = Run.objects.filter(pk=pk).defer("summary").first()
    if run is None:
        raise refused_at("run", f"There is no run {pk}. Call list_runs for those that exist.")
    return run


def _wait(pk: int, seconds: int) -> bool:
    """Wait until a run has ended; False if there was no thread to spare."""
    if not seconds or not _is_open(pk):
        return True
    return wait_until(lambda: not _is_open(pk), seconds=seconds)


def _is_open(pk: int) -> bool:
    return Run.objects.filter(pk=pk, status__in=[Run.Status.QUEUED, Run.Status.RUNNING]).exists()


def _outcome(run: Json) -> Iterator[str]:
    if run["status"] in ("queued", "running"):
        done = run["progress"]
        yield f"It has not ended: {done['done']:,} of {done['total']:,} conversations are done."
    scale = run["score_scale"]
    if run["verdict"] is not None:
        yield (
            f"Cases passed: {share_of_cases(run)}; score {score_text(run['score'], scale=scale)};"
            f" cost {usd_text(run['cost_usd'])}; took {duration(run['duration_ms'])}."
        )
    yield from run_notes(run)
    for gate in run["gates"] or ():
        state = gate_word(gate)
        why = f" ({gate['reason']})" if gate["reason"] else ""
        yield f"Gate {': '.join(gate_texts(gate, scale=scale))}: {state}{why}"


def _executions(shown: Sequence[Json], kinds: Sequence[str]) -> Iterator[str]:
    """List executions, by default those that failed, then those that errored."""
    if not shown:
        yield f"No conversation {' or '.join(kinds)}." if kinds != ["all"] else "No conversations."
        return
    yield "Conversations:"
    for row in shown[:MAX_EXECUTIONS]:
        yield f"- {_execution_line(row)}"
    if len(shown) > MAX_EXECUTIONS:
        yield f"- and more; only {MAX_EXECUTIONS} are listed"
    yield "To read one with its grades, call why_failed with its number as `execution`."


def _execution_line(row: Json) -> str:
    state = row["verdict"] or row["status"]
    cause = f", cause {row['cause']}" if row["cause"] else ""
    if people := verdict_with_people(row):
        state += f" ({people})"
    reason = f": {_short(row['reason'], _SHORT)}" if row["reason"] else ""
    return f"conversation {row['id']}, case “{row['case']}”, trial {row['trial']}: {state}{cause}{reason}"


def why_failed(_caller: Caller, given: ExecutionQuery) -> Told:
    """Return the grades and the conversation of an execution, failures first."""
    pk = _execution(given)
    execution = execution_details(pk)
    if execution is None:
        raise refused_at("execution", f"Conversation {pk} does not exist.")
    scale = Run.objects.values_list("score_scale", flat=True).get(pk=execution["run"])
    head = [f"Run {execution['run']}, {_execution_line(execution)}"]
    if execution["score"] is not None:
        head.append(f"Score: {score_text(execution['score'], scale=scale)}")
    grades = sorted(execution["grades"] or (), key=lambda grade: _ORDER.index(grade_state(grade)))
    lines = [*head, "", *_grades(grades), "", *_conversation(execution)]
    data = WhyData.of(
        _conversation_data(execution),
        run=execution["run"],
        checks=[_check_data(grade) for grade in grades],
    )
    return Told("\n".join(lines), data)


def _check_data(grade: Json) -> Json:
    reason = grade["reason"] and _short(grade["reason"], _SHORT)
    return CheckData.of(grade, grade=grade["id"], state=grade_state(grade), reason=reason)


def _execution(given: ExecutionQuery) -> int:
    """Return which execution is meant."""
    if given.execution is not None:
        return given.execution
    if given.run is None or given.case is None:
        raise refused_at(
            "execution", "Send `execution`, the number of a conversation, or a run and a case."
        )
    run = find_run(given.run)
    rows = Execution.objects.filter(run=run, case=given.case).order_by("trial")
    found = dict(rows.values_list("pk", "verdict"))
    if not found:
        raise refused_at("case", f"Run {run.pk} has no case {given.case!r}. read_run lists them.")
    failed = [pk for pk, verdict in found.items() if verdict in ("failed", "errored")]
    return (failed or [*found])[0]


_ORDER = ("failed", "error", "ungraded", "passed", "informational", "not_applicable")


def _grades(grades: Sequence[Json]) -> Iterator[str]:
    yield "Checks, failed ones first:"
    for grade in grades:
        where = "whole conversation" if grade["turn"] is None else f"turn {grade['turn']}"
        score = "" if grade["score"] is None else f", score {grade['score']:.2f}"
        number = "" if grade["id"] is None else f", grade {grade['id']}"
        yield f"- {grade_state(grade)}: {grade['name']} ({grade['type']}, {where}{score}{number})"
        if grade["reason"]:
            yield f"  {_short(grade['reason'], MAX_CHARS)}"
        for quote in grade["evidence"][:5]:
            yield f"  quote: {_short(quote_of(quote), _SHORT)}"
    if not grades:
        yield "- none"


def _conversation(execution: Json) -> Iterator[str]:
    if execution["messages"] is None:
        yield REMOVED if execution["verdict"] else "There is no conversation yet."
        return
    yield "Conversation:"
    for message, calls in messages(execution):
        if message is not None:
            if message["reasoning"]:
                yield f"  reasoning: {_short(message['reasoning'], _SHORT)}"
            yield f"[{speaker(message)}] {_short(message['content'], MAX_CHARS)}"
        for call in calls:
            outcome = call["error"] or _json(call["result"])
            args = _short(_json(call["args"]), MAX_CHARS)
            yield f"  tool {call['name']}({args}) -> {_short(outcome, MAX_CHARS)}"
    for label, error in turn_errors(execution):
        yield f"{label}: {_short(error, MAX_CHARS)}"
    if execution["tool_calls"] is None:
        yield NO_CALLS
    if changes := changed_data(execution):
        yield f"Changes in the world: {_short(_json(changes), MAX_CHARS)}"
    for warning in execution["warnings"] or ():
        yield f"Warning: {warning}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]} … {len(text) - most:,} more characters"


def compare_runs(caller: Caller, given: TwoRuns) -> Told:
    """Compare two runs: the verdict, the numbers, what differs, and each case that changed."""
    comparison = compare([given.base, given.head])
    if not Rights.of(caller.user).may_see_everything():
        comparison = comparison.without_values()
    head, scale = comparison.heads[0], comparison.base.score_scale
    lines = [
        f"Run {given.head} against run {given.base}: {headline(head.cases)}",
        finding(head.cases),
        f"Cases: {counts_in_words(head.cases.counts)}",
        *(f"{row.label}: {' -> '.join(row.values)}" for row in comparison.matrix),
    ]
    for part in head.differences or ():
        lines += [
            f"{part.part}: {value.keys}: {value.before or 'nothing'} -> {value.after or 'nothing'}"
            for value in part.values
        ]
    changed = [case for case in comparison.cases.filter_by() if case.change is not ChangeKind.SAME]
    checks = changed_checks(comparison, changed[:MAX_CASES])
    for case in changed[:MAX_CASES]:
        outcomes = " -> ".join(outcome_text(outcome, scale=scale) for outcome in case.outcomes)
        lines.append(f"- {case_change(case).lower()}: “{case.name}”: {outcomes}")
        if case.name in checks:
            lines.append(f"  {checks_text(checks[case.name])}")
    if len(changed) > MAX_CASES:
        lines.append("- and more cases")
    data = ComparedData.of(
        base=given.base,
        head=given.head,
        headline=headline(head.cases),
        finding=finding(head.cases),
        cases=[ChangedCase.of(case=one.name, change=one.change) for one in changed[:MAX_ROWS]],
        more=len(changed) > MAX_ROWS,
    )
    return Told("\n".join(lines), data)
