"""Run again, in a new run: same snapshot, chosen cases, all their trials."""

from typing import TYPE_CHECKING, Literal

from django.db.models import QuerySet
from pydantic import ValidationError

from evals_app.engine.trial import Verdict
from evals_app.formats.snapshot import SnapshotSpec
from evals_app.models import Execution, Run
from evals_app.runs.freeze import CannotStartError
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
    chosen = set(cases_to_rerun(run, only=only).values_list("case", flat=True))
    if not chosen:
        problem = f"Run {run.pk} has no {only} executions." if only != "all" else "It is empty."
        raise CannotStartError([problem])
    try:
        snapshot = SnapshotSpec.read(run.snapshot.content)
    except ValidationError as exc:
        problem = f"Run {run.pk} was made by another version; start its suite anew."
        raise CannotStartError([problem]) from exc
    by_name = {case.name: case for case in snapshot.suite.cases}
    rows = run.executions.filter(case__in=chosen).order_by("position", "trial")
    return create_run(
        snapshot,
        plan=[(by_name[case], trial) for case, trial in rows.values_list("case", "trial")],
        suite=run.suite,
        by=by,
        concurrency=run.concurrency,
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
