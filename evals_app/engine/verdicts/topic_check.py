"""May an agent answer a topic? The release check of the cases with a tag, over all suites."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.rates import wilson_interval
from evals_app.engine.statistics.trust import Standing
from evals_app.engine.verdicts.release_check import (
    ComparedJudge,
    ReasonKind,
    ReleaseAnswer,
    ReleaseCheck,
    ReleaseReason,
)

_GRAVITY: Sequence[ReleaseAnswer] = ("no", "not_yet", "yes")
_KINDS = list(ReasonKind)
# Of judges: what is said if they differ, the gravest first.
_STANDINGS = (
    *(Standing.WORSE, Standing.NO_BETTER, Standing.TOO_RARELY),
    *(Standing.NOT_COMPARED, Standing.TOO_FEW, Standing.ONE_SIDED, Standing.MAY_DECIDE),
)


class TopicCases(NamedTuple):
    """The cases of a topic by their results in the run; `not_run` are those that it does not have."""

    passed: int = 0
    failed: int = 0
    measured: int = 0
    not_graded: int = 0
    not_run: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def decided(self) -> int:
        """How many passed or failed: of these is the share."""
        return self.passed + self.failed

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the share that passes; None if nothing is decided."""
        return wilson_interval(self.passed, self.decided) if self.decided else None

    @classmethod
    def of(cls, verdicts: Mapping[Verdict | None, int], *, not_run: int) -> "TopicCases":
        """Return the cases by their verdicts in the run; None: nothing was decided."""
        known = {verdict.value: verdicts.get(verdict, 0) for verdict in _TELLING}
        rest = sum(verdicts.values()) - sum(known.values())
        return cls(**known, not_graded=rest, not_run=not_run)

    def and_those(self, other: "TopicCases") -> "TopicCases":
        """Return the cases of both."""
        return TopicCases(*map(sum, zip(self, other, strict=True)))


_TELLING = (Verdict.PASSED, Verdict.FAILED, Verdict.MEASURED)


class SuiteAnswer(NamedTuple):
    """What the cases of one suite say about a topic; scores are on the suite's scale."""

    suite: str  # its name
    scale: str
    check: ReleaseCheck


class SuiteReason(NamedTuple):
    """A reason, or a note, and the answer that it belongs to."""

    of: SuiteAnswer
    reason: ReleaseReason


@dataclass(frozen=True, slots=True)
class TopicCheck:
    """The answers of all suites about a topic, which has cases in at least one."""

    answers: Sequence[SuiteAnswer]

    @property
    def answer(self) -> ReleaseAnswer:
        """The gravest answer."""
        return min((of.check.answer for of in self.answers), key=_GRAVITY.index)

    @property
    def exit_code(self) -> int:
        """0: yes; 1: no, or something got worse; 3: undecided."""
        codes = {of.check.exit_code for of in self.answers}
        return next((code for code in (1, 3) if code in codes), 0)

    @property
    def is_scripted(self) -> bool:
        return any(of.check.is_scripted for of in self.answers)

    @property
    def is_simulated(self) -> bool:
        """Whether a model played the user in all that it is about."""
        return all(of.check.is_simulated for of in self.answers)

    @property
    def reasons(self) -> list[SuiteReason]:
        """The reasons for the answer, the gravest first: those of suites that answer the same."""
        grave = [of for of in self.answers if of.check.answer == self.answer]
        others = [of for of in self.answers if of.check.answer not in {self.answer, "yes"}]
        return [*_in_order(grave), *_in_order(others)]

    @property
    def notes(self) -> list[SuiteReason]:
        """What is said beside the answer."""
        return [SuiteReason(of, note) for of in self.answers for note in of.check.notes]


def _in_order(answers: Sequence[SuiteAnswer]) -> list[SuiteReason]:
    reasons = [SuiteReason(of, reason) for of in answers for reason in of.check.reasons]
    return sorted(reasons, key=lambda of: _KINDS.index(of.reason.kind))


def least_trusted(judges: Sequence[ComparedJudge]) -> ComparedJudge | None:
    """Return the judge that may be trusted least; None: no judge decides."""

    def trust(judge: ComparedJudge) -> tuple[int, float]:
        return _STANDINGS.index(judge.standing), judge.agreement.same_verdict.share or 0.0

    return min(judges, key=trust, default=None)
