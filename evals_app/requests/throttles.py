"""Rate limits of REST: for tokens, for people, and for addresses without either."""

from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, NoReturn

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from evals_app.requests.auth import token_of
from evals_app.throttles import Rate

_HOME = 64  # bits of an IPv6 address that a machine cannot choose


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


class Callers(Rate):
    """Requests of a token, or of a signed-in person."""

    scope = "callers"

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        if not request.user.is_authenticated:
            return None
        token = token_of(request)
        return self.counted_as(f"token-{token.pk}" if token else f"person-{request.user.pk}")


class Strangers(Rate):
    """Requests from an address without a token, or with a wrong one.

    Valid tokens are not limited by wrong ones that come from the same address.
    """

    scope = "strangers"

    def get_cache_key(self, request: Any, view: Any) -> str | None:
        return None if request.user.is_authenticated else self.counted_as(address_of(request))


class TooOften(Throttled):
    """More requests than the limit."""

    default_detail = "Too many requests."
    extra_detail_singular = "Try again in {wait} second."
    extra_detail_plural = "Try again in {wait} seconds."


class Counted(APIView):
    """A view whose requests are counted before they are read, including refused ones."""

    throttle_classes: Sequence[type[Rate]] = (Callers, Strangers)

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        finally:
            # Reported instead of a wrong token, which leaves the request without a user.
            super().check_throttles(request)

    def check_throttles(self, request: Request) -> None:
        """Do nothing: REST framework would count again after checking permissions."""

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        raise TooOften(wait)
