"""The second step of signing in with a password: a code, for people who turned that on."""

import time
from collections.abc import Callable
from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from evals_app.admin.people.two_step import CodeField
from evals_app.models.people.two_step import PASSED, has_two_steps, is_right
from evals_app.requests.problems import MEDIA_TYPE, problem_body
from evals_app.requests.throttles import in_minutes
from evalsite.sign_in.admission import BACKEND
from evalsite.sign_in.limits import wait_s

_WAITS = "second_step"  # in the session of a browser whose password was right
_WITHIN_S = 600


class SecondStepFirst:
    """Where the operator requires a second step: show people who have none the page to set it up, and no other.

    It asks the database until the session is known to need no code.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        return _send_to_set_up(request) or self.get_response(request)


def _send_to_set_up(request: HttpRequest) -> HttpResponse | None:
    if not settings.TWO_STEPS_REQUIRED or PASSED in request.session:
        return None
    reader = request.user
    if not isinstance(reader, User):
        return None
    if has_two_steps(reader) or not reader.has_usable_password():
        request.session[PASSED] = True
        return None
    set_up = reverse("profile_two_step")
    if request.path in (set_up, reverse("admin:logout")):
        return None
    if request.path.startswith("/admin/"):
        messages.info(request, "This site asks for a second step. Set it up to go on.")
        return redirect(set_up)
    body = problem_body(403, f"Set up the second step of signing in first: {set_up}")
    return JsonResponse(body, status=403, content_type=MEDIA_TYPE)


class CodeForm(forms.Form):
    """The code alone."""

    code = CodeField()


def ask_for_code(request: HttpRequest, someone: User, *, wanted: str) -> HttpResponse:
    """Remember whose password was right, and ask for the code."""
    request.session.flush()  # nothing of another person goes on
    request.session[_WAITS] = {
        "person": someone.pk,
        "hash": someone.get_session_auth_hash(),
        "at": time.time(),
        "next": wanted,
    }
    return redirect("second_step")


@require_http_methods(["GET", "POST"])
@never_cache
def second_step(request: HttpRequest) -> HttpResponse:
    """Sign in whose code is right."""
    waits = request.session.get(_WAITS)
    someone = _whose(waits)
    if waits is None or someone is None:
        return redirect("admin:login")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and _is_right(request, someone, form):
        del request.session[_WAITS]
        login(request, someone, backend=BACKEND)
        request.session[PASSED] = True
        return redirect(waits["next"])
    context = {
        **admin.site.each_context(request),
        "title": "Sign in: second step",
        "form": form,
        "person": someone,
    }
    return render(request, "admin/evals_app/people/second_step.html", context)


def _whose(waits: dict[str, Any] | None) -> User | None:
    """Return whose password was right a moment ago, and is still the same."""
    if waits is None or time.time() - waits["at"] > _WITHIN_S:
        return None
    someone = User.objects.filter(pk=waits["person"], is_active=True, is_staff=True).first()
    return someone if someone and someone.get_session_auth_hash() == waits["hash"] else None


def _is_right(request: Any, someone: User, form: CodeForm) -> bool:
    """Whether the code is right; failures count as those of the password do."""
    credentials = {"username": someone.get_username()}
    if not AxesProxyHandler.is_allowed(request, credentials):
        request.axes_locked_out = True
    elif is_right(someone, form.cleaned_data["code"]):
        return True
    user_login_failed.send(__name__, credentials=credentials, request=request)
    seconds = wait_s(request) if request.axes_locked_out else None
    form.add_error(
        "code",
        "This code is not right, or it was used before."
        if seconds is None
        else f"Too many failed attempts to sign in. Try again {in_minutes(seconds)}.",
    )
    return False
