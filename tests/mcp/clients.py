"""The real client of the package for MCP, in front of our own server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp
from asgiref.sync import sync_to_async
from django.test import Client
from mcp.client.streamable_http import streamable_http_client

from evals_app.models import ApiToken
from tests.api.clients import make_user

ADDRESS = "http://testserver/mcp/"


class ThroughDjango(httpx2.AsyncBaseTransport):
    """Passes requests of httpx to the views, without a socket."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        headers = {
            name: value for name, value in request.headers.items() if name != "content-length"
        }
        answer: Any = await sync_to_async(Client().generic)(
            request.method,
            request.url.path,
            body,
            content_type=headers.pop("content-type", "application/json"),
            headers=headers,
        )
        return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)


def make_token(scope: str = "author", permissions: list[str] | None = None, **more: Any) -> str:
    """Make a token of a new user with these permissions; None: all of them."""
    _, text = ApiToken.issue(name="agent", user=make_user(permissions), scope=scope, **more)
    return text


@asynccontextmanager
async def connected(token: str, *, mode: str = "auto") -> AsyncIterator[mcp.Client]:
    """Connect over Streamable HTTP."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, transport=ThroughDjango()) as http,
        mcp.Client(streamable_http_client(ADDRESS, http_client=http), mode=mode) as client,
    ):
        yield client


def text_of(result: Any) -> str:
    """Return what a tool answered."""
    return "\n".join(part.text for part in result.content)
