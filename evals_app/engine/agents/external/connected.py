"""The connected driver: an agent on a computer that fetches its messages from the site.

The computer runs `evalwell connect` and needs no address of its own. Messages wait as rows until one
of the agent's computers takes them; an answer that is stored is never asked for again, whatever dies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from evals_app.engine.agents.external.outside import Outside
from evals_app.engine.agents.external.reply import parse_reply
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.specs.agent_spec import MAX_OFFERS, ConnectedAgent
from fixtures_app.ground.strict_json import JsonObject


@dataclass(frozen=True, slots=True)
class OfferedCall:
    """A message that waits for a computer: of which job and turn, and how often it may be taken."""

    job_id: int
    turn: int
    agent: str
    session_id: str
    request: JsonObject
    offers: int


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What a computer answered: what the program wrote, or why it did not answer."""

    output: str
    error: str
    took_s: float
    ignored_files: bool


@dataclass(frozen=True, slots=True)
class CallState:
    """How far a message is. `is_lost`: the last computer that may have it is gone.

    `has_computer`: one of the agent's computers is connected.
    """

    is_taken: bool
    is_lost: bool
    has_computer: bool
    answer: CallAnswer | None = None


class CallDesk(Protocol):
    """Where one conversation hands in its messages."""

    async def offer(
        self, turn: int, *, agent: str, session_id: str, request: JsonObject, offers: int
    ) -> None:
        """Store the message of a turn, unless it is stored already."""

    async def look(self, turn: int) -> CallState | None:
        """Return the state of the turn's message."""

    async def pause(self) -> None:
        """Wait a moment before the next look."""


class ConnectedSession:
    """Hand in each message, and wait until a computer has answered it."""

    def __init__(self, agent: ConnectedAgent, *, setting: Setting, desk: CallDesk | None) -> None:
        if desk is None:
            raise ConfigurationError(f"Agent {agent.slug} can only be asked in a run.")
        self._agent = agent
        self._session_id = setting.session_id
        self._outside = Outside(setting)
        self._desk = desk

    async def respond(self, exchange: Exchange) -> None:
        request = self._outside.request(exchange, takes_files=True)
        request["traceparent"] = self._outside.traceparent(exchange)
        request["timeout_s"] = exchange.timeout_s
        with self._outside.asking(exchange):
            answer = await self._answer(exchange, request)
            if answer.ignored_files:
                exchange.notes.append("The program did not get the files of the turn.")
            if answer.error:
                raise AgentError(answer.error)
            reply = parse_reply(answer.output)
        self._outside.note(exchange, reply)

    async def _answer(self, exchange: Exchange, request: Mapping[str, Any]) -> CallAnswer:
        """Wait for the answer; only the program's own time is the agent's.

        The computer ends a program that takes too long, and says so: what keeps its answer from
        arriving, such as a site that is restarted, does not count.
        """
        await self._desk.offer(
            exchange.index,
            agent=self._agent.slug,
            session_id=self._session_id,
            request=dict(request),
            offers=MAX_OFFERS if self._agent.if_lost == "again" else 1,
        )
        with exchange.waiting("still waiting for a connected computer"):
            answer = await self._wait_for_answer(exchange)
        exchange.replayed_s += answer.took_s
        return answer

    async def _wait_for_answer(self, exchange: Exchange) -> CallAnswer:
        """Wait until a computer has answered.

        Raises:
            ConfigurationError: no computer is connected for as long as a turn may take, or all that
                may have the message are lost.
        """
        missing_since: float | None = None
        while (state := await self._look(exchange)).answer is None:
            now = exchange.clock()
            if state.is_taken or state.has_computer:
                missing_since = None
            elif now - (missing_since := missing_since or now) >= exchange.timeout_s:
                raise ConfigurationError(self._nothing_connected(exchange.timeout_s))
            await self._desk.pause()
        return state.answer

    async def _look(self, exchange: Exchange) -> CallState:
        state = await self._desk.look(exchange.index)
        if state is None:
            return CallState(is_taken=False, is_lost=False, has_computer=False)
        if state.is_lost:
            raise ConfigurationError(self._why_lost())
        return state

    def _nothing_connected(self, waited_s: float) -> str:
        return (
            f"No computer was connected for this agent for {waited_s:g} s. Run on the computer that"
            f" has it: evalwell connect {self._agent.slug} -- PROGRAM"
        )

    def _why_lost(self) -> str:
        if self._agent.if_lost == "again":
            return f"The computers that had this message were lost {MAX_OFFERS} times before an answer came."
        return (
            "The computer that had this message was lost before it answered, and the agent may not be"
            " asked again (if_lost: fail)."
        )
