"""Run cases of a run again, in a new run: as they are now, or as they were frozen then."""

from collections.abc import Collection
from decimal import Decimal
from typing import Any, Literal

from django.contrib.auth.models import User
from django.db.models import QuerySet
from pydantic import ValidationError

from evals_app.engine.preparing.obstacles import MAX_MESSAGES
from evals_app.engine.record.trial import Verdict
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec, read_case
from evals_app.models import Agent, Execution, Run, Suite
from evals_app.runs.money.ceilings import is_paid, tightest_limit
from evals_app.runs.starting.edits import edited_since
from evals_app.runs.starting.freeze import AT_ONCE, CannotStartError, archived_text
from evals_app.runs.starting.start_run import create_run, start_run
from fixtures_app.ground.words import near

Only = Literal["failed", "errored", "all"]
Version = Literal["current", "frozen"]


def rerun(
    run: Run,
    *,
    only: Only,
    cases: Collection[str] | None = None,
    version: Version = "current",
    max_cost_usd: Decimal | None = None,
    by: User | None = None,
) -> Run:
    """Start a run of those cases of another run, with all their trials.

    `only` chooses cases with a failed trial, or those with an errored, cancelled or missing one;
    `cases` are names among them. The `current` version has today's cases, checks, agent and
    fixtures, the `frozen` one those of that run. Without a ceiling, that of the earlier run
    applies.

    Raises:
        CannotStartError: there are no such cases, or something is missing.
    """
    if run.suite is not None and run.suite.archived_at is not None:
        raise CannotStartError(archived_text(run.suite.slug))
    if run.is_of_real_conversations:
        problem = (
            f"Run {run.pk} is of real conversations: there is no agent to run. Grade it again."
        )
        raise CannotStartError(problem)
    if run.gradings > 1:
        problem = (
            f"Run {run.pk} graded each conversation {run.gradings} times to test its judge. Re-run"
            f" cases of run {run.conversations_of} instead."
        )
        raise CannotStartError(problem)
    chosen = _find_cases(run, only=only, cases=cases)
    how = {
        "max_cost_usd": run.max_cost_usd if max_cost_usd is None else max_cost_usd,
        "is_tryout": run.is_tryout,
        "rerun_of": run,
    }
    if version == "current":
        return _current(run, set(chosen), by=by, **how)
    return _start_frozen(run, chosen, by=by, **how)


def cases_to_rerun(run: Run, *, only: Only) -> QuerySet[Execution]:
    """Return the executions because of which their cases may be run again."""
    if only == "all":
        return run.executions.all()
    if only == "failed":
        return run.executions.filter(verdict=Verdict.FAILED)
    undecided = run.executions.exclude(
        verdict__in=[Verdict.PASSED, Verdict.FAILED, Verdict.MEASURED]
    )
    return undecided.exclude(status=Execution.Status.SKIPPED)


def edits_before_rerun(run: Run, names: Collection[str]) -> list[str]:
    """Return what people edited since the run that a re-run of these cases would use."""
    suite, agent = _today(run)
    try:
        return edited_since(run, names, suite=suite, agent=agent, model=_model(run))
    except ValidationError:
        return ["perhaps anything: the run was made by another version of Evalwell"]


def _find_cases(run: Run, *, only: Only, cases: Collection[str] | None) -> QuerySet[Execution, str]:
    names = cases_to_rerun(run, only=only).order_by().values_list("case", flat=True).distinct()
    if cases is not None:
        known = set(names)
        unknown = [name for name in cases if name not in known]
        if unknown or not cases:
            of = "" if only == "all" else f" {only}"
            problems = [
                f"Run {run.pk} has no{of} case {name!r}.{near(name, known)}" for name in unknown
            ]
            raise CannotStartError(*(problems or ["Choose at least one case."]))
        names = names.filter(case__in=cases)
    if not names.exists():
        problem = f"Run {run.pk} has no {only} conversations." if only != "all" else "It is empty."
        raise CannotStartError(problem)
    return names


def _current(run: Run, names: set[str], **how: Any) -> Run:
    suite, agent = _today(run)
    left = set(suite.cases.values_list("name", flat=True)) & names
    if not left:
        problem = (
            f"Suite {suite.slug} no longer has these cases. They may have been renamed; run them as "
            f"they were in run {run.pk}, or start the suite."
        )
        raise CannotStartError(problem)
    chosen = {key: run.overrides[key] for key in ("trials", "all_trials") if key in run.overrides}
    return start_run(
        suite,
        agent=agent,
        model=_model(run),
        names=left,
        # One that was chosen for that run, unless it was deleted since.
        baseline=run.baseline_id if "baseline" in run.overrides else None,
        **chosen,
        **how,
    )


def _today(run: Run) -> tuple[Suite, Agent]:
    """Return the suite of a run, and the agent that would be tested now."""
    if run.suite is None:
        problem = f"Suite {run.suite_slug} was deleted; its cases can only be run as they were."
        raise CannotStartError(problem)
    slug = run.overrides.get("agent")
    if slug is None:
        return run.suite, run.suite.agent
    agent = Agent.objects.filter(slug=slug).first()
    if agent is None:
        problem = f"Agent {slug} was deleted; the cases can only be run as they were."
        raise CannotStartError(problem)
    return run.suite, agent


def _model(run: Run) -> str:
    return str(run.overrides.get("model", ""))


def _start_frozen(
    run: Run, chosen: QuerySet[Execution, str], *, by: User | None, **columns: Any
) -> Run:
    names = set(chosen)
    try:
        head = SnapshotSpec.read(run.snapshot.content)
        contents = run.snapshot.cases.values_list("content", flat=True)
        cases = map(read_case, contents.iterator(AT_ONCE))
        problems = [
            problem for case in cases if case.name in names for _, problem in case.placeholders()
        ]
    except ValidationError as exc:
        problem = f"Run {run.pk} was made by another version of Evalwell; start its suite instead."
        raise CannotStartError(problem) from exc
    if problems:
        raise CannotStartError(*problems[:MAX_MESSAGES])
    month = tightest_limit(by.pk if by else None)
    if month and month.is_used_up and is_paid(head.providers):
        raise CannotStartError(month.why_refused)
    order = ("trial", "position") if run.stops_when_decided else ("position", "trial")
    rows = run.executions.filter(case__in=chosen).order_by(*order)
    plan = rows.values_list("case", "position", "trial")
    return create_run(
        run.snapshot,
        head=head,
        plan=plan.iterator(chunk_size=AT_ONCE),
        total=rows.count(),
        concurrency=run.concurrency,
        suite=run.suite,
        judge=run.judge,
        replaced_model=run.replaced_model,
        overrides=run.overrides,
        losses=run.losses,
        baseline=run.baseline,
        created_by=by,
        stops_when_decided=run.stops_when_decided,
        **columns,
    )
