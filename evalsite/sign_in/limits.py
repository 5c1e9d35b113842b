"""Limits on failed sign-ins, and the message when one is reached.

django-axes counts failures and refuses before hashing a password, which is expensive. It has one
limit for everything that it counts; here each count has its own. No one can use them to lock out
known people: a person who has signed in from an address is not refused for failures of others
there, and a browser that someone has signed in with is refused only for its own failures.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from evals_app.requests.throttles import address_of

# Failures within settings.AXES_COOLOFF_TIME.
OF_A_NAME_AT_AN_ADDRESS = 5
IN_A_KNOWN_BROWSER = 50  # beyond the few that others may fail at the same address
AT_AN_ADDRESS = 30  # all people of an office may share one address
OF_A_NAME = 50  # from any address

KNOWN_BROWSER = "known_browser"  # the cookie with the name of who signed in last
_KEPT = timedelta(days=180)


class SignInLimits(AxesDatabaseHandler):  # type: ignore[misc]  # ships no types
    """Refuses only those who fail too often."""

    def get_failures(
        self, request: HttpRequest, credentials: dict[str, object] | None = None
    ) -> int:
        """Return 1 if a limit is reached, else 0: settings.AXES_FAILURE_LIMIT is 1."""
        noted: Any = request
        noted.sign_in_again_at = self._again_at(request, credentials)
        return int(noted.sign_in_again_at is not None)

    def _again_at(
        self, request: HttpRequest, credentials: dict[str, Any] | None
    ) -> datetime | None:
        # In the order of settings.AXES_LOCKOUT_PARAMETERS.
        both, address, name = self.get_user_attempts(request, credentials)
        username = (credentials or {}).get("username")
        if _is_known_browser(request, username):
            return _end(both, IN_A_KNOWN_BROWSER)
        ends = [_end(address, AT_AN_ADDRESS), _end(name, OF_A_NAME)]
        if any(ends) and _is_known_address(request, username):
            ends = []
        return max(
            (end for end in [*ends, _end(both, OF_A_NAME_AT_AN_ADDRESS)] if end), default=None
        )

    def user_logged_in(
        self, sender: object, request: HttpRequest, user: Any, **kwargs: object
    ) -> None:
        super().user_logged_in(sender, request, user, **kwargs)
        noted: Any = request
        noted.signed_in_as = user.get_username()

    def reset_user_attempts(
        self, request: HttpRequest, credentials: Mapping[str, object] | None = None
    ) -> int:
        """Forget the failures of this person at this address, but not those of others.

        Otherwise anyone with an account could guess forever by signing in now and then.
        """
        both, *_ = self.filter_user_attempts(request, credentials)
        count, _ = both.delete()
        return count


def _is_known_browser(request: HttpRequest, username: str | None) -> bool:
    known = request.get_signed_cookie(
        KNOWN_BROWSER, default=None, salt=KNOWN_BROWSER, max_age=_KEPT
    )
    return known is not None and known == _in_a_cookie(username or "")


def _in_a_cookie(username: str) -> str:
    """Encode a name in ASCII: headers do not allow all characters of names."""
    return quote(username, safe="@.+-_")


def _is_known_address(request: Any, username: str | None) -> bool:
    signed_in = AccessLog.objects.filter(username=username, ip_address=request.axes_ip_address)
    return signed_in.exists()


class BrowserCookie:
    """Give a browser a cookie after sign-in, to recognize it the next time."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        response = self.get_response(request)
        if name := getattr(request, "signed_in_as", None):
            response.set_signed_cookie(
                KNOWN_BROWSER,
                _in_a_cookie(name),
                salt=KNOWN_BROWSER,
                max_age=_KEPT,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response


def _end(attempts: QuerySet[Any], limit: int) -> datetime | None:
    """Return when there will be fewer failures than the limit; None if there are already."""
    failures = 0
    newest_first = attempts.order_by("-attempt_time")
    for at, count in newest_first.values_list("attempt_time", "failures_since_start")[:limit]:
        failures += count
        if failures >= limit:
            end: datetime = at + settings.AXES_COOLOFF_TIME
            return end
    return None


def loggable_name(name: str | None, address: str | None, *_: object) -> str:
    """Return the name for the log, always on one line."""
    return f"{name!r} from {address}"


def address_wait_s(request: Any) -> float | None:
    """Return how long no one may begin to sign in at an address; None if anyone may."""
    since = timezone.now() - settings.AXES_COOLOFF_TIME
    failed = AccessAttempt.objects.filter(ip_address=address_of(request), attempt_time__gte=since)
    request.sign_in_again_at = _end(failed, AT_AN_ADDRESS)
    return wait_s(request)


def wait_s(request: object) -> float | None:
    """Return how long signing in is refused; None if it is not."""
    end: datetime | None = getattr(request, "sign_in_again_at", None)
    return None if end is None else max(1.0, (end - timezone.now()).total_seconds())


def refuse_sign_in(request: HttpRequest, page: HttpResponse, _credentials: object) -> HttpResponse:
    """Answer with the form and the reason, and with a status that programs understand."""
    page.status_code = 429
    page.headers["Retry-After"] = str(math.ceil(wait_s(request) or 1))
    return page
