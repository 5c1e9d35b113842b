"""Servers that answer well, badly, or not at all."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import repeat
from typing import Any

import pytest

from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.network import checked_transport
from evals_app.engine.network import web as web_module
from evals_app.engine.network.web import Web, WebAnswer, WebError, proxy_for, why_not_called
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

MOST = 100_000
OPEN = "93.184.215.14"


async def resolve_here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@asynccontextmanager
async def open_web(**kwargs: Any) -> AsyncIterator[Web]:
    """Open a Web for which names lead here and may be called."""
    with permitting(hosts=("agent.test", "other.test", "127.0.0.1")):
        async with Web(**({"resolve": resolve_here} | kwargs)) as web:
            yield web


@asynccontextmanager
async def serve(
    answer: Callable[[Asked], Sent] | Sent, **kwargs: Any
) -> AsyncIterator[tuple[WebServer, Web]]:
    """Open a server that answers so, and a Web that may call it."""
    with WebServer(answer if callable(answer) else lambda _: answer) as server:
        async with open_web(**kwargs) as web:
            yield server, web


async def ask(web: Web, url: str, **kwargs: Any) -> WebAnswer:
    given: dict[str, Any] = {"body": {}, "most_bytes": MOST}
    return await web.ask("POST", url, headers={}, **(given | kwargs))


async def test_what_requests_need_is_loaded_before_anybodys_time_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[bool] = []
    monkeypatch.setattr(checked_transport, "trust", lambda: loaded.append(True))

    async with Web():
        assert loaded


async def test_a_request_goes_to_the_address_and_names_the_host() -> None:
    async with serve(Sent.json({"a": "ä"})) as (server, web):
        answer = await web.ask(
            "POST",
            f"http://agent.test:{server.port}/chat?x=1",
            headers={"X-Tenant": "acme"},
            body={"input": "größer"},
            most_bytes=MOST,
        )

    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/chat?x=1", {"input": "größer"})
    assert asked.headers["host"] == f"agent.test:{server.port}"
    assert asked.headers["x-tenant"] == "acme"
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["accept-encoding"] == "identity"
    assert (answer.status, answer.is_ok) == (200, True)
    assert "\\u00e4" in answer.text


async def test_a_host_is_looked_up_once_and_its_connection_used_again() -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    async with serve(Sent.text("a"), resolve=resolve) as (server, web):
        for _ in range(3):
            await ask(web, f"http://agent.test:{server.port}/")
        await ask(web, f"http://other.test:{server.port}/")

    assert asked == ["agent.test", "other.test"]
    assert [request.headers["host"].partition(":")[0] for request in server.asked] == [
        *["agent.test"] * 3,
        "other.test",
    ]


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["::ffff:127.0.0.1"], [OPEN, "127.0.0.1"]],
    ids=["here", "mapped", "one of them"],
)
async def test_a_name_that_leads_inside_is_never_connected_to(addresses: list[str]) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return addresses

    with WebServer(lambda _: Sent.text("secret")) as server:
        async with Web(resolve=resolve) as web:
            with pytest.raises(ConfigurationError, match="EVALS_PRIVATE_HOSTS"):
                await ask(web, f"http://rebound.test:{server.port}/")

    assert server.asked == []


async def test_a_permission_that_was_taken_back_counts_at_once() -> None:
    async with serve(Sent.text("a")) as (server, web):
        await ask(web, f"http://agent.test:{server.port}/")
        with permitting(hosts=()), pytest.raises(ConfigurationError):
            await ask(web, f"http://agent.test:{server.port}/")

    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nobody_is_followed_elsewhere(status: int) -> None:
    headers = {"location": "http://169.254.169.254/latest/meta-data/"}
    async with serve(Sent(status, headers)) as (server, web):
        with pytest.raises(WebError, match=r"redirects to http://169\.254\.169\.254/"):
            await ask(web, server.url)

    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param(Sent(content=b"x" * (MOST + 1)), "more than 100 kB", id="too long"),
        pytest.param(Sent(parts=repeat(b"x" * 10_000)), "more than 100 kB", id="endless"),
        (Sent(headers={"content-encoding": "gzip"}, content=b"\x1f\x8b"), "compressed"),
        (Sent(headers={"content-encoding": "br"}, content=b"a"), "compressed"),
    ],
)
async def test_an_answer_that_would_fill_the_memory_is_refused(sent: Sent, words: str) -> None:
    async with serve(sent) as (server, web):
        with pytest.raises(WebError, match=words):
            await ask(web, server.url)


async def test_an_answer_of_just_the_right_size_is_read() -> None:
    async with serve(Sent(content=b"x" * MOST)) as (server, web):
        assert len((await ask(web, server.url)).text) == MOST


async def test_a_server_that_is_silent_takes_no_longer_than_the_caller_allows() -> None:
    with WebServer(lambda _: server.wait()) as server:
        async with open_web() as web:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await ask(web, server.url)


async def test_a_server_that_is_not_there_is_named() -> None:
    async with open_web() as web:
        with pytest.raises(WebError, match=r"agent\.test:9 could not be reached"):
            await ask(web, "http://agent.test:9/")


async def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with serve(Sent.text("a"), resolve=resolve) as (server, web):
        answer = await ask(web, f"http://agent.test:{server.port}/")

    assert answer.text == "a"


async def test_a_name_that_nobody_knows_is_shown() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    async with Web(resolve=resolve) as web:
        with pytest.raises(
            WebError, match=r"gone\.test could not be reached: .* looked up: Name or service"
        ):
            await ask(web, "http://gone.test/")


async def test_a_name_with_too_long_a_part_is_shown() -> None:
    async with Web() as web:
        with pytest.raises(WebError, match="longer than 63 characters"):
            await ask(web, f"http://{'a' * 64}.test/")


async def test_no_secret_comes_back_in_a_redirect() -> None:
    headers = {"location": f"http://a.b/{'x' * 280}?q=tok-1234567890"}
    async with serve(Sent(302, headers), secrets=["tok-1234567890"]) as (server, web):
        with pytest.raises(WebError) as refused:
            await ask(web, server.url)

    assert "tok" not in str(refused.value)


async def test_a_connection_that_breaks_is_shown() -> None:
    sent = Sent(headers={"content-length": "100"}, parts=[b"half"])
    async with serve(sent) as (server, web):
        with pytest.raises(WebError, match="broke"):
            await ask(web, server.url)


@pytest.mark.parametrize(("idle_s", "connections"), [(60.0, 1), (0.0, 3)])
async def test_a_connection_on_which_a_server_may_hang_up_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch, idle_s: float, connections: int
) -> None:
    made: list[bool] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.append(True)
        while not reader.at_eof():
            with suppress(asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n{}")
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        writer.close()

    monkeypatch.setattr(web_module, "_IDLE_S", idle_s)
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_web() as web:
            for _ in range(3):
                await ask(web, f"http://127.0.0.1:{port}/")

    assert len(made) == connections


async def test_a_server_that_hangs_up_is_shown_in_one_sentence() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_web() as web:
            with pytest.raises(WebError, match=r"without sending a response\.$"):
                await ask(web, f"http://127.0.0.1:{port}/")


async def test_the_mark_of_utf_8_is_no_part_of_an_answer() -> None:
    async with serve(Sent(content=b'\xef\xbb\xbf{"output": "4"}')) as (server, web):
        answer = await ask(web, server.url)

    assert answer.text == '{"output": "4"}'


async def test_what_cannot_be_written_as_json_is_not_sent() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    async with open_web() as web:
        with pytest.raises(WebError, match="nested too deeply"):
            await ask(web, "http://agent.test:9/", body=deep)


async def test_an_authors_header_takes_the_place_of_ours() -> None:
    async with serve(Sent.text("a")) as (server, web):
        await web.ask("GET", server.url, headers={"User-Agent": "mine"}, most_bytes=MOST)

    assert server.asked[0].headers["user-agent"] == "mine"


async def test_no_secret_comes_back() -> None:
    def answer(asked: Asked) -> Sent:
        return Sent.text(f"401: {asked.headers['authorization']} is wrong", status=401)

    async with serve(answer, secrets=["tok-123", ""]) as (server, web):
        answer_ = await web.ask(
            "POST", server.url, headers={"Authorization": "tok-123"}, most_bytes=MOST
        )

    assert answer_.text == "401: *** is wrong"
    assert answer_.problem == "status 401 Unauthorized: 401: *** is wrong"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (WebAnswer(503, ""), "status 503 Service Unavailable"),
        (WebAnswer(599, "a\n b"), "status 599: a b"),
        (WebAnswer(500, "x" * 1000), f"status 500 Internal Server Error: {'x' * 300}..."),
    ],
)
def test_a_status_is_shown_with_the_beginning_of_what_was_said(
    answer: WebAnswer, problem: str
) -> None:
    assert not answer.is_ok
    assert answer.problem == problem


async def test_no_cookie_is_kept_and_no_proxy_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with serve(Sent.text("a", headers={"set-cookie": "a=b"})) as (server, web):
        await ask(web, server.url)
        await ask(web, server.url)

    assert all("cookie" not in request.headers for request in server.asked)


async def test_a_proxy_is_asked_where_one_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with WebServer(lambda _: Sent.text("from the proxy")) as server:
        monkeypatch.setenv("HTTP_PROXY", server.host)
        monkeypatch.setenv("NO_PROXY", "near.test")
        async with open_web(proxy=proxy_for("http://agent.test/v1")) as web:
            answer = await ask(web, "http://agent.test/v1/models")

        assert proxy_for("http://near.test/") is None
    assert answer.text == "from the proxy"
    assert [request.path for request in server.asked] == ["http://agent.test/v1/models"]


async def test_bytes_arrive_as_they_were_sent() -> None:
    sent = b"\xef\xbb\xbf\x00\xff secret"
    async with serve(Sent(content=sent), secrets=["secret"]) as (server, web):
        sending = web.sending("GET", server.url, headers={}, most_bytes=MOST)
        async with sending as arriving:
            parts = [part async for part in arriving.parts()]

    assert b"".join(parts) == sent


async def test_a_certificate_must_be_that_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context()
    hellos: list[Any] = []
    real = ssl.SSLContext.wrap_bio

    def wrap_bio(self: ssl.SSLContext, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        hellos.append(kwargs["server_hostname"])
        return real(self, *args, **kwargs)

    monkeypatch.setattr(checked_transport, "trust", lambda: context)
    monkeypatch.setattr(ssl.SSLContext, "wrap_bio", wrap_bio)
    with WebServer(lambda _: Sent.text("a")) as server:  # it speaks no TLS
        async with open_web() as web:
            with pytest.raises(WebError, match="could not be reached"):
                await ask(web, f"https://agent.test:{server.port}/")

    assert context.check_hostname
    assert hellos == [b"agent.test"]


@pytest.mark.parametrize(
    ("url", "addresses", "words"),
    [
        pytest.param("http://agent.example/", ["10.0.0.1"], "private network", id="inside"),
        pytest.param("http://agent.example/", [OPEN, "::1"], "this machine", id="one of them"),
        pytest.param("http://agent.example/", [OPEN], None, id="outside"),
        pytest.param("http://agent.example/", [], None, id="nowhere"),
        pytest.param("http://permitted/", ["10.0.0.1"], None, id="permitted"),
        pytest.param("http://{x", ["10.0.0.1"], None, id="no URL"),
    ],
)
def test_before_a_run_begins_names_are_looked_up(
    url: str, addresses: list[str], words: str | None
) -> None:
    with permitting(hosts=("permitted",)):
        problem = why_not_called(url, look_up=lambda *_: addresses)

    assert (problem is None) if words is None else (problem is not None and words in problem)


def test_a_name_that_cannot_be_looked_up_here_may_be_known_to_the_workers() -> None:
    def look_up(host: str, port: int) -> list[str]:
        raise OSError

    assert why_not_called("http://agent.example/", look_up=look_up) is None
