"""Signing in through the company's identity provider: OpenID Connect, by Authlib.

Authlib keeps state, nonce and the PKCE secret in the session of the browser, and compares what comes
back with them; it checks signature, issuer, audience and age of the identity token.
"""

import logging
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evals_app.models.people.company_accounts import is_connect_token
from evals_app.models.people.two_step import PASSED
from evals_app.requests.throttles import in_minutes
from evalsite.sign_in.admission import BACKEND, NotAdmittedError, Visitor, admit
from evalsite.sign_in.limits import address_wait_s
from evalsite.sign_in.page import refusal_page
from evalsite.sign_in.variables import IdentityProvider

log = logging.getLogger(__name__)

_NEXT = "company_next"  # in the session: the page that was asked for
_TIMEOUT_S = 10
_CONNECT = "company_connect"  # in the session: the person who connects their account
_ADMIN = " If that does not help, ask an administrator: the log has the reason."
_LEEWAY_S = 60  # between their clock and ours


def _provider() -> IdentityProvider:
    if settings.IDENTITY_PROVIDER is None:
        raise Http404
    found: IdentityProvider = settings.IDENTITY_PROVIDER
    return found


@cache
def client_of(provider: IdentityProvider) -> Any:
    """Return what talks with the identity provider; it keeps its addresses and keys."""
    # Not at the top: only sites with an identity provider need it, and only once someone signs in.
    from authlib.integrations.django_client import OAuth  # noqa: PLC0415

    return OAuth().register(
        "company",
        client_id=provider.client_id,
        client_secret=provider.client_secret,
        server_metadata_url=f"{provider.issuer}/.well-known/openid-configuration",
        client_kwargs={
            "scope": provider.scopes,
            "code_challenge_method": "S256",
            "default_timeout": _TIMEOUT_S,
        },
    )


@require_safe
@never_cache
def company_start(request: HttpRequest) -> HttpResponse:
    """Send the browser to the identity provider."""
    provider = _provider()
    if (seconds := address_wait_s(request)) is not None:
        message = f"Too many failed attempts to sign in. Try again {in_minutes(seconds)}."
        return refusal_page(request, message, status=429)
    wanted = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()})
    request.session[_NEXT] = wanted if is_ours else reverse("admin:index")
    connects = is_connect_token(request.GET.get("connect", ""), request.session.session_key)
    request.session[_CONNECT] = connects and request.user.pk
    back = request.build_absolute_uri(reverse("company_back"))
    try:
        answer: HttpResponse = client_of(provider).authorize_redirect(request, back)
    except Exception as error:  # noqa: BLE001 - whatever their server answers is not our error
        return _not_understood(request, provider, error)
    return answer


@require_safe
@never_cache
def company_back(request: HttpRequest) -> HttpResponse:
    """Sign in whom the identity provider sends back, or say why not."""
    provider = _provider()
    wanted = request.session.get(_NEXT, reverse("admin:index"))
    try:
        claims = _claims(request, provider)
        person = _person(request, provider, claims)
    except NotAdmittedError as error:
        log.warning("Refused a sign-in through %s: %s", provider.issuer, error)
        return refusal_page(request, str(error))
    except Exception as error:  # noqa: BLE001 - whatever their server answers is not our error
        return _not_understood(request, provider, error)
    login(request, person, backend=BACKEND)
    request.session[PASSED] = True  # the provider decides how many steps it asks for
    return redirect(wanted)


def _claims(request: HttpRequest, provider: IdentityProvider) -> dict[str, Any]:
    """Return what the identity provider says of someone, after all of it was checked."""
    client = client_of(provider)
    options = {"iss": {"values": [provider.issuer, f"{provider.issuer}/"]}}
    options["aud"] = {"values": [provider.client_id]}
    token = client.authorize_access_token(request, claims_options=options, leeway=_LEEWAY_S)
    claims: dict[str, Any] = dict(token["userinfo"])
    if "userinfo_endpoint" in client.load_server_metadata():
        more = dict(client.userinfo(token=token))
        if more.get("sub") != claims["sub"]:
            raise ValueError("The user info is about someone else.")
        claims = more | claims
    return claims


def _person(request: HttpRequest, provider: IdentityProvider, claims: Mapping[str, Any]) -> User:
    visitor = Visitor(
        username=_text(claims, "preferred_username").partition("@")[0],
        name=_text(claims, "name"),
        email=_text(claims, "email"),
        groups=_groups(claims, provider.groups),
    )
    wanted: int | None = request.session.pop(_CONNECT, None) or None
    connected = User.objects.get(pk=wanted) if wanted and wanted == request.user.pk else None
    known = partial(_invited_person, claims) if connected is None else lambda: connected
    person = admit(provider.issuer, str(claims["sub"]), visitor, known)
    if connected not in {None, person}:
        raise NotAdmittedError(
            f"Your account at {provider.name} already belongs to someone else on this site:"
            f" {person.get_username()}. Ask an administrator."
        )
    return person


def _invited_person(claims: Mapping[str, Any]) -> User | None:
    """Return who was invited with this e-mail and has never signed in.

    No one else: people choose the e-mail of their account themselves, so it does not prove that an
    account in use is theirs.
    """
    email = _text(claims, "email")
    if not email or claims.get("email_verified") is not True:
        return None
    waiting = User.objects.filter(email__iexact=email, last_login=None, company_accounts=None)
    invited = [person for person in waiting if not person.has_usable_password()]
    return invited[0] if len(invited) == 1 else None


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""


def _groups(claims: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the groups of a claim, which may be inside others: realm_access.roles."""
    value: Any = claims.get(name)
    if value is None:
        value = claims
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list) else ()


def _not_understood(
    request: HttpRequest, provider: IdentityProvider, error: Exception
) -> HttpResponse:
    """Say in a sentence why an answer of the identity provider signs no one in."""
    # Neither claims nor tokens: errors of both libraries name what is wrong, without its value.
    log.warning(
        "Signing in through %s failed: %s: %s", provider.issuer, type(error).__name__, error
    )
    sentence, status = _sentence(provider.name, error)
    if status == 403:  # noqa: PLR2004 - what was sent was made up
        user_login_failed.send(__name__, credentials={"username": None}, request=request)
    return refusal_page(request, sentence, status=status)


def _sentence(name: str, error: Exception) -> tuple[str, int]:
    from authlib.integrations.base_client import (  # noqa: PLC0415 - see client_of
        MismatchingStateError,
        OAuthError,
    )
    from joserfc.errors import JoseError  # noqa: PLC0415
    from requests import RequestException  # noqa: PLC0415

    if isinstance(error, MismatchingStateError):
        sentence = "This sign-in did not begin in this browser, or it took too long. Begin again."
        return sentence, 400
    if isinstance(error, OAuthError) and error.error == "access_denied":
        return f"You did not sign in at {name}. Begin again.", 400
    if isinstance(error, OAuthError):
        return f"The server of {name} did not accept this sign-in. Begin again.{_ADMIN}", 403
    if isinstance(error, JoseError):
        sentence = (
            f"What came back cannot be trusted: it is not what the server of {name} signed for this"
            " sign-in. You are not signed in. Begin again."
        )
        return sentence + _ADMIN, 403
    if isinstance(error, RequestException):
        return f"The server of {name} does not answer. Try again in a few minutes.", 503
    return f"Evalwell cannot read what the server of {name} sent.{_ADMIN}", 502
