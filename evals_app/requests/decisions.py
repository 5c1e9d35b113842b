"""Decisions of people about the version that a run tested, over REST and MCP."""

from django.contrib.auth.models import User

from evals_app.library.shipping import CannotDecideError, decide_shipping
from evals_app.models import Run, ShipDecision
from evals_app.requests.bodies import Ship
from evals_app.runs.release import SuiteRelease, release_of


def release_of_run(run: Run) -> SuiteRelease:
    """Return the answer to “May we ship?” about a run.

    Raises:
        CannotDecideError: it says nothing about a version.
    """
    if (problem := run.why_no_answer) or run.suite is None:
        raise CannotDecideError(problem)
    return release_of(run.suite, run=run)


def decide(run: Run, body: Ship, *, by: User) -> ShipDecision:
    """Note what a person decided, beside the computed answer."""
    release = release_of_run(run)
    return decide_shipping(
        run,
        shipped=body.shipped,
        answered=release.sentence,
        is_yes=release.check.answer == "yes",
        by=by,
        reason=body.reason,
    )
