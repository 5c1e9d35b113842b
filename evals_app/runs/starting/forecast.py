"""Forecast a run before it starts: from earlier runs of its suite, else from its text."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from django.db.models import Count

from evals_app.engine.forecast.estimate import Guesser
from evals_app.engine.forecast.run_forecast import Forecast, PastExecution, forecast_run
from evals_app.engine.record.trial import Verdict
from evals_app.engine.record.world import Tool
from evals_app.engine.specs.agent_spec import AgentSpec
from evals_app.engine.specs.tool_spec import CannedTool, HttpTool
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, read_case
from evals_app.models import Execution, Run, Suite
from evals_app.reports.answers.run_answers import Row
from evals_app.reports.words.judges import judges_text
from evals_app.runs.starting.freeze import CannotStartError, RunOptions, freeze
from evals_app.runs.starting.select import evenly
from fixtures_app.tools import TOOLS

EARLIER_RUNS = 3
EARLIER_EXECUTIONS = 2000
MAX_CASES = 100  # looked at: the others are like these

PAST_COLUMNS = (
    *("case", "turn_ms", "tool_calls", "started_at", "finished_at"),
    *("agent_prompt_tokens", "agent_response_tokens"),
    *("judge_prompt_tokens", "judge_response_tokens"),
)


def forecast(
    suite: Suite,
    *,
    by: int | None = None,
    concurrency: int | None = None,
    all_trials: bool = False,
    **choices: Unpack[RunOptions],
) -> Forecast:
    """Forecast what `start_run` would start; for zero cases if none matches.

    `by` is the key of the person who would start it.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    with freeze(suite, by=by, most_cases=MAX_CASES, **choices) as frozen:
        return _forecast(
            frozen.head,
            list(frozen.chosen_cases()),
            share=frozen.share,
            judge=judges_text(frozen.judges),
            concurrency=concurrency,
            stops=frozen.head.suite.stops_when_decided and not all_trials,
        )


def informing_judges(suite: Suite, *, by: int | None = None) -> str:
    """Return how many judges would be informational only; empty if none, or if no run can start."""
    if suite.min_judge_agreement is None:
        return ""
    try:
        with freeze(suite, by=by, most_cases=MAX_CASES) as frozen:
            trust = frozen.head.judge_trust
    except CannotStartError:
        return ""
    return trust.in_words if trust else ""


def forecast_started(run: Run) -> Forecast:
    """Forecast a run that has just been started: its snapshot is frozen already."""
    counted = run.executions.order_by("position").values_list("position")
    return forecast_frozen(run, dict(counted.annotate(trials=Count("pk"))))


def forecast_frozen(run: Run, trials: Mapping[int, int]) -> Forecast:
    """Forecast a run of another run's snapshot, with `trials` of the cases at these places."""
    some = dict(evenly(list(trials.items()), most=MAX_CASES))
    cases = run.snapshot.cases.filter(position__in=some).values_list("position", "content")
    return _forecast(
        SnapshotSpec.read(run.snapshot.content),
        [(read_case(content), some[position]) for position, content in cases],
        share=sum(some.values()) / sum(trials.values()),
        judge=run.judge,
        concurrency=run.concurrency,
        stops=run.stops_when_decided,
    )


def _forecast(
    head: SnapshotSpec,
    plan: Sequence[tuple[CaseSpec, int]],
    *,
    share: float,
    judge: str,
    concurrency: int | None,
    stops: bool,
) -> Forecast:
    past, earlier_runs = _past(head, judge, [case.name for case, _ in plan])
    expected = forecast_run(
        plan,
        share=share,
        guesser=Guesser(
            suite=head.suite,
            agent=head.agent,
            tools=_tools(head.agent),
            judge=head.judge,
            similarity=head.similarity,
            scripted={agent.slug: agent for agent in head.scripted},
        ),
        providers=head.providers,
        concurrency=concurrency or head.suite.concurrency,
        past=past,
        earlier_runs=earlier_runs,
    )
    has_trials = any(trials > 1 for _, trials in plan)
    return replace(expected, may_skip_trials=stops and has_trials)


def _tools(agent: AgentSpec) -> list[Tool]:
    """Return the tools that are known; MCP servers list theirs when conversations start."""
    own = [tool for tool in agent.given_tools if isinstance(tool, CannedTool | HttpTool)]
    return [*(TOOLS[name] for name in agent.world_tools), *own]


def _past(
    snapshot: SnapshotSpec, judge: str, cases: Sequence[str]
) -> tuple[dict[str, list[PastExecution]], int]:
    """Read what the newest runs with the same agent, model and judge took, by case."""
    runs = Run.objects.filter(
        suite_slug=snapshot.suite.slug,
        agent_slug=snapshot.agent.slug,
        model=str(snapshot.agent.asked_model or ""),
        judge=judge,
        is_scripted=snapshot.agent.driver == "scripted",
        is_tryout=False,
        grades_of=None,  # their agents were not asked
        status=Run.Status.FINISHED,
    )
    past: dict[str, list[PastExecution]] = defaultdict(list)
    used, left = 0, EARLIER_EXECUTIONS
    for run_id in runs.order_by("-id").values_list("pk", flat=True)[:EARLIER_RUNS]:
        ended = Execution.objects.filter(
            run=run_id,
            case__in=cases,
            verdict__in=[Verdict.PASSED, Verdict.FAILED],
            started_at__isnull=False,
        )
        rows = list(ended.order_by("position", "trial").values(*PAST_COLUMNS)[:left])
        for row in rows:
            past[row["case"]].append(past_execution(row))
        used, left = used + bool(rows), left - len(rows)
        if not left:
            break
    return past, used


def past_execution(row: Row) -> PastExecution:
    """Return what an execution took, from its `PAST_COLUMNS`."""
    took = row["finished_at"] - row["started_at"]
    return PastExecution(
        turns=len(row["turn_ms"]),
        tool_calls=row["tool_calls"] or 0,
        prompt_tokens=row["agent_prompt_tokens"],
        response_tokens=row["agent_response_tokens"],
        judge_prompt_tokens=row["judge_prompt_tokens"],
        judge_response_tokens=row["judge_response_tokens"],
        # Two clocks: the database's and a worker's.
        time_s=max(0.0, took.total_seconds()),
    )
