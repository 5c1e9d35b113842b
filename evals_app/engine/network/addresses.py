"""Which network addresses may be called: not this machine, not private networks.

Otherwise an agent's author could make the server request what only the server may request. The
operator permits exceptions by name (`Permits.hosts`). The address of a name is known only after a
lookup, so `why_refused` is called for each address that a connection is about to use.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_URL = re.compile(
    r"(?P<scheme>https?)://"
    r"(?:\[(?P<literal>[0-9a-f:.]+)\]|(?P<host>[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?))\.?"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>(?:[/?][!-~]*)?)",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65_535

# Cloud machines get their credentials there: no name may lead to it, permitted or not.
_METADATA = frozenset(
    map(
        ip_address,
        (
            *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16"),
            "fd00:ec2::254",
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_OPEN_IPV6 = IPv6Network("2000::/3")
# Parts of it that contain IPv4 addresses, or are reserved for documentation.
_NOT_OPEN_IPV6 = tuple(map(IPv6Network, ("2001::/32", "2001:db8::/32", "2002::/16", "3fff::/20")))
# Older Python releases consider half of it public.
_ASSIGNED_BY_PROTOCOL = IPv4Network("192.0.0.0/24")

_SECRETIVE = re.compile(
    r"[?&](?:[^=&]*[_.-])?(?:api_?key|key|token|secret|password|passwd|auth|credential|signature|sig)=",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """Where a request goes; `path` includes the query, as it is sent."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def at(self, address: str) -> str:
        """Return the same URL with an address in place of the name."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def read_url(url: str) -> RequestTarget:
    """Take a URL apart.

    Raises:
        ValueError: it cannot be called.
    """
    if re.match(r"https?://[^/?#]*@", url, re.IGNORECASE):
        raise ValueError(
            "Do not write a user name or password in the address. Use a header with {env: NAME}."
        )
    if "#" in url:
        raise ValueError("Remove the part after #; it is never sent.")
    parts = _URL.fullmatch(url)
    if parts is None or "\\" in url:
        raise ValueError(
            "Write the full address in plain ASCII, for example https://agent.example.org/chat."
            " Encode other characters, as in %20 or xn--..."
        )
    path = parts["path"] if parts["path"].startswith("/") else f"/{parts['path']}"
    scheme = parts["scheme"].lower()
    port = int(parts["port"] or _PORTS[scheme])
    if not 0 < port <= _MAX_PORT:
        raise ValueError(f"A port must be a number from 1 to {_MAX_PORT}.")
    host = _literal(parts["literal"]) if parts["literal"] else _name(parts["host"].lower())
    return RequestTarget(scheme, host, port, path)


def _literal(text: str) -> str:
    try:
        return str(IPv6Address(text))
    except ValueError:
        raise ValueError(f"[{text}] is not a valid IPv6 address.") from None


def _name(host: str) -> str:
    # 127.1, 2130706433 and 0x7f000001 are hidden ways to write 127.0.0.1.
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            raise ValueError(
                "Write an IP address as four decimal numbers, for example 203.0.113.7."
            ) from None
    return host


def url_problem(url: str, *, permitted: Iterable[str]) -> str | None:
    """Explain why a URL that everyone can see cannot be called, as far as that is known."""
    if problem := reach_problem(url, permitted=permitted):
        return problem
    # Only for what an author wrote: a tool argument may be named key.
    if _SECRETIVE.search(read_url(url).path):
        return "Everyone can see the address. Put keys in a header instead: {env: NAME}."
    return None


def reach_problem(url: str, *, permitted: Iterable[str]) -> str | None:
    """Explain why a URL cannot be called, as far as that is known without looking up its name."""
    try:
        target = read_url(url)
    except ValueError as exc:
        return str(exc)
    if target.host == "localhost" or target.host.endswith(".localhost"):
        return why_refused("127.0.0.1", target, permitted=permitted)
    try:
        address = ip_address(target.host)
    except ValueError:
        return None
    return why_refused(str(address), target, permitted=permitted)


def why_refused(address: str, target: RequestTarget, *, permitted: Iterable[str]) -> str | None:
    """Explain why this address of the target may not be connected to; None if it may."""
    given = ip_address(address)
    meant = _addresses_of(given)
    kind = next(filter(None, map(_kind, meant)), None)
    if kind is None:
        return None
    is_itself = str(given) == target.host
    has_to_be_itself = not _METADATA.isdisjoint(meant)
    if is_named(target, permitted) and (is_itself or not has_to_be_itself):
        return None
    what = target.host if is_itself else f"{target.host} leads to {address}, which"
    name = address if has_to_be_itself else target.authority
    return f"{what} {kind}. It can be called only if your administrator lists {name} in EVALS_PRIVATE_HOSTS."


def is_named(target: RequestTarget, names: Iterable[str]) -> bool:
    """Return whether a target is among these, each of them `host` or `host:port`."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    its_names = {target.host, host, f"{host}:{target.port}"}
    return any(name.lower() in its_names for name in names)


def _addresses_of(address: IPv4Address | IPv6Address) -> Sequence[IPv4Address | IPv6Address]:
    """Return every address that this one leads to."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped:
        return [address.ipv4_mapped]
    if address in _NAT64:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    inner = [address.sixtofour, *(address.teredo or ())]
    return [*filter(None, inner), address]


def _kind(address: IPv4Address | IPv6Address) -> str | None:
    """Describe what is special about an address; None if it is on the public internet."""
    if address.is_unspecified or address.is_loopback:
        return "is this machine"
    if address in _METADATA:
        return "holds the credentials of this machine"
    if address.is_link_local:
        return "is in the local network"
    if address.is_multicast:
        return "is a multicast address"
    if address.is_private:
        return "is in a private network"
    if isinstance(address, IPv4Address):
        is_open = address.is_global and address not in _ASSIGNED_BY_PROTOCOL
    else:
        is_inside = any(address in network for network in _NOT_OPEN_IPV6)
        is_open = address.is_global and address in _OPEN_IPV6 and not is_inside
    if not is_open:
        return "is not on the public internet"
    return None
