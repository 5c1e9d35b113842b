"""What a grader may use in addition to the trial: a judge, text similarity, the operator's code."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from evals_app.engine.basics.journal import WorldState, replay_journal
from evals_app.engine.record.grade import Evidence
from evals_app.engine.record.judge_call import JudgeCall
from evals_app.engine.record.trial import Cause
from evals_app.engine.record.view import View
from fixtures_app.ground.strict_json import Json

Scale = Literal["pass_fail", "1-5", "0-1", "0-10"]
ITEMS_A_CALL = 40  # of a list, in one question to a judge


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """What a judged grader asks: does what the View shows meet these criteria?

    `key` identifies the assertion within its execution. `votes` is how often it is asked; a jury has a
    vote for each of its models instead. `anchors` are the author's own words for
    grades of the scale. `passing` is the score in 0..1 from which the check passes, if one decides.
    """

    criteria: str
    scale: Scale
    view: View
    key: str = ""
    reference: str | None = None
    votes: int = 1
    anchors: Mapping[int, str] = field(default_factory=dict)
    passing: float | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """One of several answers to a question; `raw` None: no grade, explained in `critique`.

    `score` is its value in 0..1.
    """

    model: str
    raw: float | str | None
    critique: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that criteria ask for, and what a judge found of it; `is_met` None: undecided.

    `is_absent`: nothing that the judge was shown is about it, so there is nothing to quote.
    """

    text: str
    is_met: bool | None
    is_absent: bool = False
    where: str = ""
    evidence: Evidence | None = None

    def as_item(self, number: int) -> dict[str, object]:
        """Return it as the review page shows what a judge ticked off."""
        verdict = {True: "pass", False: "fail", None: "undecided"}[self.is_met]
        item: dict[str, object] = {"id": number, "text": self.text, "verdict": verdict}
        if self.is_absent:
            item["note"] = "Nothing in the conversation bears on it."
        if self.evidence is not None:
            item["evidence"] = asdict(self.evidence)
        return item


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """What a judge found; `raw` is on the question's scale, `score` in 0..1.

    `votes` are the answers it combines, empty for a single answer. `critique`, `requirements` and
    `evidence` are then those of the vote that is nearest to the outcome.
    """

    raw: float | str
    score: float
    critique: str
    evidence: tuple[Evidence, ...] = ()
    flags: tuple[str, ...] = ()
    calls: tuple[JudgeCall, ...] = ()
    votes: tuple[Vote, ...] = ()
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """One thing to tick off; `under` are the headings and remarks above it."""

    id: int
    text: str
    under: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChecklistQuestion:
    """What a rubric asks: which of its items are met? The rest as in a JudgeQuestion.

    `remarks` apply to all items.
    """

    items: tuple[ChecklistItem, ...]
    view: View
    remarks: tuple[str, ...] = ()
    key: str = ""
    reference: str | None = None
    votes: int = 1


Tick = Literal["pass", "fail", "not_applicable"]


@dataclass(frozen=True, slots=True)
class TickedItem:
    """What a judge found of one item; `verdict` None: nothing, or its votes are tied.

    `votes` are the verdicts of several models, in the order of the answer's `voters`.
    """

    id: int
    verdict: Tick | None
    critique: str = ""
    evidence: Evidence | None = None
    votes: tuple[Tick | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ChecklistAnswer:
    """What a judge found of every item that was asked about, in their order."""

    items: tuple[TickedItem, ...]
    flags: tuple[str, ...] = ()
    calls: tuple[JudgeCall, ...] = ()
    voters: tuple[str, ...] = ()


class Judge(Protocol):
    """Answers questions about a trial.

    Raises, both ways:
        JudgeError: no usable verdict (refused, off the schema twice, `cannot_grade`); its
            `calls` attribute has the JudgeCalls that were made.
        ProviderError: the model API did not serve a call.
    """

    async def __call__(self, question: JudgeQuestion) -> JudgeAnswer: ...

    async def tick_off(self, question: ChecklistQuestion) -> ChecklistAnswer: ...


RagMetric = Literal[
    "faithfulness",
    "answer_relevancy",
    "contextual_relevancy",
    "contextual_precision",
    "contextual_recall",
]
ShownField = Literal["actual_output", "input", "expected_output", "context", "retrieval_context"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RagQuestion:
    """Ask how an answer, what was retrieved for it and the question fit together.

    `forgives_silence`: of faithfulness, claims that the context does not mention do not count
    against it. `forgives_refusal`: of answer relevancy, a refusal is graded like any answer.
    """

    metric: RagMetric
    view: View
    key: str = ""
    forgives_silence: bool = False
    forgives_refusal: bool = False
    is_explained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsQuestion:
    """Ask for a grade by steps (G-Eval); without `steps` some are written from the criteria.

    `shown` are the fields that the judge sees. `votes` is how often it is asked if the
    API does not report probabilities. `passing` is the score in 0..1 from which the check passes.
    """

    view: View
    key: str = ""
    criteria: str = ""
    steps: tuple[str, ...] = ()
    shown: tuple[ShownField, ...] = ("actual_output",)
    scale: Scale = "1-5"
    votes: int = 1
    passing: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricScore:
    """The combined result of many small verdicts.

    `score` None: with a `cause` it cannot be measured, without one it does not apply. `highest` is
    what the score may be instead, if the judge could not decide a part of it; `score` is then the
    lowest.
    """

    score: float | None
    reason: str
    cause: Cause | None = None
    evidence: tuple[Evidence, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    calls: tuple[JudgeCall, ...] = ()
    highest: float | None = None


class Measure(Protocol):
    """Measures by asking a judge, once or several times.

    Raises:
        JudgeError, ProviderError: it could not be measured; `calls` has what was asked.
    """

    async def __call__(self, question: RagQuestion | StepsQuestion) -> MetricScore: ...


@dataclass(frozen=True, slots=True)
class TextSimilarity:
    """How similar two texts are, 0..1, and by which method.

    `method` names it for people (`embeddings openai/text-embedding-3-small`); `is_degraded`:
    it replaces embeddings. `critique` and `flags` are a judge's, if one was asked.
    """

    score: float
    method: str
    is_degraded: bool = False
    calls: tuple[JudgeCall, ...] = ()
    critique: str = ""
    flags: tuple[str, ...] = ()


class Compare(Protocol):
    """Measures how similar two texts are, by the same method throughout a run.

    Raises:
        JudgeError, ProviderError: it could not be measured.
    """

    async def __call__(self, text: str, other: str, *, view: View, key: str) -> TextSimilarity: ...


class RunCode(Protocol):
    """Calls a permitted callable (`module.path:name`) with JSON, and returns its JSON.

    Raises:
        CodeError: it raised, took longer than `timeout_s`, or returned something that is not JSON.
    """

    async def __call__(
        self, reference: str, argument: Mapping[str, Json], *, timeout_s: float
    ) -> Any: ...


@dataclass(frozen=True, slots=True)
class Aids:
    """What one assertion of one execution may ask for; None: there is none.

    `key` identifies the assertion within its execution, `threshold` is the assertion's. `opened_world`
    returns the world before the first turn; later states follow from the journal of the trial.
    """

    judge: Judge | None = None
    measure: Measure | None = None
    compare: Compare | None = None
    run_code: RunCode | None = None
    key: str = ""
    threshold: float | None = None
    opened_world: Callable[[], WorldState] | None = None

    def world_before(self, view: View) -> WorldState | None:
        """Return the world before the turns in sight."""
        return (
            replay_journal(self.opened_world(), view.earlier_journal) if self.opened_world else None
        )

    def world_after(self, view: View) -> WorldState | None:
        """Return the world after the turns in sight."""
        before = self.world_before(view)
        return None if before is None else replay_journal(before, view.world_journal)
