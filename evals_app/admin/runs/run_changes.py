"""What a case is since the released version, in one word, as the answer to “May we ship?” found it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from evals_app.engine.statistics.comparison import ChangeKind
from evals_app.engine.verdicts.release_check import ReasonKind


class ChangeMark(NamedTuple):
    """One word, its tone, and the group of `CHANGE_GROUPS` that it belongs to, if any."""

    word: str = ""
    tone: str = ""
    group: str = ""


NO_CHANGE = ChangeMark()
# The changes that a list of cases can be narrowed to, by the word in the address.
CHANGE_GROUPS = {"worse": "Got worse", "better": "Better", "new": "New"}
_MARKS: Mapping[StrEnum, ChangeMark] = {
    ReasonKind.REALLY_WORSE: ChangeMark("really worse", "bad", "worse"),
    ReasonKind.COLLAPSED: ChangeMark("worse", "bad", "worse"),
    ReasonKind.WORSE: ChangeMark("worse", "bad", "worse"),
    ReasonKind.CHECK_WORSE: ChangeMark("a check worse", "bad", "worse"),
    ReasonKind.NONE_REALLY_WORSE: ChangeMark("not really worse"),
    ReasonKind.ACCEPTED: ChangeMark("known failure"),
    ReasonKind.UNSTEADY: ChangeMark("unsteady before", "warn"),
    ReasonKind.LESS_OFTEN: ChangeMark("less often"),
    ReasonKind.FAIL_AS_BEFORE: ChangeMark("failed before, too"),
    ReasonKind.NEW: ChangeMark("new", group="new"),
    ReasonKind.EDITED: ChangeMark("edited"),
    ChangeKind.BETTER: ChangeMark("better", "good", "better"),
}


def change_marks(changes: Mapping[str, StrEnum]) -> dict[str, ChangeMark]:
    """Return the marks of the cases that an answer says something about."""
    return {name: _MARKS[kind] for name, kind in changes.items() if kind in _MARKS}
