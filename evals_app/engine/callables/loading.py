"""Find a callable by its reference, in the process that is to call it; say what is wrong with it."""

import difflib
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, cast

from evals_app.engine.callables import contract

Purpose = Literal["grader", "agent"]

# What an agent is told with each message; it takes those that it has parameters for.
AGENT_FIELDS = (
    *("input", "history", "session_id", "channel", "context_params"),
    *("case", "trial", "clock", "files"),
)

# Where graders written for HoloDeck import the contract from.
_HOLODECK = {
    "holodeck.lib.test_runner.code_grader": ("GraderContext", "GraderResult"),
    "holodeck.models.test_result": ("ToolInvocation",),
}


class LoadError(Exception):
    """A reference leads to nothing that could be called; the message says what to write instead."""


def load(reference: str, *, purpose: Purpose, modules: Sequence[str]) -> Callable[..., Any]:
    """Import the module and give its callable; `modules` are the permitted ones.

    Raises:
        LoadError: there is none, or it comes from a module that is not permitted.
        Exception: whatever the module raises while it is imported.
    """
    module_name, _, name = reference.partition(":")
    module = _module(module_name)
    if not hasattr(module, name):
        ours = [each for each, value in vars(module).items() if _is_named(each, value)]
        raise LoadError(f"The module {module_name} has no {name!r}.{_hint(name, ours)}")
    found = getattr(module, name)
    if not callable(found) or isinstance(found, type):
        kind = "a class" if isinstance(found, type) else f"of type {type(found).__name__}"
        raise LoadError(f"{reference} is {kind}; expected a function.")
    # What a permitted module merely imports, os.system for example, was permitted by nobody.
    home = _home(found)
    if not any(home == each or home.startswith(f"{each}.") for each in modules):
        raise LoadError(
            f"{reference} was written in the module {home}, which the operator does not permit."
        )
    if purpose == "agent":
        _arguments(found, dict.fromkeys(AGENT_FIELDS), reference)
    else:
        _takes_a_context(found, reference)
    return cast("Callable[..., Any]", found)


def taken_fields(agent: Callable[..., Any], reference: str) -> list[str]:
    """Name the fields, beside the message, that an agent has parameters for."""
    return list(_arguments(agent, dict.fromkeys(AGENT_FIELDS), reference)[1])


def call_agent(agent: Callable[..., Any], told: Mapping[str, Any], reference: str) -> Any:  # noqa: ANN401
    """Call an agent with those of the fields that it has parameters for."""
    first, named = _arguments(agent, {**told, "files": told.get("files", [])}, reference)
    return agent(*first, **named)


def alias_holodeck() -> None:
    """Let graders written for HoloDeck find the contract, unless HoloDeck itself is installed."""
    found = importlib.util.find_spec("holodeck")
    if found is not None and found.origin is not None:
        return
    # A mere folder of that name, such as a project's, is not HoloDeck, and stays importable.
    folders = list(found.submodule_search_locations or ()) if found else []
    for path, names in _HOLODECK.items():
        parts = path.split(".")
        for depth in range(1, len(parts) + 1):
            parent = ".".join(parts[:depth])
            module = sys.modules.setdefault(parent, types.ModuleType(parent))
            # Set, so that modules below it are looked for.
            module.__path__ = folders if depth == 1 else []
        for name in names:
            setattr(sys.modules[path], name, getattr(contract, name))


def _module(name: str) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        missing = exc.name or name
        if name != missing and not name.startswith(f"{missing}."):
            raise  # it is there, and imports something that is not
        parent, _, last = missing.rpartition(".")
        path = getattr(sys.modules.get(parent), "__path__", []) if parent else None
        near = _hint(last, [each.name for each in pkgutil.iter_modules(path)])
        message = f"There is no module {missing}.{near}"
        raise LoadError(
            f"{message} It is looked for in the folder of manage.py and in those of PYTHONPATH."
        ) from exc


def _is_named(name: str, value: Any) -> bool:  # noqa: ANN401 - anything in a module
    return callable(value) and not isinstance(value, type) and not name.startswith("_")


def _hint(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _home(found: Any) -> str:  # noqa: ANN401 - any callable
    """Give the module that a callable was written in."""
    while isinstance(found, partial):
        found = found.func
    is_instance = not hasattr(found, "__name__")
    return str(type(found).__module__ if is_instance else getattr(found, "__module__", None))


def _takes_a_context(grader: Callable[..., Any], reference: str) -> None:
    try:
        inspect.signature(grader).bind(None)
    except TypeError as exc:
        raise LoadError(f"{reference} must take one argument, the context ({exc}).") from exc
    except ValueError:  # a callable without a signature
        return


def _arguments(
    agent: Callable[..., Any], told: Mapping[str, Any], reference: str
) -> tuple[list[Any], dict[str, Any]]:
    """Give the fields that the agent has parameters for: the first of all, and the rest by name.

    The first parameter is the message, whatever it is called, unless another one is `input`.
    """
    try:
        parameters = list(inspect.signature(agent).parameters.values())
    except ValueError as exc:
        raise LoadError(f"{reference} does not tell its parameters; expected a function.") from exc
    first: list[Any] = []
    named: dict[str, Any] = {}
    takes_input = any(each.name == "input" for each in parameters)
    takes_rest = any(each.kind is each.VAR_KEYWORD for each in parameters)
    for position, each in enumerate(parameters):
        is_needed = each.default is each.empty
        if each.kind is each.VAR_KEYWORD:
            named |= {key: value for key, value in told.items() if key not in named}
            if first:
                named.pop("input")
        elif each.kind is each.VAR_POSITIONAL:
            if position == 0 and not takes_input and not takes_rest:
                first = [told["input"]]
        elif (
            position == 0
            and each.kind is not each.KEYWORD_ONLY
            and (each.name == "input" or (not takes_input and each.name not in told))
            and (is_needed or not takes_rest)
        ):
            first = [told["input"]]
        elif each.name in told and each.kind is not each.POSITIONAL_ONLY:
            named[each.name] = told[each.name]
        elif is_needed:
            near = _hint(each.name, told)
            raise LoadError(
                f"{reference} has a parameter {each.name!r} that nobody fills.{near}"
                f" Known: {', '.join(told)}."
            )
    return first, named
