"""Try the checks of an import on answers that ought to fail, for a moment."""

from collections.abc import Iterable, Iterator

from evals_app.engine.specs.inventory import NOTHING_KNOWN
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.can_fail import ONLY_FORBIDS, ProbedCheck, TryBudget, probe_checks
from evals_app.engine.verdicts.probes import named_probes
from evals_app.formats.checking.naming import NamedThings
from evals_app.formats.foreign.draft import Draft
from evals_app.formats.reading.problems import Problem

MAX_TRIED = 500  # checks of an import
_MAX_S = 1.0
_NAMED = 10  # blind checks of a suite


def blind_checks(drafts: Iterable[Draft], holdings: NamedThings) -> Iterator[Problem]:
    """Warn of checks that pass every answer that ought to fail, and of suites that only forbid."""
    is_over = TryBudget(most=MAX_TRIED, seconds=_MAX_S)
    for draft in drafts:
        suite = draft.spec
        if not isinstance(suite, SuiteSpec):
            continue
        inventory = holdings.inventory(suite.agent, suite.fixtures) or NOTHING_KNOWN
        probed = probe_checks(suite, inventory, is_over=is_over)
        # Other checks that cannot fail, and names that do not exist, are reported elsewhere.
        blind = [
            one
            for one in probed.of("blind")
            if one.tried and not any(map(inventory.problem, one.check.grader.mentions()))
        ]
        for one in blind[:_NAMED]:
            yield _blind(draft, one)
        if len(blind) > _NAMED:
            more = f"{len(blind) - _NAMED:,} more checks pass answers that should fail."
            yield draft.place(("cases",), f"{more} See check_evals.", value="", level="warning")
        if probed.only_forbids:
            yield draft.place(("cases",), ONLY_FORBIDS, value="", level="warning")
        if probed.left:
            message = (
                f"Whether they can fail was not tried for {probed.left:,} checks, to save time. To try"
                f" all of them: check_evals {suite.slug}"
            )
            yield draft.place(("cases",), message, value="", level="warning")


def _blind(draft: Draft, one: ProbedCheck) -> Problem:
    message = (
        f"This check passes answers that should fail: {named_probes(one.passed)}. Let it look for what"
        " only a right answer has."
    )
    return draft.place((*one.loc, *one.check.grader.main_key()), message, level="warning")
