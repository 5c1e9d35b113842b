"""The list of agents: its rows with the last results of their suites, and its columns."""

from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.views import ChangeList

from evals_app.admin.history.last_results import last_results, result_dots
from evals_app.admin.kit.cells import two_lines
from evals_app.engine.specs.agent_spec import DRIVERS
from evals_app.models import Agent
from fixtures_app.ground.quoting import cut_middle

SEEING_RESULTS = ("evals_app.view_run", "evals_app.view_suite")
_ASKED_CHARS = 34  # fits one line on a phone
_MAX_TOOLS = 3


class AgentList(ChangeList):
    """A page of the list, with the last results of its agents."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        agents = self.result_list = list(self.result_list)
        may_see = request.user.has_perms(SEEING_RESULTS)
        last = last_results(agents, "suite__agent") if may_see else {}
        for agent in agents:
            agent.last_runs = last.get(agent.pk, ())


@display(description="Agent", ordering="name")
def agent_cell(agent: Agent) -> SafeString:
    """Return the name of an agent, and below it its kind and what is called."""
    own = agent.connection
    outside = own.get("url") or own.get("callable") or " ".join(own.get("command", []))
    target = cut_middle(agent.model or outside, _ASKED_CHARS)
    kind = "Waiting for its developer" if agent.is_waiting else DRIVERS[agent.driver].label
    return two_lines(agent.name, f"{kind}: {target}" if target else kind)


@display(description="Last five")
def last_cell(agent: Any) -> SafeString | str:
    """Return how the last full runs of its suites ended."""
    return result_dots(agent.last_runs)


@display(description="Tools")
def tools_cell(agent: Agent) -> str:
    """Name the tools of an agent, of many the first ones."""
    names = agent.tool_names
    more = len(names) - _MAX_TOOLS
    shown = ", ".join(names[:_MAX_TOOLS])
    return f"{shown} and {more} more" if more > 0 else shown or "none"
