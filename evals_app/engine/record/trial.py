"""What happened in an execution.

Frozen dataclasses with plain JSON inside: a Trial is stored whole, read back and graded again.
Latencies are milliseconds, times UTC in ISO 8601, texts are exactly as the agent wrote them, with
its reasoning apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter

from evals_app.engine.basics.reasoning import without_reasoning
from evals_app.engine.record.judge_call import Attempt, JudgeCall
from evals_app.engine.record.usage import UNKNOWN_USAGE, Usage, total_cost, total_usage


@cache
def adapter() -> TypeAdapter["Trial"]:
    """Return what reads and writes trials; it is built with the first one."""
    return TypeAdapter(Trial)


class Cause(StrEnum):
    """Why a conversation did not pass, the most serious first."""

    HARNESS = "harness"
    PROVIDER = "provider"
    BUDGET = "budget"
    JUDGE = "judge"
    TOOL = "tool"
    USER = "user"
    CASE = "case"
    AGENT = "agent"
    LIMIT = "limit"
    ASSERTION = "assertion"

    @property
    def is_error(self) -> bool:
        """Whether it makes the execution errored; the rest make it failed."""
        return self not in {Cause.AGENT, Cause.LIMIT, Cause.ASSERTION}


class Verdict(StrEnum):
    """How a finished conversation ended."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    MEASURED = "measured"  # nothing could pass or fail: all of its checks only inform


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
    case expects: kept for people, never shown to the agent. `latency_ms` is the agent's own time; waiting for a provider is in
    `waited_ms`. `latency_ms` and `cost_usd` None are unknown.
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
    usage: Usage = UNKNOWN_USAGE
    latency_ms: float | None = None
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


def time_of(turns: Sequence[TurnRecord]) -> float | None:
    """Return the agent's time over some turns; None if there are none, or one of them is unknown."""
    times = [turn.latency_ms for turn in turns if turn.latency_ms is not None]
    # No clock is exact to less than a microsecond.
    return round(sum(times), 3) if times and len(times) == len(turns) else None


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
    `user_model` played the user, or read whether recorded words still fit, by `user_calls`; empty if
    no model did. `user_stopped` says why the user's side ended the conversation early.
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
    world_changes: dict[str, object] = field(default_factory=dict)
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
    user_model: str = ""
    user_calls: tuple[JudgeCall, ...] = ()
    user_stopped: str = ""

    @property
    def usage(self) -> Usage:
        """The agent's tokens over all turns; unknown if something failed before the first."""
        if self.failure is not None and not self.turns:
            return UNKNOWN_USAGE
        return total_usage([turn.usage for turn in self.turns])

    @property
    def cost_usd(self) -> Decimal | None:
        """What the agent's model calls cost over all turns."""
        return total_cost([turn.cost_usd for turn in self.turns])

    @property
    def time_ms(self) -> float | None:
        """The agent's time over all turns, without waiting for a provider.

        None if none began, or if the time of one is unknown.
        """
        return time_of(self.turns)

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
        dumped: dict[str, object] = adapter().dump_python(self, mode="json")
        return dumped

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> "Trial":
        return adapter().validate_python(data)
