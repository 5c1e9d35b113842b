"""How messages are sent to agents over HTTP: what is accepted, and what is refused with advice."""

from typing import Any

import pytest

from evals_app.engine.specs.agent_spec import AgentSpec, HttpAgent
from tests.engine.makers import refusals
from tests.engine.permitting import permitting

HTTP: dict[str, Any] = {"agent": "A", "slug": "a", "driver": "http", "url": "https://a.example/c"}
ASKS = {"q": "{{input}}"}
TOKEN = {"token_url": "https://login.example/token", "client_id": "c"}
CERTIFICATE: dict[str, Any] = {"certificate": {"env": "AGENT_CERT"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "GET", "query": ASKS},
        {"method": "DELETE", "query": ASKS},
        {"method": "GET", "url": "https://a.example/{{case}}/{{context_params.id}}/{{input}}.json"},
        {"url": "https://a.example/{{session_id}}?v={2}"},
        {"method": "PUT", "query": ASKS, "request": {"a": 1}},
        {"method": "PATCH"},
        {"request": ASKS, "request_format": "form"},
        {"request": {**ASKS, "f": "{{files}}"}, "request_format": "multipart"},
        {"query": {"token": "{{session_id}}", "n": [1, 2]}, "keeps_cookies": True},
        {"client_certificate": CERTIFICATE},
        {"client_certificate": CERTIFICATE, "oauth": TOKEN},
        {"oauth": {**TOKEN, "client_secret": {"env": "AGENT_SECRET"}}},
    ],
)
def test_a_way_of_sending(changes: dict[str, Any]) -> None:
    with permitting(variables=("AGENT_*",)):
        spec = AgentSpec.model_validate(HTTP | changes)

    written = spec.model_dump(mode="json", exclude_defaults=True)
    assert {key: written[key] for key in changes} == changes


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"method": "HEAD"}, "method", "'GET'"),
        ({"method": "GET"}, "query", "{{input}}"),
        ({"method": "GET", "query": {"a": "b"}}, "query", "{{input}}"),
        ({"method": "GET", "query": ASKS, "request": ASKS}, "request", "no body"),
        ({"method": "GET", "query": ASKS, "request_format": "form"}, "request_format", "no body"),
        ({"method": "DELETE"}, "query", "{{input}}"),
        ({"method": "DELETE", "query": ASKS, "request": ASKS}, "request", "DELETE sends no body"),
        ({"url": "https://{{case}}.example/"}, "url", "after the host"),
        ({"url": "https://a.example/?q={{input}}"}, "url", "query"),
        ({"url": "https://a.example/{{inptu}}"}, "url", "input"),
        ({"url": "https://a.example/{{history}}"}, "url", "path"),
        ({"url": "https://a.example/{{files}}"}, "url", "path"),
        ({"url": "https://a.example/{{agent_session_id}}"}, "url", "first turn"),
        (
            {"url": "https://a.example/{{case}}", "protocol": "openai-chat"},
            "url",
            "protocol json",
        ),
        ({"oauth": TOKEN}, "oauth.client_secret", "client_certificate"),
        (
            {
                "client_certificate": CERTIFICATE,
                "oauth": {**TOKEN, "token_url": "http://login.example/token"},
            },
            "client_certificate client_certificate.certificate",
            "https://",
        ),
        ({"request_format": "form"}, "request_format", "request"),
        ({"request": {"a": "b"}}, "request", "no message"),
        ({"request": {**ASKS, "f": "{{files}}"}, "request_format": "form"}, "request", "multipart"),
        ({"query": {"f": "{{files}}"}}, "query", "address"),
        ({"query": {"f": "{{fils}}"}}, "query", "files"),
        ({"query": {"a": {"b": "c"}}}, "query", "a text"),
        ({"query": {"api_key": "abc"}}, "query", "{env: NAME}"),
        (
            {"protocol": "openai-chat", "method": "PUT", "query": ASKS},
            "method query",
            "protocol json",
        ),
        (
            {"url": "http://a.example/c", "client_certificate": CERTIFICATE},
            "client_certificate client_certificate.certificate",
            "https://",
        ),
        (
            {"client_certificate": {"certificate": {"env": "OTHER"}}},
            "client_certificate.certificate",
            "permit OTHER",
        ),
        (
            {"client_certificate": {**CERTIFICATE, "key": "-----BEGIN PRIVATE KEY-----"}},
            "client_certificate.key",
            "",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(changes: dict[str, Any], place: str, words: str) -> None:
    with permitting(variables=("AGENT_*",)):
        refused = refusals(AgentSpec.model_validate, HTTP | changes)

    assert " ".join(where for where, _ in refused) == place
    assert all(words in why for _, why in refused)


def test_a_session_may_be_sent_in_the_query() -> None:
    session = {"query": {"s": "{{agent_session_id}}"}}

    assert refusals(AgentSpec.model_validate, HTTP | session)[0][0] == "query"
    places = {"text": "t", "session_id": "s"}
    assert AgentSpec.model_validate(HTTP | session | {"response": places})


def test_agents_without_the_new_keys_are_written_as_before() -> None:
    assert HttpAgent.model_validate(HTTP).model_dump(mode="json").keys() == {
        *("agent", "slug", "description", "driver", "tool_calls_from", "spans_wait_s"),
        *("system_prompt", "url", "headers", "protocol", "request", "response", "stream", "poll"),
        *("oauth", "pace", "remote_model"),
    }
