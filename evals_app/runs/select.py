"""Which cases of a suite a run covers, and how often."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from evals_app.engine.suite import CaseSpec, SuiteSpec
from evals_app.models import Case, Suite

_ROWS_AT_ONCE = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The cases that match all that is asked.

    `cases` are parts of names, in capitals or not, one of which must occur; `tags` of which one
    must be among the case's own or its suite's; `names` whole names. `trials` None: as the suite
    says.
    """

    cases: Collection[str] = ()
    tags: Collection[str] = ()
    names: Collection[str] = ()
    trials: int | None = None

    def matches(self, name: str, tags: Iterable[str]) -> bool:
        """Whether a case of this name, with these tags of its own and its suite's, is among them."""
        folded = name.casefold()
        return (
            (not self.cases or any(text.casefold() in folded for text in self.cases))
            and (not self.tags or not set(self.tags).isdisjoint(tags))
            and (not self.names or name in self.names)
        )

    def trials_of(self, case: CaseSpec, suite: SuiteSpec) -> int:
        """Return how often a case is run; 0 if it is not among them."""
        if not self.matches(case.name, [*case.tags, *suite.tags]):
            return 0
        return self.trials or suite.trials_of(case)

    def has_case_of(self, suite: Suite) -> bool:
        """Whether at least one case of the suite is among them; reads names and tags alone."""
        rows = suite.cases.values_list("name", "tags").iterator(_ROWS_AT_ONCE)
        return any(self.matches(name, [*tags, *suite.tags]) for name, tags in rows)


WHOLE = Part()


def nothing_chosen(suites: Sequence[Suite], part: Part) -> str:
    """Return the sentence for a part that no case of these suites belongs to, with near names."""
    cases = dict(Case.objects.filter(suite__in=suites).values_list("name", "tags"))
    where = suites[0].slug if len(suites) == 1 else f"these {len(suites)} suites"
    if not cases:
        return (
            f"Suite {where} has no cases yet."
            if len(suites) == 1
            else f"None of {where} has cases."
        )
    tags = {tag for own in [*cases.values(), *(suite.tags for suite in suites)] for tag in own}
    wanted = [
        *(f"{text!r} in its name" for text in part.cases),
        *(f"the name {text!r}" for text in part.names),
        *(f"the tag {tag!r}" for tag in part.tags),
    ]
    near = [
        *(difflib.get_close_matches(text, cases, 1, 0.4) for text in (*part.cases, *part.names)),
        *(difflib.get_close_matches(tag, sorted(tags), 1) for tag in part.tags),
    ]
    hints = " or ".join(repr(names[0]) for names in near if names)
    hint = f" Did you mean {hints}?" if hints else ""
    return f"No case of {where} has {' or '.join(wanted)}.{hint}"
