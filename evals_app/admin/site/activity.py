"""Who did what: the list for administrators, and the same as CSV."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.views.decorators.http import require_GET
from unfold.decorators import display

from evals_app.admin.kit.cells import two_lines
from evals_app.admin.kit.paging import InfinitePaginator
from evals_app.admin.kit.permissions import ReadOnly
from evals_app.models import Activity
from evals_app.runs.reporting import encode, write_csv
from fixtures_app.editing.times import moment

COLUMNS = ("at", "person", "kind", "from", "token", "type", "number", "object", "text")
_DAYS = {"1": "Last 24 hours", "7": "Last 7 days", "30": "Last 30 days", "365": "Last year"}


class PersonFilter(admin.SimpleListFilter):
    """Acts of one person, by the username of then."""

    title = parameter_name = "person"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        names = list(User.objects.order_by("username").values_list("username", flat=True))
        chosen = request.GET.get(self.parameter_name, "")
        known = [*names, chosen] if chosen and chosen not in names else names
        return [(name, name) for name in known]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(by_name=self.value()) if self.value() else queryset


class ObjectTypeFilter(admin.SimpleListFilter):
    """Acts with one type of object."""

    title = "type of object"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        names = {
            key: capfirst(str(model._meta.verbose_name))  # noqa: SLF001 - documented
            for key, model in _types().items()
        }
        return sorted(names.items(), key=lambda item: item[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(object_type=self.value()) if self.value() else queryset


class DaysFilter(admin.SimpleListFilter):
    """Acts of the last days."""

    title = parameter_name = "days"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        return _DAYS.items()

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in _DAYS:
            return queryset
        since = timezone.now() - timedelta(days=int(self.value() or 1))
        return queryset.filter(Activity.objects.since(since))


@admin.register(Activity)
class ActivityAdmin(ReadOnly):
    """Acts: written by the site, read here."""

    list_display = ("what", "who", "origin_shown", "when")
    list_display_links = None
    list_filter = (DaysFilter, PersonFilter, "kind", ObjectTypeFilter, "origin")
    search_fields = ("object_name",)
    search_help_text = "The whole name of an object, or its number"
    paginator = InfinitePaginator
    list_before_template = "admin/evals_app/site/activity/csv.html"
    when_empty = "Everything that people change, start, decide and download is listed here."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Activity], search_term: str
    ) -> tuple[QuerySet[Activity], bool]:
        """Search for a whole name or a number: parts of names have no index."""
        words = search_term.strip()
        return (queryset & Activity.objects.about(words) if words else queryset), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {"title": "Activity", **(extra_context or {})})

    @display(description="What")
    def what(self, act: Activity) -> SafeString:
        return two_lines(_object_link(act) or act.text, act.text if act.object_name else "")

    @display(description="Who")
    def who(self, act: Activity) -> str:
        return act.by_name

    @display(description="From")
    def origin_shown(self, act: Activity) -> SafeString:
        return two_lines(act.get_origin_display(), act.token and f"Token {act.token}")

    @display(description="When")
    def when(self, act: Activity) -> SafeString | str:
        return moment(act.at)


@require_GET
def download_activity(request: HttpRequest) -> StreamingHttpResponse:
    """Send what the list shows, with its filters, as CSV."""
    page: Any = admin.site.get_model_admin(Activity)
    if not page.has_view_permission(request):
        raise PermissionDenied
    acts = page.get_changelist_instance(request).get_queryset(request)
    headers = {"Content-Disposition": 'attachment; filename="activity.csv"'}
    content = encode(write_csv(_rows(acts)))
    return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def _rows(acts: QuerySet[Activity]) -> Iterator[Sequence[str]]:
    yield COLUMNS
    for act in acts.iterator(chunk_size=1000):
        about = (act.object_type, act.object_id, act.object_name)
        yield (act.at.isoformat(), act.by_name, act.kind, act.origin, act.token, *about, act.text)


@cache
def _types() -> dict[str, type[Model]]:
    """Return the types of objects that have a page, by their key."""
    models = (model for model in apps.get_models() if admin.site.is_registered(model))
    return {str(model._meta.model_name): model for model in models if model is not Activity}  # noqa: SLF001 - documented


def _object_link(act: Activity) -> SafeString | str:
    model = _types().get(act.object_type)
    if model is None or act.kind == Activity.Kind.DELETED:
        return act.object_name
    page = f"admin:{model._meta.app_label}_{act.object_type}_change"  # noqa: SLF001 - documented
    url = reverse(page, args=[act.object_id])
    return format_html('<a class="ew-plain-link" href="{}">{}</a>', url, act.object_name)
