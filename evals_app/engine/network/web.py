"""Call servers that an author has entered: only checked addresses, no redirects, bounded replies."""

import asyncio
import codecs
import json
import re
import socket
import urllib.request
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

from evals_app.engine.basics.errors import ConfigurationError, WebError
from evals_app.engine.basics.permits import permits
from evals_app.engine.network.addresses import RequestTarget, read_url, why_refused

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2

    from evals_app.engine.network.checked_transport import CheckedTransport

__all__ = [
    "ArrivingAnswer",
    "Web",
    "WebAnswer",
    "WebError",
    "look_up",
    "proxy_for",
    "why_not_called",
]

# Servers close idle connections, some after 2 s; a request sent at that moment is lost, and the
# agent would seem to have failed.
_IDLE_S = 1.0
_EXCERPT_CHARS = 300
_HIDDEN = "***"
# A carriage return at the end may be the first half of a line's end.
_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")

# What TLS calls a certificate that the other side refuses.
_CERTIFICATE_ALERT = re.compile(
    r"ALERT_(UNKNOWN_CA|(?:BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(?:REVOKED|EXPIRED|UNKNOWN))"
)

# Returns the addresses of a host and port.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """A server's answer with any status; names of headers are in lower case."""

    status: int
    text: str
    media_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

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


class ArrivingAnswer:
    """An answer of which the status and the headers have arrived."""

    def __init__(self, response: "httpx2.Response", *, hide: Callable[[str], str]) -> None:
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self.media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._parts = response.aiter_raw()
        self._hide = hide

    @property
    def is_ok(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    async def whole(self) -> WebAnswer:
        """Wait for the rest."""
        raw = b"".join([part async for part in self._parts])
        text = self._hide(raw.decode("utf-8-sig", "replace"))
        return WebAnswer(self.status, text, self.media_type, self.headers)

    async def parts(self) -> AsyncGenerator[bytes, None]:
        """Yield what arrives, as it is: secrets stay in it."""
        async for part in self._parts:
            yield part

    async def lines(self) -> AsyncGenerator[str, None]:
        """Yield each line as soon as it has arrived, without its end."""
        decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        begun: list[str] = []  # pieces of the line that is arriving
        async for part in self._parts:
            text = decoder.decode(part)
            begun.append(text)
            if "\n" in text or "\r" in text:
                *lines, rest = _LINE_END.split("".join(begun))
                begun = [rest]
                for line in lines:
                    yield self._hide(line)
        if last := "".join([*begun, decoder.decode(b"", final=True)]).removesuffix("\r"):
            yield self._hide(last)


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
    """Explain why a URL cannot be called from here; a name that is unknown here may be known elsewhere."""
    try:
        target = read_url(url)
        addresses = look_up(target.host, target.port)
    except (ValueError, OSError):
        return None
    refused = (why_refused(address, target, permitted=permits().hosts) for address in addresses)
    return next(filter(None, refused), None)


def proxy_for(base_url: str) -> str | None:
    """Return the proxy that the environment names for an address."""
    target = read_url(base_url)
    if urllib.request.proxy_bypass(target.host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


class Web:
    """Connections of one conversation: `async with Web() as web`.

    `secrets` are removed from everything that servers send. `permitted` are hosts that may be called
    in addition to those that the operator permits to everyone. A `proxy` is only for addresses that
    the operator has chosen. `contexts` have client certificates, by host and port. If it
    `keeps_cookies`, servers get back those that they have set.
    """

    _transport: "CheckedTransport"
    _cookies: "httpx2.Cookies | None" = None

    def __init__(
        self,
        *,
        secrets: Sequence[str] = (),
        permitted: Sequence[str] = (),
        resolve: Resolve = look_up,
        proxy: str | None = None,
        contexts: Mapping[str, "SSLContext"] = MappingProxyType({}),
        keeps_cookies: bool = False,
    ) -> None:
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._permitted = permitted
        self._resolve = resolve
        self._proxy = proxy
        self._contexts = contexts
        self._keeps_cookies = keeps_cookies

    async def __aenter__(self) -> Self:
        # Before any time is measured, or it would count for the first conversation.
        import httpx2  # noqa: PLC0415 - only processes that call a server pay for it

        from evals_app.engine.network.checked_transport import CheckedTransport, trust  # noqa: PLC0415

        trust()
        self._transport = CheckedTransport(
            resolve=self._resolve,
            limits=httpx2.Limits(keepalive_expiry=_IDLE_S),
            most_bytes=0,  # each request sets its own limit
            permitted=self._permitted,
            proxy=self._proxy,
            contexts=self._contexts,
        )
        if self._keeps_cookies:
            self._cookies = httpx2.Cookies()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._transport.aclose()

    async def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
        most_bytes: int,
        hides: bool = True,
    ) -> WebAnswer:
        """Send one request and wait for the whole answer; its time is bounded by the caller.

        `body` is sent as JSON, `form` as the fields of a form, `content` as it is. Unless it `hides`
        them, secrets stay in the answer.

        Raises:
            WebError: no answer, a redirect, or an answer that is too long or compressed.
            ConfigurationError: the address is not one that may be called.
        """
        sending = self.sending(
            method,
            url,
            headers=headers,
            body=body,
            form=form,
            content=content,
            most_bytes=most_bytes,
            hides=hides,
        )
        async with sending as arriving:
            return await arriving.whole()

    @asynccontextmanager
    async def sending(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: object = None,
        form: Mapping[str, str] | None = None,
        content: bytes | None = None,
        most_bytes: int,
        hides: bool = True,
    ) -> AsyncIterator[ArrivingAnswer]:
        """Send one request, and read its answer while it arrives; see `ask`."""
        try:
            target = read_url(url)
        except ValueError as exc:
            raise ConfigurationError(f"{url}: {exc}") from None
        sent = {"accept": "application/json, text/plain;q=0.9, */*;q=0.1"}
        # A few compressed bytes could fill the memory.
        sent |= {"accept-encoding": "identity", "user-agent": "evalwell"}
        sent |= {name.lower(): value for name, value in headers.items()}
        if body is not None:
            content = _json(body)
            sent["content-type"] = "application/json"
        elif form is not None:
            content = urlencode(form).encode()
            sent["content-type"] = "application/x-www-form-urlencoded"
        sent["host"] = target.authority
        try:
            async with self._send(method, target, sent, content, most_bytes) as response:
                yield ArrivingAnswer(response, hide=self.hide if hides else str)
        except WebError as exc:
            raise WebError(self.hide(str(exc))) from None

    @asynccontextmanager
    async def _send(
        self,
        method: str,
        target: RequestTarget,
        headers: Mapping[str, str],
        content: bytes | None,
        most_bytes: int,
    ) -> AsyncIterator["httpx2.Response"]:
        import httpx2  # noqa: PLC0415 - only processes that call a server pay for it

        request = httpx2.Request(
            method,
            target.at(target.host),
            headers=headers,
            content=content,
            extensions={"most_bytes": most_bytes},
        )
        self._add_cookies(request)
        try:
            response = await self._transport.handle_async_request(request)
            async with aclosing(response):
                if self._cookies is not None:
                    response.request = request
                    self._cookies.extract_cookies(response)
                if response.has_redirect_location:
                    # Hidden before it is cut: half a secret would not be recognised.
                    where = self.hide(response.headers.get("location", ""))[:_EXCERPT_CHARS]
                    raise WebError(f"It redirects to {where}. Redirects are not followed.")
                yield response
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as exc:
            why = _in_words(str(exc)) or "it did not accept the connection"
            raise WebError(f"{target.authority} could not be reached: {why}.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            why = _in_words(str(exc)) or f"the connection was lost ({type(exc).__name__})"
            raise WebError(f"The connection to {target.authority} broke: {why}.") from None

    def _add_cookies(self, request: "httpx2.Request") -> None:
        """Add the cookies for this address to those that a header has."""
        if self._cookies is None:
            return
        written = request.headers.pop("cookie", "")
        self._cookies.set_cookie_header(request)
        if both := "; ".join(filter(None, (written, request.headers.get("cookie")))):
            request.headers["cookie"] = both

    def add_secrets(self, secrets: Sequence[str]) -> None:
        """Remove these, too, from everything that servers send from now on."""
        self._secrets = sorted({*self._secrets, *filter(None, secrets)}, key=len, reverse=True)

    def hide(self, text: str) -> str:
        """Return a text without secrets."""
        return without_secrets(text, self._secrets)


def multipart(
    parts: Sequence[tuple[str, tuple[str | None, bytes, str | None]]],
) -> tuple[bytes, str]:
    """Return a form with files as a body and its media type; a part is a file if it has a name."""
    import httpx2  # noqa: PLC0415 - only processes that call a server pay for it

    request = httpx2.Request("POST", "http://form/", files=[*parts])
    return request.read(), request.headers.get("content-type", "multipart/form-data")


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Hide secrets in a text; where one contains another, the longer one comes first."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text


def _in_words(problem: str) -> str:
    """Return why a connection failed; what a server says about certificates, in plain words."""
    if "CERTIFICATE_REQUIRED" in problem:
        return (
            "it asks for a client certificate. Fill in “Client certificate” on the page of the agent,"
            " or client_certificate in its file"
        )
    if (alert := _CERTIFICATE_ALERT.search(problem)) is not None:
        return f"it does not accept our client certificate ({alert[1].lower().replace('_', ' ')})"
    return problem.rstrip(".")


def _json(body: object) -> bytes:
    try:
        return json.dumps(body).encode()
    except RecursionError:
        raise WebError("The request is nested too deeply.") from None
