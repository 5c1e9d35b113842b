"""Plug-ins: what installed packages offer by entry points, and what is wrong with those that cannot be used.

A plug-in is code that the operator installed, and runs with all rights of this process. One that
cannot be loaded breaks nothing: it is left out, and `problems` says why.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

Group = Literal["checks", "agents", "reports", "judges", "readers"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plugin:
    """Something that a package offers: its name, the package with its version, and the object."""

    name: str
    package: str
    value: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class PluginsFound:
    """The plug-ins of a group by name, and a sentence about each that cannot be used."""

    plugins: Mapping[str, Plugin]
    problems: Mapping[str, str]


def find_plugins(
    group: Group, *, problem_of: Callable[[str, Any], str | None] = lambda _name, _value: None
) -> PluginsFound:
    """Load the plug-ins of a group; `problem_of` says what is wrong with one."""
    plugins: dict[str, Plugin] = {}
    problems: dict[str, str] = {}
    for point in sorted(entry_points(group=f"evalwell.{group}"), key=_order):
        package = _package(point)
        value, problem = _load(point)
        if problem is None and point.name in plugins:
            problem = f"{plugins[point.name].package} offers the same name."
        problem = problem or problem_of(point.name, value)
        if problem is None:
            plugins[point.name] = Plugin(point.name, package, value)
            continue
        problems[point.name] = (
            f"The package {package} offers {point.name!r} to evalwell.{group}, but its entry point"
            f" {point.value} cannot be used. {problem}"
        )
        log.warning("%s", problems[point.name])
    return PluginsFound(plugins, problems)


def _order(point: EntryPoint) -> tuple[str, str]:
    return _package(point), point.name


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "of an unknown name"


def _load(point: EntryPoint) -> tuple[Any, str | None]:
    try:
        return point.load(), None
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - code of others may raise anything
        return None, f"It raised {type(exc).__name__}: {exc}"
