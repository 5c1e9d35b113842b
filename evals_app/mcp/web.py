"""The server over Streamable HTTP: each request is answered by itself, as JSON."""

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from asgiref.sync import async_to_sync
from django.http import HttpResponse
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from evals_app.engine.agents.tools.mcp_tools import MISSING
from evals_app.mcp.server import is_installed, make_server
from evals_app.mcp.tool import Caller
from evals_app.requests.auth import TokenAuthentication
from evals_app.requests.endpoint import AnyRenderer
from evals_app.requests.parsers import MAX_BODY, BytesParser
from evals_app.requests.permissions import MeetsNeeds, Need, Scope
from evals_app.requests.problems import NOT_INSTALLED, RefusedError
from evals_app.requests.throttled_view import ThrottledView

_LEFT_OUT = ("content-length", "transfer-encoding")  # are set again


class Mcp(ThrottledView):
    """Requests of MCP clients, with the tokens of REST; no session lets a browser in."""

    authentication_classes = [TokenAuthentication]
    needs: ClassVar = {"POST": Need(Scope.READ)}
    permission_classes = [MeetsNeeds]
    parser_classes: Sequence[type[BaseParser]] = [BytesParser]
    renderer_classes: Sequence[type[JSONRenderer]] = [AnyRenderer]
    schema = None  # it has its own way of describing itself

    def post(self, request: Request) -> HttpResponse:
        if not is_installed():
            raise RefusedError(MISSING, status=HTTPStatus.NOT_IMPLEMENTED, kind=NOT_INSTALLED)
        token: Any = request.auth  # no one gets here without one
        caller = Caller.of_token(token)
        body = request.data if isinstance(request.data, bytes) else b""
        return async_to_sync(_answer)(caller, request.headers, body)


async def _answer(caller: Caller, headers: Mapping[str, str], body: bytes) -> HttpResponse:
    """Have the package for MCP answer a request, as if it came from an ASGI server."""
    from mcp.server.streamable_http_manager import (  # noqa: PLC0415 - an extra
        StreamableHTTPSessionManager,
    )

    manager = StreamableHTTPSessionManager(
        make_server(lambda: caller),
        json_response=True,
        stateless=True,
        max_request_body_size=MAX_BODY,
    )
    answer = HttpResponse()
    incoming = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        if incoming:
            return incoming.pop()
        return await asyncio.Event().wait()  # the client stays until it has its answer

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status_code = message["status"]
            del answer.headers["Content-Type"]
            for name, value in message["headers"]:
                if name.decode().lower() not in _LEFT_OUT:
                    answer.headers[name.decode("latin-1")] = value.decode("latin-1")
        else:
            answer.write(message.get("body", b""))

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp/",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in headers.items()
        ],
    }
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    return answer
