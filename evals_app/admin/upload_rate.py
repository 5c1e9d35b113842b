"""The page that refuses more uploads in an hour than the settings allow."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from evals_app.throttles import Uploads, in_minutes


def refused_upload(request: HttpRequest, context: dict[str, Any]) -> HttpResponse | None:
    """Count an upload; if there were too many, return a page with the time to try again."""
    rate = Uploads()
    if rate.allow_request(request, None):
        return None
    context |= {"title": "Too many uploads", "again": in_minutes(rate.wait() or 1)}
    page = render(request, "admin/evals_app/too_many_uploads.html", context, status=429)
    page.headers["Retry-After"] = rate.retry_after
    return page
