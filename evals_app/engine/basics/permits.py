"""What the operator permits on this machine: code to run, hosts and servers to reach.

Many people may write suites and agents; the operator controls the environment. Everything is
forbidden until it is listed, and refused when it is written.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import AfterValidator, ValidationInfo

from evals_app.engine.basics.mcp_servers import McpServer

# Passed as pydantic's context: a stored spec was checked when written, and is not checked again.
FROZEN: Mapping[str, bool] = MappingProxyType({"is_frozen": True})

# Shipped with this program, so there is nothing to permit.
OUR_MODULE = "evals_app.engine.examples"
OUR_COMMAND = f"python -m {OUR_MODULE}.program"

# The site's own settings are never sent anywhere, whatever the operator lists.
_OURS = ("EVALWELL_", "EVALS_", "DJANGO_", "DATABASE_URL")


@dataclass(frozen=True, slots=True)
class Permits:
    """What may be used.

    `modules` are dotted names: each permits itself and everything below it. `commands` are programs,
    as they are written in agents, or the first words of command lines, whatever follows. `hosts`
    (`name`, `name:port`) are hosts of private networks that may be called. `variables` are
    environment variables that headers may contain, `keys` those with keys of model APIs: `NAME` or
    `NAME@host`, where a name may end in *.
    `mcp_servers` are the MCP servers by their names; `interpreters` maps the name of each Python, in
    which agents may run, to its path.
    """

    modules: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    mcp_servers: Mapping[str, McpServer] = field(default_factory=dict)
    interpreters: Mapping[str, str] = field(default_factory=dict)

    def module(self, name: str) -> bool:
        """Return whether a module may be imported."""
        permitted = (*self.modules, OUR_MODULE)
        return any(name == module or name.startswith(f"{module}.") for module in permitted)

    def command(self, words: Sequence[str]) -> bool:
        """Return whether a command line may be run."""
        return any(
            list(words[: len(start)]) == start
            for command in (*self.commands, OUR_COMMAND)
            for start in ([command], command.split())
        )

    def variable(self, name: str) -> bool:
        """Return whether a header may contain this environment variable, wherever it goes."""
        return bool(self.variable_hosts(name))

    def variable_hosts(self, name: str) -> list[str]:
        """Return the hosts that may be sent this variable in a header, as `key_hosts` does."""
        return _hosts(self.variables, name)

    def key_hosts(self, name: str) -> list[str]:
        """Return the hosts that may be sent this variable's key; none if it is not a permitted key.

        An empty text means an entry without a host.
        """
        return _hosts(self.keys, name)


def is_ours(name: str) -> bool:
    """Return whether a variable, or a pattern of names, is about this site itself."""
    return name.startswith(_OURS)


def _hosts(entries: Iterable[str], name: str) -> list[str]:
    """Return the hosts of a variable; entries with its whole name outweigh patterns."""
    parts = [entry.partition("@") for entry in entries]
    own = [host for pattern, _, host in parts if pattern == name and not is_ours(name)]
    return own or [host for pattern, _, host in parts if _names(pattern, name)]


def _names(pattern: str, name: str) -> bool:
    if is_ours(name):
        return False
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


_NOTHING = Permits()
_permits = _NOTHING


def permits() -> Permits:
    """Return what this process may use."""
    return _permits


def set_permits(given: Permits) -> None:
    """Set what this process may use: once, when it starts."""
    global _permits  # noqa: PLW0603 - it belongs to the process, as the environment does
    _permits = given


def is_frozen(info: ValidationInfo) -> bool:
    """Return whether a stored spec is read that was checked when it was written."""
    return bool(info.context and info.context.get("is_frozen"))


def refuse_if(problem_of: Callable[[Any], str | None], *, once: bool = False) -> AfterValidator:
    """Refuse a value in which `problem_of` finds a problem; with `once` only when it is written."""

    def check(value: object, info: ValidationInfo) -> object:
        if not (once and is_frozen(info)) and (problem := problem_of(value)):
            raise ValueError(problem)
        return value

    return AfterValidator(check)


def must_match(pattern: str, problem: str) -> AfterValidator:
    """Refuse a text that does not match the pattern as a whole."""
    shape = re.compile(pattern)
    return refuse_if(lambda text: None if shape.fullmatch(text) else problem)
