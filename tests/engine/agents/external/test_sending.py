"""Agents that are not asked by POST of JSON: other methods, queries, forms, files, cookies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.message import Message as Part
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from evals_app.engine.agents.external.http import HttpSession, web_for
from evals_app.engine.agents.external.sending import encode_fields, with_query
from evals_app.engine.agents.session import Exchange
from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.llm.call import FileContent
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.agents.external.test_http import SESSION, make_agent, make_setting, no_pause
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

GET: dict[str, Any] = {"method": "GET", "query": {"q": "{{input}}", "session": "{{session_id}}"}}
FORM: dict[str, Any] = {
    "request": {"message": "{{input}}", "tags": ["a", "b"]},
    "request_format": "form",
}
NOTE = FileContent("note ü.txt", "text/plain", b"\x00raw\r\n--")


@asynccontextmanager
async def open_session(
    server: WebServer, *, path: str = "/chat", **changes: Any
) -> AsyncIterator[HttpSession]:
    agent = make_agent(f"http://{server.host}{path}", **changes)
    with permitting(hosts=(server.host,)):
        async with web_for(agent) as web:
            yield HttpSession(agent, setting=make_setting(), web=web, sleep=no_pause)


async def asked_by(*messages: str, files: tuple[FileContent, ...] = (), **changes: Any) -> Asked:
    """Return the last request of a conversation."""
    with WebServer(lambda _: Sent.text("Yes.")) as server:
        async with open_session(server, **changes) as session:
            for number, message in enumerate(messages, 1):
                exchange = Exchange(number, message, 60, files=files)
                await session.respond(exchange)
                assert exchange.reply == "Yes."
                assert exchange.notes == []
    return server.asked[-1]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_message_is_asked_for_without_a_body(method: str) -> None:
    asked = await asked_by("What about ä & b?", **{**GET, "method": method})

    assert (asked.method, asked.raw) == (method, b"")
    assert parse_qs(urlsplit(asked.path).query) == {
        "q": ["What about ä & b?"],
        "session": [SESSION],
    }
    assert "content-type" not in asked.headers


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_body_goes_with_any_other_method(method: str) -> None:
    query = {"case": "{{case}}"}
    asked = await asked_by("Hi", method=method, query=query, request={"q": "{{input}}"})

    assert (asked.method, asked.path, asked.body) == (method, "/chat?case=Greeting", {"q": "Hi"})


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_the_path_has_what_the_turn_has(method: str) -> None:
    path = "/t/{{context_params.tenant}}/{{ input }}/{{trial}}.json"
    asked = await asked_by("What about ä & 50%? ..", path=path, method=method)

    assert asked.method == method
    assert asked.path == "/t/acme/What%20about%20%C3%A4%20%26%2050%25%3F%20../2.json"


async def test_a_job_is_asked_for_where_the_message_was_sent() -> None:
    def answer(asked: Asked) -> Sent:
        if asked.method == "POST":
            return Sent.json({}, status=202, headers={"location": "jobs/1"})
        return Sent.json({"output": asked.path})

    with WebServer(answer) as server:
        poll = {"interval_s": 0.1}
        async with open_session(server, path="/{{case}}/ask", poll=poll) as session:
            exchange = Exchange(1, "Hi", 60)
            await session.respond(exchange)

    assert exchange.reply == "/Greeting/jobs/1"


@pytest.mark.parametrize(
    ("message", "variable", "words"),
    [
        ("a/../b", "input", "a/../b"),
        ("a\\b", "input", "without /"),
        ("..", "input", "not only points"),
        (".", "input", "not only points"),
        ("", "input", "empty"),
        ("Hi", "context_params.user", "context_params.user.* is empty"),
        ("Hi", "context_params", "tenant"),
    ],
)
async def test_no_value_leaves_its_part_of_the_path(
    message: str, variable: str, words: str
) -> None:
    with WebServer(lambda _: Sent.text("Yes.")) as server:
        async with open_session(server, path=f"/a/{{{{{variable}}}}}/b") as session:
            with pytest.raises(ConfigurationError, match=words):
                await session.respond(Exchange(1, message, 60))

    assert server.asked == []


async def test_our_own_keys_are_sent_beside_a_query() -> None:
    asked = await asked_by("Hi", query={"tenant": "{{context_params.tenant}}"})

    assert (asked.method, asked.path, asked.body["input"]) == ("POST", "/chat?tenant=acme", "Hi")


async def test_a_form_is_sent() -> None:
    request = {"message": "{{input}}", "tags": ["a", 1, True], "said": "{{history}}", "no": None}

    asked = await asked_by("Hi", "And?", request=request, request_format="form")

    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qsl(asked.raw.decode()) == [
        *[("message", "And?"), ("tags", "a"), ("tags", "1"), ("tags", "true")],
        (
            "said",
            '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}]',
        ),
    ]


@pytest.mark.parametrize("request_format", ["json", "form", "multipart"])
async def test_a_conversation_that_begins_has_an_empty_history(request_format: str) -> None:
    said = {"said": "{{history}}"}

    asked = await asked_by(
        "Hi", query=said, request={"q": "{{input}}", **said}, request_format=request_format
    )

    assert parse_qs(urlsplit(asked.path).query) == {"said": ["[]"]}
    if request_format == "json":
        assert asked.body == {"q": "Hi", "said": []}
    elif request_format == "form":
        assert parse_qsl(asked.raw.decode()) == [("q", "Hi"), ("said", "[]")]
    else:
        assert [part.get_payload() for part in parts_of(asked)] == ["Hi", "[]"]


def parts_of(asked: Asked) -> list[Part]:
    head = f"content-type: {asked.headers['content-type']}\r\n\r\n".encode()
    parts = message_from_bytes(head + asked.raw).get_payload()
    assert isinstance(parts, list)
    return [part for part in parts if isinstance(part, Part)]


async def test_files_are_parts_of_their_own_as_they_are() -> None:
    request = {"message": "{{input}}", "upload": "{{files}}", "first": "{{files[0].name}}"}
    picture = FileContent("a.png", "image/png", b"png")

    asked = await asked_by("Hi", files=(NOTE, picture), request=request, request_format="multipart")

    assert asked.headers["content-type"].startswith("multipart/form-data; boundary=")
    found = [
        (str(part["content-disposition"]), part.get_payload(decode=True))
        for part in parts_of(asked)
    ]
    assert [data for _, data in found] == [b"Hi", NOTE.data, b"png", b"note \xc3\xbc.txt"]
    assert 'name="upload"; filename="note' in found[1][0]
    assert found[2][0] == 'form-data; name="upload"; filename="a.png"'
    assert parts_of(asked)[2].get_content_type() == "image/png"
    assert "filename" not in found[0][0]


async def test_without_files_a_multipart_form_has_only_its_fields() -> None:
    request = {"message": "{{input}}", "upload": "{{files}}"}

    asked = await asked_by("Hi", request=request, request_format="multipart")

    assert [part["content-disposition"] for part in parts_of(asked)] == [
        'form-data; name="message"'
    ]


async def test_a_form_gets_no_files_and_says_so() -> None:
    with WebServer(lambda _: Sent.text("Yes.")) as server:
        async with open_session(server, **FORM) as session:
            exchange = Exchange(1, "Hi", 60, files=(NOTE,))
            await session.respond(exchange)

    assert "files" in exchange.notes[0]


@pytest.mark.parametrize(
    ("url", "sent"),
    [("http://a/", "http://a/?b=1"), ("http://a/?x=y", "http://a/?x=y&b=1")],
)
def test_a_query_is_added_to_what_the_address_has(url: str, sent: str) -> None:
    assert with_query(url, {"b": 1, "none": None, "nothing": []}) == sent


def test_half_a_character_is_sent_as_a_question_mark() -> None:
    assert encode_fields("http://a/", {"q": "\ud83d"}, "form").content == b"q=%3F"
    assert b"?" in (encode_fields("http://a/", {"q": "\ud83d"}, "multipart").content or b"")


# Cookies


def count_visits(asked: Asked) -> Sent:
    visits = asked.headers.get("cookie", "none")
    headers = {"set-cookie": "sid=s-1; Path=/; HttpOnly", "content-type": "text/plain"}
    return Sent.text(f"Cookie: {visits}", headers=headers)


@pytest.mark.parametrize(
    ("changes", "replies"),
    [
        ({}, ["none", "none"]),
        ({"keeps_cookies": True}, ["none", "sid=s-1"]),
        (
            {"keeps_cookies": True, "headers": {"Cookie": {"env": "AGENT_COOKIE"}}},
            ["lang=en", "lang=en; sid=s-1"],
        ),
    ],
    ids=["ignored", "kept", "beside those of a header"],
)
async def test_cookies_are_kept_within_a_conversation(
    changes: dict[str, Any], replies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_COOKIE", "lang=en")
    with (
        permitting(variables=("AGENT_COOKIE",)),
        WebServer(count_visits) as server,
    ):
        for _ in range(2):  # another conversation begins without
            async with open_session(server, **changes) as session:
                for expected in replies:
                    exchange = Exchange(1, "Hi", 60)
                    await session.respond(exchange)
                    shown = "***" if expected == "lang=en" else expected.replace("lang=en", "***")
                    assert exchange.reply == f"Cookie: {shown}"


async def test_cookies_go_only_where_they_came_from() -> None:
    def answer(asked: Asked) -> Sent:
        if asked.method == "POST":
            return Sent.json({"id": 1}, status=202, headers={"set-cookie": "sid=s-1; Path=/chat"})
        return Sent.json({"output": asked.headers.get("cookie", "none")})

    with WebServer(answer) as server:
        poll = {"interval_s": 0.1, "url": f"http://{server.host}/jobs/{{{{job}}}}", "job": "id"}
        async with open_session(server, keeps_cookies=True, poll=poll) as session:
            exchange = Exchange(1, "Hi", 60)
            await session.respond(exchange)

    assert exchange.reply == "none"


# What is sent again


@pytest.mark.parametrize("changes", [GET, FORM], ids=["get", "form"])
async def test_a_busy_agent_is_sent_the_same_again(changes: dict[str, Any]) -> None:
    answers = iter([Sent.text("Later", status=503), Sent.text("Yes.")])
    with WebServer(lambda _: next(answers)) as server:
        async with open_session(server, **changes) as session:
            exchange = Exchange(1, "Hi", 60)
            await session.respond(exchange)

    first, second = server.asked
    assert (first.method, first.path, first.raw) == (second.method, second.path, second.raw)
    assert len(exchange.attempts) == 1


@pytest.mark.parametrize("changes", [GET, FORM], ids=["get", "form"])
async def test_a_lost_connection_fails_the_turn_with_any_method(changes: dict[str, Any]) -> None:
    with WebServer(
        lambda _: Sent(headers={"content-length": "9"}, content=b"", parts=())
    ) as server:
        async with open_session(server, **changes) as session:
            with pytest.raises(AgentError, match="broke"):
                await session.respond(Exchange(1, "Hi", 60))

    assert len(server.asked) == 1
