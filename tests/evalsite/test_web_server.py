"""gunicorn with the site behind it: people who send slowly, and requests that are cut off."""

import contextlib
import gzip
import http.client
import io
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalsite.wsgi import Body, application

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 90
SCRIPTS_AND_STYLES = 220_000  # bytes of a first page without its fonts
SLOW_BODY = (
    b"POST /admin/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nusername="
)
SLOW_HEAD = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


@contextmanager
def served(config: Path) -> Iterator[int]:
    """Serve the site with a configuration of gunicorn; give the port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "evalsite.wsgi:application"]
    command += ["--config", str(config), "--bind", f"127.0.0.1:{port}", "--log-level", "warning"]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "EVALWELL_WORKERS": "1"})
    try:
        assert asked(port) == 200
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def asked(port: int) -> int:
    """Ask whether the server is well, and keep trying until it is."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        with contextlib.suppress(OSError), contextlib.closing(connection):
            connection.request("GET", "/healthz")
            return connection.getresponse().status
        time.sleep(0.2)
    return 0


@pytest.mark.slow
def test_a_few_people_who_send_slowly_stop_nobody() -> None:
    with served(ROOT / "evalsite" / "web_server.py") as port, ExitStack() as slow:
        for begun in [SLOW_BODY, SLOW_HEAD] * 4:
            connection = slow.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(begun)

        before = time.monotonic()

        assert asked(port) == 200
        assert time.monotonic() - before < 45  # what they wait for ends after 60


@pytest.mark.slow
def test_health_is_answered_while_every_thread_waits_for_someone() -> None:
    with served(ROOT / "evalsite" / "web_server.py") as port, ExitStack() as slow:
        for _ in range(24):  # there are 16 threads
            connection = slow.enter_context(socket.create_connection(("127.0.0.1", port)))
            connection.sendall(SLOW_BODY)
        silent = slow.enter_context(socket.create_connection(("127.0.0.1", port)))
        time.sleep(0.5)

        before = time.monotonic()

        assert [asked(port) for _ in range(5)] == [200] * 5
        silent.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert silent.recv(100).startswith(b"HTTP/1.1 200 OK")
        assert time.monotonic() - before < 15  # with a free thread alone it would be 60


@pytest.mark.slow
def test_files_are_sent_compressed_and_kept_by_browsers_and_pages_are_compressed() -> None:
    with served(ROOT / "evalsite" / "web_server.py") as port:
        page = sent(port, "/admin/login/")
        text = gzip.decompress(page.body).decode()
        files = set(re.findall(r'(?:href|src)="(/static/[^"]+\.(?:css|js))"', text))
        answers = {path: sent(port, path) for path in files}

    assert len(files) > 5
    assert {path for path in files if not re.search(r"\.[0-9a-f]{12}\.", path)} == set()
    assert {answer.headers["Cache-Control"] for answer in answers.values()} == {
        "max-age=315360000, public, immutable"
    }
    assert sum(len(answer.body) for answer in [page, *answers.values()]) < SCRIPTS_AND_STYLES


class Sent(NamedTuple):
    headers: http.client.HTTPMessage
    body: bytes  # as it was sent, so mostly compressed


def sent(port: int, path: str) -> Sent:
    """Ask for a path as a browser does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Accept-Encoding": "gzip", "Host": "localhost"})
        response = connection.getresponse()
        assert response.status == 200, path
        return Sent(response.headers, response.read())


@pytest.mark.slow
def test_who_drips_on_is_not_waited_for(tmp_path: Path) -> None:
    config = tmp_path / "impatient.py"
    config.write_text(
        "from evalsite import web_server\n"
        "web_server.READ_S = 1\n"
        "worker_class, threads = web_server.PatientWorker, 1\n"
    )
    with served(config) as port:
        for begun in (SLOW_BODY, SLOW_HEAD):
            with socket.create_connection(("127.0.0.1", port)) as slow:
                slow.sendall(begun)
                assert is_cut_off(slow)

            assert asked(port) == 200


def is_cut_off(slow: socket.socket) -> bool:
    """Drip on until the server has had enough."""
    with contextlib.suppress(ConnectionError):
        for _ in range(2 * PATIENCE_S):
            slow.sendall(b"a")
            time.sleep(0.5)
        return False
    return True


def body(content: bytes, length: int) -> Body:
    return Body(io.BytesIO(content), length)


def test_a_body_is_read_to_its_end_and_no_further() -> None:
    assert body(b"abcdef", 4).read() == b"abcd"
    assert body(b"a\nbcdef", 4).readline() == b"a\n"

    whole = body(b"abcd", 4)
    assert [whole.read(n) for n in (0, 3, 3, 3)] == [b"", b"abc", b"d", b""]


@pytest.mark.django_db
def test_a_request_that_is_cut_off_is_refused_and_not_taken_for_a_shorter_one() -> None:
    answers: list[str] = []
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/admin/login/",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "CONTENT_TYPE": "application/x-www-form-urlencoded",
        "CONTENT_LENGTH": "1000",
        "HTTP_COOKIE": f"csrftoken={'a' * 32}",
        "wsgi.input": io.BytesIO(b"username=admin"),
        "wsgi.url_scheme": "http",
    }

    list(application(environ, lambda status, _: answers.append(status)))

    assert answers == ["400 Bad Request"]
