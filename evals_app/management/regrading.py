"""`runs regrade`: what is graded again, and with what."""

from collections.abc import Sequence
from typing import Any

from evals_app.management import usage_error
from evals_app.models import Execution, Run
from fixtures_app.ground.words import near


def regrade_choices(run: Run, options: dict[str, Any]) -> dict[str, Any]:
    """Return what the options choose, as `plan_regrade` takes it.

    Raises:
        CommandError: no case has such a name.
    """
    return {
        "suite": "as_it_was" if options["as_it_was"] else "current",
        "cases": options["case_exact"] or _cases_with(run, options["case"]),
        "trials": options["trials"] or 1,
        "judge": options["judge"] or "",
        "max_cost_usd": options["max_cost"],
    }


def _cases_with(run: Run, texts: Sequence[str]) -> list[str] | None:
    """Return the cases of a run that have one of these texts in their names; None: no text is given."""
    if not texts:
        return None
    ended = run.executions.filter(status=Execution.Status.FINISHED)
    names = list(ended.order_by().values_list("case", flat=True).distinct())
    folded = [text.casefold() for text in texts]
    chosen = [name for name in names if any(text in name.casefold() for text in folded)]
    if not chosen:
        quoted = " or ".join(map(repr, texts))
        hint = near(texts[0], names)
        raise usage_error(f"Run {run.pk} has no case with {quoted} in its name.{hint}")
    return chosen
