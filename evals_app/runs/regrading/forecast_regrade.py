"""Forecast what grading the conversations of a run again will take."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from evals_app.engine.forecast.estimate import CALL_S, TOKENS_PER_S, Guesser
from evals_app.engine.forecast.run_forecast import Forecast, PastExecution, forecast_run
from evals_app.engine.suites.suite_spec import CaseSpec, PlacedCheck
from evals_app.engine.verdicts.judged_criteria import judged_criterion_of, question_of
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, read_case
from evals_app.models import GradeResult
from evals_app.reports.answers.run_answers import Row
from evals_app.runs.regrading.start_regrade import RegradePlan
from evals_app.runs.starting.forecast import MAX_CASES, PAST_COLUMNS, past_execution
from evals_app.runs.starting.select import evenly
from evals_app.runs.work.conversations import UNUSABLE


def forecast_regrade(regrading: RegradePlan) -> Forecast:
    """Forecast what grading stored conversations again takes: only judges that must be asked."""
    run, head = regrading.run, regrading.head
    gradings = Counter((planned.case, planned.position) for planned in regrading.planned)
    some = evenly(list(gradings.items()), most=MAX_CASES)
    names = [name for (name, _), _ in some]
    contents = regrading.contents({position for (_, position), _ in some})
    is_free = _answered_before(regrading, names) if regrading.reuses_answers else _never
    past: dict[str, list[PastExecution]] = defaultdict(list)
    if not regrading.reuses_answers and regrading.version == "as_it_was" and not regrading.judge:
        for row in run.executions.filter(case__in=names).exclude(verdict="").values(*PAST_COLUMNS):
            past[row["case"]].append(_past_grading(row))
    return forecast_run(
        [(read_case(contents[position]), count) for (_, position), count in some],
        share=regrading.share * sum(count for _, count in some) / len(regrading.planned),
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
    regrading: RegradePlan, names: Sequence[str]
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
        (case.name, _question_and_judge(old, placed))
        for case in map(read_case, cases.values_list("content", flat=True))
        for placed in old.suite.placed_checks(case)
        if (case.name, placed.number, placed.position) not in unusable
    }
    return lambda case, placed: (case.name, _question_and_judge(regrading.head, placed)) in asked


def _question_and_judge(head: SnapshotSpec, placed: PlacedCheck) -> tuple[str, str]:
    judges = placed.check.judges(agent=head.agent.asked_model, judge=head.judge)
    judged_by = judged_criterion_of(placed.check, judges, judge_prompt=head.suite.judge_prompt)
    return question_of(placed.check, placed.turn), judged_by.digest if judged_by else ""


def _past_grading(row: Row) -> PastExecution:
    """Return what grading a conversation took; its time is that of the judge's words."""
    written = row["judge_response_tokens"] or 0
    past = past_execution({**row, "started_at": row["finished_at"]})
    return replace(past, turns=0, tool_calls=0, time_s=CALL_S + written / TOKENS_PER_S)
