"""The result of a check, with its evidence and the calls of judges."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, Self

from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause


class GradeStatus(StrEnum):
    """Whether a grade means anything."""

    OK = "ok"
    NOT_APPLICABLE = "not_applicable"
    UNGRADED = "ungraded"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote that supports a grade; `turn` is 1-based, None where it was not found.

    `speaker` is whose words they are: agent, tool, user, knowledge, case, history, system; ""
    if that was not recorded.
    """

    quote: str
    turn: int | None = None
    bears_on: str = ""
    is_verified: bool = False
    speaker: str = ""

    @property
    def is_the_agents(self) -> bool:
        """Whether it shows what the agent wrote or did, or what its tools returned."""
        return self.is_verified and self.speaker in {"", "agent", "tool", "knowledge"}


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of one assertion on a trial.

    `score` is 0..1 or None; `passed` None means it does not decide. `reason` is one sentence for
    a person who does not program. `details` is JSON for the review page and REST. `highest` is
    the highest possible score where a part of it is undecided; `score` is then the lowest.
    """

    score: float | None
    passed: bool | None
    reason: str
    status: GradeStatus = GradeStatus.OK
    cause: Cause | None = None
    evidence: tuple[Evidence, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    calls: tuple[JudgeCall, ...] = ()
    highest: float | None = None

    @classmethod
    def hit(cls, reason: str, **details: object) -> Self:
        return cls(1.0, True, reason, details=details)  # noqa: FBT003 - score, then verdict

    @classmethod
    def miss(cls, reason: str, **details: object) -> Self:
        return cls(0.0, False, reason, cause=Cause.ASSERTION, details=details)  # noqa: FBT003

    @classmethod
    def of_score(cls, score: float, reason: str, **details: object) -> Self:
        """Return a score without a verdict; the assertion's threshold decides, if it has one."""
        return cls(min(1.0, max(0.0, score)), None, reason, details=details)

    @classmethod
    def not_applicable(cls, reason: str) -> Self:
        return cls(None, None, reason, GradeStatus.NOT_APPLICABLE)

    @classmethod
    def without_result(cls, cause: Cause, reason: str, **details: object) -> Self:
        return cls(None, None, reason, GradeStatus.UNGRADED, cause, details=details)

    @classmethod
    def of_failure(cls, reason: str, cause: Cause = Cause.HARNESS) -> Self:
        """Return the grade of a check that could not work; by default, that is our own error."""
        return cls(None, None, reason, GradeStatus.ERROR, cause)

    def but(self, **changes: Any) -> Self:
        """Return the same grade with some fields changed."""
        return replace(self, **changes)


Family = Literal[
    "text",
    "numbers",
    "overlap",
    "json",
    "tools",
    "retrieval",
    "world",
    "effort",
    "judged",
    "code",
    "limit",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCriterionSpec:
    """A criterion in one wording, with the judges that apply it and the way they are asked.

    `scale` is empty where a share is measured. `items` are the digests of the bullets of a rubric,
    in their order: a bullet keeps its judged criterion when others change.
    """

    digest: str
    type: str
    criterion: str
    scale: str
    judges: tuple[str, ...]
    prompt_version: int
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GradedAssertion:
    """A Grade in its place: which assertion gave it, about which turn (None: the conversation).

    `decides` is False for what can only inform: weight 0, or a score that nothing is compared to.
    `is_rubric`: it is the suite's, and `weight` its share of the score against all others together.
    `question` is a digest of what was asked, empty if unknown.
    """

    type: str
    label: str
    family: Family
    turn: int | None
    position: int
    weight: float
    threshold: float | None
    grade: Grade
    decides: bool = True
    fail_on_error: bool = False
    is_rubric: bool = False
    question: str = ""
    judged_criterion: JudgedCriterionSpec | None = None
