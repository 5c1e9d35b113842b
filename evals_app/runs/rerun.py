"""Run again, in a new run: same snapshot, chosen cases, all their trials."""

from typing import TYPE_CHECKING, Literal

from django.db.models import QuerySet
from pydantic import ValidationError

from evals_app.engine.trial import Verdict
from evals_app.formats.snapshot import SnapshotSpec, read_case
from evals_app.models import Execution, Run
from evals_app.runs.freeze import AT_ONCE, CannotStartError, archived
from evals_app.runs.obstacles import MOST_MESSAGES
from evals_app.runs.start import create_run

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Only = Literal["failed", "errored", "all"]


def rerun(run: Run, *, only: Only, by: "User | None" = None) -> Run:
    """Start a run of those cases of another run.

    `failed` means cases with a failed trial, `errored` those with an errored, cancelled or not
    held one.

    Raises:
        CannotStartError: there are none.
    """
    if run.suite is not None and run.suite.archived_at is not None:
        raise CannotStartError([archived(run.suite.slug)])
    chosen = cases_to_rerun(run, only=only).order_by().values("case")
    if not chosen.exists():
        problem = f"Run {run.pk} has no {only} executions." if only != "all" else "It is empty."
        raise CannotStartError([problem])
    names = set(chosen.values_list("case", flat=True))
    try:
        head = SnapshotSpec.read(run.snapshot.content)
        contents = run.snapshot.cases.values_list("content", flat=True)
        cases = map(read_case, contents.iterator(AT_ONCE))
        problems = [
            problem for case in cases if case.name in names for _, problem in case.placeholders()
        ]
    except ValidationError as exc:
        problem = f"Run {run.pk} was made by another version; start its suite anew."
        raise CannotStartError([problem]) from exc
    if problems:
        raise CannotStartError(problems[:MOST_MESSAGES])
    rows = run.executions.filter(case__in=chosen).order_by("position", "trial")
    plan = rows.values_list("case", "position", "trial")
    return create_run(
        run.snapshot,
        head=head,
        plan=plan.iterator(chunk_size=AT_ONCE),
        total=rows.count(),
        concurrency=run.concurrency,
        suite=run.suite,
        judge=run.judge,
        created_by=by,
        max_cost_usd=run.max_cost_usd,
        is_tryout=run.is_tryout,
        rerun_of=run,
    )


def cases_to_rerun(run: Run, *, only: Only) -> QuerySet[Execution]:
    """Give the executions that ask for their cases to be run again."""
    if only == "all":
        return run.executions.all()
    if only == "failed":
        return run.executions.filter(verdict=Verdict.FAILED)
    return run.executions.exclude(verdict__in=[Verdict.PASSED, Verdict.FAILED])
