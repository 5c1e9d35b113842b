"""Give each request an id: in its answer, in problems of REST and, as `request_id`, in log lines."""

import re
from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse

from evals_app.requests.request_ids import request_id

__all__ = ["HEADER", "RequestId", "request_id"]

HEADER = "X-Request-ID"
# Anything else could forge log lines, or fill them.
_VALID_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")


class RequestId:
    """Use the id that the client or a proxy sent, if valid, or make one; and return it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        given = request.headers.get(HEADER, "")
        name = given if _VALID_ID.fullmatch(given) else uuid4().hex
        request_id.set(name)
        response = self.get_response(request)
        response.headers[HEADER] = name
        return response
