"""A view that counts its requests. Apart from the limits: it loads REST framework, which commands do not need."""

from collections.abc import Sequence
from typing import NoReturn

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.views import APIView

from evals_app.requests.throttles import Callers, RateLimit, Strangers


class TooManyRequests(Throttled):
    """More requests than the limit."""

    default_detail = "Too many requests."
    extra_detail_singular = "Try again in {wait} second."
    extra_detail_plural = "Try again in {wait} seconds."


class ThrottledView(APIView):
    """A view whose requests are counted before they are read, including refused ones."""

    throttle_classes: Sequence[type[RateLimit]] = (Callers, Strangers)

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        finally:
            # Reported instead of a wrong token, which leaves the request without a user.
            super().check_throttles(request)

    def check_throttles(self, request: Request) -> None:
        """Do nothing: REST framework would count again after checking permissions."""

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        raise TooManyRequests(wait)
