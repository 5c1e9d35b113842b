"""Run one conversation: the turns of a case, one after the other, with one agent."""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from evals_app.engine.agents import Session, Setting, open_session
from evals_app.engine.agents.external.agent_queue import AgentQueue
from evals_app.engine.agents.external.connected import CallDesk
from evals_app.engine.agents.session import Exchange
from evals_app.engine.agents.tools.variables import Variables
from evals_app.engine.basics.errors import (
    AgentError,
    ConfigurationError,
    ProviderError,
    ReplyMismatchError,
    TimedOutError,
    ToolError,
)
from evals_app.engine.basics.folding import fold_text
from evals_app.engine.basics.template import plain, resolve
from evals_app.engine.callables.pool import Callables
from evals_app.engine.llm.call import Complete, FileContent
from evals_app.engine.record.trial import Cause, Failure, KnownTool, Message, Trial, TurnRecord
from evals_app.engine.record.world import Tool, World
from evals_app.engine.running.users.user_side import UserSide
from evals_app.engine.specs.agent_spec import OUTSIDE, AgentSpec
from evals_app.engine.specs.files import FileSpec, ReadFile, media_type, no_file
from evals_app.engine.suites.case_spec import TURN_TIMEOUT_S
from evals_app.engine.suites.suite_spec import CaseSpec, TurnSpec
from fixtures_app.ground.quoting import cut_middle

# After this many agent errors in a row, the rest of the conversation is meaningless.
ERRORS_IN_A_ROW = 2
MAX_TOOL_CHARS = 200  # kept of a tool's description


@dataclass(eq=False)
class Conversation:
    """One trial of one case; `trial()` returns what has happened so far, at any moment.

    `started_at` and `session_id` are given if we interrupted it and run it again: prompts and what
    an external agent calls the conversation stay the same.
    `user` says the messages; without one they are those of the case.
    `spend` is called with what an external agent reports that a turn has cost.
    """

    case: CaseSpec
    _: KW_ONLY
    number: int
    agent: AgentSpec
    world: World
    complete: Complete
    callables: Callables | None = None
    queue: AgentQueue | None = None
    desk: CallDesk | None = None
    read_file: ReadFile = no_file
    user: UserSide | None = None
    spend: Callable[[Decimal], None] = lambda _: None
    started_at: str = ""
    session_id: str = ""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _known_tools: tuple[KnownTool, ...] = ()
    _turns: list[TurnRecord] = field(default_factory=list)
    _failure: Failure | None = None

    def __post_init__(self) -> None:
        case, agent = self.case, self.agent
        self._user = self.user or UserSide(case)
        self.started_at = self.started_at or self.now().isoformat()
        self._given: dict[str, Any] = {
            "agent_name": agent.agent,
            "now": case.clock or self.started_at,
            "channel": case.channel,
            "params": case.context_params,
        }
        prompt = resolve(agent.sent_prompt, **self._given)
        self._system_prompt = prompt.text
        variables = Variables(**self._given)
        self._tools = [variables.tool(tool) for tool in agent.given_tools]
        self._warnings = prompt.warnings("The prompt") + variables.warnings("A tool")
        self._session_id = self.session_id or secrets.token_hex(16)
        self._history = tuple(
            Message(message.role, plain(message.content)) for message in case.history
        )

    async def run(self) -> Trial:
        """Run all turns, or as many as make sense.

        Raises:
            ConfigurationError: the agent cannot work as written.
        """
        setting = Setting(
            self._system_prompt,
            self._history,
            self.case.streaming,
            session_id=self._session_id,
            case=self.case.name,
            trial=self.number,
            clock=self.case.clock,
            channel=self.case.channel,
            context_params=self.case.context_params,
            note_tools=self._note_tools,
        )
        opened = open_session(
            self.agent,
            setting=setting,
            tools=self._tools,
            world=self.world,
            complete=self.complete,
            callables=self.callables,
            queue=self.queue,
            desk=self.desk,
        )
        try:
            async with opened as session:
                await self._run_turns(session)
        except ToolError as exc:
            self._failure = Failure(Cause.TOOL, str(exc))
        return self.trial()

    async def _run_turns(self, session: Session) -> None:
        try:
            async with aclosing(self._user.turns(self.trial)) as turns:
                async for turn in turns:
                    await self._run_turn(session, turn)
                    if self._failure or self._has_given_up():
                        break
        except ProviderError as exc:  # of the model that plays the user
            self._failure = Failure(Cause.PROVIDER, str(exc))

    @property
    def _is_limit_chosen(self) -> bool:
        case = self.case
        return case.turn_timeout_s != TURN_TIMEOUT_S or case.limits.max_time_ms is not None

    async def _content(self, file: FileSpec) -> FileContent:
        if file.sha256 is None:
            raise ConfigurationError(f"The file {file.path} was never read.")
        return FileContent(file.name, media_type(file.path), await self.read_file(file.sha256))

    async def _run_turn(self, session: Session, turn: TurnSpec) -> None:
        files = [await self._content(file) for file in turn.files]
        exchange = Exchange(
            len(self._turns) + 1,
            plain(turn.user),
            self.case.turn_timeout_s,
            is_limit_chosen=self._is_limit_chosen,
            files=tuple(files),
        )
        error: str | None = "The turn was interrupted."  # unless it ends by itself
        try:
            async with asyncio.timeout(exchange.timeout_s) as timer:
                with exchange.run_clock(timer):
                    await session.respond(exchange)
            error = None if fold_text(exchange.reply) else exchange.no_reply()
        except AgentError as exc:
            error = str(exc)
        except ReplyMismatchError as exc:
            error = str(exc)
            self._failure = Failure(Cause.CASE, error)
        except TimeoutError:
            if not timer.expired():  # another limit
                raise
            pending = f": {exchange.pending}" if exchange.pending else ""
            error = f"The agent did not answer within {exchange.timeout_s:g} s{pending}."
        except ProviderError as exc:
            error = str(exc)
            if isinstance(exc, TimedOutError):
                error += (
                    " If its model needs longer, raise the case's reply timeout (turn_timeout_s)."
                )
            exchange.attempts.extend(exc.attempts)
            self._failure = Failure(Cause.PROVIDER, error)
        finally:
            record = exchange.record(error=error, expected=turn.expected)
            self._turns.append(replace(record, journal_end=self.world.change_count))
            if self.agent.driver in OUTSIDE and record.cost_usd:
                self.spend(record.cost_usd)

    @property
    def trace_id(self) -> str | None:
        """The trace that an external agent is sent."""
        return self._session_id if self.agent.driver in OUTSIDE else None

    @property
    def doing(self) -> str:
        """Its progress in words."""
        most = self._user.most_turns
        at_most = "at most " if self.case.simulated_user else ""
        return f"turn {min(len(self._turns) + 1, most)} of {at_most}{most}"

    def trial(self) -> Trial:
        """Return what has happened so far."""
        return Trial(
            case=self.case.name,
            number=self.number,
            planned_turns=max(len(self.case.turns), len(self._turns)),
            agent=self.agent.slug,
            system_prompt=self._system_prompt,
            channel=self.case.channel,
            context_params=dict(self.case.context_params),
            history=self._history,
            turns=tuple(self._turns),
            world_changes=self.world.changes(),
            world_journal=tuple(dict(entry) for entry in self.world.journal),
            failure=self._failure,
            warnings=self._warnings,
            is_scripted=self.agent.driver == "scripted",
            started_at=self.started_at,
            trace_id=self.trace_id,
            is_outside=self.agent.driver in OUTSIDE,
            clock=self.case.clock or "",
            tools=self._known_tools,
            user_model=self._user.model,
            user_calls=tuple(self._user.calls),
            user_stopped=self._user.stopped,
        )

    def _note_tools(self, tools: Iterable[Tool]) -> None:
        self._known_tools = tuple(
            KnownTool(tool.name, cut_middle(" ".join(tool.description.split()), MAX_TOOL_CHARS))
            for tool in tools
        )

    def _has_given_up(self) -> bool:
        latest = self._turns[-ERRORS_IN_A_ROW:]
        return len(latest) == ERRORS_IN_A_ROW and all(turn.error for turn in latest)


def variables_of(trial: Trial, *, agent_name: str) -> dict[str, Any]:
    """Return the variables of a conversation, which prompts and the judge's context may name."""
    return {
        "agent_name": agent_name,
        "now": trial.clock or trial.started_at,
        "channel": trial.channel,
        "params": trial.context_params,
    }
