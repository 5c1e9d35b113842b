"""Agents that ask for a client certificate: a real server with TLS, and what can be wrong."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from evals_app.engine.agents.external import client_certificates
from evals_app.engine.agents.external.client_certificates import certificate_context
from evals_app.engine.agents.external.http import HttpSession, web_for
from evals_app.engine.agents.session import Exchange
from evals_app.engine.basics.errors import AgentError, ConfigurationError
from evals_app.engine.network import checked_transport
from evals_app.engine.specs.sending_spec import CertificateSpec
from tests.agent_server import Sent, WebServer
from tests.engine.agents.external.test_http import make_agent, make_setting
from tests.engine.permitting import permitting
from tests.tls import Authority

CERTIFICATE = {"certificate": {"env": "AGENT_CERT"}, "key": {"env": "AGENT_KEY"}}
PASSWORD = {"password": {"env": "AGENT_PASSWORD"}}


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """Trust an authority of this test alone."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    for cached in (checked_transport.trust, client_certificates._context):  # noqa: SLF001 - for this test
        cached.cache_clear()
    return authority


async def ask(
    authority: Authority, environ: dict[str, str], *, hosts: tuple[str, ...] = (), **spec: Any
) -> Exchange:
    """Ask an agent that answers with the name in the certificate."""
    context = authority.server_context()
    with WebServer(lambda asked: Sent.text(f"Hello {asked.client}"), context=context) as server:
        agent = make_agent(server.url, **spec)
        hosts = (server.host, *hosts)
        with permitting(hosts=hosts, variables=("AGENT_*",)):
            async with web_for(agent, environ=environ) as web:
                session = HttpSession(agent, setting=make_setting(), web=web, environ=environ)
                exchange = Exchange(1, "Hi", 60)
                await session.respond(exchange)
    return exchange


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["text", "file", "one file", "password"])
async def test_the_certificate_is_shown(authority: Authority, tmp_path: Path, where: str) -> None:
    pair = authority.sign("evalwell", password="geheim" if where == "password" else "")
    environ = {"AGENT_CERT": pair.certificate, "AGENT_KEY": pair.key, "AGENT_PASSWORD": "geheim"}
    spec: dict[str, Any] = CERTIFICATE | (PASSWORD if where == "password" else {})
    if where in ("file", "one file"):
        for variable, text in (("AGENT_CERT", pair.both), ("AGENT_KEY", pair.key)):
            (tmp_path / variable).write_text(text)
            environ[variable] = str(tmp_path / variable)
    if where == "one file":
        spec = {"certificate": {"env": "AGENT_CERT"}}

    exchange = await ask(authority, environ, client_certificate=spec)

    assert exchange.reply == "Hello evalwell"


@pytest.mark.anyio
@pytest.mark.parametrize("secret", [{}, {"client_secret": {"env": "AGENT_SECRET"}}])
async def test_the_server_of_tokens_is_shown_it_too(
    authority: Authority, secret: dict[str, Any]
) -> None:
    with WebServer(
        lambda _: Sent.json({"access_token": "tok-1"}), context=authority.server_context()
    ) as tokens:
        oauth = {"token_url": f"https://{tokens.host}/token", "client_id": "c", **secret}
        environ = {"AGENT_CERT": authority.sign("evalwell").both, "AGENT_SECRET": "s3cret"}
        exchange = await ask(
            authority,
            environ,
            hosts=(tokens.host,),
            client_certificate={"certificate": {"env": "AGENT_CERT"}},
            oauth=oauth,
        )

    assert exchange.reply == "Hello evalwell"
    (asked,) = tokens.asked
    assert asked.client == "evalwell"
    assert ("authorization" in asked.headers) == bool(secret)
    assert parse_qs(asked.raw.decode()) == {"grant_type": ["client_credentials"]} | (
        {} if secret else {"client_id": ["c"]}
    )


@pytest.mark.anyio
async def test_a_server_that_asks_for_one_says_so(authority: Authority) -> None:
    with pytest.raises(AgentError, match="asks for a client certificate"):
        await ask(authority, {})


@pytest.mark.anyio
async def test_a_server_that_does_not_accept_it_says_so(
    authority: Authority, tmp_path: Path
) -> None:
    pair = Authority(tmp_path, "Another").sign("evalwell")

    with pytest.raises(AgentError, match="does not accept our client certificate"):
        await ask(
            authority,
            {"AGENT_CERT": pair.both},
            client_certificate={"certificate": {"env": "AGENT_CERT"}},
        )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"AGENT_CERT": ""}, "AGENT_CERT is not set"),
        ({"AGENT_CERT": "/nowhere/a.pem"}, "AGENT_CERT has neither .* No such file"),
        ({"AGENT_CERT": "not\0a path"}, "AGENT_CERT has neither"),
        ({"AGENT_CERT": "-----BEGIN CERTIFICATE-----\nx"}, "AGENT_CERT has no certificate"),
        ({"AGENT_KEY": "other"}, "does not belong to the certificate in AGENT_CERT"),
        ({"AGENT_KEY": "certificate"}, "AGENT_KEY has no private key"),
        ({"AGENT_KEY": "locked"}, "AGENT_KEY is protected by a password"),
        ({"AGENT_KEY": "locked", "AGENT_PASSWORD": "no"}, "AGENT_PASSWORD is not the password"),
        ({"AGENT_PASSWORD": "geheim"}, "AGENT_KEY has no password"),
        ({"AGENT_CERT": "expired", "AGENT_KEY": "expired"}, "AGENT_CERT expired on 2"),
        ({"AGENT_CERT": "early", "AGENT_KEY": "early"}, "AGENT_CERT is not valid before 2"),
    ],
)
def test_what_cannot_be_used_is_said_in_words_without_the_key(
    authority: Authority, changes: dict[str, str], words: str
) -> None:
    pair, other = authority.sign("a"), authority.sign("b")
    old, early = authority.sign("a", days=-1), authority.sign("a", days=9)
    known = {
        "other": other.key,
        "certificate": pair.certificate,
        "locked": authority.sign("a", password="geheim").key,
    }
    certificates = {"expired": old.certificate, "early": early.certificate}
    keys = known | {"expired": old.key, "early": early.key}
    environ = {"AGENT_CERT": pair.certificate, "AGENT_KEY": pair.key}
    for name, text in changes.items():
        environ[name] = (certificates if name == "AGENT_CERT" else keys).get(text, text)
    spec = CERTIFICATE | (PASSWORD if "AGENT_PASSWORD" in environ else {})

    with (
        permitting(variables=("AGENT_*",)),
        pytest.raises(ConfigurationError, match=words) as error,
    ):
        certificate_context(
            CertificateSpec.model_validate(spec), urls=["https://a.example/"], environ=environ
        )

    assert environ["AGENT_KEY"][40:80] not in str(error.value) or "nowhere" in str(error.value)


def test_a_variable_that_is_no_longer_permitted_is_refused(authority: Authority) -> None:
    with permitting(variables=("AGENT_*",)):
        spec = CertificateSpec.model_validate(CERTIFICATE)

    refused = pytest.raises(ConfigurationError, match="does not permit AGENT_CERT")
    with permitting(variables=()), refused:
        certificate_context(spec, urls=["https://a.example/"], environ={})
