"""The processes that run the operator's code: started when needed, reused, ended by us."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from evals_app.engine.basics.errors import CodeError
from evals_app.engine.basics.permits import OUR_MODULE, permits
from evals_app.engine.callables.here import FunctionHere, is_here
from evals_app.engine.callables.loading import Purpose
from evals_app.engine.callables.processes import Guard, Process, ending, environment, readable
from fixtures_app.ground.strict_json import Json

_CHILD = ("-X", "utf8", "-m", "evals_app.engine.callables.child")
LOAD_S = 60.0  # to import a module; some libraries are slow
_LAUNCH = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))
_MAX_LINE_BYTES = 2_000_000  # longer than what a child sends


def child(python: str = sys.executable) -> tuple[str, ...]:
    """Return the command line of a child in an interpreter; it needs the standard library alone."""
    return (python, *_CHILD)


def path_of(interpreter: str | None) -> str:
    """Return the path of a named interpreter; without a name, of the one running this program.

    Raises:
        CodeError: the operator does not (or no longer) permit it.
    """
    if interpreter is None:
        return sys.executable
    try:
        return permits().interpreters[interpreter]
    except KeyError:
        raise CodeError(
            f"Your administrator does not permit the interpreter {interpreter!r}"
            " (EVALS_PYTHON_INTERPRETERS)."
        ) from None


def to_load(reference: str, purpose: Purpose) -> dict[str, object]:
    """Return the request that a child import a callable."""
    modules = [*permits().modules, OUR_MODULE]
    return {"do": "load", "reference": reference, "purpose": purpose, "modules": modules}


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """What a program did. `errors` is the end of what it wrote to standard error."""

    ending: str  # "exit code 0"
    output: bytes
    errors: str
    is_too_much: bool

    @property
    def has_succeeded(self) -> bool:
        return self.ending == ending(0)


class LoadedCallable:
    """A process that has loaded a callable."""

    def __init__(self, process: Process, *, python: str = sys.executable) -> None:
        self.python = python
        self._process = process
        self._known: dict[tuple[str, Purpose], list[str]] = {}
        self._is_asked = False

    @property
    def can_be_used_again(self) -> bool:
        return self._process.can_answer and not self._is_asked

    def kill(self) -> None:
        self._process.kill()

    def knows(self, reference: str, purpose: Purpose) -> bool:
        return (reference, purpose) in self._known

    def takes(self, reference: str, field: str) -> bool:
        """Return whether an agent that was loaded has a parameter for one of AGENT_FIELDS."""
        return field in self._known.get((reference, "agent"), ())

    async def load(self, reference: str, purpose: Purpose) -> None:
        """Import it, unless already imported.

        Raises:
            CodeError: it cannot be imported or called.
        """
        if self.knows(reference, purpose):
            return
        request = to_load(reference, purpose)
        self._known[reference, purpose] = await self._ask(request, within_s=LOAD_S)

    async def call(
        self,
        reference: str,
        purpose: Purpose,
        argument: Mapping[str, object],
        *,
        within_s: float | None = None,
    ) -> object:
        """Call it and return its result.

        Raises:
            CodeError: it raised, took longer than `within_s`, or did not return JSON.
        """
        request = {"do": "call", "reference": reference, "purpose": purpose}
        return await self._ask(request | {"argument": dict(argument)}, within_s=within_s)

    async def _ask(self, request: dict[str, object], *, within_s: float | None) -> Any:
        reference = request["reference"]
        self._process.printed.clear()
        self._is_asked = True
        self._process.write(json.dumps(request).encode() + b"\n")
        try:
            async with asyncio.timeout(within_s):
                line = await self._process.line()
        except TimeoutError:
            raise CodeError(
                f"{reference} took longer than {within_s:g} s.{self._printed_text()}"
            ) from None
        if line is None:
            await self._process.end()
            how = ending(self._process.code or 0)
            raise CodeError(f"{reference} ended its process ({how}).{self._printed_text()}")
        self._is_asked = False
        try:
            answer = json.loads(line)
        except RecursionError:
            raise CodeError(f"{reference} returned a value that is nested too deeply.") from None
        if "problem" in answer:
            raise CodeError(f"{answer['problem']}{self._printed_text()}")
        return answer["value"]

    def _printed_text(self) -> str:
        printed = readable(bytes(self._process.printed))
        return f" It printed: {printed}" if printed else ""


class Callables:
    """Runs the operator's code, at most `most` calls at a time.

    Open it for as long as there may be calls; all its processes end with it. Python processes are
    reused by later calls: what a module keeps in its variables stays.
    """

    def __init__(self, *, most: int) -> None:
        self._guard = Guard()
        self._places = asyncio.Semaphore(most)
        # More graders at once would only compete for the machine's cores.
        self._graders = asyncio.Semaphore(min(most, max(4, 2 * (os.cpu_count() or 1))))
        self._idle: list[LoadedCallable] = []
        self._processes: set[Process] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await asyncio.gather(*(process.end() for process in self._processes))
        await self._guard.stop()

    async def grade(
        self, reference: str, argument: Mapping[str, Json], *, timeout_s: float
    ) -> object:
        """Call a grader with a context; see RunCode."""
        async with self._graders, self.load(reference, "grader") as loaded:
            return await loaded.call(reference, "grader", argument, within_s=timeout_s)

    @asynccontextmanager
    async def load(
        self, reference: str, purpose: Purpose, *, interpreter: str | None = None
    ) -> AsyncIterator[LoadedCallable | FunctionHere]:
        """Lend a process that has loaded the callable; one that does not answer is killed.

        What was registered in this process is called here.

        Raises:
            CodeError: it is not (or no longer) permitted, or cannot be loaded.
        """
        if is_here(reference):
            async with self._places:
                yield FunctionHere()
            return
        module = reference.partition(":")[0]
        if not permits().module(module):
            raise CodeError(
                f"Your administrator does not permit the module {module} (EVALS_PYTHON_MODULES)."
            )
        python = path_of(interpreter)
        async with self._places:
            loaded = self._take_idle(reference, purpose, python)
            if loaded is None:
                process = await self._start(child(python), python=python)
                loaded = LoadedCallable(process, python=python)
            try:
                await loaded.load(reference, purpose)
                yield loaded
            finally:
                self._put_back(loaded)

    async def run(
        self,
        words: Sequence[str],
        *,
        message: bytes,
        variables: Mapping[str, bytes],
        most_bytes: int,
    ) -> ProgramResult:
        """Run a program, whose path is the first word, with the message on its standard input.

        Beyond `most_bytes` of output it is killed.

        Raises:
            CodeError: it cannot be started.
        """
        async with self._places:
            process = await self._start(
                [*_LAUNCH, *words], most_bytes=most_bytes, variables=variables
            )
            try:
                process.write(message)
                process.write_eof()
                await process.wait()
            finally:
                process.kill()
        return ProgramResult(
            ending(process.code or 0),
            bytes(process.output),
            readable(bytes(process.printed)),
            process.is_too_much,
        )

    async def _start(
        self,
        words: Sequence[str],
        *,
        most_bytes: int = _MAX_LINE_BYTES,
        python: str = sys.executable,
        variables: Mapping[str, str | bytes] | None = None,
    ) -> Process:
        self._processes = {process for process in self._processes if not process.has_ended}
        try:
            process = await Process.start(
                words,
                variables=environment(python) | dict(variables or {}),
                most_bytes=most_bytes,
                guard=self._guard,
            )
        except OSError as exc:
            raise CodeError(f"No process could be started: {exc.strerror}.") from exc
        self._processes.add(process)
        return process

    def _take_idle(self, reference: str, purpose: Purpose, python: str) -> LoadedCallable | None:
        idle = [process for process in self._idle if process.python == python]
        knowing = [process for process in idle if process.knows(reference, purpose)]
        for loaded in reversed(knowing or idle):
            self._idle.remove(loaded)
            if loaded.can_be_used_again:
                return loaded
            loaded.kill()
        return None

    def _put_back(self, loaded: LoadedCallable) -> None:
        if loaded.can_be_used_again:
            self._idle.append(loaded)
        else:
            loaded.kill()
