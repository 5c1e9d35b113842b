"""The web server as a child process."""

import signal
import subprocess
import sys
from types import TracebackType
from typing import Self

from django.conf import settings

from evals_app.runs.cluster import parent_death_signal

WEB_WORKERS = 1
THREADS = 4


class WebServer:
    """gunicorn, for as long as the block lasts."""

    def __init__(self, bind: str) -> None:
        self._command = [
            *(sys.executable, "-m", "gunicorn", "evalsite.wsgi:application"),
            *("--bind", bind, "--workers", str(WEB_WORKERS), "--threads", str(THREADS)),
            *("--log-level", "warning"),
            *("--pythonpath", str(settings.BASE_DIR)),  # this command may run from any folder
        ]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            self._command,
            preexec_fn=parent_death_signal(),  # noqa: PLW1509 - no thread runs yet
            start_new_session=True,  # Ctrl-C is ours to pass on
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None
