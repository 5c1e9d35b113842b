"""Calls of connected computers: a conversation hands its messages in here and waits for the answers."""

import asyncio
from collections.abc import Sequence

from evals_app.engine.agents.external.connected import CallState, OfferedCall
from evals_app.engine.basics.together import Together
from evals_app.engine.running.run_gateway import RunGateway
from fixtures_app.ground.strict_json import JsonObject

LOOK_EVERY_S = 0.4


class CallDesks:
    """The desks of conversations; everything that waits at the same moment shares one query."""

    def __init__(self, gateway: RunGateway, *, look_every_s: float = LOOK_EVERY_S) -> None:
        self.gateway = gateway
        self.look_every_s = look_every_s
        self.look: Together[tuple[int, int], CallState | None] = Together(self._look_at)

    async def _look_at(self, keys: Sequence[tuple[int, int]]) -> list[CallState | None]:
        states = await self.gateway.read_calls(keys)
        return [states.get(key) for key in keys]

    def of(self, job_id: int) -> "OneDesk":
        """Return the desk of one conversation."""
        return OneDesk(self, job_id)


class OneDesk:
    """The desk of one conversation."""

    def __init__(self, desks: CallDesks, job_id: int) -> None:
        self._desks = desks
        self._job_id = job_id

    async def offer(
        self, turn: int, *, agent: str, session_id: str, request: JsonObject, offers: int
    ) -> None:
        """Store the message of a turn for the computers of an agent."""
        await self._desks.gateway.offer_call(
            OfferedCall(self._job_id, turn, agent, session_id, request, offers)
        )

    async def look(self, turn: int) -> CallState | None:
        """Return the state of the turn's message now; None while it is unknown."""
        return await self._desks.look((self._job_id, turn))

    async def pause(self) -> None:
        """Wait a moment before the next look."""
        await asyncio.sleep(self._desks.look_every_s)
