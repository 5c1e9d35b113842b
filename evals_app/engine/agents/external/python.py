"""The python driver: an agent that is a sync or async function in a permitted module.

It receives those of `input history session_id channel context_params case trial clock files
traceparent` that it has parameters for (its first parameter is the message, whatever its name), and returns a text or the JSON of
`reply`. One process answers all turns of a conversation, so that state that the module keeps for
a session is there in the next turn.
"""

from contextlib import AsyncExitStack

from evals_app.engine.agents.external.outside import Outside
from evals_app.engine.agents.external.reply import read_reply
from evals_app.engine.agents.session import Exchange, Setting
from evals_app.engine.basics.errors import AgentError, CodeError, ConfigurationError
from evals_app.engine.callables.here import FunctionHere
from evals_app.engine.callables.pool import Callables, LoadedCallable
from evals_app.engine.specs.agent_spec import PythonAgent


class PythonSession:
    """Call a function, always in the same process unless that has ended.

    It is free again when `processes` is closed.
    """

    def __init__(
        self,
        agent: PythonAgent,
        *,
        setting: Setting,
        callables: Callables | None,
        processes: AsyncExitStack,
    ) -> None:
        if callables is None:
            raise ConfigurationError(f"Agent {agent.slug} has no function to call.")
        self._reference = agent.callable
        self._interpreter = agent.interpreter
        self._outside = Outside(setting)
        self._callables = callables
        self._processes = processes
        self._loaded: LoadedCallable | FunctionHere | None = None

    async def respond(self, exchange: Exchange) -> None:
        loaded = await self._ready(exchange)
        takes_files = loaded.takes(self._reference, "files")
        request = self._outside.request(exchange, takes_files=takes_files)
        request["traceparent"] = self._outside.traceparent(exchange)
        with self._outside.asking(exchange):
            try:
                value = await loaded.call(self._reference, "agent", request)
            except CodeError as exc:
                raise AgentError(str(exc)) from exc
            reply = read_reply(value)
        self._outside.note(exchange, reply)

    async def _ready(self, exchange: Exchange) -> LoadedCallable | FunctionHere:
        """Return the process; the wait for it and for its imports is not the agent's time."""
        if self._loaded is not None and self._loaded.can_be_used_again:
            return self._loaded
        began = exchange.clock()
        try:
            with exchange.pause():
                await self._processes.aclose()
                loading = self._callables.load(
                    self._reference, "agent", interpreter=self._interpreter
                )
                self._loaded = await self._processes.enter_async_context(loading)
        except CodeError as exc:
            raise ConfigurationError(str(exc)) from exc
        finally:
            exchange.waited_s += exchange.clock() - began
        return self._loaded
