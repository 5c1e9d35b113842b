"""Adding the cases of files to a suite that exists."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import ValidationError

from evals_app.engine.suites.case_spec import CaseSpec
from evals_app.engine.suites.suite_spec import MIXED_USERS, SuiteSpec
from evals_app.formats.foreign.shapes import distinct_names
from evals_app.formats.importing import Imported, Located
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.models import Suite

_OF_EVERY_FILE = {"suite", "slug", "agent", "cases", "description", "assertions"}


def with_cases_added(imported: Imported, slug: str) -> Imported:
    """Return an import of a stored suite alone, with the cases of all files after its own.

    Checks that the files have for all their cases become checks of each case. A case that the suite
    has already, with the same name and content, is not added again; any other gets a name that is free.

    Raises:
        FormatError: there is more than cases in the files, or nothing to add; or the suite is gone or
            no longer valid.
    """
    suite = _spec_of(slug)
    if any((imported.providers, imported.agents, imported.fixtures, imported.entity_types)):
        raise _refusal("Only cases can be added to a suite. Import these files on their own.")
    known = {case.name: case for case in suite.cases}
    read = [
        _on_its_own(case, located.spec)
        for located in imported.suites
        for case in located.spec.cases
    ]
    new = [case for case in read if known.get(case.name) != case]
    if not new:
        raise _refusal("All these cases are in the suite already.")
    names = distinct_names([*known, *(case.name for case in new)])[len(known) :]
    added = [case.model_copy(update={"name": name}) for case, name in zip(new, names, strict=True)]
    whole = suite.model_copy(update={"cases": [*suite.cases, *added]})
    if len({case.simulated_user is None for case in whole.cases}) > 1:
        raise _refusal(MIXED_USERS)
    path = imported.suites[0].path
    return replace(
        imported,
        suites=[Located(whole, path, 0)],
        losses=[*imported.losses, *_settings_left_out(imported.suites, suite)],
        guesses=[*imported.guesses, *_left_out_again(path, len(read) - len(new))],
    )


def _on_its_own(case: CaseSpec, suite: SuiteSpec) -> CaseSpec:
    """Return a case that has the checks of its file's suite itself, beside those of the new suite."""
    turns = [
        turn.model_copy(
            update={"assertions": [*suite.assertions, *(turn.assertions or [])], "inherit": True}
        )
        if suite.assertions and (turn.assertions is None or turn.inherit)
        else turn
        for turn in case.turns
    ]
    return case.model_copy(update={"turns": turns})


def _spec_of(slug: str) -> SuiteSpec:
    try:
        return Suite.objects.with_everything().get(slug=slug).to_spec()
    except Suite.DoesNotExist:
        raise _refusal("This suite has been deleted. Import the file as a new one.") from None
    except ValidationError:
        raise _refusal("The suite has an error of its own. Fix it on its page first.") from None


def _settings_left_out(files: Iterable[Located[SuiteSpec]], suite: SuiteSpec) -> Iterator[Problem]:
    for located in files:
        spec = located.spec
        names = sorted(spec.model_fields_set - _OF_EVERY_FILE)
        if spec.agent != suite.agent:
            names.append("agent")
        if names:
            message = f"Only cases are added. Settings of the suite keep their values: {', '.join(names)}."
            yield Problem(located.path, located.line, 1, "", "", message, "loss")


def _left_out_again(path: str, count: int) -> Iterator[Problem]:
    if count:
        message = f"Not added, because the suite has the same already: {count} of these cases."
        yield Problem(path, 0, 0, "", "", message, "guess")


def _refusal(message: str) -> FormatError:
    return FormatError([Problem("", 0, 0, "", "", message)])
