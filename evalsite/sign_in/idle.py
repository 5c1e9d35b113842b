"""Sessions end when their person does nothing for long, and some time after they signed in."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse

from evals_app.requests.throttles import address_of


class IdleSessions:
    """End a session that was idle or open for too long; note that any other is used."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        session: Any = request.session
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in session:
            if ended_after := session.ended_after:
                logout(request)
                _explain(request, ended_after)
            elif not _asks_by_itself(request):
                session.note_use()
        return self.get_response(request)


def _asks_by_itself(request: HttpRequest) -> bool:
    """Whether an open page may have asked, without its person: those that show a run do."""
    return request.method == "GET" and "HX-Request" in request.headers


def _explain(request: HttpRequest, ended_after: timedelta) -> None:
    if request.path.startswith("/admin/") and "HX-Request" not in request.headers:
        messages.info(request, f"You were signed out, because {in_words(ended_after)} passed.")


def in_words(duration: timedelta) -> str:
    """Return a duration: "12 hours", "90 minutes"."""
    minutes = round(duration.total_seconds() / 60)
    number, unit = (minutes // 60, "hour") if minutes % 60 == 0 else (minutes, "minute")
    return f"1 {unit}" if number == 1 else f"{number} {unit}s"


@receiver(user_logged_in)
def note_sign_in(request: HttpRequest, **_: object) -> None:
    """Write down when, from where and with which browser someone signed in."""
    session: Any = request.session
    browser = request.META.get("HTTP_USER_AGENT", "")
    session.note_sign_in(address=address_of(request), browser=browser)
