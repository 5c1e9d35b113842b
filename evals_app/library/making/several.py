"""Make cases of several real conversations at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from evals_app.engine.proposing.proposals import default_keys, keep_checks
from evals_app.engine.suites.assertion_spec import AssertionSpec
from evals_app.engine.suites.case_spec import CaseSpec
from evals_app.library.making.case_making import (
    CannotMakeError,
    CaseOptions,
    case_spec,
    suite_for_real,
    write_case,
)
from evals_app.library.making.observing import observe
from evals_app.models import Case, Execution, Suite

MAX_AT_ONCE = 50


@dataclass(slots=True)
class MadeCases:
    """The cases that were made; conversations that a case repeats already, and unreadable ones."""

    cases: list[Case] = field(default_factory=list)
    repeated: list[tuple[str, str]] = field(default_factory=list)  # conversation, case
    unreadable: list[str] = field(default_factory=list)


@transaction.atomic
def make_cases(
    executions: Sequence[Execution],
    suite: Suite,
    *,
    criteria: str,
    is_recorded: bool,
    by: object,
) -> MadeCases:
    """Make a case of each conversation, with the checks that its dialog would tick.

    `criteria`, if not empty, is what a judge checks in the last reply of each. A conversation in which
    users say the same as in a case of the suite, or in one before it, is left out.

    Raises:
        CannotMakeError: one cannot be made, so none is.
    """
    made = MadeCases()
    known: dict[int, dict[tuple[str, ...], str]] = {}
    for execution in executions:
        observed = observe(execution)
        if observed is None or not observed.trial.turns:
            made.unreadable.append(execution.case)
            continue
        note = f"Made from conversation {execution.pk}."
        target = suite_for_real(observed, suite, is_recorded=is_recorded, note=note, by=by)
        asked = known.setdefault(target.pk, _questions_in(target))
        proposals = observed.proposals()
        keys = default_keys(proposals)
        kept = keep_checks(observed.trial, proposals, keys)
        spec = case_spec(execution, observed, target, CaseOptions(keys=keys, suite=target), kept)
        said = _messages_of(spec)
        if said in asked:
            made.repeated.append((execution.case, asked[said]))
            continue
        spec = _with_criteria(spec, criteria)
        if not (list(spec.assertions()) or _has_general_checks(target)):
            raise CannotMakeError(
                f"{target} has no checks for every turn, so these cases would check nothing. Write what"
                " a right reply does.",
                key="criteria",
            )
        asked[said] = spec.name
        made.cases.append(write_case(target, spec, note=note, by=by))
    return made


def _questions_in(suite: Suite) -> dict[tuple[str, ...], str]:
    """Return the names of a suite's cases by what their users say."""
    cases: Iterable[Case] = suite.cases.prefetch_related("turns")
    return {
        _fold(
            [
                *(message["content"] for message in case.history if message["role"] == "user"),
                *(turn.user for turn in case.turns.all()),
            ]
        ): case.name
        for case in cases
    }


def _messages_of(case: CaseSpec) -> tuple[str, ...]:
    earlier = [message.content for message in case.history if message.role == "user"]
    return _fold([*earlier, *(turn.user for turn in case.turns)])


def _fold(messages: Iterable[str]) -> tuple[str, ...]:
    return tuple(" ".join(message.casefold().split()) for message in messages)


def _with_criteria(case: CaseSpec, criteria: str) -> CaseSpec:
    if not criteria:
        return case
    check = AssertionSpec.model_validate({"type": "llm_judge", "criteria": criteria})
    *turns, last = case.turns
    checked = last.model_copy(
        update={
            "assertions": [*(last.assertions or []), check],
            "inherit": last.inherit or last.assertions is None,
        }
    )
    return case.model_copy(update={"turns": [*turns, checked]})


def _has_general_checks(suite: Suite) -> bool:
    head = suite.head_mapping()
    return bool(head.get("assertions") or head.get("rubric"))
