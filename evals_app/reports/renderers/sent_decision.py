"""A decision to send: the facts that its page is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from evals_app.engine.statistics.comparison import CaseOutcome
from evals_app.engine.verdicts.release_check import ReasonKind, ReleaseCheck
from evals_app.reports.answers.comparison import MatrixRow
from evals_app.reports.answers.comparison_answers import Differences
from evals_app.reports.answers.run_answers import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRun:
    """A run that a decision is about; `role` is what its version is, such as “released”.

    `name` is set if it is not of this site: `run 12 of results.json`.
    """

    number: int
    agent: str
    model: str
    judge: str
    finished_at: str | None  # in ISO 8601
    url: str
    role: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        return f"{self.name[:1].upper()}{self.name[1:]}" if self.name else f"Run {self.number}"

    @property
    def label(self) -> str:
        return f"{self.title}, {self.role}" if self.role else self.title


@dataclass(frozen=True, slots=True)
class SentSide:
    """A case in one run; `execution` is a conversation with everything, None if it is not shown."""

    outcome: CaseOutcome
    execution: Json | None = None


@dataclass(frozen=True, slots=True)
class SentCase:
    """A case that speaks against shipping, and why; a run that does not have it has no side."""

    name: str
    kind: ReasonKind
    base: SentSide | None
    head: SentSide | None


@dataclass(frozen=True, slots=True)
class SentCases:
    """The cases that speak against shipping: the first in full, others by name, the rest counted."""

    first: Sequence[SentCase] = ()
    named: Sequence[str] = ()
    unnamed: int = 0

    @property
    def total(self) -> int:
        return len(self.first) + len(self.named) + self.unnamed


@dataclass(frozen=True, slots=True)
class SentChanges:
    """What is different between both versions.

    `parts` is None if it is unknown; without `shows_values` it has counts alone. `prompts` are both
    system prompts, if they differ and may be read.
    """

    parts: Sequence[Differences] | None
    prompts: tuple[str, str] | None = None
    shows_values: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SentDecision:
    """The answer about a run, everything that it rests on, and what people decided.

    `check` is the answer. Without a `base` nothing is compared; with one, `why_not_compared` may say
    why its settings and numbers are not.
    """

    suite: str
    scale: str
    check: ReleaseCheck
    written_at: str
    run: SentRun | None = None
    base: SentRun | None = None
    why_not_compared: str = ""
    decision: Json | None = None  # ShipDecisionJson
    accepted: Sequence[Json] = ()  # AcceptedFailureJson
    changes: SentChanges | None = None
    numbers: Sequence[MatrixRow] = ()
    settlements: Sequence[Json] = ()  # SettlementDetails
    cases: SentCases = SentCases()
    shows_replies: bool = True
