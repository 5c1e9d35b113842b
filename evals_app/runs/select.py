"""Which cases of a suite a run is to hold."""

from collections.abc import Sequence

from evals_app.engine.suite import CaseSpec, SuiteSpec


def select_cases(
    suite: SuiteSpec,
    *,
    cases: Sequence[str] = (),
    tags: Sequence[str] = (),
    names: Sequence[str] = (),
) -> list[CaseSpec]:
    """Give the cases that match all that is asked.

    `cases` are parts of names, whatever their case, one of which must occur; `tags` of which one
    must be among the case's own or its suite's; `names` exact names.
    """
    wanted = [text.casefold() for text in cases]
    return [
        case
        for case in suite.cases
        if (not wanted or any(text in case.name.casefold() for text in wanted))
        and (not tags or not {*case.tags, *suite.tags}.isdisjoint(tags))
        and (not names or case.name in names)
    ]
