"""How often REST may be asked: by a token, by a person, and by an address that shows neither."""

from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, NoReturn

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from evals_app.api.auth import token_of
from evals_app.throttles import Rate

_HOME = 64  # bits of an IPv6 address that a machine cannot choose at will


def address_of(request: Any) -> str | None:  # noqa: ANN401 - of Django or of REST framework
    """Give the address that a request came from; None where it cannot be read.

    Of `X-Forwarded-For` only what the operator's own proxies wrote is believed: as many entries from
    the end as there are proxies. An IPv6 address stands for its network, of which whoever has one
    address usually has all.
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
    """Requests of a token, or of a person who is signed in."""

    scope = "callers"

    def get_cache_key(self, request: Any, view: Any) -> str | None:  # noqa: ANN401 - Django's or ours
        if not request.user.is_authenticated:
            return None
        token = token_of(request)
        return self.counted_as(f"token-{token.pk}" if token else f"person-{request.user.pk}")


class Strangers(Rate):
    """Requests from an address without a token, or with a wrong one.

    Whoever has a right token is not held up by others who send wrong ones from the same address.
    """

    scope = "strangers"

    def get_cache_key(self, request: Any, view: Any) -> str | None:  # noqa: ANN401 - see above
        return None if request.user.is_authenticated else self.counted_as(address_of(request))


class TooOften(Throttled):
    """More requests than the limit."""

    default_detail = "Too many requests."
    extra_detail_singular = "Try again in {wait} second."
    extra_detail_plural = "Try again in {wait} seconds."


class Counted(APIView):
    """A view whose requests are counted before they are looked at, refused ones included."""

    throttle_classes: Sequence[type[Rate]] = (Callers, Strangers)

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        finally:
            # Told instead of a wrong token, which leaves the request without a user.
            super().check_throttles(request)

    def check_throttles(self, request: Request) -> None:
        """Do nothing: REST framework would count once more where permissions are known."""

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        raise TooOften(wait)
