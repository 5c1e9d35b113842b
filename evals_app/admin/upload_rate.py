"""What people see who upload more in an hour than the settings say."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from evals_app.throttles import Uploads, in_minutes


def refused_upload(request: HttpRequest, context: dict[str, Any]) -> HttpResponse | None:
    """Count an upload; where there were too many, answer a page that says when to try again."""
    rate = Uploads()
    if rate.allow_request(request, None):
        return None
    context |= {"title": "Too many uploads", "again": in_minutes(rate.wait() or 1)}
    page = render(request, "admin/evals_app/too_many_uploads.html", context, status=429)
    page.headers["Retry-After"] = rate.retry_after
    return page
