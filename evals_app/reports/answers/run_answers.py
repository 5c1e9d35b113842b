"""What REST answers about runs and executions: each class writes an answer and describes it."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Protocol
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, WithJsonSchema

from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.verdicts.run_summary import RunVerdict

Json = dict[str, Any]
Row = Mapping[str, Any]

# A test compares them with the choices of the models.
Status = Literal["queued", "running", "finished", "cancelled"]
ExecutionStatus = Literal["queued", "running", "finished", "skipped", "cancelled"]
StopReason = Literal["cancelled", "deadline", "budget"]
ReachedCeiling = Literal["run", "person", "site"]
WhyLeftOut = Literal["changed", "gone", "pruned", "unanswered"]

_NOTHING: Row = MappingProxyType({})
_IN_JSON: dict[type, Callable[[Any], object]] = {
    Decimal: float,
    datetime: datetime.isoformat,
    date: date.isoformat,
    tuple: list,
    UUID: str,
}


class Answer(BaseModel):
    """An answer in JSON: its keys and their order are the fields of its class.

    Values are not validated when an answer is written: reading an old row never fails.
    """

    KEYS: ClassVar[tuple[str, ...]]
    DURATIONS: ClassVar[tuple[str, ...]]
    model_config = ConfigDict(model_title_generator=lambda model: schema_name(model.__name__))

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        cls.KEYS = tuple(cls.model_fields)
        cls.DURATIONS = tuple(key for key in cls.KEYS if key.endswith("_ms"))

    @classmethod
    def of(cls, row: Row = _NOTHING, /, **values: object) -> Json:
        """Return the answer: `values`, and for all other keys the columns of the same names."""
        answer = {key: values[key] if key in values else in_json(row[key]) for key in cls.KEYS}
        for key in cls.DURATIONS:
            # To the microsecond: what a clock adds to that is noise.
            if isinstance(value := answer[key], float):
                answer[key] = round(value, 3)
        return answer

    @classmethod
    def of_object(cls, source: object, /, **values: object) -> Json:
        """Return the answer: `values`, and for all other keys the attributes of the same names."""
        row = {key: getattr(source, key) for key in cls.KEYS if key not in values}
        return cls.of(row, **values)


def schema_name(name: str) -> str:
    """Return the name that clients see: `GradeJson` is `GradeJson` in schemas."""
    return name.removesuffix("Json")


def in_json(value: object) -> object:
    """Return a value as JSON has it: decimals as numbers, moments and days as text, tuples as lists."""
    return _IN_JSON[kind](value) if (kind := type(value)) in _IN_JSON else value


Interval = Annotated[
    list[float],
    Field(
        min_length=2,
        max_length=2,
        description="Lowest and highest pass rate that chance can explain (Wilson, 95 %).",
    ),
]
JsonObject = Annotated[Json, WithJsonSchema({"type": "object", "additionalProperties": {}})]


class CountsJson(Answer):
    """Conversations by how they ended; the others add up to the total."""

    total: int
    passed: int
    failed: int
    errored: int
    measured: int = Field(description="All of their checks only inform: neither passed nor failed.")
    skipped: int = Field(description="Trials that could not change the verdict of their case.")
    cancelled: int
    not_run: int


class ProgressJson(Answer):
    """How many conversations of a run are done."""

    done: int
    total: int


class TokenCount(Answer):
    """Tokens of one side; null: not reported."""

    prompt: int | None
    response: int | None


class Tokens(Answer):
    """Tokens of agent and judge."""

    agent: TokenCount
    judge: TokenCount


class CostParts(Answer):
    """USD of agent and judge; null: a price or the usage is unknown."""

    agent: float | None
    judge: float | None


class Budget(Answer):
    """The cost limit of a run in USD (null: no limit), and what counts towards it."""

    max_cost_usd: float | None
    spent_usd: float = Field(description="Cost of its calls, retries included.")
    reserved_usd: float = Field(description="Highest cost of the calls in progress.")
    unsettled_usd: float = Field(
        description="Highest possible cost of calls made by workers that crashed."
    )
    reached_ceiling: ReachedCeiling | None = Field(
        description="The ceiling at which it stopped: its own, or a monthly one; null: none."
    )


class SimilarityJson(Answer):
    """How texts are compared. Scores of different methods are not comparable."""

    method: str
    is_stand_in: bool = Field(description="Whether words or a judge replace embeddings.")


class ReviewedRun(Answer):
    """The result of a run with the decisions of people, by the same rules."""

    verdict: RunVerdict
    score: float | None
    pass_rate: float | None
    passed: int = Field(description="Conversations.")
    failed: int
    errored: int
    measured: int
    cases_passed: int
    cases_failed: int
    cases_errored: int
    cases_measured: int
    cases_not_graded: int = Field(description="Cases that errored or did not run.")
    reviews: int = Field(description="Current reviews of its grades and conversations.")
    overruled: int = Field(description="Conversations in which people overruled a grade.")


class RunRow(Answer):
    """A run, as lists show it."""

    id: int
    suite: str = Field(description="Slug.")
    agent: str = Field(description="Slug.")
    model: str | None
    judge: str | None = Field(
        description="All judges: the judge of the run first, then those of single checks."
    )
    is_scripted: bool = Field(description="Whether the agent is a script, not a model.")
    is_simulated: bool = Field(
        description="Whether a model played the user in all of its conversations. Such runs are in no"
        " rate together with others."
    )
    is_tryout: bool = Field(description="Whether it was started as a try.")
    is_whole: bool = Field(
        description="Whether it covers all cases with the suite's own agent and model, and is"
        " neither a re-run nor a try. Only such runs give a suite its verdict."
    )
    covers: str | None = Field(description="In words, what it covers; null: the whole suite.")
    similarity: SimilarityJson | None = Field(
        description="How texts are compared; null: no texts are compared."
    )
    status: Status
    verdict: RunVerdict | None
    stop_reason: StopReason | None
    score: float | None
    counts: CountsJson
    progress: ProgressJson
    tokens: Tokens
    cost_usd: float | None = Field(
        description="Agent and judge, of all results; of a run that grades again the judge alone."
        " null: unknown."
    )
    cost_parts_usd: CostParts
    budget: Budget
    duration_ms: float | None
    concurrency: int
    rerun_of: int | None
    grades_of: int | None = Field(
        description="The run whose conversations it grades again. Its agent is not asked: tokens,"
        " times and cost of the agent are those of that run."
    )
    group: UUID | None = Field(
        description="What it has in common with the runs that were started together with it."
    )
    baseline: int | None = Field(description="The run that its gates compare it with.")
    is_baseline: bool = Field(description="Whether it is the released version of its suite.")
    reviewed: ReviewedRun | None = Field(
        description="With the decisions of people; null: they overruled no grade."
    )
    created_at: AwareDatetime
    started_at: AwareDatetime | None
    finished_at: AwareDatetime | None


class CaseResultJson(Answer):
    """A case over its trials; errored trials do not count in rates and averages."""

    name: str
    verdict: Verdict | None
    trials: int
    passed: int
    failed: int
    errored: int
    measured: int = Field(description="Trials in which all checks only inform.")
    skipped: int = Field(
        description="Trials that could not change the verdict; with one, `interval` is null and"
        " `pass_at_k` and `pass_hat_k` are empty."
    )
    pass_rate: float | None
    score: float | None
    deviation: float | None
    interval: Interval | None
    pass_at_k: list[float] | None = Field(description="null: no trial passed or failed.")
    pass_hat_k: list[float] | None = Field(description="null: no trial passed or failed.")
    tokens: Tokens = Field(description="Of all its trials; null: unknown for one of them.")
    digest: str | None = Field(
        description="Of its content: equal in runs of the same case, whatever its name. null: not known."
    )
    checks: dict[str, list[int]] | None = Field(
        description="How often each check passed and failed, by a short name that is the same in"
        " every run; null: not known."
    )
    turn_ms: list[float] = Field(description="The time of each turn of its graded conversations.")
    cost_usd: float | None = Field(description="The agent's mean cost of a graded conversation.")


class Gate(Answer):
    """A gate: its limit, the measured value, and whether it passed (null: not decided, or not applied)."""

    name: str
    limit: float
    actual: float | None
    passed: bool | None
    is_applied: bool = Field(
        description="false: it compares with a released version, which the suite never had. Such a gate holds no"
        " run back."
    )
    reason: str | None = Field(
        description="What was compared with the released version, why nothing was measured, or why the gate"
        " is not decided: what is not graded could change the answer."
    )
    graded: int | None = Field(
        description="How many cases `actual` is of (of times: conversations); null: it is of none."
    )
    not_graded: int | None = Field(description="How many more have no result.")


class LeftOutJson(Answer):
    """Cases that are not graded again."""

    count: int
    names: list[str] = Field(description="The first 100.")


class RegradingJson(Answer):
    """How a run grades conversations again."""

    suite: Literal["current", "as_it_was"] = Field(
        description="Whose checks: the suite's as they are now, or those of the run."
    )
    judge: str | None = Field(description="The judge that was chosen; null: none.")
    trials: int = Field(description="How often each conversation is graded.")
    reuses_answers: bool = Field(
        description="Whether identical questions to judges get the stored answers, for nothing."
    )
    left_out: dict[WhyLeftOut, LeftOutJson] = Field(
        description="What is not graded: `changed` (the agent would see another conversation today),"
        " `gone` (no longer in the suite), `pruned` (the transcript was removed),"
        " `unanswered` (a real conversation without a reply)."
    )
    unused_checks: list[str] = Field(
        description="Checks of the suite that do not apply to real conversations, and why."
    )


class JudgeNoise(Answer):
    """How steadily a judged check was graded."""

    name: str
    yardstick: str = Field(description="Equal ones were judged in the same way.")
    conversations: int
    gradings: int
    undecided: int = Field(description="Gradings without a verdict.")
    flip_rate: float | None = Field(
        description="How often the judge gives the rarer of its two verdicts on the same"
        " conversation: 0 (always the same) to 0.5 (a coin). null: no conversation has two verdicts."
    )


class Loss(Answer):
    """A part of a file that was left out."""

    path: str = Field(description="Name of the file.")
    line: int | None
    column: int | None
    keys: str = Field(description="Path of keys, for example tests[2].assert[0].")
    message: str
    checks: int = Field(description="How many checks were lost with it, as far as is known.")


class LossesJson(Answer):
    """What was left out when the files of the suite were imported."""

    checks_lost: int
    checks_read: int = Field(description="0: not counted, because no check was lost.")
    parts: list[Loss] = Field(description="Lost checks first, and at most 200.")
    more: int = Field(description="How many parts are not listed.")


class RunDetails(RunRow):
    """A run with its cases and gates; what is not known before it has ended is null until then."""

    pass_rate: float | None = Field(description="Share of the graded cases that passed.")
    pass_rate_interval: Interval | None
    cases_passed: int | None
    cases_failed: int | None
    cases_measured: int | None = Field(
        description="Cases of which no check can pass or fail; `pass_rate` leaves them out."
    )
    cases_not_graded: int | None = Field(
        description="Cases that errored or did not run; `pass_rate` leaves them out."
    )
    median_ms: float | None
    p95_ms: float | None
    pass_at_k: list[float] | None
    pass_hat_k: list[float] | None
    cases: list[CaseResultJson] | None
    gates: list[Gate] | None
    notes: list[str] | None = Field(description="Sentences to read with the verdict.")
    at_least: dict[str, float] | None = Field(
        description="The known part of sums that are not fully known."
    )
    losses: LossesJson | None = Field(
        description="What the import of its files left out; null: nothing, or it has none."
    )
    regrading: RegradingJson | None = Field(description="null: it asks an agent.")
    judge_noise: list[JudgeNoise] | None = Field(
        description="null: it does not grade conversations several times."
    )


class CachedAnswers(Answer):
    """How many requests to models the cache answered, and how many were sent."""

    found: int
    asked: int


class Summary(Answer):
    """Which kinds of criteria passed (null: none is set), and the measured values."""

    overall_passed: bool | None
    prompt_tokens_passed: bool | None
    response_tokens_passed: bool | None
    time_passed: bool | None
    response_criteria_passed: bool | None = Field(description="Checks that a judge grades.")
    trajectory_criteria_passed: bool | None = Field(
        description="Checks of tool calls and of retrieved knowledge."
    )
    response_criteria_failure_reason: str | None
    prompt_tokens: int | None
    response_tokens: int | None
    execution_time_ms: float | None = Field(
        description="The agent's own time, all turns; null: no turn began."
    )
    tool_calls: list[str] | None = Field(
        description="In order; null where the agent does not report its calls."
    )
    cached_answers: CachedAnswers | None = Field(description="null: without a cache.")


class ReviewedExecution(Answer):
    """The result of a conversation with the decisions of people."""

    verdict: Verdict
    cause: Cause | None
    reason: str | None
    score: float | None


class ExecutionRow(Answer):
    """One trial of one case, as lists show it."""

    id: int
    run: int
    source: int | None = Field(
        description="The conversation that it grades again; null: it has its own."
    )
    case: str
    trial: int
    status: ExecutionStatus
    verdict: Verdict | None
    cause: Cause | None
    reason: str | None
    score: float | None
    reviewed: ReviewedExecution | None = Field(
        description="With the decisions of people; null: they overruled no grade."
    )
    is_scripted: bool
    attempts: int
    summary: Summary | None
    duration_ms: float | None = Field(
        description="From start to end, including waiting and the judge."
    )
    time_ms: float | None = Field(
        description="The agent's own time, all turns; null: no turn began."
    )
    tokens: Tokens
    cost_usd: float | None = Field(
        description="Agent and judge; the judge alone if it has a `source`. null: unknown."
    )
    cost_parts_usd: CostParts
    started_at: AwareDatetime | None
    finished_at: AwareDatetime | None


class LimitJson(Answer):
    """A limit; the measured value is reported whether or not the limit is set."""

    limit: float | None
    actual: float | None
    passed: bool | None


class Limits(Answer):
    """The limits of a case."""

    max_prompt_tokens: LimitJson
    max_response_tokens: LimitJson
    max_time_ms: LimitJson
    max_cost_usd: LimitJson
    max_tool_calls: LimitJson


class EvidenceJson(Answer):
    """A quote that supports a grade."""

    quote: str
    turn: int | None
    bears_on: str
    is_verified: bool = Field(description="Whether its words are in the conversation.")
    speaker: str | None = Field(
        description="Whose words they are: agent, user, tool, knowledge, case, history or"
        " system; null: unknown."
    )


class GradeJson(Answer):
    """The result of one check, or of one limit."""

    id: int
    type: str
    name: str
    family: str
    turn: int | None = Field(description="From 1; null: the whole conversation.")
    score: float | None
    passed: bool | None
    status: GradeStatus
    cause: Cause | None
    weight: float
    threshold: float | None
    reason: str
    evidence: list[EvidenceJson]
    details: JsonObject
    yardstick: str | None = Field(
        description="Of a judged grade: by what it was judged. See /api/yardsticks/."
    )
    is_reused: bool | None = Field(
        description="Whether its judge's answer comes from an earlier grading of the same"
        " conversation; null: no judge was asked, or what it was asked was removed."
    )


class ReviewJson(Answer):
    """What one person said of a grade, of a bullet of its rubric, or of the execution."""

    id: int
    kind: Literal["verdict", "not_the_agent", "comment"]
    grade: int | None
    item: int | None = Field(description="The `id` of a bullet in the `details` of the grade.")
    passed: bool | None = Field(description="The person's own verdict; null: they cannot tell.")
    score: float | None
    reason: str
    judged_passed: bool | None = Field(description="What the grade says.")
    judged_score: float | None
    was_blind: bool = Field(description="Whether it was said before seeing the grade.")
    is_label: bool = Field(
        description="Whether it was said of another wording, and does not count here."
    )
    carried_from: int | None = Field(description="The review of an earlier run that it repeats.")
    by: str
    created_at: AwareDatetime
    withdrawn_at: AwareDatetime | None
    withdrawn_by: str | None


class MessageJson(Answer):
    """A message of the conversation."""

    role: Literal["user", "assistant"]
    content: str
    reasoning: str | None = Field(
        description="What the agent's model wrote between <think> tags, which no check reads."
    )
    turn: int | None = Field(description="From 1; null: before the first turn.")


class ToolCallJson(Answer):
    """A tool call."""

    turn: int
    message: int = Field(description="Which of `messages` made it, from 0.")
    name: str
    args: JsonObject
    result: object
    error: str | None
    duration_ms: float | None = Field(description="null: the agent does not report it.")


class UserSideJson(Answer):
    """The model that played the user, or read whether recorded words still fit."""

    model: str
    stopped: str | None = Field(
        description="Why it ended the conversation early; null: it did not."
    )
    calls: int
    cost_usd: float | None = Field(description="In the conversation's judge cost; null: unknown.")


class ShownFileJson(Answer):
    """A file that the user attached to a message."""

    name: str
    media_type: str
    size_bytes: int
    sha256: str = Field(description="Of its content; empty in conversations of earlier versions.")


class TurnJson(Answer):
    """How a turn went."""

    turn: int
    error: str | None
    model: str | None
    latency_ms: float | None
    waited_ms: float
    first_token_ms: float | None
    cost_usd: float | None
    attempts: list[JsonObject]
    notes: list[str]
    files: list[ShownFileJson]


class ExecutionDetails(ExecutionRow):
    """Everything about a conversation; what was said is null until it ends, and once it is removed."""

    limits: Limits
    grades: list[GradeJson] | None = Field(description="null: it has no verdict.")
    reviews: list[ReviewJson] = Field(description="What people say, without what was withdrawn.")
    messages: list[MessageJson] | None
    tool_calls: list[ToolCallJson] | None = Field(
        description="null: unknown, also where the agent does not report its calls."
    )
    turns: list[TurnJson] | None
    user_side: UserSideJson | None = Field(
        description="null: no model had a part in what the user said."
    )
    world_changes: JsonObject | None
    trace_id: str | None = Field(
        description="Sent to an external agent: the trace in its `traceparent`."
    )
    warnings: list[str] | None


class _Texts(Protocol):
    """A difference in words; an empty text is a value that is not there."""

    @property
    def keys(self) -> str: ...
    @property
    def before(self) -> str: ...
    @property
    def after(self) -> str: ...


class DifferenceJson(Answer):
    """A value that differs; null: there is none. Long values are shortened."""

    keys: str = Field(description='Path of keys: cases["Refund"].turns[0].user.')
    before: str | None
    after: str | None

    @classmethod
    def of_texts(cls, texts: _Texts) -> Json:
        """Return the answer for a difference in words."""
        return cls.of(keys=texts.keys, before=texts.before or None, after=texts.after or None)
