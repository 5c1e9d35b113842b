"""Forecast a run before it starts: from earlier runs of its suite, else from its text."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from django.db.models import Count

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.forecast import Forecast, Held, forecast_run
from evals_app.engine.guess import Guesser
from evals_app.engine.suite import CaseSpec
from evals_app.engine.tool_spec import CannedTool, HttpTool
from evals_app.engine.trial import Tool, Verdict
from evals_app.formats.snapshot import SnapshotSpec, read_case
from evals_app.models import Agent, Execution, Run, Suite
from evals_app.reports.judges import judges_text
from evals_app.runs.freeze import AT_ONCE, freeze
from evals_app.runs.select import Part
from fixtures_app.tools import TOOLS

EARLIER_RUNS = 3
EARLIER_EXECUTIONS = 2000
NAMED_CASES = 500  # a smaller part of a suite is looked for by name

_COLUMNS = (
    *("case", "turn_ms", "tool_calls", "started_at", "finished_at"),
    *("prompt_tokens", "response_tokens", "judge_prompt_tokens", "judge_response_tokens"),
)


def forecast(
    suite: Suite,
    *,
    agent: Agent | None = None,
    model: str = "",
    cases: Collection[str] = (),
    tags: Collection[str] = (),
    names: Collection[str] = (),
    trials: int | None = None,
    concurrency: int | None = None,
    max_cost_usd: Decimal | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Forecast:
    """Forecast what `start_run` would start; of no case at all where none matches.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    part = Part(cases=cases, tags=tags, names=names, trials=trials)
    with freeze(
        suite, part=part, agent=agent, model=model, max_cost_usd=max_cost_usd, environ=environ
    ) as frozen:
        few = _few(case.name for case in frozen if case.trials)
        return _forecast(
            frozen.head,
            frozen.chosen(),
            judge=judges_text(frozen.judges),
            concurrency=concurrency,
            names=few if few is not None and len(few) < frozen.cases else None,
        )


def forecast_started(run: Run) -> Forecast:
    """Forecast a run that has just been started: what it uses is frozen already."""
    head = SnapshotSpec.read(run.snapshot.content)
    counted = run.executions.order_by("position").values_list("case", "position")
    trials = counted.annotate(trials=Count("pk"))
    cases = run.snapshot.cases.order_by("position").values_list("position", "content")
    names = _few(name for name, *_ in trials.iterator(chunk_size=AT_ONCE))
    return _forecast(
        head,
        _planned(trials.iterator(chunk_size=AT_ONCE), cases.iterator(chunk_size=AT_ONCE)),
        judge=run.judge,
        concurrency=run.concurrency,
        names=names if names is not None and len(names) < cases.count() else None,
    )


def _planned(
    trials: Iterator[tuple[str, int, int]], cases: Iterator[tuple[int, str]]
) -> Iterator[tuple[CaseSpec, int]]:
    """Bring together how often cases are held and what they are; both in order."""
    for _, position, count in trials:
        content = next(content for found, content in cases if found == position)
        yield read_case(content), count


def _few(names: Iterable[str]) -> list[str] | None:
    """Give the names unless they are too many to be looked for."""
    found = list(islice(names, NAMED_CASES + 1))
    return found if len(found) <= NAMED_CASES else None


def _forecast(
    head: SnapshotSpec,
    plan: Iterable[tuple[CaseSpec, int]],
    *,
    judge: str,
    concurrency: int | None,
    names: Sequence[str] | None,
) -> Forecast:
    held, earlier_runs = _held(head, judge, names)
    return forecast_run(
        plan,
        guesser=Guesser(
            suite=head.suite,
            agent=head.agent,
            tools=_tools(head.agent),
            judge=head.judge,
            similarity=head.similarity,
            scripted={each.slug: each for each in head.scripted},
        ),
        providers=head.providers,
        concurrency=concurrency or head.suite.concurrency,
        held=held,
        earlier_runs=earlier_runs,
    )


def _tools(agent: AgentSpec) -> list[Tool]:
    """Give the tools that are known; those of MCP servers are told at the start of conversations."""
    own = [each for each in agent.tools if isinstance(each, CannedTool | HttpTool)]
    return [*(TOOLS[name] for name in agent.world_tools), *own]


def _held(
    snapshot: SnapshotSpec, judge: str, names: Sequence[str] | None
) -> tuple[dict[str, list[Held]], int]:
    """Read what the newest runs with the same agent, model and judge took, by case."""
    runs = Run.objects.filter(
        suite_slug=snapshot.suite.slug,
        agent_slug=snapshot.agent.slug,
        model=str(snapshot.agent.model or ""),
        judge=judge,
        is_scripted=snapshot.agent.driver == "scripted",
        is_tryout=False,
        status=Run.Status.FINISHED,
    )
    held: dict[str, list[Held]] = defaultdict(list)
    used, left = 0, EARLIER_EXECUTIONS
    for run_id in runs.order_by("-id").values_list("pk", flat=True)[:EARLIER_RUNS]:
        ended = Execution.objects.filter(
            run=run_id, verdict__in=[Verdict.PASSED, Verdict.FAILED], started_at__isnull=False
        )
        if names is not None:
            ended = ended.filter(case__in=names)
        rows = list(ended.order_by("position", "trial").values(*_COLUMNS)[:left])
        for row in rows:
            held[row["case"]].append(_as_held(row))
        used, left = used + bool(rows), left - len(rows)
        if not left:
            break
    return held, used


def _as_held(row: Mapping[str, Any]) -> Held:
    took = row["finished_at"] - row["started_at"]
    return Held(
        turns=len(row["turn_ms"]),
        tool_calls=row["tool_calls"] or 0,
        prompt_tokens=row["prompt_tokens"],
        response_tokens=row["response_tokens"],
        judge_prompt_tokens=row["judge_prompt_tokens"],
        judge_response_tokens=row["judge_response_tokens"],
        # Two clocks: the database's and a worker's.
        time_s=max(0.0, took.total_seconds()),
    )
