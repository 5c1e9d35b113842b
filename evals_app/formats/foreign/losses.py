"""What an import left out of the files of a suite, and how many checks were lost with it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.foreign.draft import Draft, placed_assertions
from evals_app.formats.reading.problems import Problem, in_order

_MAX_STORED = 200


@dataclass(frozen=True, slots=True)
class Losses:
    """What was left out of files, and how many checks of them were read."""

    parts: Sequence[Problem] = ()
    checks_read: int = 0

    @property
    def checks(self) -> int:
        """How many checks were lost, as far as is known."""
        return sum(part.checks for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """Return what a suite remembers; empty if nothing was left out. Lost checks come first."""
        if not self.parts:
            return {}
        parts = sorted(self.parts, key=lambda part: not part.checks)
        columns = ("path", "line", "column", "keys", "message", "checks")
        return {
            "checks_lost": self.checks,
            "checks_read": self.checks_read,
            "parts": [
                {column: getattr(part, column) for column in columns}
                for part in parts[:_MAX_STORED]
            ],
            "more": max(0, len(parts) - _MAX_STORED),
        }


def losses_of_suites(drafts: Sequence[Draft]) -> Iterator[tuple[Draft, Losses]]:
    """Return each suite with what was left out of its file.

    What was left out of a file without a suite, such as a data set, concerns all suites of its
    dialect.
    """
    homes = {draft.document.path for draft in drafts if isinstance(draft.spec, SuiteSpec)}
    of_file: dict[str, dict[Problem, None]] = defaultdict(dict)
    of_dialect: dict[str, dict[Problem, None]] = defaultdict(dict)
    for draft in drafts:
        lost = dict.fromkeys(problem for problem in draft.problems if problem.level == "loss")
        if draft.document.path in homes:
            of_file[draft.document.path] |= lost
        elif draft.dialect != "native":
            of_dialect[draft.dialect] |= lost
    for draft in drafts:
        if isinstance(draft.spec, SuiteSpec):
            parts = in_order(of_file[draft.document.path] | of_dialect[draft.dialect])
            yield draft, losses_in([draft], parts)


def losses_in(drafts: Sequence[Draft], parts: Sequence[Problem]) -> Losses:
    """Return what was left out of some suites; checks are only counted if one was lost."""
    has_lost_checks = any(part.checks for part in parts)
    return Losses(parts, sum(map(_checks_read, drafts)) if has_lost_checks else 0)


def _checks_read(draft: Draft) -> int:
    """Count the checks of a suite as they are written: in a table, one for each row."""
    suite = draft.spec
    if not isinstance(suite, SuiteSpec):
        return 0
    if draft.dialect == "table":
        return sum(placed.applies for case in suite.cases for placed in suite.placed_checks(case))
    places = (draft.place(loc, "", value="") for _, loc in placed_assertions(suite))
    return len({(place.path, place.keys) for place in places}) + bool(suite.rubric)
