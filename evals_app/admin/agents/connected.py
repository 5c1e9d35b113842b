"""What the page of an agent says about the computers that answer for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from evals_app.models import Agent, Computer


@dataclass(frozen=True, slots=True)
class ConnectionNote:
    """The computers that are connected now, and the command that connects one."""

    computers: Sequence[Computer]
    command: str


def connection_note(agent: Agent) -> ConnectionNote | None:
    """Return what to say; None for an agent of another type."""
    if agent.driver != "connected":
        return None
    computers = list(Computer.objects.of_agent(agent.slug).select_related("user"))
    return ConnectionNote(computers, connect_command(agent.slug))


def connect_command(slug: str) -> str:
    """Return what a computer runs that answers for an agent."""
    return f"evalwell connect {slug} --site {settings.SITE} -- python my_agent.py"
