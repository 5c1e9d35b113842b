"""Call servers that an author has entered: only checked addresses, no redirects, bounded replies."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self

from evals_app.engine.addresses import Target, read_url, why_refused
from evals_app.engine.errors import ConfigurationError, WebError
from evals_app.engine.permits import permits

if TYPE_CHECKING:
    from evals_app.engine.checked_transport import CheckedTransport

__all__ = ["Answer", "Web", "WebError", "look_up", "why_not_called"]

# Servers close idle connections, some after 2 s; a request sent at that moment is lost, and the
# agent would seem to have failed.
_IDLE_S = 1.0
_EXCERPT_CHARS = 300
_HIDDEN = "***"

# Returns the addresses of a host and port.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered, whatever its status."""

    status: int
    text: str
    media_type: str = ""

    @property
    def is_ok(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def problem(self) -> str:
        """Name the status, with the beginning of the body."""
        known = self.status in set(HTTPStatus)
        words = f" {HTTPStatus(self.status).phrase}" if known else ""
        body = " ".join(self.text[: 4 * _EXCERPT_CHARS].split())
        excerpt = body if len(body) <= _EXCERPT_CHARS else f"{body[:_EXCERPT_CHARS]}..."
        return f"status {self.status}{words}" + (f": {excerpt}" if excerpt else "")


def look_up_now(host: str, port: int) -> Sequence[str]:
    """Ask the system which addresses a host has; it blocks this thread."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


async def look_up(host: str, port: int) -> Sequence[str]:
    """Ask the system which addresses a host has."""
    return await asyncio.to_thread(look_up_now, host, port)


def why_not_called(
    url: str, *, look_up: Callable[[str, int], Sequence[str]] = look_up_now
) -> str | None:
    """Say why a URL cannot be called from here; a name that is unknown here may be known elsewhere."""
    try:
        target = read_url(url)
        addresses = look_up(target.host, target.port)
    except (ValueError, OSError):
        return None
    refused = (why_refused(address, target, permitted=permits().hosts) for address in addresses)
    return next(filter(None, refused), None)


class Web:
    """Connections of one conversation: `async with Web() as web`.

    `secrets` are removed from everything that servers send. `permitted` are hosts that may be called
    in addition to those that the operator permits to everyone.
    """

    _transport: "CheckedTransport"

    def __init__(
        self,
        *,
        secrets: Sequence[str] = (),
        permitted: Sequence[str] = (),
        resolve: Resolve = look_up,
    ) -> None:
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._permitted = permitted
        self._resolve = resolve

    async def __aenter__(self) -> Self:
        # Before any time is measured: the first conversation would pay for it.
        import httpx2  # noqa: PLC0415 - only processes that call a server pay for it

        from evals_app.engine.checked_transport import CheckedTransport, trust  # noqa: PLC0415

        trust()
        self._transport = CheckedTransport(
            resolve=self._resolve,
            limits=httpx2.Limits(keepalive_expiry=_IDLE_S),
            most_bytes=0,  # each request sets its own limit
            permitted=self._permitted,
        )
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._transport.aclose()

    async def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Any = None,
        most_bytes: int,
    ) -> Answer:
        """Send one request; its time is bounded by the caller.

        Raises:
            WebError: no answer, a redirect, or an answer that is too long or compressed.
            ConfigurationError: the address is not one that may be called.
        """
        try:
            target = read_url(url)
        except ValueError as exc:
            raise ConfigurationError(f"{url}: {exc}") from None
        sent = {"accept": "application/json, text/plain;q=0.9, */*;q=0.1"}
        # A few compressed bytes could fill the memory.
        sent |= {"accept-encoding": "identity", "user-agent": "touchstone"}
        sent |= {name.lower(): value for name, value in headers.items()}
        content = None
        if body is not None:
            content = _json(body)
            sent["content-type"] = "application/json"
        sent["host"] = target.authority
        try:
            status, media_type, raw = await self._send(
                method, target, sent, content, most_bytes=most_bytes
            )
        except WebError as exc:
            raise WebError(self._without_secrets(str(exc))) from None
        text = self._without_secrets(raw.decode("utf-8-sig", "replace"))
        return Answer(status, text, media_type)

    async def _send(
        self,
        method: str,
        target: Target,
        headers: Mapping[str, str],
        content: bytes | None,
        *,
        most_bytes: int,
    ) -> tuple[int, str, bytes]:
        import httpx2  # noqa: PLC0415 - only processes that call a server pay for it

        request = httpx2.Request(
            method,
            target.at(target.host),
            headers=headers,
            content=content,
            extensions={"most_bytes": most_bytes},
        )
        try:
            response = await self._transport.handle_async_request(request)
            async with aclosing(response):
                if response.has_redirect_location:
                    # Hidden before it is cut: half a secret would not be recognised.
                    where = self._without_secrets(response.headers.get("location", ""))
                    where = where[:_EXCERPT_CHARS]
                    raise WebError(f"It redirects to {where}. Redirects are not followed.")
                media_type = response.headers.get("content-type", "").partition(";")[0]
                raw = b"".join([part async for part in response.aiter_raw()])
                return response.status_code, media_type.strip().lower(), raw
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
            why = str(exc).rstrip(".") or "it did not accept the connection"
            raise WebError(f"{target.authority} could not be reached: {why}.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            why = str(exc).rstrip(".") or f"the connection was lost ({type(exc).__name__})"
            raise WebError(f"The connection to {target.authority} broke: {why}.") from None

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def _json(body: Any) -> bytes:
    try:
        return json.dumps(body).encode()
    except RecursionError:
        raise WebError("The request is nested too deeply.") from None
