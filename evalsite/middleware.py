"""Headers of every response, and probes that anyone may call."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from evalsite.health import healthz, readyz

# Alpine, which Unfold is built on, compiles the expressions in its attributes and so needs
# 'unsafe-eval'; a template must never put text of an agent or a user into one.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; "
    "script-src 'self' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; "
    "object-src 'none'; "
    "base-uri 'none'; "
    "form-action 'self'; "
    "frame-ancestors 'none'"
)


class ContentSecurityPolicy:
    """Let pages load from this site only, and send data only to it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request; a policy that a view sets itself is kept."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response


class Probes:
    """Answer the probes before the Host is checked: load balancers call by IP address."""

    _views = {"/healthz": healthz, "/readyz": readyz}

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        return self._views.get(request.path_info, self.get_response)(request)
