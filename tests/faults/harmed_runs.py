"""Runs in which some checks do harm."""

from collections.abc import Mapping

from evals_app.models import Assertion, Run
from evals_app.runs.starting.start_run import start_run
from tests.runs.suites import make_suite


def start_harmful(cases: int, harms: Mapping[str, str], *, concurrency: int = 8) -> Run:
    """Start a run of cases with one check each; `harms` tells how those of some cases do harm."""
    suite = make_suite(cases=cases, concurrency=concurrency)
    for case, how in harms.items():
        checks = Assertion.objects.filter(turn__case__suite=suite, turn__case__name=case)
        checks.update(type="harm", options={"how": how})
    return start_run(suite)


def harmed(run: Run) -> dict[str, tuple[str, str, str]]:
    """Return verdict, cause and reason of all that did not pass, by case."""
    rows = run.executions.exclude(verdict="passed").order_by("position")
    return {row.case: (row.verdict, row.cause, row.reason) for row in rows}
