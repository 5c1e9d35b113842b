"""Fill the variables of one execution into the tools of its agent."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from evals_app.engine.basics.template import ResolvedText, in_texts, resolve
from evals_app.engine.specs.tool_spec import CannedTool, HttpTool, OwnTool

T = TypeVar("T")  # any entry of an agent's tools


class Variables:
    """Fills in variables, and remembers the parameters that the case does not set."""

    def __init__(
        self,
        *,
        agent_name: str,
        now: str,
        channel: str | None = None,
        params: Mapping[str, object] | None = None,
    ) -> None:
        self._known: dict[str, Any] = {"agent_name": agent_name, "now": now, "channel": channel}
        self._params = dict(params or {})
        self._missing: dict[str, None] = {}

    def warnings(self, where: str) -> tuple[str, ...]:
        """Warn about each missing parameter; `where` begins the sentence."""
        return ResolvedText("", tuple(self._missing)).warnings(where)

    def text(self, text: str) -> str:
        """Fill them into a text."""
        return self._note_missing(resolve(text, **self._known, params=self._params))

    def url(self, url: str) -> str:
        """Fill them into a URL, where their characters are escaped."""
        known = {name: _quote_values(value) for name, value in self._known.items()}
        params = {name: _quote_values(value) for name, value in self._params.items()}
        return self._note_missing(resolve(url, **known, params=params))

    def json(self, value: object) -> object:
        """Fill them into every text inside lists and mappings."""
        return in_texts(value, self.text)

    def _note_missing(self, resolved: ResolvedText) -> str:
        self._missing |= dict.fromkeys(resolved.missing)
        return resolved.text

    def tool(self, tool: T) -> T:
        """Return a tool with its texts filled in."""
        if not isinstance(tool, OwnTool):
            return tool
        changes: dict[str, object] = {"description": self.text(tool.description)}
        if isinstance(tool, CannedTool):
            changes["rules"] = [
                rule.model_copy(
                    update={
                        "result": self.json(rule.result),
                        "error": None if rule.error is None else self.text(rule.error),
                    }
                )
                for rule in tool.rules
            ]
        if isinstance(tool, HttpTool):
            changes["url"] = self.url(tool.url)
            changes["headers"] = {
                name: self._header(value) if isinstance(value, str) else value
                for name, value in tool.headers.items()
            }
        return tool.model_copy(update=changes)

    def _header(self, text: str) -> str:
        # One line of ASCII, whatever a parameter contains.
        return re.sub(r"[^ -~]", "?", self.text(text))


def _quote_values(value: object) -> Any:
    return quote(value, safe="") if isinstance(value, str) else value
