"""Environment variables about signing in; an error says which one is missing or wrong."""

import json
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from evalsite import environment

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYBODY = "*"  # in place of a group


class IdentityProvider(NamedTuple):
    """The server of the company that says who someone is, by OpenID Connect."""

    issuer: str
    client_id: str
    client_secret: str
    name: str  # on the button
    scopes: str
    groups: str  # the claim that has a person's groups


class TrustedHeaders(NamedTuple):
    """The headers in which a proxy says who someone is, and the proxies that may."""

    person: str
    groups: str
    proxies: tuple[IPv4Network | IPv6Network, ...]


def identity_provider(prefix: str) -> IdentityProvider | None:
    """Return the identity provider; None if no variable names one."""
    found = IdentityProvider(
        environment.text(f"{prefix}_ISSUER", "").rstrip("/"),
        environment.text(f"{prefix}_CLIENT_ID", ""),
        environment.text(f"{prefix}_CLIENT_SECRET", ""),
        environment.text(f"{prefix}_NAME", "your company"),
        environment.text(f"{prefix}_SCOPES", "openid profile email"),
        environment.text(f"{prefix}_GROUPS_CLAIM", "groups"),
    )
    needed = {
        "ISSUER": "the address of your identity provider, such as https://login.example.org",
        "CLIENT_ID": "the id that your identity provider has given to this site",
        "CLIENT_SECRET": "the secret that your identity provider has given to this site",
    }
    given = [name for name in needed if getattr(found, name.lower())]
    if not given:
        return None
    for name, what in needed.items():
        if name not in given:
            raise ImproperlyConfigured(
                f"{prefix}_{given[0]} is set, but {prefix}_{name} is not. Set it to {what}."
            )
    _refuse_issuer(f"{prefix}_ISSUER", found.issuer)
    if "openid" not in found.scopes.split():
        raise ImproperlyConfigured(f"{prefix}_SCOPES must contain openid: openid profile email.")
    return found


def _refuse_issuer(name: str, issuer: str) -> None:
    parts = urlsplit(issuer)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname:
        raise ImproperlyConfigured(
            f"{name} is {issuer!r}; expected an address that begins with https://, because it"
            " decides who may sign in."
        )
    if "/.well-known/" in issuer:
        raise ImproperlyConfigured(
            f"{name} is {issuer!r}; leave out /.well-known/ and what follows: Evalwell adds it."
        )


def trusted_headers(prefix: str) -> TrustedHeaders | None:
    """Return the headers that a proxy signs people in with; None if no variable names one."""
    person = environment.text(f"{prefix}_USER_HEADER", "")
    groups = environment.text(f"{prefix}_GROUPS_HEADER", "")
    proxies = _networks(f"{prefix}_ADDRESSES")
    if person and not proxies:
        raise ImproperlyConfigured(
            f"{prefix}_USER_HEADER is set, but {prefix}_ADDRESSES is not. Set it to the addresses"
            " of your proxies, such as 127.0.0.1: from any other address the header is ignored."
        )
    if not person and (groups or proxies):
        other = "GROUPS_HEADER" if groups else "ADDRESSES"
        raise ImproperlyConfigured(
            f"{prefix}_{other} is set, but {prefix}_USER_HEADER is not. Set it to the header in"
            " which your proxy says who someone is, such as X-Forwarded-User."
        )
    return TrustedHeaders(person, groups, proxies) if person else None


def _networks(name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    found = []
    for item in environment.names(name):
        try:
            found.append(ip_network(item))
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} has {item!r}; expected IP addresses or networks, separated by commas, such"
                " as 10.0.0.5 or 10.0.0.0/24."
            ) from error
    return tuple(found)


def roles_of_groups(name: str) -> dict[str, tuple[str, ...]]:
    """Return the roles of each group, written as a JSON object: a role, or a list of roles."""
    try:
        written = json.loads(environment.text(name, "{}"))
        pairs = [
            (group, (roles,) if isinstance(roles, str) else tuple(roles))
            for group, roles in written.items()
        ]
    except (ValueError, AttributeError, TypeError):
        pairs = [("", (None,))]
    if not all(roles and all(isinstance(role, str) for role in roles) for _, roles in pairs):
        raise ImproperlyConfigured(
            f"{name} is not a JSON object of groups and their roles; expected for example"
            ' {"evalwell-admins": "Admin", "qa": ["Author", "Runner"], "*": "Viewer"}.'
        )
    return dict(pairs)
