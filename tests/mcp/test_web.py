"""The address of the MCP server: whom it lets in, and what no request makes it do."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.mcp.clients import make_token

pytest.importorskip("mcp", reason="the package for MCP is not installed")
pytestmark = pytest.mark.django_db

HEADERS = {"Accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def post(body: Any, **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    client = Client(headers={"Authorization": f"Bearer {make_token()}", **HEADERS, **headers})
    return client.post("/mcp/", content, content_type="application/json")


def test_each_request_is_answered_by_itself_with_and_without_the_slash() -> None:
    answer = post(PING)

    assert answer.status_code == 200
    assert answer.json()["result"] == {}
    assert answer.headers["Content-Type"] == "application/json"
    assert "Mcp-Session-Id" not in answer.headers
    assert Client().post("/mcp", b"{}", content_type="application/json").status_code == 401


@pytest.mark.parametrize(
    ("client", "method", "status"),
    [
        pytest.param(Client(), "post", 401, id="a stranger"),
        pytest.param(Client(headers={"Authorization": "Bearer ew_x"}), "post", 401, id="token"),
        pytest.param(None, "get", 405, id="a stream of messages"),
        pytest.param(None, "delete", 405, id="the end of a session"),
    ],
)
def test_what_is_refused_is_a_problem_in_json(
    client: Client | None, method: str, status: int
) -> None:
    usual = client or Client(headers={"Authorization": f"Bearer {make_token()}"})

    answer: Any = getattr(usual, method)("/mcp/", headers={"Accept": "text/event-stream"})

    assert answer.status_code == status
    assert answer.json()["status"] == status
    if status == 401:
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("version", ["", "2025-06-18", "2026-07-28", "tomorrow"])
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[" * 100_000, id="nested"),
        pytest.param(b"[]", id="a list"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, id="no parameters"),
        pytest.param(PING | {"method": "nothing/at/all"}, id="an unknown method"),
        pytest.param(PING | {"method": "subscriptions/listen", "params": {}}, id="a stream"),
        PING | {"method": "resources/read", "params": {"uri": "file:///etc/passwd"}},
        PING | {"method": "tools/call", "params": {"name": "read_run", "arguments": [1]}},
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_suite",'
            b'"arguments":{"slug":"\\ud800\\u0000"}}}',
            id="half a character",
        ),
    ],
)
def test_no_body_breaks_it(body: Any, version: str) -> None:
    answer = post(body, **({"MCP-Protocol-Version": version} if version else {}))

    assert answer.status_code < 500
    said = answer.content.decode()
    assert "root:" not in said
    assert "Traceback" not in said
