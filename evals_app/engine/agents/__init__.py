"""Drivers: the ways in which an agent is made to answer."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from evals_app.engine.agents.external.agent_queue import AgentQueue
from evals_app.engine.agents.external.command import CommandSession
from evals_app.engine.agents.external.connected import CallDesk, ConnectedSession
from evals_app.engine.agents.external.http import HttpSession, web_for
from evals_app.engine.agents.external.python import PythonSession
from evals_app.engine.agents.model import ModelSession
from evals_app.engine.agents.scripted import ScriptedSession
from evals_app.engine.agents.session import Session, Setting
from evals_app.engine.agents.tools.toolbox import open_toolbox
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.callables.pool import Callables
from evals_app.engine.llm.call import Complete
from evals_app.engine.record.world import World
from evals_app.engine.specs.agent_spec import (
    AgentSpec,
    CommandAgent,
    ConnectedAgent,
    HttpAgent,
    ModelAgent,
    PythonAgent,
    RecordedAgent,
    ScriptedAgent,
)
from evals_app.engine.specs.tool_spec import AnyTool

__all__ = ["Session", "Setting", "open_session"]


@asynccontextmanager
async def open_session(
    agent: AgentSpec,
    *,
    setting: Setting,
    tools: Sequence[AnyTool],
    world: World,
    complete: Complete,
    callables: Callables | None = None,
    queue: AgentQueue | None = None,
    desk: CallDesk | None = None,
) -> AsyncIterator[Session]:
    """Begin a conversation with the agent; its resources are closed at the end.

    `tools` are the agent's, with variables filled in; `complete` calls model APIs, `callables` runs
    the operator's code, an agent over HTTP waits in `queue`, and `desk` has the calls of connected
    computers.

    Raises:
        ConfigurationError: the agent cannot work as written.
        ToolError: a server of tools does not answer.
    """
    if isinstance(agent, RecordedAgent):
        raise ConfigurationError("These conversations were recorded: their agent cannot be asked.")
    if isinstance(agent, HttpAgent):
        async with web_for(agent) as web:
            yield HttpSession(agent, setting=setting, web=web, queue=queue)
    elif isinstance(agent, PythonAgent):
        async with AsyncExitStack() as processes:
            yield PythonSession(agent, setting=setting, callables=callables, processes=processes)
    elif isinstance(agent, CommandAgent):
        yield CommandSession(agent, setting=setting, callables=callables)
    elif isinstance(agent, ConnectedAgent):
        yield ConnectedSession(agent, setting=setting, desk=desk)
    else:
        async with open_toolbox(tools, world=world) as toolbox:
            setting.note_tools(toolbox.tools.values())
            if isinstance(agent, ScriptedAgent):
                yield ScriptedSession(agent.rules, toolbox=toolbox)
            elif isinstance(agent, ModelAgent):
                yield ModelSession(agent, setting=setting, toolbox=toolbox, complete=complete)
