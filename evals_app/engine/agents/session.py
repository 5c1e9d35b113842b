"""What a driver is, and the notes it takes while it answers."""

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from evals_app.engine.llm.call import FileContent
from evals_app.engine.record.judge_call import Attempt
from evals_app.engine.record.trial import Message, ShownFile, TurnRecord
from evals_app.engine.record.usage import Usage, total_cost, total_usage
from evals_app.engine.record.world import Tool
from evals_app.engine.specs.files import sha256_of

_SHARE_OF_TURN = 0.9  # of the remaining time
MIN_SILENCE_S = 30.0  # before a provider is blamed for it


@dataclass(frozen=True, slots=True)
class Setting:
    """What an agent knows before the first turn.

    `session_id` identifies the execution: 32 hexadecimal digits, so that it is a trace id, too.
    `trial` counts the executions of the case from 1. `clock` is the case's frozen time in ISO 8601;
    None if it is not frozen. `note_tools` is called with the agent's tools once they are known.
    """

    system_prompt: str
    history: tuple[Message, ...] = ()
    streaming: bool = False
    session_id: str = ""
    case: str = ""
    trial: int = 1
    clock: str | None = None
    channel: str | None = None
    context_params: Mapping[str, object] = field(default_factory=dict)
    note_tools: Callable[[Iterable[Tool]], None] = lambda _: None


@dataclass(slots=True)
class Exchange:
    """A turn while it runs; what was done so far survives an error or a timeout.

    `is_limit_chosen`: its time limit was set explicitly. `clock` gives seconds. `waited_s` is the
    time that was not the agent's; drivers add to it. `paused_s` is how long the turn's timer was
    paused. `replayed_s` is time spent on it earlier, in an interrupted conversation. `pending`
    describes what it is waiting for. `span_id` is the turn in the trace that external agents are
    sent.
    """

    index: int
    user: str
    timeout_s: float
    clock: Callable[[], float] = time.monotonic
    is_limit_chosen: bool = False
    files: tuple[FileContent, ...] = ()
    messages: list[Message] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    costs: list[Decimal | None] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reports_calls: bool = True
    model: str | None = None
    first_token_ms: float | None = None
    waited_s: float = 0.0
    paused_s: float = 0.0
    replayed_s: float = 0.0
    pending: str = ""
    span_id: str = field(default_factory=lambda: secrets.token_hex(8))
    _started: float = 0.0
    _ended: float | None = None
    _timer: asyncio.Timeout | None = None

    @contextmanager
    def run_clock(self, timer: asyncio.Timeout) -> Iterator[None]:
        """Run the turn's clock; `timer` is the timeout that it drives."""
        self._timer, self._started = timer, self.clock()
        try:
            yield
        finally:
            self._ended = self.clock()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the turn's timer while it waits for a provider."""
        began = self.clock()
        timer = self._timer
        left = None
        if timer is not None and not timer.expired() and (when := timer.when()) is not None:
            left = when - asyncio.get_running_loop().time()
            timer.reschedule(None)
        try:
            yield
        finally:
            self.paused_s += self.clock() - began
            if timer is not None and left is not None:
                timer.reschedule(asyncio.get_running_loop().time() + left)

    def note_unknown(self) -> None:
        """Note that tokens and cost are unknown: the request may still be billed."""
        self.usages.append(Usage())
        self.costs.append(None)

    def refund(self, seconds: float) -> None:
        """Return back the time that a failed attempt of the provider took."""
        self.paused_s += seconds
        timer = self._timer
        if timer is not None and not timer.expired() and (when := timer.when()) is not None:
            timer.reschedule(when + seconds)

    @property
    def left_s(self) -> float:
        """Return the seconds until the end of the turn; the whole of it if no timer runs."""
        if self._timer is not None and (when := self._timer.when()) is not None:
            return when - asyncio.get_running_loop().time()
        return self.timeout_s

    @contextmanager
    def waiting(self, pending: str) -> Iterator[None]:
        """Wait for something that is not the agent's fault, outside of its time."""
        began, before = self.clock(), self.pending
        self.pending = pending
        try:
            with self.pause():
                yield
        finally:
            self.waited_s += self.clock() - began
            self.pending = before

    def silence_s(self, *, is_thinking: bool) -> float:
        """Return the seconds after which a silent model API is given up.

        Just before the end of the turn: a model that thinks has nearly all of it, and an API that
        never answers is the provider's fault. An explicit limit decides by itself where
        less silence than a provider's own ends the turn, and while the model `is_thinking`: its API
        has begun to answer, or would not show that it has.
        """
        if self.is_limit_chosen and is_thinking:
            return math.inf
        return max(_SHARE_OF_TURN * self.left_s, MIN_SILENCE_S)

    @property
    def reply(self) -> str:
        """The agent's last text, empty as long as it only calls tools."""
        texts = [message.text for message in self.messages if not message.tool_calls]
        return texts[-1] if texts else ""

    def no_reply(self) -> str:
        """Return a note that the agent's reply is empty, and whether it wrote anything else."""
        is_thought = bool(self.messages and self.messages[-1].reasoning)
        return f"The agent's reply is empty{': it wrote only reasoning' if is_thought else ''}."

    def record(self, *, error: str | None = None, expected: str | None = None) -> TurnRecord:
        """Freeze what happened; `expected` comes from the case, the agent has not seen it."""
        ended = self.clock() if self._ended is None else self._ended
        took_s = ended - self._started + self.replayed_s - self.waited_s
        return TurnRecord(
            index=self.index,
            user=self.user,
            reply=self.reply,
            messages=tuple(self.messages),
            error=error,
            usage=total_usage(self.usages) if self.usages else Usage(),
            latency_ms=round(max(0.0, took_s) * 1000, 3),
            waited_ms=round(self.waited_s * 1000, 3),
            first_token_ms=self.first_token_ms,
            model=self.model,
            attempts=tuple(self.attempts),
            notes=tuple(self.notes),
            expected=expected,
            cost_usd=total_cost(self.costs),
            reports_calls=self.reports_calls,
            span_id=self.span_id,
            files=tuple(
                ShownFile(e.name, e.media_type, len(e.data), sha256_of(e.data)) for e in self.files
            ),
        )


class Session(Protocol):
    """One conversation with an agent."""

    async def respond(self, exchange: Exchange) -> None:
        """Answer `exchange.user`, noting in the exchange what the agent does and answers.

        Raises:
            AgentError: the agent did not answer.
            ProviderError: its model API could not be reached.
        """
