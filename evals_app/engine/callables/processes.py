"""Processes that run the operator's code: limited in what they write, and sure to end.

Each has a process group of its own, which is killed as a whole. When this process is killed itself,
a guard kills them.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self, cast

from evals_app import PROJECT
from evals_app.engine.basics.permits import permits

ROOT = PROJECT  # they work and import from there
_PASSED_ON = frozenset(
    {"HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV"}
    | {"SSL_CERT_DIR", "SSL_CERT_FILE"}
)
_TAIL_BYTES = 4_000  # kept of what is written to standard error
_SHOWN_CHARS = 500
_LAST_WORDS_S = 0.2  # to read the rest of its output, once the process itself is gone
_GONE_S = 5.0  # killed processes end immediately, unless the disk hangs
_STDOUT = 1
# Escape sequences of terminals, and control characters.
_UNREADABLE = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def environment(python: str = sys.executable) -> dict[str, str]:
    """Return the variables that the operator's code sees: no secret that is not permitted.

    `python` is the interpreter that runs it.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _PASSED_ON or permits().variable(name)
    }
    if python != sys.executable:
        kept.pop("VIRTUAL_ENV", None)  # ours
    # A bare `python`, and programs that are installed with it, are those of the interpreter.
    kept["PATH"] = os.pathsep.join([str(Path(python).parent), kept.get("PATH", os.defpath)])
    places = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    kept["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, places))
    return kept


def readable(written: bytes) -> str:
    """Return the end of what a program wrote, as people can read it."""
    text = _UNREADABLE.sub("", written.decode(errors="replace")).strip()
    return text if len(text) <= _SHOWN_CHARS else f"…{text[-_SHOWN_CHARS:]}"


def ending(code: int) -> str:
    """Describe how a process ended."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


class Process(asyncio.SubprocessProtocol):
    """A process in the project folder, or another one; what it writes to standard output waits in `output`.

    `printed` is the end of what it wrote to standard error. Beyond `most_bytes` of output it is
    killed, and `is_too_much`.
    """

    def __init__(self, *, most_bytes: int, guard: "Guard | None") -> None:
        self.pid: int
        self.output = bytearray()
        self.printed = bytearray()
        self.is_too_much = False
        self._most_bytes = most_bytes
        self._guard = guard
        self._news = asyncio.Event()
        self._is_silent = False  # standard output is closed
        self._ended = asyncio.Event()
        self._transport: asyncio.SubprocessTransport

    @classmethod
    async def start(
        cls,
        words: Sequence[str],
        *,
        variables: Mapping[str, str | bytes],
        most_bytes: int = 0,
        guard: "Guard | None" = None,
        folder: Path = ROOT,
    ) -> Self:
        """Start a program.

        Raises:
            OSError: it cannot be started.
        """
        if guard is not None:
            await guard.start()
        _, process = await asyncio.get_running_loop().subprocess_exec(
            lambda: cls(most_bytes=most_bytes, guard=guard),
            *words,
            cwd=folder,
            env=dict(variables),
            start_new_session=True,
        )
        return process

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()
        if self._guard is not None:
            self._guard.tell("+", self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != _STDOUT:
            self.printed = (self.printed + data)[-_TAIL_BYTES:]
            return
        self.output += data
        self._news.set()
        if len(self.output) > self._most_bytes:
            self.is_too_much = True
            self.kill()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == _STDOUT:
            self._is_silent = True
            self._news.set()

    def process_exited(self) -> None:
        # Processes that it left behind could keep its streams open forever.
        asyncio.get_running_loop().call_later(_LAST_WORDS_S, self._leave)

    def connection_lost(self, exc: Exception | None) -> None:
        self.kill()  # processes left behind without streams
        if self._guard is not None:
            self._guard.tell("-", self.pid)
        self._ended.set()
        self._transport.close()

    def _leave(self) -> None:
        self.kill()
        self._transport.close()  # processes that left its group are out of reach, and may keep them open

    # The public methods.

    @property
    def code(self) -> int | None:
        """How it ended; below 0, the signal that killed it. None while it runs."""
        return self._transport.get_returncode()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    @property
    def can_answer(self) -> bool:
        return self.code is None and not self._is_silent

    def write(self, data: bytes) -> None:
        self._input.write(data)

    def write_eof(self) -> None:
        self._input.write_eof()

    @property
    def _input(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    async def line(self) -> bytes | None:
        """Wait for the next line; None if there will be none."""
        while b"\n" not in self.output:
            if self._is_silent:
                return None
            self._news.clear()
            await self._news.wait()
        line, _, rest = bytes(self.output).partition(b"\n")
        self.output = bytearray(rest)
        return line

    async def wait(self) -> None:
        """Wait until it has ended and all that it wrote is read."""
        await self._ended.wait()

    def kill(self) -> None:
        """Kill it and everything it has started."""
        if not self._ended.is_set():
            with suppress(ProcessLookupError, PermissionError):  # macOS: of zombies
                os.killpg(self.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Kill it, wait until it is gone, and close its streams."""
        self.kill()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_GONE_S):
                    await self.wait()
        finally:
            self._transport.close()


class Guard:
    """A process that outlives this one, to kill the listed groups."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        async with self._starting:
            if self._process is None:
                script = Path(__file__).with_name("guard.py")
                words = [sys.executable, "-I", "-S", str(script)]
                self._process = await Process.start(words, variables={})

    def tell(self, sign: str, group: int) -> None:
        if self._process is not None:
            self._process.write(f"{sign}{group}\n".encode())

    async def stop(self) -> None:
        if self._process is not None:
            await self._process.end()
