"""Drivers: the ways in which an agent is made to answer."""

from evals_app.engine.agents.model import ModelSession
from evals_app.engine.agents.scripted import ScriptedSession
from evals_app.engine.agents.session import Session, Setting
from evals_app.engine.agents.toolbox import Toolbox
from evals_app.engine.llm.call import Complete
from evals_app.engine.spec import AgentSpec

__all__ = ["Session", "Setting", "Toolbox", "open_session"]


def open_session(
    agent: AgentSpec, *, setting: Setting, toolbox: Toolbox, complete: Complete
) -> Session:
    """Begin a conversation with the agent; `complete` is how model APIs are reached."""
    if agent.driver == "scripted":
        return ScriptedSession(agent.rules, toolbox=toolbox)
    return ModelSession(agent, setting=setting, toolbox=toolbox, complete=complete)
