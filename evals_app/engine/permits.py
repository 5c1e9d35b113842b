"""What the operator permits on this machine: code to run, hosts and servers to reach.

People who write suites and agents may be many; the operator is whoever sets the environment. What
is not permitted is refused when it is written. Everything is forbidden until it is listed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pydantic import ValidationInfo

# Given as pydantic's context: what was allowed when it was written is read again without asking.
FROZEN: Mapping[str, bool] = MappingProxyType({"is_frozen": True})

# Shipped with this program, so there is nothing to permit.
OUR_MODULE = "evals_app.engine.examples"
OUR_COMMAND = f"python -m {OUR_MODULE}.program"

# What this site runs on is sent to nobody, whatever the operator lists.
_OURS = ("TOUCHSTONE_", "EVALS_", "DJANGO_", "DATABASE_URL")


@dataclass(frozen=True, slots=True)
class Permits:
    """What may be used.

    `modules` are dotted names: each permits itself and what lies below it. `commands` are programs,
    as they are written in agents, or the first words of command lines, whatever follows. `hosts` (`name`, `name:port`) are those of private networks that
    may be called all the same. `variables` are environment variables that headers may hold; a name
    may end in *. `keys` are those that hold keys of model APIs, as `NAME` or `NAME@host`.
    `mcp_servers` is the address or the command line of each MCP server by its name.
    """

    modules: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    mcp_servers: Mapping[str, str] = field(default_factory=dict)

    def module(self, name: str) -> bool:
        """Whether a module may be imported."""
        permitted = (*self.modules, OUR_MODULE)
        return any(name == each or name.startswith(f"{each}.") for each in permitted)

    def command(self, words: Sequence[str]) -> bool:
        """Whether a command line may be run."""
        return any(
            list(words[: len(start)]) == start
            for each in (*self.commands, OUR_COMMAND)
            for start in ([each], each.split())
        )

    def variable(self, name: str) -> bool:
        """Whether a header may hold this environment variable."""
        return any(_names(each, name) for each in self.variables)

    def key_hosts(self, name: str) -> list[str]:
        """Give the hosts that may be sent this variable's key; none if it holds no key.

        An empty text stands for an entry that names no host.
        """
        entries = (each.partition("@") for each in self.keys)
        return [host for pattern, _, host in entries if _names(pattern, name)]


def is_ours(name: str) -> bool:
    """Whether a variable, or a pattern of names, is about this site itself."""
    return name.startswith(_OURS)


def _names(pattern: str, name: str) -> bool:
    if is_ours(name):
        return False
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


_NOTHING = Permits()
_permits = _NOTHING


def permits() -> Permits:
    """Give what this process may use."""
    return _permits


def set_permits(given: Permits) -> None:
    """Say what this process may use: once, when it starts."""
    global _permits  # noqa: PLW0603 - it belongs to the process, as the environment does
    _permits = given


@contextmanager
def permitting(**changes: Any) -> Iterator[None]:
    """Permit something else for a while."""
    before = permits()
    set_permits(replace(before, **changes))
    try:
        yield
    finally:
        set_permits(before)


def is_frozen(info: ValidationInfo) -> bool:
    """Whether a spec is read again that was allowed when it was written."""
    return bool(info.context and info.context.get("is_frozen"))
