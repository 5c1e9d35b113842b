"""The only way to servers that people have entered: checked addresses, bounded replies.

The SDKs of model APIs and `web` send through it. It is imported on first use, because the library
is slow to import.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

import httpx2

from evals_app.engine.basics.errors import ConfigurationError, WebError
from evals_app.engine.basics.permits import permits
from evals_app.engine.network.addresses import RequestTarget, why_refused

CONNECT_S = 10.0  # for one address; the caller bounds the whole


@dataclass(kw_only=True, eq=False)
class CheckedTransport(httpx2.AsyncBaseTransport):
    """Connections to hosts whose addresses may be called, kept for the next request.

    A host is looked up once, and again if it could not be reached; connections go to the very address
    that was checked. `permitted` are hosts in addition to those that the operator permits to
    everyone. `contexts` have client certificates, by host and port. A `proxy` looks up names itself; addresses that are known here are still checked.
    Compressed replies are refused: a few bytes could fill the memory.
    """

    resolve: Callable[[str, int], Awaitable[Sequence[str]]]
    limits: httpx2.Limits
    most_bytes: int
    permitted: Sequence[str] = ()
    proxy: str | None = None
    socket_options: Sequence[tuple[int, int, int]] = ()
    contexts: Mapping[str, ssl.SSLContext] = field(default_factory=dict)
    _pools: dict[str, httpx2.AsyncHTTPTransport] = field(default_factory=dict)
    _addresses: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request.

        Raises:
            httpx2.TransportError: no answer.
            WebError: the answer is compressed, or, while it is read, too long.
            ConfigurationError: the address is not one that may be called.
        """
        with _tls_errors():
            response = await self._send(request, _target(request.url))
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            await response.aclose()
            raise WebError("It sent a compressed reply although we asked for an uncompressed one.")
        most_bytes = request.extensions.get("most_bytes", self.most_bytes)
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - for mypy; as httpx2 does it
        response.stream = _Bounded(response.stream, most_bytes)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    async def _send(self, request: httpx2.Request, target: RequestTarget) -> httpx2.Response:
        key = (target.host, target.port)
        addresses = await self._check(target)
        pool = self._pool(target)
        if self.proxy:
            return await pool.handle_async_request(request)
        for number, address in enumerate(addresses, 1):
            is_last = number == len(addresses)
            try:
                response = await pool.handle_async_request(_to_address(request, target, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if is_last:
                    self._addresses.pop(key, None)
                    raise
            else:
                if number > 1:  # later calls need not wait for addresses that do not answer
                    others = [other for other in addresses if other != address]
                    self._addresses[key] = [address, *others]
                return response
        raise httpx2.ConnectError("its name has no address", request=request)

    def _pool(self, target: RequestTarget) -> httpx2.AsyncHTTPTransport:
        """Return the connections to a host; two names never share connections to one address."""
        # Bare pools: they follow no redirects, keep no cookies and ignore proxies of the environment.
        if target.authority not in self._pools:
            self._pools[target.authority] = httpx2.AsyncHTTPTransport(
                verify=self.contexts.get(target.authority) or trust(),
                limits=self.limits,
                proxy=self.proxy,
                socket_options=self.socket_options,
            )
        return self._pools[target.authority]

    async def _check(self, target: RequestTarget) -> list[str]:
        key = (target.host, target.port)
        if key not in self._addresses:
            self._addresses[key] = await self._looked_up(target)
        addresses = self._addresses[key]
        permitted = (*permits().hosts, *self.permitted)
        for address in addresses:
            if problem := why_refused(address, target, permitted=permitted):
                raise ConfigurationError(problem)
        return addresses

    async def _looked_up(self, target: RequestTarget) -> list[str]:
        try:
            return list(await self.resolve(target.host, target.port))
        except UnicodeError:
            why = "a part of the name is empty or longer than 63 characters"
        except OSError as exc:
            why = exc.strerror or "the name is not known"
        if self.proxy:
            return []
        raise httpx2.ConnectError(f"its name could not be looked up: {why}")


@dataclass(eq=False)
class _Bounded(httpx2.AsyncByteStream):
    """A reply that is read only up to a limit."""

    stream: httpx2.AsyncByteStream
    most_bytes: int

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        with _tls_errors():
            async for part in self.stream:
                size += len(part)
                if size > self.most_bytes:
                    raise WebError(f"It sent more than {self.most_bytes // 1000:,} kB.")
                yield part

    async def aclose(self) -> None:
        await self.stream.aclose()


@contextmanager
def _tls_errors() -> Iterator[None]:
    """Pass on as an error of the connection what a server says about TLS after the handshake."""
    try:
        yield
    except ssl.SSLError as error:
        raise httpx2.ReadError(str(error)) from None


def _target(url: httpx2.URL) -> RequestTarget:
    host = url.raw_host.decode("ascii").removesuffix(".")
    port = url.port or {"http": 80, "https": 443}[url.scheme]
    return RequestTarget(url.scheme, host, port, url.raw_path.decode("ascii"))


def _to_address(request: httpx2.Request, target: RequestTarget, address: str) -> httpx2.Request:
    """Return the request as it is sent to an address; the Host header keeps the name."""
    timeout = {**request.extensions.get("timeout", {}), "connect": CONNECT_S}
    return httpx2.Request(
        request.method,
        target.at(address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "timeout": timeout, "sni_hostname": target.host},
    )


@cache
def trust() -> ssl.SSLContext:
    """Load the trusted certificates once: it blocks the event loop for 50 ms."""
    return new_trust()


def new_trust() -> ssl.SSLContext:
    """Load the trusted certificates for connections that show a certificate of their own."""
    return httpx2.create_ssl_context()
