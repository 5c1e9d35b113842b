"""The web server as a child process."""

import signal
import socket
import subprocess
import sys
from typing import Self
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError

from evals_app.management import usage_error
from evals_app.runs.process.cluster import (
    Interrupted,
    LocalCluster,
    look_after,
    parent_death_signal,
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
    """gunicorn, for as long as the block lasts."""

    def __init__(self, bind: str) -> None:
        self._command = [
            *(sys.executable, "-m", "gunicorn", "evalsite.wsgi:application"),
            *("--config", str(settings.BASE_DIR / "evalsite" / "web_server.py")),
            *("--bind", bind, "--workers", "1", "--log-level", "warning"),
            *("--pythonpath", str(settings.BASE_DIR)),  # this command may run from any folder
        ]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            self._command,
            preexec_fn=parent_death_signal(),  # noqa: PLW1509 - no thread runs yet
            start_new_session=True,  # Ctrl-C is ours to pass on
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def serve(self, cluster: LocalCluster, *, stop: Interrupted) -> None:
        """Look after the workers until asked to stop.

        Raises:
            CommandError: the server ended by itself.
        """
        look_after(cluster, stop=stop, is_over=lambda: self._process.poll() is not None)
        if not stop:
            raise CommandError("The web server ended; see the log.", returncode=1)
