"""The changes of an import in words, and the first cases of a suite."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass

from django.utils.text import Truncator, get_text_list

from evals_app.admin.kit.presentation import plural
from evals_app.engine.suites.suite_spec import CaseSpec, SuiteSpec, TurnSpec
from evals_app.library.changes.import_report import ObjectChange
from evals_app.reports.words.changed_values import changed_place

MAX_CASES = 3  # of a new suite
MAX_REMOVED = 20  # cases that are named before they are deleted
MAX_DIFFERENCES = 200  # of a changed object
_OPEN = 5  # differences that are not folded
_MAX_MESSAGE = 200  # characters of a message


@dataclass(frozen=True, slots=True)
class CaseOutline:
    """A case in short: the first message, and its checks."""

    name: str
    message: str
    turns: str
    expected: str
    checks: str


class ObjectPreview:
    """An object that would be written."""

    def __init__(self, change: ObjectChange) -> None:
        self.name = change.name
        self.slug = change.slug
        self.replaced = change.overwrites
        places = list(map(changed_place, change.differences[:MAX_DIFFERENCES]))
        self.places, self.folded = places[:_OPEN], places[_OPEN:]
        self.all_folded = f"{len(change.differences) - len(self.places):,}"
        self.more_places = _more(change.differences, MAX_DIFFERENCES)
        suite = change.suite
        self.agent = suite.agent if suite else ""
        self.size = plural(len(suite.cases), "case") if suite else ""
        self.removed = list(change.cases.removed)[:MAX_REMOVED]
        self.removed_count = plural(len(change.cases.removed), "case")
        self.more_removed = _more(change.cases.removed, MAX_REMOVED)
        self.cases = [_case(suite, case) for case in suite.cases[:MAX_CASES]] if suite else []
        self.more_cases = _more(suite.cases, MAX_CASES) if suite else ""


def _more(things: Sized, shown: int) -> str:
    return f"{len(things) - shown:,}" if len(things) > shown else ""


def count_by_kind(changes: Iterable[ObjectChange]) -> str:
    """Count objects by kind: 2 suites and 1 agent."""
    counts = Counter(change.kind for change in changes)
    kinds = sorted(counts, key=lambda kind: (kind != "suite", kind))
    return get_text_list([count_of_kind(counts[kind], kind) for kind in kinds], "and")


def count_of_kind(number: int, kind: str) -> str:
    """Count objects of one kind: 2 sets of test data."""
    is_data = kind == "fixture"
    return (
        plural(number, "set of test data", "sets of test data") if is_data else plural(number, kind)
    )


def _case(suite: SuiteSpec, case: CaseSpec) -> CaseOutline:
    first = case.turns[0]
    return CaseOutline(
        case.name,
        _short(first.user),
        plural(len(case.turns), "turn") if len(case.turns) > 1 else "",
        _short(first.expected or ""),
        _short("; ".join(_checks(suite, first))),
    )


def _checks(suite: SuiteSpec, turn: TurnSpec) -> Iterator[str]:
    # Checks that need more than the turn has do not apply.
    return (check.label for check in suite.assertions_for(turn) if check.lacks(turn) is None)


def _short(text: str) -> str:
    return Truncator(text).chars(_MAX_MESSAGE)
