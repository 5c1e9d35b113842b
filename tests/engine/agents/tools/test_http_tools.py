"""Tools that ask a server."""

from collections.abc import Callable
from typing import Any

import pytest

from evals_app.engine.agents.tools import http_tools
from evals_app.engine.agents.tools.http_tools import HttpRequests
from evals_app.engine.basics.errors import ConfigurationError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.network.web import Web
from evals_app.engine.specs.tool_spec import HttpTool
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

ANY: dict[str, Any] = {"type": "object"}
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
}


async def call(
    answer: Callable[[Asked], Sent], args: dict[str, Any], *, path: str = "/v1", **changes: Any
) -> tuple[Any, list[Asked]]:
    """Call a tool of a server; give the result and what the server was asked."""
    with WebServer(answer) as server:
        written = {"name": "weather", "url": f"http://{server.host}{path}", "parameters": ANY}
        tool = HttpTool.model_validate(written | changes, context=FROZEN)
        with permitting(hosts=(server.host,), variables=("AGENT_*",)):
            async with Web() as web:
                environ = {"AGENT_KEY": "tok-1"}
                result = await HttpRequests(tool, web=web, environ=environ).call(args)
    return result, server.asked


def answer_well(_: Asked) -> Sent:
    return Sent.json({"ok": True})


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_arguments_are_the_body_of_a_request_that_changes_something(method: str) -> None:
    result, (asked,) = await call(answer_well, {"a": [1, {"b": None}]}, method=method)

    assert (asked.method, asked.path, asked.body) == (method, "/v1", {"a": [1, {"b": None}]})
    assert result == {"ok": True}


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_arguments_are_the_query_of_other_requests(method: str) -> None:
    args = {"q": "a b&c", "n": 5, "f": True, "many": ["x", "y"], "deep": {"k": 1}}

    _, (asked,) = await call(answer_well, args, path="/v1?fixed=1", method=method)

    assert asked.method == method
    assert asked.path == ("/v1?fixed=1&q=a+b%26c&n=5&f=true&many=x&many=y&deep=%7B%22k%22%3A+1%7D")
    assert asked.raw == b""


async def test_arguments_that_stand_in_the_path_are_not_sent_twice() -> None:
    _, (asked,) = await call(
        answer_well, {"city": "São/Paulo?", "days": 2}, path="/{city}/days", parameters=CITY
    )

    assert asked.path == "/S%C3%A3o%2FPaulo%3F/days"
    assert asked.body == {"days": 2}


@pytest.mark.parametrize("name", ["key", "token", "auth"])
async def test_an_argument_may_be_called_like_a_secret(name: str) -> None:
    result, (asked,) = await call(answer_well, {name: "x"}, method="GET")

    assert asked.path == f"/v1?{name}=x"
    assert result == {"ok": True}


async def test_half_a_character_in_an_address_is_a_mistake_of_the_agent() -> None:
    result, asked = await call(answer_well, {"q": "\ud800"}, method="GET")

    assert result["error"]["code"] == "invalid_arguments"
    assert asked == []


async def test_a_result_that_is_nested_too_deeply_is_an_error_that_the_agent_sees() -> None:
    result, _ = await call(lambda _: Sent.text("[" * 101 + "]" * 101), {})

    assert result["error"]["code"] == "too_deep"


@pytest.mark.parametrize("city", ["..", ".", ""])
async def test_an_argument_cannot_lead_to_another_path(city: str) -> None:
    result, asked = await call(
        answer_well, {"city": city}, path="/cities/{city}/days", parameters=CITY
    )

    assert result["error"]["code"] == "invalid_arguments"
    assert asked == []


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param({"days": 2}, "city is required", id="missing"),
        pytest.param({"city": "Rome", "days": "two"}, "the text “two”", id="type"),
    ],
)
async def test_a_call_with_wrong_arguments_asks_nobody(args: dict[str, Any], words: str) -> None:
    result, asked = await call(answer_well, args, path="/{city}", parameters=CITY)

    assert words in result["error"]["message"]
    assert asked == []


async def test_headers_are_sent_and_keys_never_come_back() -> None:
    headers = {"Authorization": {"env": "AGENT_KEY"}, "X-Tenant": "acme"}

    _, (asked,) = await call(answer_well, {}, headers=headers)

    assert (asked.headers["authorization"], asked.headers["x-tenant"]) == ("tok-1", "acme")


@pytest.mark.parametrize(
    ("sent", "result"),
    [
        pytest.param(Sent.json([1, 2]), [1, 2], id="list"),
        pytest.param(Sent.json("text"), "text", id="JSON text"),
        pytest.param(Sent.text("Sunny"), "Sunny", id="text"),
        pytest.param(Sent(204), "", id="nothing"),
        pytest.param(Sent.text("NaN"), "NaN", id="what JSON does not have"),
        pytest.param(Sent.text('{"a": Infinity}'), '{"a": Infinity}', id="not in lists either"),
    ],
)
async def test_an_answer_is_json_or_text(sent: Sent, result: Any) -> None:
    answer, _ = await call(lambda _: sent, {})

    assert answer == result


@pytest.mark.parametrize(
    ("sent", "code", "words"),
    [
        pytest.param(Sent.text("No.", status=404), "refused", "status 404 Not Found: No.", id="no"),
        (Sent(302, {"location": "http://169.254.169.254/"}), "unavailable", "redirects"),
        (Sent(content=b"x" * 1_000_001), "unavailable", "more than 1,000 kB"),
    ],
)
async def test_a_bad_answer_is_an_error_that_the_agent_sees(
    sent: Sent, code: str, words: str
) -> None:
    result, _ = await call(lambda _: sent, {})

    assert result["error"]["code"] == code
    assert words in result["error"]["message"]


async def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_tools, "CALL_S", 0.2)
    with WebServer(lambda _: server.wait()) as server:
        tool = HttpTool.model_validate({"name": "a", "url": server.url}, context=FROZEN)
        with permitting(hosts=(server.host,)):
            async with Web() as web:
                result = await HttpRequests(tool, web=web).call({})

    assert result["error"] == {"code": "timeout", "message": "a did not answer within 0.2 s."}


async def test_a_server_that_may_not_be_asked_is_no_mistake_of_the_agent() -> None:
    with WebServer(answer_well) as server:
        tool = HttpTool.model_validate({"name": "a", "url": server.url}, context=FROZEN)
        async with Web() as web:
            with permitting(hosts=()), pytest.raises(ConfigurationError, match="this machine"):
                await HttpRequests(tool, web=web).call({})

    assert server.asked == []
