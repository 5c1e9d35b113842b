"""What an import does to each object, and its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.foreign.draft import NAMES
from evals_app.formats.reading.problems import Problem
from evals_app.formats.snapshots.key_differences import KeyDifference
from evals_app.models import DeletedObject
from fixtures_app.library import Saved

_MAX_NAMED = 20  # cases that a sentence names

Kind = Literal["entity type", "fixture", "provider", "agent", "suite"]


@dataclass(frozen=True, slots=True)
class LastEdit:
    """An edit since the last import: who made the last one, and when, if known.

    `is_own`: it was never imported.
    """

    by: str
    at: datetime | None
    is_own: bool = False

    def __str__(self) -> str:
        when = f" on {self.at:%Y-%m-%d at %H:%M} UTC" if self.at else ""
        who = f"{self.by or 'someone'}{when}"
        return f"written here by {who}" if self.is_own else f"edited by {who} since its last import"


@dataclass(frozen=True, slots=True)
class CaseChanges:
    """What an import does to the cases of a stored suite, by their names."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    removed: Mapping[str, int] = field(default_factory=dict)  # with their keys

    def __str__(self) -> str:
        groups = {"Added": self.added, "Changed": self.changed, "Deleted": [*self.removed]}
        return " ".join(_case_names_text(verb, names) for verb, names in groups.items() if names)


def _case_names_text(verb: str, names: Sequence[str]) -> str:
    shown = ", ".join(f"“{name}”" for name in names[:_MAX_NAMED])
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return f"{verb} {len(names):,} case{'' if len(names) == 1 else 's'}: {shown}{more}."


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """What an import did, or would do, to one object.

    `path` is the file that it comes from, `suite` the suite in the files, `edit` the edit that the
    import replaces, `source` the other file that the stored suite came from, `cases_before` how
    many cases it had, `cases` what happens to them, and `case_lines` where they begin in the file.
    """

    kind: Kind
    slug: str
    what: Saved | Literal["archived"]
    differences: tuple[KeyDifference, ...] = ()
    suite: SuiteSpec | None = field(default=None, repr=False, compare=False)
    path: str = field(default="", compare=False)
    edit: LastEdit | None = None
    source: str = ""
    cases_before: int | None = field(default=None, compare=False)
    cases: CaseChanges = field(default_factory=CaseChanges, repr=False, compare=False)
    case_lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """What people call its kind."""
        return NAMES.get(self.kind, self.kind)

    @property
    def overwrites(self) -> str:
        """What would be lost: an edit, or what came from another file; empty if nothing."""
        came = f"imported from {self.source}, not from {self.path}" if self.source else ""
        return " and ".join(filter(None, (came, str(self.edit) if self.edit else "")))

    @property
    def checks_nothing(self) -> bool:
        """Whether it writes a suite in which no case checks anything."""
        is_written = self.what in ("created", "updated")
        return is_written and self.suite is not None and self.suite.checks_nothing

    @property
    def size(self) -> str:
        """How many cases a suite had, as text."""
        if self.cases_before is None:
            return ""
        return f", with {self.cases_before:,} case{'' if self.cases_before == 1 else 's'},"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of everything in an import, with warnings, losses and guesses.

    `before` and `after` are versions of what is stored under the same slugs before and after it.
    `checks_read` is how many checks the files have besides lost ones, and 0 if none was lost.
    `deleted` has the cases that the files no longer have, by suite; they can be restored.
    """

    changes: list[ObjectChange] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    losses: list[Problem] = field(default_factory=list)
    guesses: list[Problem] = field(default_factory=list)
    before: str = ""
    after: str = ""
    checks_read: int = 0
    deleted: Sequence[DeletedObject] = ()

    @property
    def checks_lost(self) -> int:
        """How many checks are left out, as far as is known."""
        return sum(loss.checks for loss in self.losses)

    @property
    def without_checks(self) -> list[ObjectChange]:
        """The changes that write a suite in which no case checks anything."""
        return [change for change in self.changes if change.checks_nothing]

    @property
    def replacing_edits(self) -> list[ObjectChange]:
        """The changes that replace edits, or suites from another file."""
        return [change for change in self.changes if change.overwrites]
