"""What a case is since the released version, in one word, as the answer to “May we ship?” found it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.engine.verdicts.release_check import ReasonKind


class ChangeMark(NamedTuple):
    """One word, and its tone."""

    word: str = ""
    tone: str = ""


NO_CHANGE = ChangeMark()
_MARKS: Mapping[StrEnum, ChangeMark] = {
    ReasonKind.REALLY_WORSE: ChangeMark("really worse", "bad"),
    ReasonKind.COLLAPSED: ChangeMark("worse", "bad"),
    ReasonKind.WORSE: ChangeMark("worse", "bad"),
    ReasonKind.CHECK_WORSE: ChangeMark("a check worse", "bad"),
    ReasonKind.NONE_REALLY_WORSE: ChangeMark("not really worse"),
    ReasonKind.ACCEPTED: ChangeMark("known failure"),
    ReasonKind.UNSTEADY: ChangeMark("unsteady before", "warn"),
    ReasonKind.LESS_OFTEN: ChangeMark("less often"),
    ReasonKind.FAIL_AS_BEFORE: ChangeMark("failed before, too"),
    ReasonKind.NEW: ChangeMark("new"),
    ReasonKind.EDITED: ChangeMark("edited"),
    ChangeKind.BETTER: ChangeMark("better", "good"),
}


def change_marks(changes: Mapping[str, StrEnum]) -> dict[str, ChangeMark]:
    """Return the marks of the cases that an answer says something about."""
    return {name: _MARKS[kind] for name, kind in changes.items() if kind in _MARKS}
