"""Ask servers that an author has named: checked addresses alone, no redirects, bounded replies."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from evals_app.engine.addresses import Target, read_url, why_refused
from evals_app.engine.errors import ConfigurationError
from evals_app.engine.permits import permits

if TYPE_CHECKING:
    import ssl

    import httpx2

CONNECT_S = 10.0  # for one address; the caller bounds the whole
# Servers hang up on connections that are idle, the first of them after 2 s; what is sent in that
# moment is lost, and the agent would seem to have failed.
_IDLE_S = 1.0
_EXCERPT_CHARS = 300
_HIDDEN = "***"

# Gives the addresses of a host and port.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


class WebError(Exception):
    """A server did not answer as it should; the message is for people, and holds no secret."""


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
        """Say which status came, and the beginning of what was said with it."""
        known = self.status in set(HTTPStatus)
        words = f" {HTTPStatus(self.status).phrase}" if known else ""
        said = " ".join(self.text[: 4 * _EXCERPT_CHARS].split())
        excerpt = said if len(said) <= _EXCERPT_CHARS else f"{said[:_EXCERPT_CHARS]}..."
        return f"status {self.status}{words}" + (f": {excerpt}" if excerpt else "")


def look_up_now(host: str, port: int) -> Sequence[str]:
    """Ask the system which addresses a host has; meanwhile this thread stands still."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def look_up(host: str, port: int) -> Sequence[str]:
    """Ask the system which addresses a host has."""
    return await asyncio.to_thread(look_up_now, host, port)


def why_not_called(
    url: str, *, look_up: Callable[[str, int], Sequence[str]] = look_up_now
) -> str | None:
    """Say why a URL cannot be called from here; a name that cannot be looked up may be another's."""
    try:
        target = read_url(url)
        addresses = look_up(target.host, target.port)
    except (ValueError, OSError):
        return None
    refused = (why_refused(each, target, permitted=permits().hosts) for each in addresses)
    return next(filter(None, refused), None)


class Web:
    """Connections of one conversation: `async with Web() as web`.

    A host is looked up once; what is connected to is the very address that was checked. `secrets`
    are left out of everything that servers say.
    """

    def __init__(self, *, secrets: Sequence[str] = (), resolve: Resolve = look_up) -> None:
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._resolve = resolve
        self._addresses: dict[tuple[str, int], Sequence[str]] = {}
        self._transports: dict[str, httpx2.AsyncHTTPTransport] = {}
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Self:
        _trust()  # before anybody's time is taken: the first conversation would pay for it
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._transports = {}
        await self._exit.aclose()

    async def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Any = None,  # noqa: ANN401 - JSON
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
        # A few compressed bytes can hold a memory full.
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
        import httpx2  # noqa: PLC0415 - processes that ask nobody never pay for it

        addresses = await self._checked(target)
        transport = await self._transport(target)
        extensions = {"sni_hostname": target.host, "timeout": {"connect": CONNECT_S}}
        for number, address in enumerate(addresses, 1):
            request = httpx2.Request(
                method, target.at(address), headers=headers, content=content, extensions=extensions
            )
            try:
                response = await transport.handle_async_request(request)
                async with aclosing(response):
                    media_type = response.headers.get("content-type", "").partition(";")[0]
                    raw = await self._read(response, most_bytes=most_bytes)
                    return response.status_code, media_type.strip().lower(), raw
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
                if number == len(addresses):
                    why = str(exc).rstrip(".") or "it did not take the connection"
                    raise WebError(f"{target.authority} could not be reached: {why}.") from None
            except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
                why = str(exc).rstrip(".") or f"the connection was lost ({type(exc).__name__})"
                raise WebError(f"{target.authority} broke off: {why}.") from None
        raise WebError(f"{target.host} has no address.")

    async def _transport(self, target: Target) -> "httpx2.AsyncHTTPTransport":
        """Give the connections to a host: two names never share those to one address."""
        import httpx2  # noqa: PLC0415

        if target.authority not in self._transports:
            # A bare transport: it follows nobody, keeps no cookies and knows no proxy, which would
            # look the name up once more.
            limits = httpx2.Limits(keepalive_expiry=_IDLE_S)
            transport = httpx2.AsyncHTTPTransport(verify=_trust(), limits=limits)
            self._transports[target.authority] = await self._exit.enter_async_context(transport)
        return self._transports[target.authority]

    async def _checked(self, target: Target) -> Sequence[str]:
        key = (target.host, target.port)
        if key not in self._addresses:
            try:
                self._addresses[key] = await self._resolve(*key)
            except UnicodeError:
                why = "a part of the name is empty or longer than 63 characters"
                raise WebError(f"{target.host} could not be looked up: {why}.") from None
            except OSError as exc:
                why = exc.strerror or "the name is not known"
                raise WebError(f"{target.host} could not be looked up: {why}.") from None
        for address in self._addresses[key]:
            if problem := why_refused(address, target, permitted=permits().hosts):
                raise ConfigurationError(problem)
        return self._addresses[key]

    async def _read(self, response: "httpx2.Response", *, most_bytes: int) -> bytes:
        if response.has_redirect_location:
            # Hidden before it is cut: half a secret would not be found.
            where = self._without_secrets(response.headers.get("location", ""))[:_EXCERPT_CHARS]
            raise WebError(f"It sends us on to {where}; redirects are not followed.")
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise WebError("It sent a compressed reply, which we had asked it not to do.")
        parts, size = [], 0
        async for part in response.aiter_raw():
            size += len(part)
            if size > most_bytes:
                raise WebError(f"It sent more than {most_bytes // 1000:,} kB.")
            parts.append(part)
        return b"".join(parts)

    def _without_secrets(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _HIDDEN)
        return text


def _json(body: Any) -> bytes:  # noqa: ANN401 - JSON
    try:
        return json.dumps(body).encode()
    except RecursionError:
        raise WebError("What was to be sent is nested too deeply.") from None


@cache
def _trust() -> "ssl.SSLContext":
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context()  # reading all certificates takes its time
