"""One request to an agent before it is saved. Its words: test_http.py, test_wire.py."""

from typing import Any

import pytest

from evals_app.engine.agents.external import asking
from evals_app.engine.agents.external.asking import ask_once, send_once
from evals_app.engine.agents.external.sending import OutgoingRequest
from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.record.trial import TurnRecord
from evals_app.engine.specs.agent_spec import HttpAgent
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

KEYS = {"Authorization": "Bearer tok-secret"}
HEADERS = {"X-Tenant": "acme"}


def answer_with_everything(asked: Asked) -> Sent:
    key = asked.headers["authorization"].removeprefix("Bearer ")
    return Sent.json({"text": f"{asked.body} {asked.headers['x-tenant']} {key}"})


async def send(server: WebServer, body: Any, *, hosts: tuple[str, ...] | None = None) -> str:
    with permitting(hosts=(server.host,) if hosts is None else hosts):
        request = OutgoingRequest(server.url, body)
        return await send_once("POST", request, headers=HEADERS, keys=KEYS)


async def ask(server: WebServer, **changes: Any) -> TurnRecord:
    written = {"agent": "Ours", "slug": "ours", "driver": "http", "url": server.url}
    agent = HttpAgent.model_validate(written | {"headers": HEADERS} | changes, context=FROZEN)
    with permitting(hosts=(server.host,)):
        return await ask_once(agent, "Hi", keys=KEYS)


@pytest.mark.parametrize(("body", "word"), [({"q": "Hi"}, "{'q': 'Hi'} acme"), (None, "'input'")])
async def test_a_body_is_sent_as_it_is_with_keys_that_the_answer_does_not_show(
    body: Any, word: str
) -> None:
    with WebServer(answer_with_everything) as server:
        text = await send(server, body)

    assert word in text
    assert "tok-secret" not in text


async def test_the_driver_asks_with_keys_that_are_stored_nowhere() -> None:
    with WebServer(answer_with_everything) as server:
        turn = await ask(server, response={"text": "text"}, request={"q": "{{input}}"})

    assert turn.reply == "{'q': 'Hi'} acme ***"
    assert turn.error is None


async def test_what_the_agent_does_wrong_is_the_error_of_the_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with WebServer(answer_with_everything) as server:
        turn = await ask(server, response={"text": "txt"})
    assert "no txt" in str(turn.error)

    monkeypatch.setattr(asking, "TIMEOUT_S", 0.2)
    with WebServer(lambda _: server.wait()) as server:
        turn = await ask(server)
    assert "did not answer within" in str(turn.error)


@pytest.mark.parametrize(
    ("sent", "word"),
    [
        pytest.param(Sent.text("Oops", status=500), "status 500", id="status"),
        pytest.param(Sent(202, {"location": "/jobs/1"}), "answers later", id="later"),
        pytest.param(Sent(content=b"x" * 100_001), "100 kB", id="too long"),
        pytest.param(None, "within", id="silent"),
    ],
)
async def test_a_server_that_does_not_answer_says_why(
    monkeypatch: pytest.MonkeyPatch, sent: Sent | None, word: str
) -> None:
    monkeypatch.setattr(asking, "TIMEOUT_S", 2.0 if sent else 0.2)
    server = WebServer(lambda _: sent or server.wait())
    with server, pytest.raises(AgentError, match=word):
        await send(server, {})


async def test_an_address_that_may_not_be_called_is_not_called() -> None:
    server = WebServer(answer_with_everything)
    with server, pytest.raises(ConfigurationError, match="this machine"):
        await send(server, {}, hosts=())

    assert server.asked == []
