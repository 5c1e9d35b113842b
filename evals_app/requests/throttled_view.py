"""A view that counts its requests. Apart from the limits: it loads REST framework, which commands do not need."""

from collections.abc import Sequence
from typing import Any, NoReturn

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
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
    _counting: Sequence[RateLimit] = ()

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        finally:
            # Reported instead of a wrong token, which leaves the request without a user.
            super().check_throttles(request)

    def get_throttles(self) -> list[BaseThrottle]:
        self._counting = [throttle() for throttle in self.throttle_classes]
        return [*self._counting]

    def finalize_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(*args, **kwargs)
        for throttle in self._counting:
            for name, value in throttle.headers.items():
                response.headers[name] = value
        return response

    def check_throttles(self, request: Request) -> None:
        """Do nothing: REST framework would count again after checking permissions."""

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        raise TooManyRequests(wait)
