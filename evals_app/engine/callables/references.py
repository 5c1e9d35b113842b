"""Problems with a callable or program, found when it is entered and before it runs.

A callable is checked by importing its module in a process of its own, as when it is called.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from evals_app.engine.basics.permits import OUR_COMMAND, OUR_MODULE, permits
from evals_app.engine.callables.here import is_here, problem_here
from evals_app.engine.callables.loading import Purpose
from evals_app.engine.callables.pool import child, path_of, to_load
from evals_app.engine.callables.processes import ROOT, ending, environment
from fixtures_app.ground.words import near

_SHAPE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z]\w*", re.ASCII)
_IMPORT_S = 20.0  # a person waits for the form
_KNOWN_S = 60.0  # after which an existing callable is checked again
_UNKNOWN_S = 2.0  # a missing one may appear at any moment

_known: dict[tuple[str, Purpose, str], tuple[float, str | None]] = {}
_until: ContextVar[float | None] = ContextVar("until", default=None)  # of the monotonic clock


@contextmanager
def importing_within(seconds: float) -> Iterator[None]:
    """Limit the total time of checking callables inside."""
    before = _until.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _until.reset(before)


def interpreter_problem(name: str) -> str | None:
    """Explain why an interpreter cannot be used; None if it can."""
    known = permits().interpreters
    if name not in known:
        names = ", ".join(known) or "none"
        return (
            f"Your administrator does not permit the interpreter {name!r}.{near(name, known)} Permitted"
            f" (EVALS_PYTHON_INTERPRETERS): {names}."
        )
    if shutil.which(known[name]) is None:
        return f"{known[name]} is not an executable program on this machine."
    return None


def callable_problem(
    reference: str, purpose: Purpose, *, interpreter: str | None = None
) -> str | None:
    """Explain why a callable cannot be used, in an interpreter of its own if it has one; None if it can."""
    if is_here(reference):
        return problem_here(reference, purpose)
    match = _SHAPE.fullmatch(reference)
    if match is None:
        return "Write module.path:function, for example my_graders.money:total."
    module = match[1]
    if not permits().module(module):
        return (
            f"Your administrator does not permit the module {module}."
            f"{_permission_problem(module, [*permits().modules, OUR_MODULE], 'EVALS_PYTHON_MODULES')}"
        )
    python = path_of(interpreter)
    until, problem = _known.get((reference, purpose, python), (0.0, None))
    if time.monotonic() >= until:
        problem = _import_problem(reference, purpose, python)
        # Counted from the end: a slow import would expire before it is needed again.
        until = time.monotonic() + (_UNKNOWN_S if problem else _KNOWN_S)
        _known[reference, purpose, python] = until, problem
    return problem


def command_problem(words: Sequence[str]) -> str | None:
    """Explain why a program cannot be used; None if it can."""
    if any("\0" in word for word in words):
        return "A program and its arguments must be plain text."
    if not permits().command(words):
        written = " ".join(words)
        return (
            f"Your administrator does not permit the program {words[0]!r}."
            f"{_permission_problem(written, [*permits().commands, OUR_COMMAND], 'EVALS_COMMANDS')}"
        )
    if program_path(words[0]) is None:
        return f"There is no executable program {words[0]!r} on this machine."
    return None


def program_path(program: str) -> str | None:
    """Find a program: on the PATH, or in the project folder if there is a slash in it."""
    if os.sep in program:
        program = str(ROOT / program)
    return shutil.which(program, path=environment()["PATH"])


def _permission_problem(written: str, known: Sequence[str], variable: str) -> str:
    return f"{near(written, known)} Permitted ({variable}): {', '.join(known)}."


def _import_problem(reference: str, purpose: Purpose, python: str) -> str | None:
    left_s = _left_s()
    if left_s <= 0:
        return f"There was no time left to import {reference}: earlier imports took too long."
    request = to_load(reference, purpose)
    try:
        with subprocess.Popen(  # noqa: S603 - no shell, and no user input
            child(python),
            cwd=ROOT,
            env=environment(python),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                answer, _ = process.communicate(
                    json.dumps(request).encode() + b"\n", timeout=left_s
                )
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        problem: str | None = json.loads(answer).get("problem")
    except OSError as exc:
        return f"No process could be started to import {reference}: {exc.strerror}."
    except subprocess.TimeoutExpired:
        return f"{reference} could not be imported within {left_s:.2g} s."
    except ValueError:
        needs = "" if python == sys.executable else f" {python} must be Python 3.11 or later."
        return (
            f"{reference} ended the process that imported it ({ending(process.returncode)}).{needs}"
        )
    return problem


def _left_s() -> float:
    until = _until.get()
    return _IMPORT_S if until is None else min(_IMPORT_S, until - time.monotonic())
