"""Functions of the program that uses the engine, called in its own process.

Evals in Python (`evals_app.code`) register what their caller passes: it is that person's own code, so
nothing has to be permitted. A site registers nothing: its functions run in processes of their own.
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from evals_app.engine.basics.errors import CodeError
from evals_app.engine.callables.child import MAX_VALUE_BYTES, describe_error
from evals_app.engine.callables.contract import context_from, result_as_json
from evals_app.engine.callables.loading import LoadError, Purpose, call_agent, taken_fields

Function = Callable[..., Any]

_functions: dict[str, Function] = {}


def register(function: Function) -> str:
    """Return the reference by which a function is known from now on."""
    name = getattr(function, "__qualname__", type(function).__name__)
    readable = "".join(letter if letter.isalnum() else "_" for letter in name).strip("_")
    reference = f"here:{readable or 'function'}"
    number = 1
    while _functions.setdefault(reference, function) is not function:
        number += 1
        reference = f"here:{readable}_{number}"
    return reference


def is_here(reference: str) -> bool:
    """Whether a reference is one of a function of this process."""
    return reference in _functions


def problem_here(reference: str, purpose: Purpose) -> str | None:
    """Explain why a function of this process cannot be used; None if it can."""
    function = _functions[reference]
    try:
        if purpose == "agent":
            taken_fields(function, reference)
        else:
            inspect.signature(function).bind(None)
    except LoadError as exc:
        return str(exc)
    except TypeError as exc:
        return f"{reference} must accept one argument, the context ({exc})."
    except ValueError:  # a callable without a signature
        return None
    return None


class FunctionHere:
    """A function of this process, in place of a process that has loaded it.

    A function that is not async runs in a thread, so that conversations do not wait for each other;
    beyond its time limit it is not stopped, only no longer waited for.
    """

    can_be_used_again = True

    def takes(self, reference: str, field: str) -> bool:
        """Return whether an agent has a parameter for one of AGENT_FIELDS."""
        return field in taken_fields(_functions[reference], reference)

    async def call(
        self,
        reference: str,
        purpose: Purpose,
        argument: Mapping[str, object],
        *,
        within_s: float | None = None,
    ) -> object:
        """Call it and return its result as JSON.

        Raises:
            CodeError: it raised, took longer than `within_s`, or did not return JSON.
        """
        try:
            async with asyncio.timeout(within_s) as limit:
                value = await _result_of(_functions[reference], purpose, argument, reference)
                value = result_as_json(value) if purpose == "grader" else value
        except Exception as exc:
            if isinstance(exc, TimeoutError) and limit.expired():
                raise CodeError(f"{reference} took longer than {within_s:g} s.") from None
            raise CodeError(f"{reference} failed: {describe_error(exc)}") from exc
        return _as_json(value, reference)


async def _result_of(
    function: Function, purpose: Purpose, argument: Mapping[str, object], reference: str
) -> object:
    def call() -> object:
        if purpose == "grader":
            return function(context_from(argument))
        return call_agent(function, argument, reference)

    value = call() if _is_async(function) else await asyncio.to_thread(call)
    return await value if isinstance(value, Awaitable) else value


def _is_async(function: Function) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object that is called
    )


def _as_json(value: object, reference: str) -> object:
    try:
        written = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        raise CodeError(
            f"{reference} returned a value that cannot be written as JSON: {exc}"
        ) from exc
    if len(written) > MAX_VALUE_BYTES:
        raise CodeError(
            f"{reference} returned {len(written):,} bytes; the maximum is {MAX_VALUE_BYTES:,}."
        )
    read: object = json.loads(written)
    return read
