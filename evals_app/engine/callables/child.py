"""A process of its own for the operator's code: `python -m evals_app.engine.callables.child`.

One request per line on standard input, one answer per line on standard output, both JSON:

    {"do": "load", "reference", "purpose", "modules"}     {"value": [...]} | {"problem": "..."}
    {"do": "call", "reference", "purpose", "argument"}    {"value": ...} | {"problem": "..."}

Loading returns the fields that an agent takes. What the code itself prints goes to standard error,
however it is printed. The process ends with its standard input.
"""

import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Any

from evals_app.engine.callables.contract import context_from, result_as_json
from evals_app.engine.callables.loading import (
    LoadError,
    Purpose,
    alias_holodeck,
    call_agent,
    load,
    taken_fields,
)

MAX_VALUE_BYTES = 1_000_000  # of what a callable returns, as JSON
_ROOT = f"{os.getcwd()}/"  # noqa: PTH109 - pathlib takes longer to load than all of this
_IMPORT_S = 70  # longer than callers wait
_STDIN, _STDOUT, _STDERR = 0, 1, 2


class Functions:
    """What this process has loaded."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, Purpose], Callable[..., object]] = {}
        self._finish: Callable[[Awaitable[object]], object] | None = None

    def answer(self, request: dict[str, Any]) -> str:
        """Do what is requested; never raises for what the operator's code does."""
        reference = request["reference"]
        try:
            value = self._DO[request["do"]](self, request)
        except LoadError as exc:
            return _problem(str(exc))
        except Exception as exc:  # noqa: BLE001 - a MemoryError has freed its memory
            return _problem(f"{reference} failed: {describe_error(exc)}")
        except BaseException as exc:  # noqa: BLE001 - sys.exit() ends the call, not the process
            self._finish = None
            return _problem(f"{reference} failed: {describe_error(exc)}")
        try:
            written = json.dumps({"value": value}, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as exc:
            return _problem(f"{reference} returned a value that cannot be written as JSON: {exc}")
        if len(written) > MAX_VALUE_BYTES:
            return _problem(
                f"{reference} returned {len(written):,} bytes; the maximum is {MAX_VALUE_BYTES:,}."
            )
        return written

    def _load(self, request: dict[str, Any]) -> list[str]:
        reference, purpose = request["reference"], request["purpose"]
        signal.alarm(_IMPORT_S)  # kills, even if no caller is waiting
        try:
            function = load(reference, purpose=purpose, modules=request["modules"])
        finally:
            signal.alarm(0)
        self._functions[reference, purpose] = function
        return taken_fields(function, reference) if purpose == "agent" else []

    def _call(self, request: dict[str, Any]) -> object:
        reference, purpose = request["reference"], request["purpose"]
        function, argument = self._functions[reference, purpose], request["argument"]
        if purpose == "grader":
            return result_as_json(self._await_result(function(context_from(argument))))
        # As programs get it, for libraries that read it there.
        os.environ["TRACEPARENT"] = argument.get("traceparent", "")
        return self._await_result(call_agent(function, argument, reference))

    _DO = {"load": _load, "call": _call}

    def _await_result(self, result: object) -> object:
        """Wait for the result of an async callable; all of them share one loop."""
        if not isinstance(result, Awaitable):
            return result
        if self._finish is None:
            self._finish = _new_loop()
        return self._finish(result)


def _new_loop() -> Callable[[Awaitable[object]], object]:
    import asyncio  # noqa: PLC0415 - most callables need none of it

    async def wait_for(awaitable: Awaitable[object]) -> object:
        return await awaitable

    runner = asyncio.Runner()
    return lambda awaitable: runner.run(wait_for(awaitable))


def describe_error(error: BaseException) -> str:
    """Describe what was raised, and where in the operator's code."""
    try:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    except Exception:  # noqa: BLE001 - an exception that cannot even be written
        text = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if "/evals_app/engine/callables/" not in frame.filename]
    ours = [frame for frame in theirs if "/lib/python" not in frame.filename] or theirs
    if not ours:
        return f"{text[:500]}."
    last = ours[-1]
    path = last.filename.removeprefix(_ROOT)
    return f"{text[:500]} ({path}, line {last.lineno}, in {last.name})."


def _problem(text: str) -> str:
    return json.dumps({"problem": text})


def take_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the standard streams for requests and answers; what is printed goes to the third."""
    requests = os.fdopen(os.dup(_STDIN), "rb")
    answers = os.fdopen(os.dup(_STDOUT), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STDIN)
    os.dup2(_STDERR, _STDOUT)
    return requests, answers


def main() -> None:
    """Answer until the input ends."""
    # A worker ignores both signals, and children inherit that; programs of this code must be stoppable.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = take_streams()
    alias_holodeck()
    functions = Functions()
    ours = os.getpid()
    for line in requests:
        written = functions.answer(json.loads(line))
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # the code may have replaced it
                stream.flush()
        if os.getpid() != ours:
            os._exit(0)  # a fork made by the code; only one process answers
        answers.write(written.encode() + b"\n")
        answers.flush()
    os._exit(0)  # threads left running by the code would delay an ordinary exit


if __name__ == "__main__":
    main()
