"""What happened in an execution, and the protocols through which the engine sees the world.

Frozen dataclasses with plain JSON inside: a Trial is stored whole, read back and graded again.
Latencies are milliseconds, times UTC in ISO 8601, texts are exactly as the agent wrote them, with
its reasoning apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache, reduce
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import Field, TypeAdapter

from evals_app.engine.basics.errors import CallsMissingError
from evals_app.engine.basics.journal import WorldState
from evals_app.engine.basics.reasoning import without_reasoning


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


class Cause(StrEnum):
    """Why an execution did not pass, the most serious first."""

    HARNESS = "harness"
    PROVIDER = "provider"
    BUDGET = "budget"
    JUDGE = "judge"
    TOOL = "tool"
    CASE = "case"
    AGENT = "agent"
    LIMIT = "limit"
    ASSERTION = "assertion"

    @property
    def is_error(self) -> bool:
        """Whether it makes the execution errored; the rest make it failed."""
        return self not in {Cause.AGENT, Cause.LIMIT, Cause.ASSERTION}


class Verdict(StrEnum):
    """How a finished execution ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    MEASURED = "measured"  # nothing could pass or fail: all of its checks only inform


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls; None means not reported, which is not 0."""

    input_uncached: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0

    @property
    def prompt_tokens(self) -> int | None:
        """Everything that was sent, cached or not."""
        if self.input_uncached is None:
            return None
        return self.input_uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def response_tokens(self) -> int | None:
        """Everything that was written, reasoning included."""
        return self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_uncached=_known_sum(self.input_uncached, other.input_uncached),
            output=_known_sum(self.output, other.output),
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            reasoning=self.reasoning + other.reasoning,
        )


NO_USAGE = Usage(input_uncached=0, output=0)


def _known_sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Add up usage; one unknown makes the sum unknown, no call at all is 0."""
    return reduce(Usage.__add__, usages, NO_USAGE)


def total_cost(costs: Sequence[Decimal | None]) -> Decimal | None:
    """Add up USD; one unknown makes the sum unknown, no call at all is 0."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of knowledge that a retrieval tool returned."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: what the agent asked and what it got.

    `duration_ms` None is unknown. `is_retrieval` means that the tool looks up knowledge; no chunks
    then means that it found none.
    """

    name: str
    args: dict[str, Any]
    result: Any = None
    error: str | None = None
    duration_ms: float | None = None
    chunks: tuple[Chunk, ...] = ()
    is_retrieval: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a person or of the agent, with the tools called along with it.

    `reasoning` is what the model wrote between <think> tags; it is kept only for people.
    """

    role: Literal["user", "assistant"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""

    @classmethod
    def of_agent(cls, text: str, tool_calls: tuple[ToolCall, ...] = ()) -> Self:
        """Return what an agent wrote, with its reasoning apart."""
        reply, reasoning = without_reasoning(text)
        return cls("assistant", reply, tool_calls, reasoning)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a model call that did not succeed, and how long we then waited."""

    error: str
    waited_ms: float


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file that the user showed along with a message; its content is stored by its SHA-256.

    `text` (of a document) and `data` (of an image or PDF) are what agents are shown of it: known only
    while a conversation is graded, and never kept with it.
    """

    name: str
    media_type: str
    size_bytes: int
    sha256: str = ""
    text: Annotated[str | None, Field(exclude=True)] = field(
        default=None, repr=False, compare=False
    )
    data: Annotated[bytes, Field(exclude=True)] = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One exchange: the user's message, what the agent did, its reply.

    `messages` are the agent's, in order; `reply` is the text of the last one. `expected` is what the
    case expects: kept for people, never shown to the agent. `latency_ms` is the agent's own time; waiting for a provider is in `waited_ms`. `cost_usd` None is unknown.
    `journal_end` counts the changes of the world up to its end; None in transcripts from before it
    was recorded. `reports_calls` is False if the agent does not report its tool calls: no calls in
    `messages` then means nothing. `span_id` is the turn in the trace that the agent was sent.
    `calls_missing` says why calls are unknown though the agent sends spans of them.
    """

    index: int
    user: str
    reply: str = ""
    messages: tuple[Message, ...] = ()
    error: str | None = None
    usage: Usage = Usage()
    latency_ms: float = 0.0
    waited_ms: float = 0.0
    first_token_ms: float | None = None
    model: str | None = None
    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()
    expected: str | None = None
    cost_usd: Decimal | None = None
    files: tuple[ShownFile, ...] = ()
    journal_end: int | None = None
    reports_calls: bool = True
    span_id: str = ""
    calls_missing: str = ""

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(call for message in self.messages for call in message.tool_calls)

    @property
    def reasoning(self) -> str:
        """What the agent's model thought, over all messages."""
        return "\n\n".join(message.reasoning for message in self.messages if message.reasoning)


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool that the agent could call, with the first line of its description."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """What ended an execution early, or kept it from being graded."""

    cause: Cause
    message: str


@dataclass(frozen=True, slots=True)
class Trial:
    """Everything that happened in one execution.

    `turns` are those that ran; `planned_turns` how many the case has. `world_changes` is the
    difference between the world before and after, `world_journal` each change as it happened.
    `trace_id` was sent to an external agent with each message, so that its own traces can be found.
    `span_count` is how many spans of it were read; None: the agent sends none.
    `is_outside`: the agent brings tools of its own and never touches this world. `clock` is the
    case's frozen moment, empty if it has none; `tools` are those of the agent, as far as they are known.
    """

    case: str
    number: int
    planned_turns: int
    agent: str
    system_prompt: str = ""
    channel: str | None = None
    context_params: dict[str, Any] = field(default_factory=dict)
    history: tuple[Message, ...] = ()
    turns: tuple[TurnRecord, ...] = ()
    world_changes: dict[str, Any] = field(default_factory=dict)
    world_journal: tuple[dict[str, Any], ...] = ()
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()
    is_scripted: bool = False
    started_at: str = ""
    trace_id: str | None = None
    is_outside: bool = False
    clock: str = ""
    tools: tuple[KnownTool, ...] = ()
    span_count: int | None = None

    @property
    def usage(self) -> Usage:
        """The agent's tokens over all turns; unknown if something failed before the first."""
        if self.failure is not None and not self.turns:
            return Usage()
        return total_usage([turn.usage for turn in self.turns])

    @property
    def cost_usd(self) -> Decimal | None:
        """What the agent's model calls cost over all turns."""
        return total_cost([turn.cost_usd for turn in self.turns])

    @property
    def time_ms(self) -> float | None:
        """The agent's time over all turns, without waiting for a provider; None if none began."""
        return round(sum(turn.latency_ms for turn in self.turns), 3) if self.turns else None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(call for turn in self.turns for call in turn.tool_calls)

    @property
    def reports_calls(self) -> bool:
        """Whether `tool_calls` is all that was called."""
        return all(turn.reports_calls for turn in self.turns)

    @property
    def ended_early(self) -> bool:
        return len(self.turns) < self.planned_turns

    def but(self, **changes: Any) -> "Trial":
        """Return the same trial with some fields changed."""
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON that `from_json` reads back to an equal Trial."""
        dumped: dict[str, Any] = _adapter(Trial).dump_python(self, mode="json")
        return dumped

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Trial":
        trial: Trial = _adapter(Trial).validate_python(data)
        return trial


@dataclass(frozen=True, slots=True)
class View:
    """A Trial as one assertion sees it: a single turn, or (`turn` None) the whole conversation.

    `expected_text` is the turn's expected answer. With `whole_text` the text to grade is every
    reply of the conversation, else the reply of the turn, or at the end the last one. `context`,
    `retrieval_context` and `config` are what the case provides for graders alone.
    """

    trial: Trial
    turn: TurnRecord | None = None
    expected_text: str | None = None
    whole_text: bool = False
    context: tuple[str, ...] | None = None
    retrieval_context: tuple[str, ...] | None = None
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reply(self) -> str:
        """The text to grade."""
        if self.whole_text:
            return "\n\n".join(turn.reply for turn in self.turns)
        if self.turn is not None:
            return self.turn.reply
        return self.trial.turns[-1].reply if self.trial.turns else ""

    @property
    def turns(self) -> tuple[TurnRecord, ...]:
        """The turns in view: one, or all that ran."""
        return self.trial.turns if self.turn is None else (self.turn,)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """What was called in the turns in view.

        Raises:
            CallsMissingError: it is unknown, because spans did not arrive.
        """
        return tuple(call for turn in self.turns for call in _calls_of(turn))

    @property
    def reports_calls(self) -> bool:
        """Whether `tool_calls` is all that was called."""
        return all(turn.reports_calls for turn in self.turns)

    @property
    def reports_lookups(self) -> bool:
        """Whether `chunks` is all that was looked up."""
        return all(turn.reports_calls or _looked_up([turn]) for turn in self.turns)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """What retrieval tools returned in the turns in view, in order, duplicates included."""
        return tuple(chunk for call in self.tool_calls for chunk in call.chunks)

    def retrieved_chunks(self) -> tuple[Chunk, ...] | None:
        """Return the knowledge that the reply can be based on; None if nothing was ever looked up.

        That is what the case provides for the turn, else what retrieval tools returned in it, else
        in the latest earlier turn with any. Duplicates are left out.
        """
        if self.retrieval_context is not None:
            given = enumerate(self.retrieval_context, 1)
            return tuple(Chunk(str(number), text) for number, text in given)
        if self.turn is None:
            return _without_duplicates(self.chunks) if _looked_up(self.turns) else None
        for turn in reversed(self._up_to_now()):
            if _looked_up([turn]):
                return _without_duplicates(c for call in turn.tool_calls for c in call.chunks)
        return None

    @property
    def world_journal(self) -> tuple[dict[str, Any], ...]:
        """Each change of the world in the turns in view.

        Raises:
            ValueError: the transcript does not record in which turn the world changed.
        """
        first, end = self._journal_range()
        return self.trial.world_journal[first:end]

    @property
    def earlier_journal(self) -> tuple[dict[str, Any], ...]:
        """Each change of the world before the turns in view.

        Raises:
            ValueError: the transcript does not record in which turn the world changed.
        """
        first, _ = self._journal_range()
        return self.trial.world_journal[:first]

    def _journal_range(self) -> tuple[int, int]:
        whole = len(self.trial.world_journal)
        seen = self._up_to_now()
        if not whole or (self.turn is None and len(seen) == self.trial.planned_turns):
            return 0, whole
        ends = [0, *(turn.journal_end for turn in seen)]
        first, end = (0 if self.turn is None else ends[-2]), ends[-1]
        if first is None or end is None:
            raise ValueError(
                "This transcript does not record in which turn the world changed. Run the case again."
            )
        return first, end

    def _up_to_now(self) -> tuple[TurnRecord, ...]:
        turns = self.trial.turns
        place = next((n for n, turn in enumerate(turns, 1) if turn == self.turn), len(turns))
        return turns[:place]

    def expected_value(self, own: str | None) -> str:
        """Return the assertion's own value, else the turn's expected text.

        Raises:
            ValueError: neither exists; `grading` rules that out before it calls a grader.
        """
        text = self.expected_text if own is None else own
        if text is None:
            raise ValueError("This check needs an expected text, but there is none.")
        return text


def _calls_of(turn: TurnRecord) -> tuple[ToolCall, ...]:
    if turn.calls_missing:
        raise CallsMissingError(turn.calls_missing)
    return turn.tool_calls


def _looked_up(turns: Iterable[TurnRecord]) -> bool:
    return any(call.chunks or call.is_retrieval for turn in turns for call in _calls_of(turn))


def _without_duplicates(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    return tuple({(chunk.id, chunk.text): chunk for chunk in chunks}.values())


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
class JudgeCall:
    """One call of a judge model, kept as an explanation; it never contains a key.

    `model` is the one that answered, `asked_model` the one that was asked. `fingerprint` is a digest of
    all that the answer depends on. `is_reused`: an earlier grading asked for it and paid.
    `logprobs` are of the token with the score, if they were asked for.
    """

    purpose: str
    model: str
    prompt: str
    reply: str
    prompt_hash: str = ""
    usage: Usage = Usage()
    latency_ms: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    dropped: tuple[str, ...] = ()
    is_scripted: bool = False
    cost_usd: Decimal | None = None
    provider: str = ""
    asked_model: str = ""
    prompt_version: int = 0
    stop: str = "ok"
    refusal_category: str | None = None
    waited_ms: float = 0.0
    first_token_ms: float | None = None
    request_id: str | None = None
    sent: dict[str, Any] = field(default_factory=dict)
    is_replayed: bool = False
    is_reused: bool = False
    fingerprint: str = ""
    logprobs: tuple[dict[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        dumped: dict[str, Any] = _adapter(JudgeCall).dump_python(self, mode="json")
        return dumped


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
    def hit(cls, reason: str, **details: Any) -> Self:
        return cls(1.0, True, reason, details=details)  # noqa: FBT003 - score, then verdict

    @classmethod
    def miss(cls, reason: str, **details: Any) -> Self:
        return cls(0.0, False, reason, cause=Cause.ASSERTION, details=details)  # noqa: FBT003

    @classmethod
    def of_score(cls, score: float, reason: str, **details: Any) -> Self:
        """Return a score without a verdict; the assertion's threshold decides, if it has one."""
        return cls(min(1.0, max(0.0, score)), None, reason, details=details)

    @classmethod
    def not_applicable(cls, reason: str) -> Self:
        return cls(None, None, reason, GradeStatus.NOT_APPLICABLE)

    @classmethod
    def without_result(cls, cause: Cause, reason: str, **details: Any) -> Self:
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


class Tool(Protocol):
    """A tool as models see it: a name, a sentence, and the JSON Schema of its arguments.

    `retrieval` names the key of the result that lists fetched chunks (`id`, `text`), if any.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def retrieval(self) -> str | None: ...


class World(Protocol):
    """A private copy of the fixtures that one execution reads and changes through tools.

    `call` never raises for what an agent does wrong: it returns `{"error": {"code", "message"}}`.
    `change_count` is the length of the journal; `initial_state` gives the entities and relations as they
    were before the first change.
    """

    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def journal(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def change_count(self) -> int: ...
    def call(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]: ...
    def changes(self) -> dict[str, Any]: ...
    def initial_state(self) -> WorldState: ...
