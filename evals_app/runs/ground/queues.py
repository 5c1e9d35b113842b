"""What the processes of a cluster share, without locks that a killed one would keep forever.

The queues of `multiprocessing` are guarded by a semaphore, which does not notice that its holder was
killed. Sockets and pipes need none, because the kernel hands each message over whole.
"""

import multiprocessing
import pickle
import socket
import sys
from contextlib import AbstractContextManager, nullcontext
from multiprocessing.connection import wait
from typing import Any

# Both keep messages apart. macOS has no SEQPACKET; Linux lets only ten datagrams wait.
_KIND = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
MAX_BYTES = 65_536
KEPT_CHARACTERS = 8_000
IDLE_S = 60.0
_STOP = "STOP"  # what ends a process of django-q2


class MessageQueue:
    """Hands each message to one of the processes that wait for it, in the order of arrival.

    With `maxsize`, `put` waits while that many wait and no process is free; and a process that has
    worked gets the order to stop once it has waited for a minute. Its successor, a fresh fork, shares the
    memory that this one has copied, some 25 MB.
    """

    def __init__(self, maxsize: int = 0) -> None:
        self._reader, self._writer = socket.socketpair(socket.AF_UNIX, _KIND)
        self._writer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MAX_BYTES)
        # A counter that is never locked: up by one and down by one are single steps.
        self._room = multiprocessing.Semaphore(maxsize) if maxsize else None
        self._has_worked = False  # this process

    def put(self, message: Any) -> None:
        packed = pickle.dumps(message)
        if len(packed) > MAX_BYTES:
            # Only the report of a failure gets this long, and its end shows what happened.
            packed = pickle.dumps(message | {"result": str(message["result"])[-KEPT_CHARACTERS:]})
        if self._room is not None:
            self._room.acquire()
        self._writer.send(packed)

    def get(self) -> Any:
        if self._room is not None:
            # Before the message: a process that dies in between leaves an extra place, which is
            # harmless.
            self._room.release()
            if (
                self._has_worked
                and not wait([self._reader], IDLE_S)
                and self._room.acquire(block=False)
            ):
                return _STOP
        self._has_worked = True
        return pickle.loads(self._reader.recv(MAX_BYTES))  # noqa: S301 - our own processes wrote it

    def empty(self) -> bool:
        is_closed = self._reader.fileno() < 0  # django-q2 asks even then
        return is_closed or not wait([self._reader], timeout=0)

    def qsize(self) -> int:
        """Return 1 for any number of messages: the kernel does not count them."""
        return 0 if self.empty() else 1

    def close(self) -> None:
        """Close it in this process; its messages stay for the others."""
        self._reader.close()
        self._writer.close()

    def join_thread(self) -> None:
        """Do nothing: `put` itself writes."""


class Flag:
    """An event. It is set as soon as there is something in a pipe that is never read."""

    def __init__(self) -> None:
        self._reader, self._writer = multiprocessing.Pipe(duplex=False)

    def set(self) -> None:
        self._writer.send_bytes(b"set")

    def is_set(self) -> bool:
        return self._reader.poll(0)

    def wait(self, timeout: float | None = None) -> bool:
        return self._reader.poll(timeout)


class Timer:
    """A number that one process writes and another counts down.

    If both write at once, one is lost, and an idle process looks busy until the countdown ends.
    """

    def __init__(self, kind: str, value: float) -> None:
        self._raw = multiprocessing.RawValue(kind, value)

    @property
    def value(self) -> float:
        return float(self._raw.value)

    @value.setter
    def value(self, value: float) -> None:
        self._raw.value = value

    def get_lock(self) -> AbstractContextManager[None]:
        return nullcontext()
