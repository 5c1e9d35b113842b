"""The web server as a process of a command."""

import os
import socket
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from typing import Self
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connections
from gunicorn.app.wsgiapp import run as gunicorn

from evals_app.management import usage_error
from evals_app.runs.process.cluster import (
    Interrupted,
    LocalCluster,
    die_with_parent,
    look_after,
)


def ensure_free(bind: str) -> None:
    """Refuse an address that cannot be served on, or that is already in use.

    Raises:
        CommandError: why it cannot be used.
    """
    host, port = _host_and_port(bind)
    if not (host and port):
        raise usage_error(
            f"--bind is {bind!r}; expected an address and a port, such as 127.0.0.1:8000."
        )
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as error:
            raise usage_error(f"--bind: {bind} cannot be used: {error.strerror}.") from error


def _host_and_port(bind: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(f"//{bind}")
        port = parts.port
    except ValueError:
        return None, None
    return (parts.hostname, port) if parts.netloc == bind and "@" not in bind else (None, None)


class WebServer:
    """gunicorn, for as long as the block lasts.

    A fork of this command: it shares the memory of what both have loaded.
    """

    def __init__(self, bind: str) -> None:
        self._arguments = [
            "evalsite.wsgi:application",
            *("--config", str(settings.BASE_DIR / "evalsite" / "web_server.py")),
            *("--bind", bind, "--workers", "1", "--log-level", "warning"),
            *("--pythonpath", str(settings.BASE_DIR)),  # this command may run from any folder
        ]

    def __enter__(self) -> Self:
        die_with_parent()
        connections.close_all()  # a connection must not cross a fork
        self._process = get_context("fork").Process(target=_serve, args=[self._arguments])
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join(10)
        self._process.kill()
        self._process.join()

    def serve(self, cluster: LocalCluster, *, stop: Interrupted) -> None:
        """Look after the workers until asked to stop.

        Raises:
            CommandError: the server ended by itself.
        """
        look_after(cluster, stop=stop, is_over=lambda: not self._process.is_alive())
        if not stop:
            raise CommandError("The web server ended; see the log.", returncode=1)


def _serve(arguments: Sequence[str]) -> None:
    os.setsid()  # Ctrl-C is the command's to pass on
    sys.argv = ["gunicorn", *arguments]
    gunicorn()
