"""Forecast a run before it starts: from earlier runs of its suite, else from its text."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from django.db.models import Count

from evals_app.engine.agent_spec import AgentSpec
from evals_app.engine.forecast import Forecast, PastExecution, forecast_run
from evals_app.engine.guess import CALL_S, TOKENS_PER_S, Guesser
from evals_app.engine.suite import CaseSpec, PlacedCheck
from evals_app.engine.tool_spec import CannedTool, HttpTool
from evals_app.engine.trial import Tool, Verdict
from evals_app.engine.yardsticks import question_of, yardstick_of
from evals_app.formats.snapshot import SnapshotSpec, read_case
from evals_app.models import Execution, GradeResult, Run, Suite
from evals_app.reports.judges import judges_text
from evals_app.runs.conversations import UNUSABLE
from evals_app.runs.freeze import CannotStartError, Choices, freeze
from evals_app.runs.regrade import Regrading
from evals_app.runs.select import evenly
from fixtures_app.tools import TOOLS

EARLIER_RUNS = 3
EARLIER_EXECUTIONS = 2000
MOST_CASES = 100  # looked at: the others are like these

_COLUMNS = (
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
    **choices: Unpack[Choices],
) -> Forecast:
    """Forecast what `start_run` would start; of no case at all where none matches.

    `by` is the key of the person who would start it.

    Raises:
        CannotStartError: something it needs is missing or does not fit.
    """
    with freeze(suite, by=by, most_cases=MOST_CASES, **choices) as frozen:
        return _forecast(
            frozen.head,
            list(frozen.chosen()),
            share=frozen.share,
            judge=judges_text(frozen.judges),
            concurrency=concurrency,
            stops=frozen.head.suite.stops_when_decided and not all_trials,
        )


def informing_judges(suite: Suite, *, by: int | None = None) -> str:
    """Say how many judges of a suite would only inform; empty if none would, or no run can start."""
    if suite.min_judge_agreement is None:
        return ""
    try:
        with freeze(suite, by=by, most_cases=MOST_CASES) as frozen:
            trust = frozen.head.judge_trust
    except CannotStartError:
        return ""
    return trust.in_words if trust else ""


def forecast_started(run: Run) -> Forecast:
    """Forecast a run that has just been started: what it uses is frozen already."""
    counted = run.executions.order_by("position").values_list("position")
    return forecast_frozen(run, dict(counted.annotate(trials=Count("pk"))))


def forecast_frozen(run: Run, trials: Mapping[int, int]) -> Forecast:
    """Forecast a run of what another run has frozen: so many trials of the cases at these places."""
    some = dict(evenly(list(trials.items()), most=MOST_CASES))
    cases = run.snapshot.cases.filter(position__in=some).values_list("position", "content")
    return _forecast(
        SnapshotSpec.read(run.snapshot.content),
        [(read_case(content), some[position]) for position, content in cases],
        share=sum(some.values()) / sum(trials.values()),
        judge=run.judge,
        concurrency=run.concurrency,
        stops=run.stops_when_decided,
    )


def forecast_regrade(regrading: Regrading) -> Forecast:
    """Forecast what grading stored conversations again takes: only judges that must be asked."""
    run, head = regrading.run, regrading.head
    gradings = Counter((planned.case, planned.position) for planned in regrading.planned)
    some = evenly(list(gradings.items()), most=MOST_CASES)
    names = [name for (name, _), _ in some]
    contents = regrading.contents({position for (_, position), _ in some})
    is_free = _answered_before(regrading, names) if regrading.reuses_answers else _never
    past: dict[str, list[PastExecution]] = defaultdict(list)
    if not regrading.reuses_answers and regrading.version == "as_it_was" and not regrading.judge:
        for row in run.executions.filter(case__in=names).exclude(verdict="").values(*_COLUMNS):
            past[row["case"]].append(_past_grading(row))
    return forecast_run(
        [(read_case(contents[position]), count) for (_, position), count in some],
        share=sum(count for _, count in some) / len(regrading.planned),
        guesser=Guesser(
            suite=head.suite,
            agent=head.agent,
            judge=head.judge,
            similarity=head.similarity,
            scripted={agent.slug: agent for agent in head.scripted},
            asks_agent=False,
            is_free=is_free,
        ),
        providers=head.providers,
        concurrency=head.suite.concurrency,
        past=past,
        earlier_runs=int(bool(past)),
    )


def _never(_case: CaseSpec, _placed: PlacedCheck) -> bool:
    return False


def _answered_before(
    regrading: Regrading, names: Sequence[str]
) -> Callable[[CaseSpec, PlacedCheck], bool]:
    """Return which checks ask their judge what the run asked: the answers are stored."""
    old = SnapshotSpec.read(regrading.run.snapshot.content)
    if old.suite.judge_context != regrading.head.suite.judge_context:
        return _never
    executions = regrading.run.executions.filter(case__in=names)
    grades = GradeResult.objects.filter(UNUSABLE, execution__in=executions)
    unusable = set(grades.values_list("execution__case", "turn", "position"))
    places = executions.values("position")
    cases = regrading.run.snapshot.cases.filter(position__in=places)
    asked = {
        (case.name, _asked(old, placed))
        for case in map(read_case, cases.values_list("content", flat=True))
        for placed in old.suite.placed_checks(case)
        if (case.name, placed.number, placed.position) not in unusable
    }
    return lambda case, placed: (case.name, _asked(regrading.head, placed)) in asked


def _asked(head: SnapshotSpec, placed: PlacedCheck) -> tuple[str, str]:
    judges = placed.check.judges(agent=head.agent.model, judge=head.judge)
    judged_by = yardstick_of(placed.check, judges, judge_prompt=head.suite.judge_prompt)
    return question_of(placed.check, placed.turn), judged_by.digest if judged_by else ""


def _past_grading(row: Mapping[str, Any]) -> PastExecution:
    """Return what grading a conversation took; its time is that of the judge's words."""
    written = row["judge_response_tokens"] or 0
    past = _past_execution({**row, "started_at": row["finished_at"]})
    return replace(past, turns=0, tool_calls=0, time_s=CALL_S + written / TOKENS_PER_S)


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
    own = [tool for tool in agent.tools if isinstance(tool, CannedTool | HttpTool)]
    return [*(TOOLS[name] for name in agent.world_tools), *own]


def _past(
    snapshot: SnapshotSpec, judge: str, cases: Sequence[str]
) -> tuple[dict[str, list[PastExecution]], int]:
    """Read what the newest runs with the same agent, model and judge took, by case."""
    runs = Run.objects.filter(
        suite_slug=snapshot.suite.slug,
        agent_slug=snapshot.agent.slug,
        model=str(snapshot.agent.model or ""),
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
        rows = list(ended.order_by("position", "trial").values(*_COLUMNS)[:left])
        for row in rows:
            past[row["case"]].append(_past_execution(row))
        used, left = used + bool(rows), left - len(rows)
        if not left:
            break
    return past, used


def _past_execution(row: Mapping[str, Any]) -> PastExecution:
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
