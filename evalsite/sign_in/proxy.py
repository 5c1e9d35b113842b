"""Signing in by a header that a proxy in front sets: only from the addresses of the operator's proxies."""

import logging
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from evals_app.models.people.two_step import PASSED
from evalsite.sign_in.admission import BACKEND, NotAdmittedError, Visitor, admit
from evalsite.sign_in.page import refusal_page
from evalsite.sign_in.variables import TrustedHeaders

log = logging.getLogger(__name__)

_BY_PROXY = "signed_in_by_proxy"  # in the session: the name that the proxy gave


class ProxySignIn:
    """Sign in whom a trusted proxy names, and out whom it no longer names."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        headers: TrustedHeaders | None = settings.PROXY_SIGN_IN
        # REST and coding agents have tokens of their own.
        if headers is None or not request.path.startswith("/admin/"):
            return self.get_response(request)
        name = _name_from(request, headers)
        had = request.session.get(_BY_PROXY)
        if had and had != name:
            logout(request)
        if name and had != name:
            try:
                _sign_in(request, name, headers)
            except NotAdmittedError as error:
                log.warning("Refused %r, whom the proxy named: %s", name, error)
                return refusal_page(request, str(error))
        return self.get_response(request)


def _name_from(request: HttpRequest, headers: TrustedHeaders) -> str:
    """Return whom the proxy names; empty from any other address."""
    with suppress(ValueError):
        # The address of the connection: nothing that a client sends can change it.
        sender = ip_address(request.META.get("REMOTE_ADDR", ""))
        sender = getattr(sender, "ipv4_mapped", None) or sender
        if any(sender in network for network in headers.proxies):
            return request.headers.get(headers.person, "").strip()
    return ""


def _sign_in(request: HttpRequest, name: str, headers: TrustedHeaders) -> None:
    if "," in name:
        # The header came twice, so someone else may have written the first part.
        raise NotAdmittedError(
            "The proxy named two people. Ask the operator to look at its settings."
        )
    groups = request.headers.get(headers.groups, "") if headers.groups else ""
    visitor = Visitor(
        username=name,
        name="",
        email=name if "@" in name else "",
        groups=tuple(group.strip() for group in groups.split(",") if group.strip()),
    )
    person = admit("proxy", name, visitor, User.objects.filter(username=name).first)
    login(request, person, backend=BACKEND)
    request.session[_BY_PROXY] = name
    request.session[PASSED] = True  # the proxy decides how many steps it asks for
