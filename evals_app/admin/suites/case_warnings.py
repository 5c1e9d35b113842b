"""Warnings for the author of a case that was saved."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from evals_app.admin.checks.check_rows import CheckFormSet
from evals_app.admin.kit.model_choices import no_judge_for
from evals_app.admin.suites.case_turns import checks_of
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.specs.agent_spec import OUTSIDE
from evals_app.engine.suites.case_templates import left_over, to_replace
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec
from evals_app.engine.verdicts.rehearsal import missed_by_expected
from evals_app.formats.checking.references import NO_STREAMING
from evals_app.models import Case


def warnings_of(case: Case, formsets: list[Any]) -> Iterator[str]:
    """Yield warnings about a saved case."""
    turns, final = formsets
    for number, turn in enumerate(turns.kept_rows, 1):
        if (turn.cleaned_data["expected"] or "").isspace():
            yield f"Turn {number}: the expected answer contains only spaces."
        for checks in checks_of(turn):
            yield from _warnings_of(checks, f"Turn {number}, check")
    yield from _warnings_of(final, "Final check")
    if case.streaming and case.suite.agent.driver in OUTSIDE:
        yield f"Streaming: {NO_STREAMING}"
    if (spec := _saved_spec(case.pk)) is not None:
        yield from _warnings_of_whole(spec, spec.cases[0])
        if problem := no_judge_for(spec, case):
            yield f"This case cannot run yet. {problem}"


def _warnings_of_whole(suite: SuiteSpec, case: CaseSpec) -> Iterator[str]:
    """Yield warnings about the case as a whole, with the checks of its suite."""
    for number, turn in enumerate(case.turns, 1):
        for _, message in missed_by_expected(turn.expected, suite.assertions_for(turn)):
            yield f"Turn {number}, expected answer: {message}"
    if heavy := suite.swamping(case):
        yield (
            f"The check “{heavy.label}” has so much weight that it alone determines the score. Give the"
            " others more weight, or remove them."
        )
    if problem := case.unreachable_time():
        yield problem
    for placeholder in left_over(case):
        yield to_replace(placeholder)
    if suite.asserts_nothing(case):
        yield (
            "This case can neither pass nor fail: nothing in it decides. Add a check with a weight above 0, and with a "
            "threshold if its kind only measures; or set a limit."
        )


def _saved_spec(pk: int) -> SuiteSpec | None:
    """Return a case in its suite, or None if a kind of check no longer exists."""
    whole = Case.objects.select_related("suite__agent").prefetch_related(
        "turns__assertions", "final_assertions", "suite__default_assertions", "suite__fixtures"
    )
    case = whole.get(pk=pk)
    # Without its other cases: a suite may have thousands.
    suite = case.suite.head_mapping() | {"cases": [case.to_mapping()]}
    try:
        # A check that is no longer permitted still counts.
        return SuiteSpec.model_validate(suite, context=FROZEN)
    except ValidationError:
        return None  # the page reports it


def _warnings_of(checks: CheckFormSet, where: str) -> Iterator[str]:
    for number, check in enumerate(checks.kept_rows, 1):
        for warning in check.warnings():
            yield f"{where} {number}: {warning}"
