"""Hold one conversation: the turns of a case, one after the other, with one agent."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from evals_app.engine.agents import Session, Setting, Toolbox, open_session
from evals_app.engine.agents.session import Exchange
from evals_app.engine.errors import AgentError, ProviderError
from evals_app.engine.llm.call import Complete
from evals_app.engine.spec import AgentSpec
from evals_app.engine.suite import CaseSpec
from evals_app.engine.template import resolve
from evals_app.engine.trial import Cause, Failure, Message, Trial, TurnRecord, World

# After that many agent errors in a row the rest of the conversation would mean nothing.
ERRORS_IN_A_ROW = 2


class Conversation:
    """One trial of one case; `trial()` tells at any moment what has happened so far.

    `started_at` is given where it was broken off by us and is held again: prompts stay the same.
    """

    def __init__(
        self,
        case: CaseSpec,
        *,
        number: int,
        agent: AgentSpec,
        world: World,
        complete: Complete,
        started_at: str | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._case = case
        self._number = number
        self._agent = agent
        self._world = world
        self._complete = complete
        self.started_at = started_at or now().isoformat()
        prompt = resolve(
            agent.system_prompt,
            agent_name=agent.agent,
            now=case.clock or self.started_at,
            channel=case.channel,
            params=case.context_params,
        )
        self._system_prompt = prompt.text
        self._warnings = prompt.warnings("The prompt")
        self._history = tuple(Message(each.role, each.content) for each in case.history)
        self._turns: list[TurnRecord] = []
        self._failure: Failure | None = None

    async def hold(self) -> Trial:
        """Hold all turns, or as many as make sense.

        Raises:
            ConfigurationError: the agent cannot work as written.
        """
        session = open_session(
            self._agent,
            setting=Setting(self._system_prompt, self._history, self._case.streaming),
            toolbox=Toolbox(self._agent.tools, world=self._world),
            complete=self._complete,
        )
        for index, turn in enumerate(self._case.turns, 1):
            exchange = Exchange(index, turn.user, self._case.turn_timeout_s)
            await self._hold_turn(session, exchange, expected=turn.expected)
            if self._failure or self._has_given_up():
                break
        return self.trial()

    async def _hold_turn(
        self, session: Session, exchange: Exchange, *, expected: str | None
    ) -> None:
        error: str | None = "The turn was broken off."  # unless it comes to an end of its own
        try:
            async with asyncio.timeout(exchange.timeout_s) as timer:
                with exchange.timed(timer):
                    await session.respond(exchange)
            error = None if exchange.reply.strip() else "The agent said nothing."
        except AgentError as exc:
            error = str(exc)
        except TimeoutError:
            error = f"The agent did not answer within {exchange.timeout_s:g} s."
        except ProviderError as exc:
            error = str(exc)
            exchange.attempts.extend(exc.attempts)
            self._failure = Failure(Cause.PROVIDER, error)
        finally:
            self._turns.append(exchange.record(error=error, expected=expected))

    @property
    def doing(self) -> str:
        """Say in words where it stands."""
        turn = min(len(self._turns) + 1, len(self._case.turns))
        return f"turn {turn} of {len(self._case.turns)}"

    def trial(self) -> Trial:
        """Give what has happened so far."""
        return Trial(
            case=self._case.name,
            number=self._number,
            planned_turns=len(self._case.turns),
            agent=self._agent.slug,
            system_prompt=self._system_prompt,
            channel=self._case.channel,
            context_params=dict(self._case.context_params),
            history=self._history,
            turns=tuple(self._turns),
            world_changes=self._world.changes(),
            world_journal=tuple(dict(entry) for entry in self._world.journal),
            failure=self._failure,
            warnings=self._warnings,
            is_scripted=self._agent.driver == "scripted",
            started_at=self.started_at,
        )

    def _has_given_up(self) -> bool:
        latest = self._turns[-ERRORS_IN_A_ROW:]
        return len(latest) == ERRORS_IN_A_ROW and all(turn.error for turn in latest)
