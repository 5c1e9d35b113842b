"""An agent, or any other server, on this machine: it answers as a test says, well or badly.

    with WebServer(lambda asked: Sent.json({"output": f"You said {asked.body['input']}"})) as server:
        server.url, server.asked

Standard library only.
"""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Asked:
    """A request as it arrived; names of headers in lower case.

    `client` is the name in the certificate of the client.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    client: str = ""

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True)
class Sent:
    """What is answered; `parts` are sent one after the other, without a length."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""
    parts: Iterable[bytes] | None = None

    @classmethod
    def json(cls, value: Any, **changes: Any) -> "Sent":
        headers = {"content-type": "application/json"}
        return cls(content=json.dumps(value).encode(), **({"headers": headers} | changes))

    @classmethod
    def text(cls, text: str, **changes: Any) -> "Sent":
        return cls(content=text.encode(), **({"headers": {"content-type": "text/plain"}} | changes))


def _hang_up(connection: socket.socket) -> None:
    """Close a connection so that the client reads why: unread data would reset it."""
    with socket.socket(fileno=connection.detach()) as plain, suppress(OSError):
        plain.shutdown(socket.SHUT_WR)
        while plain.recv(4096):
            pass


def _client_of(connection: Any) -> str:
    shown = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    names: list[Any] = [pair for part in (shown or {}).get("subject", ()) for pair in part]
    return next((value for key, value in names if key == "commonName"), "")


class WebServer:
    """Answers every request with what `answer` gives; over TLS with a `context`."""

    def __init__(
        self, answer: Callable[[Asked], Sent], *, context: ssl.SSLContext | None = None
    ) -> None:
        self.answer = answer
        self._scheme = "https" if context else "http"
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.host}/chat"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self) -> Sent:
        """Answer only when the server closes."""
        self.closing.wait(30)
        return Sent()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Else a body waits 40 ms for the client to have seen the headers.
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def handle(self) -> None:
                try:
                    if isinstance(self.request, ssl.SSLSocket):
                        self.request.do_handshake()
                except ssl.SSLError:
                    _hang_up(self.request)
                else:
                    super().handle()

            def _respond(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                raw, client = self.rfile.read(length), _client_of(self.connection)
                asked = Asked(self.command, self.path, headers, raw, client)
                owner.asked.append(asked)
                self._send(owner.answer(asked))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond  # noqa: N815 - as the library asks

            def _send(self, sent: Sent) -> None:
                try:
                    self.send_response(sent.status)
                    for name, value in sent.headers.items():
                        self.send_header(name, value)
                    if sent.parts is None:
                        self.send_header("content-length", str(len(sent.content)))
                    else:
                        self.send_header("connection", "close")
                    self.end_headers()
                    for part in (sent.content,) if sent.parts is None else sent.parts:
                        if owner.closing.is_set():
                            return
                        self.wfile.write(part)
                except OSError:
                    self.close_connection = True  # the client has gone

        return Handler
