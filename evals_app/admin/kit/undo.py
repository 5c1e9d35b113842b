"""A message that says what was done, with a button that undoes it."""

from collections.abc import Iterable

from django.contrib import messages
from django.http import HttpRequest
from django.template.loader import render_to_string


def offer_undo(
    request: HttpRequest, done: str, *, url: str, posted: Iterable[tuple[str, object]] = ()
) -> None:
    """Show what was done, with a button that undoes it by sending `posted` to an address."""
    context = {"done": done, "url": url, "posted": list(posted)}
    message = render_to_string("admin/evals_app/kit/undo.html", context, request)
    messages.success(request, message)
