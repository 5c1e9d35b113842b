"""Which cases of a suite a run is to hold, and how often."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals_app.engine.suite import CaseSpec, SuiteSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The cases that match all that is asked.

    `cases` are parts of names, whatever their case, one of which must occur; `tags` of which one
    must be among the case's own or its suite's; `names` exact names. `trials` None: as the suite
    says.
    """

    cases: Sequence[str] = ()
    tags: Sequence[str] = ()
    names: Sequence[str] = ()
    trials: int | None = None

    def holds(self, case: CaseSpec, suite: SuiteSpec) -> bool:
        """Whether a case of the suite is among them."""
        name = case.name.casefold()
        return (
            (not self.cases or any(text.casefold() in name for text in self.cases))
            and (not self.tags or not {*case.tags, *suite.tags}.isdisjoint(self.tags))
            and (not self.names or case.name in self.names)
        )

    def trials_of(self, case: CaseSpec, suite: SuiteSpec) -> int:
        """Say how often a case is to be held; 0 if it is not among them."""
        return (self.trials or suite.trials_of(case)) if self.holds(case, suite) else 0


WHOLE = Part()
