"""Find a callable by its reference in the process that will call it, or report what is wrong."""

import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from evals_app.engine.callables import contract
from fixtures_app.ground.words import near

Purpose = Literal["grader", "agent"]

# What an agent is sent with each message; it gets those that it has parameters for.
AGENT_FIELDS = (
    *("input", "history", "session_id", "channel", "context_params"),
    *("case", "trial", "clock", "files", "traceparent"),
)

# Where graders written for HoloDeck import the contract from.
_HOLODECK = {
    "holodeck.lib.test_runner.code_grader": ("GraderContext", "GraderResult"),
    "holodeck.models.test_result": ("ToolInvocation",),
}


class LoadError(Exception):
    """A reference does not lead to a callable; the message says what to write instead."""


def load(reference: str, *, purpose: Purpose, modules: Sequence[str]) -> Callable[..., Any]:
    """Import the module and return its callable; `modules` are the permitted ones.

    Raises:
        LoadError: it does not exist, or comes from a module that is not permitted.
        Exception: whatever the module raises while it is imported.
    """
    module_name, _, name = reference.partition(":")
    module = _module(module_name)
    if not hasattr(module, name):
        public = [key for key, value in vars(module).items() if _is_named(key, value)]
        raise LoadError(f"The module {module_name} has no {name!r}.{near(name, public)}")
    value = getattr(module, name)
    if not callable(value) or isinstance(value, type):
        kind = "a class" if isinstance(value, type) else f"of type {type(value).__name__}"
        raise LoadError(f"{reference} is {kind}; expected a function.")
    # What a permitted module merely imports, os.system for example, is not permitted.
    home = _home(value)
    if not any(home == module or home.startswith(f"{module}.") for module in modules):
        raise LoadError(
            f"{reference} is defined in the module {home}, which your administrator does not permit."
        )
    if purpose == "agent":
        _arguments(value, dict.fromkeys(AGENT_FIELDS), reference)
    else:
        _takes_a_context(value, reference)
    return cast("Callable[..., Any]", value)


def taken_fields(agent: Callable[..., object], reference: str) -> list[str]:
    """Name the fields, apart from the message, that an agent has parameters for."""
    return list(_arguments(agent, dict.fromkeys(AGENT_FIELDS), reference)[1])


def call_agent(
    agent: Callable[..., object], fields: Mapping[str, object], reference: str
) -> object:
    """Call an agent with those of the fields that it has parameters for."""
    first, named = _arguments(agent, {**fields, "files": fields.get("files", [])}, reference)
    return agent(*first, **named)


def alias_holodeck() -> None:
    """Let graders written for HoloDeck find the contract, unless HoloDeck itself is installed."""
    spec = importlib.util.find_spec("holodeck")
    if spec is not None and spec.origin is not None:
        return
    # A mere folder of that name, such as a project's, is not HoloDeck, and stays importable.
    folders = list(spec.submodule_search_locations or ()) if spec else []
    for path, names in _HOLODECK.items():
        parts = path.split(".")
        for depth in range(1, len(parts) + 1):
            parent = ".".join(parts[:depth])
            module = sys.modules.setdefault(parent, types.ModuleType(parent))
            # Set, so that modules below it are searched.
            module.__path__ = folders if depth == 1 else []
        for name in names:
            setattr(sys.modules[path], name, getattr(contract, name))


def _module(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        missing = exc.name or name
        if name != missing and not name.startswith(f"{missing}."):
            raise  # it exists, and imports something that does not
        parent, _, last = missing.rpartition(".")
        path = getattr(sys.modules.get(parent), "__path__", []) if parent else _own_folders()
        hint = near(last, [module.name for module in pkgutil.iter_modules(path)])
        raise LoadError(
            f"There is no module {missing}.{hint} Modules are searched in the folders of PYTHONPATH,"
            f" not beside the file that names them. Add the folder that contains {missing} to it."
        ) from exc


def _own_folders() -> list[str]:
    """Return where the operator's own modules are: installed packages never count."""
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    here = str(Path.cwd())
    return folders if here in sysconfig.get_paths().values() else [*folders, here]


def _is_named(name: str, value: object) -> bool:
    return callable(value) and not isinstance(value, type) and not name.startswith("_")


def _home(function: object) -> str:
    """Return the module that a callable is defined in."""
    while isinstance(function, partial):
        function = function.func
    is_instance = not hasattr(function, "__name__")
    return str(type(function).__module__ if is_instance else getattr(function, "__module__", None))


def _takes_a_context(grader: Callable[..., object], reference: str) -> None:
    try:
        inspect.signature(grader).bind(None)
    except TypeError as exc:
        raise LoadError(f"{reference} must accept one argument, the context ({exc}).") from exc
    except ValueError:  # a callable without a signature
        return


def _arguments(
    agent: Callable[..., object], fields: Mapping[str, object], reference: str
) -> tuple[list[object], dict[str, object]]:
    """Return the fields that the agent has parameters for: the first of all, and the rest by name.

    The first parameter is the message, whatever its name, unless another one is `input`.
    """
    try:
        parameters = list(inspect.signature(agent).parameters.values())
    except ValueError as exc:
        raise LoadError(f"{reference} has no readable parameters; expected a function.") from exc
    first: list[object] = []
    named: dict[str, object] = {}
    takes_input = any(parameter.name == "input" for parameter in parameters)
    takes_rest = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    for position, parameter in enumerate(parameters):
        is_needed = parameter.default is parameter.empty
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= {key: value for key, value in fields.items() if key not in named}
            if first:
                named.pop("input")
        elif parameter.kind is parameter.VAR_POSITIONAL:
            if position == 0 and not takes_input and not takes_rest:
                first = [fields["input"]]
        elif (
            position == 0
            and parameter.kind is not parameter.KEYWORD_ONLY
            and (parameter.name == "input" or (not takes_input and parameter.name not in fields))
            and (is_needed or not takes_rest)
        ):
            first = [fields["input"]]
        elif parameter.name in fields and parameter.kind is not parameter.POSITIONAL_ONLY:
            named[parameter.name] = fields[parameter.name]
        elif is_needed:
            hint = near(parameter.name, fields)
            raise LoadError(
                f"{reference} has an unknown parameter {parameter.name!r}.{hint}"
                f" Known: {', '.join(fields)}."
            )
    return first, named
