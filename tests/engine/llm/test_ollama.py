"""Which models an Ollama server has, asked of a small server on this machine."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evals_app.engine.llm.ollama import find_embedding_model
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio


@contextmanager
def ollama(*models: str, body: str | None = None, delay_s: float = 0.0) -> Iterator[str]:
    """Serve a list of models; give the base URL."""
    listed = json.dumps({"object": "list", "data": [{"id": name} for name in models]})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(delay_s)
            text = (listed if body is None else body).encode()
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # who asked may be gone
                self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("models", "model"),
    [
        (["llama3.2:latest", "nomic-embed-text:latest"], "nomic-embed-text:latest"),
        (["mxbai-embed-large", "nomic-embed-text"], "nomic-embed-text"),
        pytest.param(["llama3.2", "mxbai-Embed-large"], "mxbai-Embed-large", id="another"),
        pytest.param(["llama3.2"], None, id="none for embeddings"),
        pytest.param([], None, id="none at all"),
    ],
)
async def test_a_model_for_embeddings_is_found_by_its_name(
    models: list[str], model: str | None
) -> None:
    with ollama(*models) as base_url:
        assert await find_embedding_model(base_url) == model
        assert await find_embedding_model(base_url + "/") == model


@pytest.mark.parametrize(
    "body",
    ["", "no JSON", "[]", '{"data": null}', '{"data": [{}]}', '{"data": [1]}', "[" * 100_000],
)
async def test_what_cannot_be_read_is_no_model(body: str) -> None:
    with ollama(body=body) as base_url:
        assert await find_embedding_model(base_url) is None


async def test_who_does_not_answer_at_once_is_not_waited_for() -> None:
    started = time.monotonic()
    with ollama("nomic-embed-text", delay_s=30) as base_url:
        assert await find_embedding_model(base_url, patience_s=0.05) is None
        waited_s = time.monotonic() - started

    assert waited_s < 25


@pytest.mark.parametrize("base_url", ["http://localhost:9/v1", "http://[::1", "http://no host/v1"])
async def test_where_nobody_is_there_is_no_model(base_url: str) -> None:
    assert await find_embedding_model(base_url) is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::ffff:127.0.0.1]"])
async def test_a_server_that_may_not_be_asked_is_not(host: str) -> None:
    with ollama("nomic-embed-text") as base_url, permitting(hosts=("elsewhere",)):
        assert await find_embedding_model(base_url.replace("localhost", host)) is None
