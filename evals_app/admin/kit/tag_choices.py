"""Suggestions of tags for text fields: those of cases and suites."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.urls import reverse_lazy

from evals_app.models import Case, Suite

# Asked when a person goes to the field: a page itself need not read the tags of all cases.
OFFERS_TAGS: dict[str, Any] = {
    "data-tags": reverse_lazy("admin:evals_app_tags"),
    "autocomplete": "off",
}
_READING = ("evals_app.view_case", "evals_app.view_suite")


def known_tags(rows: QuerySet[Case] | QuerySet[Suite]) -> list[str]:
    """Return all tags of cases or suites, by name."""
    lists = rows.exclude(tags=[]).order_by().values_list("tags", flat=True).distinct()
    return sorted({tag for tags in lists for tag in tags}, key=str.casefold)


def offer_tags(request: HttpRequest) -> JsonResponse:
    """Return the tags of all cases and suites: those of a suite apply to its cases too."""
    if not request.user.has_perms(_READING):
        raise PermissionDenied
    tags = {*known_tags(Case.objects.all()), *known_tags(Suite.objects.all())}
    return JsonResponse({"tags": sorted(tags, key=str.casefold)})
