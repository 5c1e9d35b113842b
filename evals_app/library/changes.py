"""What an import does to each object, and what it says about that."""

from dataclasses import dataclass, field
from typing import Literal

from evals_app.engine.suite import SuiteSpec
from evals_app.formats import Difference, Problem
from fixtures_app.library import Saved

Kind = Literal["entity type", "fixture", "provider", "agent", "suite"]


@dataclass(frozen=True, slots=True)
class Change:
    """What an import did, or would do, to one object; `suite` is what the files say of a suite."""

    kind: Kind
    slug: str
    what: Saved | Literal["archived"]
    differences: tuple[Difference, ...] = ()
    suite: SuiteSpec | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of everything in an import, what is hardly meant in it, and what it lost.

    `before`, of a dry run, stands for what is stored now under the same slugs.
    """

    changes: list[Change] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    losses: list[Problem] = field(default_factory=list)
    before: str = ""
