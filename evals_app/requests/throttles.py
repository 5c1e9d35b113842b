"""How often something may be done, on pages and over REST: for people, tokens and addresses without either.

Each process of the web server counts for itself, in its memory: a count in the database would make
every read a write. A limit keeps one caller from blocking the site for others; it is not a quota.
"""

import math
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from threading import Lock
from typing import Any

from django.core.cache import caches
from django.http import HttpRequest
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle, SimpleRateThrottle

from evals_app.requests.auth import token_of

_HOME = 64  # bits of an IPv6 address that a machine cannot choose
_LOCK = Lock()


class RateLimit(SimpleRateThrottle):
    """Limits to the rate in the settings under its `scope`; None there means no limit."""

    cache = caches["throttles"]
    scope: str

    def get_rate(self) -> Any:
        return api_settings.DEFAULT_THROTTLE_RATES[self.scope]

    def allow_request(self, request: Any, view: Any) -> bool:
        with _LOCK:  # it reads, and then writes
            return super().allow_request(request, view)

    @property
    def retry_after(self) -> str:
        """Return the seconds for the header Retry-After."""
        return str(math.ceil(self.wait() or 1))

    @property
    def headers(self) -> dict[str, str]:
        """Return how many requests are left, once one was counted; empty if there is no limit.

        The names are those of draft-ietf-httpapi-ratelimit-headers-03; times are in seconds.
        """
        state: dict[str, Any] = vars(self)  # REST framework sets it while it counts
        if "history" not in state:
            return {}
        counted, most, period = state["history"], state["num_requests"], state["duration"]
        ends = math.ceil(period - (state["now"] - counted[-1])) if counted else period
        return {
            "RateLimit-Limit": str(most),
            "RateLimit-Remaining": str(max(0, most - len(counted))),
            "RateLimit-Reset": str(ends),
        }

    def counted_as(self, ident: object) -> str:
        """Name what is counted."""
        return self.cache_format % {"scope": self.scope, "ident": ident}


class RateOfPerson(RateLimit):
    """Requests of one person, with any token and on any page."""

    def get_cache_key(self, request: HttpRequest, view: object) -> str | None:
        return self.counted_as(request.user.pk) if request.user.is_authenticated else None


class Uploads(RateOfPerson):
    """Uploads of a person."""

    scope = "uploads"


class CheckTrials(RateOfPerson):
    """Checks that a person tries in the editor: each is graded in the web server."""

    scope = "check_trials"


class SpansSent(RateOfPerson):
    """Requests with spans: many agents may use one person's tokens at the same time."""

    scope = "spans"


class ConnectedPolls(RateOfPerson):
    """Requests of a person's connected computers."""

    scope = "connected"


class AgentTests(RateOfPerson):
    """Requests to agents that are not saved yet: of a person, or of who has a developer's link."""

    scope = "agent_tests"

    def __init__(self, link: int | None = None) -> None:
        super().__init__()
        self._link = link

    def get_cache_key(self, request: HttpRequest, view: object) -> str | None:
        if self._link is None:
            return super().get_cache_key(request, view)
        return self.counted_as(f"link-{self._link}")


class PasswordMails(RateLimit):
    """Requests from an address for a link to set a password."""

    scope = "password_mails"

    def get_cache_key(self, request: Any, view: object) -> str | None:
        return self.counted_as(address_of(request))


def in_minutes(seconds: float) -> str:
    """Return how long to wait: "in 3 minutes"."""
    minutes = max(1, math.ceil(seconds / 60))
    return "in 1 minute" if minutes == 1 else f"in {minutes} minutes"


def address_of(request: Any) -> str | None:
    """Return the address that a request came from; None if it cannot be read.

    Of `X-Forwarded-For` only the entries of the operator's own proxies are trusted: as many from the
    end as there are proxies. An IPv6 address counts as its network, because a client usually has
    all of its addresses.
    """
    with suppress(ValueError, TypeError):
        return str(_home(ip_address(BaseThrottle().get_ident(request))))
    return None


def _home(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(address, IPv4Address):
        return address
    network = IPv6Network((address.packed, _HOME), strict=False)
    return address.ipv4_mapped or network.network_address


class Callers(RateLimit):
    """Requests of a token, or of a signed-in person."""

    scope = "callers"

    def get_cache_key(self, request: HttpRequest, view: object) -> str | None:
        if not request.user.is_authenticated:
            return None
        token = token_of(request)
        return self.counted_as(f"token-{token.pk}" if token else f"person-{request.user.pk}")


class Strangers(RateLimit):
    """Requests from an address without a token, or with a wrong one.

    Valid tokens are not limited by wrong ones that come from the same address.
    """

    scope = "strangers"

    def get_cache_key(self, request: HttpRequest, view: object) -> str | None:
        return None if request.user.is_authenticated else self.counted_as(address_of(request))
