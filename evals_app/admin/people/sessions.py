"""Where someone is signed in: their own page, and that for admins."""

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from evals_app.admin.kit.pages import page_context, person
from evals_app.admin.people.two_step import end_two_step
from evals_app.models.people.names import shown_name
from evals_app.models.people.sessions import end_sessions, open_sessions
from evals_app.models.people.two_step import has_two_steps


@require_http_methods(["GET", "POST"])
def own_sessions(request: HttpRequest) -> HttpResponse:
    """Show the sessions of the reader, and end one of them or all others."""
    reader, own = person(request), request.session.session_key
    if request.method == "POST":
        ended = end_sessions(reader, mark=request.POST.get("session", ""), but=own)
        if ended:
            LogEntry.objects.log_actions(
                reader.pk, [reader], CHANGE, _in_words(ended), single_object=True
            )
        messages.success(request, _in_words(ended))
        return redirect("profile_sessions")
    context = {
        **admin.site.each_context(request),
        "title": "Your sessions",
        "sessions": open_sessions(reader),
        "own": own,
    }
    return render(request, "admin/evals_app/people/sessions.html", context)


def sessions_of(request: HttpRequest, someone: User) -> HttpResponse:
    """Show where a person is signed in, and sign them out; the caller has asked for the right."""
    if request.method == "POST" and "second_step" in request.POST:
        end_two_step(request, someone)
        messages.success(request, "Their sign-in asks for no code any more.")
        return redirect(request.path)
    if request.method == "POST":
        ended = end_sessions(someone, mark=request.POST.get("session", ""))
        if ended:
            LogEntry.objects.log_actions(
                person(request).pk, [someone], CHANGE, _in_words(ended), single_object=True
            )
        messages.success(request, _in_words(ended))
        return redirect(request.path)
    context = page_context(request, User, someone) | {
        "title": f"Where {shown_name(someone)} is signed in",
        "sessions": open_sessions(someone),
        "own": request.session.session_key,
        "person": someone,
        "has_two_steps": has_two_steps(someone),
    }
    return render(request, "admin/evals_app/people/sessions.html", context)


def _in_words(number: int) -> str:
    return "1 session was ended." if number == 1 else f"{number} sessions were ended."
