"""How gunicorn serves the site: --config evalsite/web_server.py.

A thread reads one request at a time. A slow client would occupy it forever, so reading
ends after a minute; and there are more threads than a browser opens connections. An attacker can
open more: use a proxy in front that buffers whole requests.
"""

import os
import selectors
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any

from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

READ_S = 60.0
FIRST_BYTE_S = 10.0  # how long a connection may stay silent
_MAX_HEAD = 65_536
_HEALTHZ = (b"GET /healthz ", b"HEAD /healthz ")
_WELL = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"
    b"Cache-Control: no-store\r\nConnection: close\r\n\r\nok\n"
)


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn ships no types
    """Threads that wait for the rest of a request, but not forever.

    The loop that accepts connections answers `/healthz` itself, so the answer is there when all
    threads are busy. A connection gets a thread once it has sent something.
    """

    def enqueue_req(self, conn: Any) -> None:
        """Give a connection to the threads, unless it asks for `/healthz` or for nothing yet."""
        if _asks_for_health(conn.sock):
            self.nr_conns -= 1
            _answer_health(conn.sock)
        elif conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
        else:
            self._await_data(conn)

    def _await_data(self, conn: Any) -> None:
        conn.sock.settimeout(0)
        conn.timeout = time.monotonic() + FIRST_BYTE_S
        self.pending_conns.append(conn)
        read = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, read)

    def handle(self, conn: Any) -> object:
        """Read a request and answer it; the answer may take any time."""
        timer = Timer(READ_S, _stop_reading, [conn.sock])
        timer.daemon = True
        timer.start()
        try:
            return super().handle(conn)
        finally:
            timer.cancel()


def _asks_for_health(connection: socket.socket) -> bool:
    with suppress(OSError):  # nothing has arrived, or it is closed
        begun = connection.recv(len(_HEALTHZ[1]), socket.MSG_PEEK | socket.MSG_DONTWAIT)
        return begun.startswith(_HEALTHZ)
    return False


def _answer_health(connection: socket.socket) -> None:
    """Answer as `healthz` in evalsite/middleware.py does, and close the connection."""
    with connection, suppress(OSError):
        head = connection.recv(_MAX_HEAD, socket.MSG_DONTWAIT)
        connection.send(_WELL if head.startswith(b"GET") else _WELL.removesuffix(b"ok\n"))
        connection.shutdown(socket.SHUT_WR)


def _stop_reading(connection: socket.socket) -> None:
    with suppress(OSError):  # it is closed
        connection.shutdown(socket.SHUT_RD)


class GunicornLog(Logger):  # type: ignore[misc]
    """Gunicorn's own messages, in the format of all other lines. Requests: see access_log.py."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        # Not at the top: gunicorn may start in any folder, and ours is importable only from here on.
        from evalsite import environment  # noqa: PLC0415
        from evalsite.logs import FORMATTERS  # noqa: PLC0415

        chosen = environment.word("EVALWELL_LOG_FORMAT", tuple(FORMATTERS))
        self._set_handler(self.error_log, cfg.errorlog, FORMATTERS[chosen]())


def on_starting(server: Any) -> None:
    """Collect static files, and load the site once if several processes can share its memory.

    The names of the files contain their hash. Pages work without them, only more slowly.
    """
    command = [sys.executable, "-m", "evalsite.command_line", "collectstatic", "--noinput"]
    command += ["--verbosity", "0"]
    command += ["--ignore", "drf_spectacular_sidecar", "--ignore", "rest_framework"]  # large, rare
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    collected = subprocess.run(  # noqa: S603 - ours
        command, check=False, capture_output=True, text=True, env=environment
    )
    if collected.returncode:
        server.log.warning("Static files are served uncompressed: %s", collected.stderr.strip())
    # Gunicorn's own preload_app would do it before the files are collected.
    if server.num_workers > 1:
        server.app.wsgi()


def post_worker_init(_worker: object) -> None:
    """Start adding the requests of this process to the tallies, if metrics are switched on."""
    from django.conf import settings  # noqa: PLC0415 - the site is loaded only now

    from evalsite.access_log import requests  # noqa: PLC0415

    if settings.METRICS:
        Thread(target=requests.add_until, args=[Event()], daemon=True).start()


def worker_exit(_server: object, _worker: object) -> None:
    """Add what this process has counted since the last time."""
    from django.conf import settings  # noqa: PLC0415 - as above

    from evalsite.access_log import requests  # noqa: PLC0415

    if settings.METRICS:
        requests.add()


logger_class = GunicornLog
worker_class = PatientWorker
threads = 16
control_socket_disable = True  # unused, and it would be created in HOME
