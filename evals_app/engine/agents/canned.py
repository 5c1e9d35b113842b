"""Tools with predefined answers."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from evals_app.engine.agents.tool_calls import argument_problem, tool_error
from evals_app.engine.matchers import mismatches
from evals_app.engine.tool_spec import CannedTool


class CannedAnswers:
    """Answers with the first rule that matches the arguments."""

    def __init__(self, tool: CannedTool) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        self.retrieval = tool.retrieval
        self._rules = tool.rules

    async def call(self, args: Mapping[str, Any]) -> Any:
        if problem := argument_problem(self.parameters, args):
            return tool_error("invalid_arguments", f"Invalid arguments for {self.name}: {problem}")
        for rule in self._rules:
            if not mismatches(rule.when, args, exact=False):
                if rule.error is not None:
                    return tool_error("failed", rule.error)
                return deepcopy(rule.result)
        return tool_error("no_answer", f"{self.name} has no answer for these arguments.")
