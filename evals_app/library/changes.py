"""What an import does to each object, and its report."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from evals_app.engine.suite import SuiteSpec
from evals_app.formats.differences import Difference
from evals_app.formats.problems import Problem
from fixtures_app.library import Saved

Kind = Literal["entity type", "fixture", "provider", "agent", "suite"]


@dataclass(frozen=True, slots=True)
class Edit:
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
class Change:
    """What an import did, or would do, to one object.

    `path` is the file that it comes from, `suite` the suite in the files, `edit` the edit that the
    import replaces, `source` the other file that the stored suite came from, and `cases_before` how
    many cases it had.
    """

    kind: Kind
    slug: str
    what: Saved | Literal["archived"]
    differences: tuple[Difference, ...] = ()
    suite: SuiteSpec | None = field(default=None, repr=False, compare=False)
    path: str = field(default="", compare=False)
    edit: Edit | None = None
    source: str = ""
    cases_before: int | None = field(default=None, compare=False)

    @property
    def replaced(self) -> str:
        """What would be lost: an edit, or what came from another file; empty if nothing."""
        came = f"imported from {self.source}, not from {self.path}" if self.source else ""
        return " and ".join(filter(None, (came, str(self.edit) if self.edit else "")))

    @property
    def size(self) -> str:
        """How many cases a suite had, as text."""
        if self.cases_before is None:
            return ""
        return f", with {self.cases_before:,} case{'' if self.cases_before == 1 else 's'},"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of everything in an import, with warnings and losses.

    `before` and `after` are versions of what is stored under the same slugs before and after it.
    """

    changes: list[Change] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    losses: list[Problem] = field(default_factory=list)
    before: str = ""
    after: str = ""

    @property
    def edited(self) -> list[Change]:
        """The changes that replace edits, or suites from another file."""
        return [change for change in self.changes if change.replaced]
