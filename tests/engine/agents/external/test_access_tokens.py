"""Access tokens: fetched once, shared, renewed, and never shown."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import pytest

from evals_app.engine.agents.external.access_tokens import AccessToken, _tokens
from evals_app.engine.agents.external.http import HttpSession
from evals_app.engine.basics.errors import AgentError, ConfigurationError, UnavailableError
from evals_app.engine.basics.permits import FROZEN
from evals_app.engine.network.web import Web
from evals_app.engine.specs.outside_spec import OAuthSpec
from tests.agent_server import Asked, Sent, WebServer
from tests.engine.agents.external.test_http import make_agent, make_setting, say
from tests.engine.permitting import permitting

pytestmark = pytest.mark.anyio

SECRETS = {"AGENT_SECRET": "s3cret/x"}


@pytest.fixture(autouse=True)
def no_tokens() -> Iterator[None]:
    _tokens.clear()
    yield
    _tokens.clear()


def spec_for(server: WebServer, **changes: Any) -> dict[str, Any]:
    return {
        "token_url": f"http://{server.host}/token",
        "client_id": "c:1",
        "client_secret": {"env": "AGENT_SECRET"},
        **changes,
    }


def token(value: str = "tok-1", **changes: Any) -> Sent:
    return Sent.json({"access_token": value, "token_type": "Bearer", "expires_in": 100, **changes})


@asynccontextmanager
async def open_token(
    server: WebServer, *, clock: Callable[[], float] = lambda: 0.0, **changes: Any
) -> AsyncIterator[AccessToken]:
    spec = OAuthSpec.model_validate(spec_for(server, **changes), context=FROZEN)
    with permitting(hosts=(server.host,), variables=("AGENT_*",)):
        async with Web() as web:
            yield AccessToken(spec, web=web, environ=SECRETS, clock=clock)


async def fetch_token(answer: Callable[[Asked], Sent], **changes: Any) -> tuple[Asked, str]:
    with WebServer(answer) as server:
        async with open_token(server, **changes) as access:
            value = await access.value()
    return server.asked[0], value


async def test_a_token_is_asked_for_with_the_secret_in_the_header() -> None:
    asked, value = await fetch_token(lambda _: token(), scope="read write", audience="agents")

    assert value == "tok-1"
    basic = base64.b64encode(b"c%3A1:s3cret%2Fx").decode()
    assert asked.headers["authorization"] == f"Basic {basic}"
    assert parse_qs(asked.raw.decode()) == {
        "grant_type": ["client_credentials"],
        "scope": ["read write"],
        "audience": ["agents"],
    }


async def test_a_token_is_asked_for_with_the_secret_in_the_body() -> None:
    asked, _ = await fetch_token(lambda _: token(), secret_in="body")

    assert "authorization" not in asked.headers
    assert parse_qs(asked.raw.decode()) == {
        "grant_type": ["client_credentials"],
        "client_id": ["c:1"],
        "client_secret": ["s3cret/x"],
    }


async def test_all_conversations_share_a_token_until_shortly_before_it_expires() -> None:
    now = [0.0]
    with WebServer(lambda _: token(f"tok-{len(server.asked)}")) as server:
        async with open_token(server, clock=lambda: now[0]) as access:
            values = await asyncio.gather(*(access.value() for _ in range(5)))
            now[0] = 89.0
            values.append(await access.value())
            now[0] = 91.0
            last = await access.value()

    assert (set(values), last, len(server.asked)) == ({"tok-1"}, "tok-2", 2)


@pytest.mark.parametrize(
    ("sent", "kind", "words"),
    [
        pytest.param(
            Sent.json({"error": "invalid_client", "you": "s3cret/x"}, status=401),
            ConfigurationError,
            "status 401.*invalid_client",
            id="refused",
        ),
        pytest.param(
            Sent.text(f"{'x' * 295} s3cret/x", status=401),
            ConfigurationError,
            "status 401",
            id="refused with the secret where the answer is cut",
        ),
        pytest.param(Sent(503), UnavailableError, "status 503", id="down"),
        pytest.param(Sent(429), UnavailableError, "status 429", id="busy"),
        pytest.param(Sent.text("tok-1"), ConfigurationError, "not JSON", id="no JSON"),
        pytest.param(Sent.json({}), ConfigurationError, "access_token", id="no token"),
        pytest.param(token("a\nb"), ConfigurationError, "access_token", id="no header"),
        pytest.param(token(token_type="mac"), ConfigurationError, "bearer", id="another type"),
    ],
)
async def test_without_a_token_the_agent_is_not_blamed(
    sent: Sent, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words) as refused:
        await fetch_token(lambda _: sent)

    assert "s3c" not in str(refused.value)
    assert "tok-1" not in str(refused.value)


@pytest.mark.parametrize("lifetime", [None, "100", -1, float("nan"), "soon"])
async def test_a_strange_lifetime_is_no_error(lifetime: Any) -> None:
    _, value = await fetch_token(lambda _: token(expires_in=lifetime))

    assert value == "tok-1"


async def talk_to(answer: Callable[[Asked], Sent], *messages: str) -> tuple[list[Asked], list[str]]:
    """Say something to an agent behind OAuth, whose server answers both."""
    with WebServer(answer) as server:
        agent = make_agent(server.url, oauth=spec_for(server))
        with permitting(hosts=(server.host,), variables=("AGENT_*",)):
            async with Web() as web:
                session = HttpSession(agent, setting=make_setting(), web=web, environ=SECRETS)
                replies = [(await say(session, message)).reply for message in messages]
    return server.asked, replies


async def test_the_agent_gets_the_token_and_cannot_repeat_it() -> None:
    def answer(asked: Asked) -> Sent:
        if asked.path == "/token":
            return token()
        return Sent.text(f"You sent {asked.headers['authorization']}.")

    asked, replies = await talk_to(answer, "one", "two")

    assert replies == ["You sent Bearer ***."] * 2
    assert [request.path for request in asked] == ["/token", "/chat", "/chat"]


async def test_a_token_that_the_agent_refuses_is_fetched_again_once() -> None:
    def answer(asked: Asked) -> Sent:
        if asked.path == "/token":
            tokens.append("tok-1" if len(tokens) < 2 else "tok-2")
            return token(tokens[-1])
        is_right = asked.headers["authorization"] == "Bearer tok-2"
        return Sent.text("Hi.") if is_right else Sent.text("tok-1 is old", status=401)

    tokens: list[str] = []
    with pytest.raises(AgentError, match=r"status 401 Unauthorized: \*\*\* is old"):
        await talk_to(answer, "one")
    _, replies = await talk_to(answer, "two")

    assert (tokens, replies) == (["tok-1", "tok-1", "tok-2"], ["Hi."])
