"""Runs and executions as rows, written the short way, without workers.

    run = make_run(["passed", "failed", "errored"])          # one case each, ended
    run = make_run({"Refund": ["passed", "failed"]})         # two trials of one case
    run = make_run(["passed", "queued"])                     # still open
    make_execution(run, "Long talk", trial=make_trial(turns=200), grades=[make_grade()])

States are `passed failed errored skipped cancelled queued running not_run`; `not_run` is what is left in
the queue of a run that has ended. Counters, summary and constraints are kept as workers keep them.
"""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from evals_app.engine.record.trial import (
    Cause,
    Failure,
    Message,
    ToolCall,
    Trial,
    TurnRecord,
    Verdict,
)
from evals_app.engine.record.usage import Usage
from evals_app.engine.suites.suite_spec import GatesSpec, SuiteSpec
from evals_app.engine.verdicts.case_summary import Fact
from evals_app.engine.verdicts.run_summary import summarise_run
from evals_app.models import Agent, Execution, GradeResult, Run, Snapshot, Suite, Transcript
from evals_app.runs.ending.finish import CaseResults

VERDICTS = frozenset(Verdict)
# Keys of the summary of an execution without limits.
ENDS = ("passed", "failed", "errored", "measured", "skipped", "cancelled")
UNDECIDED = (
    *("prompt_tokens_passed", "response_tokens_passed", "time_passed"),
    *("response_criteria_passed", "trajectory_criteria_passed"),
    "response_criteria_failure_reason",
)
NEVER_RAN = frozenset({"queued", "not_run", "skipped"})
CAUSES = {"passed": "", "failed": "assertion", "errored": "judge"}
REASONS = {
    "assertion": "The reply does not contain “refund”.",
    "judge": "The judge did not answer.",
}


def make_suite(slug: str = "refunds", **changes: Any) -> Suite:
    """Write a suite without cases, for a scripted agent."""
    agent = (
        changes.pop("agent", None)
        or Agent.objects.get_or_create(
            slug="shop", defaults={"name": "Shop agent", "driver": "scripted"}
        )[0]
    )
    return Suite.objects.create(
        **{"slug": slug, "name": slug.capitalize(), "agent": agent} | changes
    )


def make_snapshot(**content: Any) -> Snapshot:
    """Write a snapshot; it holds no more than is given, so no worker can run it."""
    text = json.dumps({"schema_version": 2, "fixtures": []} | content, sort_keys=True)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    defaults = {"schema_version": 2, "content": text}
    return Snapshot.objects.get_or_create(sha256=sha256, defaults=defaults)[0]


def make_run(
    states: Sequence[str] | Mapping[str, Sequence[str]] = ("passed",),
    *,
    suite: Suite | None = None,
    gates: Mapping[str, float] | None = None,
    snapshot: Snapshot | None = None,
    **changes: Any,
) -> Run:
    """Write a run with executions in the given states: of cases "case 1", ... or by case and trial.

    It is open while something is queued or running, and has ended otherwise. It is a full run
    unless `changes`, which are columns, say otherwise: `is_tryout`, `rerun_of`, `case_count`.
    """
    if not isinstance(states, Mapping):
        states = {f"case {number}": [state] for number, state in enumerate(states, 1)}
    suite = suite or Suite.objects.filter(slug="refunds").first() or make_suite()
    flat = [state for trials in states.values() for state in trials]
    is_open = bool({"queued", "running"} & set(flat))
    now = timezone.now()
    run = Run.objects.create(
        **{
            "snapshot": snapshot or make_snapshot(),
            "suite": suite,
            "suite_slug": suite.slug,
            "suite_name": suite.name,
            "agent_slug": suite.agent.slug,
            "agent_name": suite.agent.name,
            "is_scripted": suite.agent.is_scripted,
            "suite_agent_slug": suite.agent.slug,
            "is_whole": not ({"is_tryout", "rerun_of", "case_count"} & changes.keys()),
            "case_count": len(states),
            "suite_case_count": len(states),
            "score_scale": suite.score_scale,
            "status": _run_status(flat),
            "verdict": "" if is_open else "inconclusive",
            "stop_reason": "cancelled" if "cancelled" in flat and not is_open else "",
            "concurrency": 10,
            "total": len(flat),
            **{kind: flat.count(kind) for kind in ENDS},
            "not_run": sum(flat.count(kind) for kind in ("queued", "running", "not_run")),
            "started_at": None if set(flat) == {"queued"} else now - timedelta(seconds=90),
            "finished_at": None if is_open else now,
        }
        | changes
    )
    for position, (case, trials) in enumerate(states.items()):
        for number, state in enumerate(trials, 1):
            make_execution(run, case, state=state, position=position, number=number, counts=False)
    return run if is_open else end_run(run, gates=gates)


def _run_status(states: Sequence[str]) -> str:
    if set(states) == {"queued"}:
        return "queued"
    if {"queued", "running"} & set(states):
        return "running"
    return "cancelled" if "cancelled" in states else "finished"


def end_run(run: Run, *, gates: Mapping[str, float] | None = None) -> Run:
    """Sum a run up as its last worker would, and close it."""
    facts = [
        Fact(
            row.case,
            Verdict(row.verdict) if row.verdict else None,
            row.score,
            tuple(row.turn_ms),
            row.agent_cost_usd,
            row.judge_cost_usd,
            row.status == "skipped",
        )
        for row in run.executions.order_by("position", "trial")
    ]
    rules = SuiteSpec(
        suite="x", slug="x", agent="x", cases=[], gates=GatesSpec.model_validate(gates or {})
    )
    results = CaseResults(run)
    results.read_cases()
    summary = summarise_run(facts, suite=rules, keep=results.add)
    run.case_results.all().delete()
    results.write()
    run.verdict, run.score, run.summary = summary.verdict, summary.score, summary.to_json()
    if run.is_open:
        run.status = Run.Status.FINISHED
    run.finished_at = run.finished_at or timezone.now()
    run.save()
    return run


def make_execution(
    run: Run,
    case: str = "A case",
    *,
    state: str = "passed",
    cause: str = "",
    reason: str = "",
    position: int | None = None,
    number: int = 1,
    trial: Trial | None = None,
    grades: Sequence[GradeResult] = (),
    counts: bool = True,
    **changes: Any,
) -> Execution:
    """Write an execution; one that has ended also gets a transcript (`trial`, else a short one).

    With `counts` it is added to the counters of a run that was made without it.
    """
    if counts:
        kind = "not_run" if state in {"queued", "running"} else state
        Run.objects.filter(pk=run.pk).update(total=run.total + 1, **{kind: getattr(run, kind) + 1})
        run.refresh_from_db()
    is_finished = state in VERDICTS
    trial = trial or make_trial(case=case)
    cause = cause or CAUSES.get(state, "")
    columns: dict[str, Any] = {
        "status": {"not_run": "queued"}.get(state, "finished" if is_finished else state),
        "verdict": state if is_finished else "",
        "cause": cause,
        "reason": reason or REASONS.get(cause, ""),
        "lease_token": uuid.uuid4() if state == "running" else None,
        "attempts": 0 if state in NEVER_RAN else 1,
        "started_at": None if state in NEVER_RAN else _moment(),
        "finished_at": _moment(seconds=4) if is_finished else None,
    }
    if is_finished:
        columns |= _measured(trial, passed=state == "passed")
        columns |= {"score": 1.0 if state == "passed" else 0.25, "is_scripted": run.is_scripted}
    execution = Execution.objects.create(
        run=run,
        case=case,
        position=run.executions.count() if position is None else position,
        trial=number,
        **columns | changes,
    )
    if is_finished or state == "cancelled":
        Transcript.objects.create(execution=execution, trial=trial.to_json())
    for place, grade in enumerate(grades):
        grade.execution, grade.position = execution, place
    GradeResult.objects.bulk_create(grades)
    return execution


def _moment(seconds: float = 0.0) -> datetime:
    return timezone.now() - timedelta(seconds=30 - seconds)


def _measured(trial: Trial, *, passed: bool) -> dict[str, Any]:
    return {
        "agent_prompt_tokens": trial.usage.prompt_tokens,
        "agent_response_tokens": trial.usage.response_tokens,
        "time_ms": trial.time_ms,
        "tool_calls": len(trial.tool_calls),
        "turn_ms": [turn.latency_ms for turn in trial.turns],
        "summary": dict.fromkeys(UNDECIDED) | {"overall_passed": passed},
    }


def make_trial(
    *,
    case: str = "A case",
    turns: int = 1,
    user: str = "Where is my refund?",
    reply: str = "Your refund of 20 EUR is on its way.",
    expected: str | None = None,
    calls: Sequence[ToolCall] = (),
    failure: Failure | None = None,
    **changes: Any,
) -> Trial:
    """Return a Trial of equal turns, each answered once; `calls` are made in each."""
    asked = [Message("assistant", "", tuple(calls))] if calls else []
    records = tuple(
        TurnRecord(
            index=number,
            user=user,
            reply=reply,
            expected=expected,
            messages=(*asked, Message("assistant", reply)),
            usage=Usage(input_uncached=120, output=30),
            latency_ms=850.0,
            model="claude-haiku-5-5",
        )
        for number in range(1, turns + 1)
    )
    return Trial(
        case=case, number=1, planned_turns=turns, agent="shop", turns=records, failure=failure
    ).but(**changes)


def failed_trial(message: str, *, cause: Cause = Cause.HARNESS, planned_turns: int = 1) -> Trial:
    """Return the Trial of a conversation in which nothing was said."""
    return Trial(
        case="A case",
        number=1,
        planned_turns=planned_turns,
        agent="shop",
        failure=Failure(cause, message),
    )


def make_grade(turn: int | None = 1, **changes: Any) -> GradeResult:
    """Return a grade, not yet saved: a passed check of the reply's text unless told otherwise."""
    columns = {
        "family": "text",
        "type": "contains",
        "label": "Reply contains “refund”",
        "weight": 1.0,
        "score": 1.0,
        "passed": True,
        "status": "ok",
        "reason": "The reply contains “refund”.",
    }
    return GradeResult(turn=turn, position=0, **columns | changes)
