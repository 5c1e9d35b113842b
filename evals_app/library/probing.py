"""Can the checks of a stored suite fail?"""

from evals_app.engine.verdicts.can_fail import IsOver, ProbedSuite, TryBudget, probe_suite
from evals_app.library.importing.inventories import inventory_for
from evals_app.models import Suite


def short_budget() -> TryBudget:
    """Return how much is tried while a person or a program waits for a page."""
    return TryBudget(most=5_000, seconds=5.0)


def probe_stored(suite: Suite, *, is_over: IsOver = lambda: False) -> ProbedSuite:
    """Try the checks of a suite that was loaded by `with_everything`."""
    inventory = inventory_for(suite.agent, suite.fixtures.all())
    return probe_suite(suite.to_spec(), inventory, is_over=is_over)
