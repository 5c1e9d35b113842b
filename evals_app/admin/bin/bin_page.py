"""The page of what was deleted: by whom, when, and how long it can be restored."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from evals_app.admin.bin.deleting import may_delete
from evals_app.admin.kit.pages import ask, list_url, may_view, page_context, person, viewers_of
from evals_app.admin.kit.permissions import AddedUp
from evals_app.admin.kit.presentation import plural
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.engine.basics.errors import CannotError
from evals_app.library.deleting.restoring import (
    GONE_MEANWHILE,
    RestoredObject,
    delete_for_good,
    restore_deleted,
    with_needed,
)
from evals_app.library.deleting.written import MODELS, Kind
from evals_app.models import DeletedObject
from fixtures_app.editing.rows import read_position

PER_PAGE = 50
# Kind -> icon, title of the filter.
_LOOKS = {
    Kind.CASE: ("forum", "Cases"),
    Kind.SUITE: ("checklist", "Suites"),
    Kind.AGENT: ("smart_toy", "Agents"),
    Kind.FIXTURE: ("dataset", "Test data"),
    Kind.ENTITY_TYPE: ("schema", "Entity types"),
}


@dataclass(frozen=True, slots=True)
class DeletedLine:
    """Something deleted, as the page shows it."""

    entry: DeletedObject
    icon: str
    by: str
    left: str
    is_soon: bool
    may_restore: bool


class DeletedObjects(AddedUp):
    """What was deleted; for people who may see one of its kinds."""

    def has_view_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return bool(_kinds_seen(request))


admin.site.register(DeletedObject, DeletedObjects)


@require_GET
@viewers_of(DeletedObject)
def show_deleted(request: HttpRequest) -> HttpResponse:
    """List what was deleted, the newest first."""
    kinds = _kinds_seen(request)
    seen = DeletedObject.objects.filter(kind__in=kinds)
    chosen = request.GET.get("kind", "")
    words = request.GET.get("q", "").strip()[:200]
    rows = seen.filter(Q(name__icontains=words) | Q(about__icontains=words)) if words else seen
    if chosen == "mine":
        rows = rows.filter(by=person(request))
    elif chosen in kinds:
        rows = rows.filter(kind=chosen)
    page = Paginator(rows.order_by("-deleted_at", "-pk"), PER_PAGE).get_page(request.GET.get("p"))
    context = {
        **page_context(request, DeletedObject),
        "title": "Deleted",
        "page": page,
        "lines": [_line(request, entry) for entry in page],
        "filters": [("", "All"), *((kind, _LOOKS[kind][1]) for kind in kinds), ("mine", "By me")],
        "chosen": chosen,
        "q": words,
        "days": settings.EVALS_KEEP_DELETED_DAYS,
    }
    return render(request, "admin/evals_app/bin/page.html", context)


@require_POST
def restore(request: HttpRequest) -> HttpResponse:
    """Restore what was deleted, with what it needs, for people who may delete all of it."""
    keys = map(read_position, request.POST.getlist("entry"))
    entries = {entry.pk: entry for entry in DeletedObject.objects.filter(pk__in=keys)}
    kinds = {entry.kind for entry in entries.values()}
    allowed = {kind for kind in MODELS if may_delete(person(request), kind)}
    if not (allowed and kinds <= allowed):
        raise PermissionDenied
    url = list_url(DeletedObject)
    if not entries:
        messages.warning(request, GONE_MEANWHILE)
        return redirect(url)
    try:
        with transaction.atomic():
            restored = _restore_all(request, list(entries.values()))
    except CannotError as error:
        messages.error(request, str(error))
        return redirect(url)
    messages.success(request, _restored_words(restored))
    return redirect(url if "stay" in request.POST else _url_of(request, restored[-1]))


def ask_to_delete_for_good(request: HttpRequest, deleted: int) -> HttpResponse:
    """Ask, then delete something so that no one can restore it."""
    entry = get_object_or_404(DeletedObject, pk=deleted)
    if not may_delete(person(request), entry.kind):
        raise PermissionDenied
    if request.method != "POST":
        return ask(
            request,
            title=f"Delete “{entry}” for good?",
            text="No one can restore it then. Results of earlier runs are kept.",
            submit="Delete for good",
            dismiss="Keep",
        )
    try:
        delete_for_good(entry, by=person(request))
    except CannotError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"“{entry}” is gone for good.")
    return leave_dialog(list_url(DeletedObject))


def _kinds_seen(request: HttpRequest) -> list[Kind]:
    return [kind for kind in _LOOKS if may_view(request, MODELS[kind])]


def _restore_all(request: HttpRequest, entries: Sequence[DeletedObject]) -> list[RestoredObject]:
    wanted: dict[int, DeletedObject] = {}
    for entry in entries:
        if entry.pk in wanted:
            continue
        for needed in with_needed(entry):
            if not may_delete(person(request), needed.kind):
                raise CannotError(
                    f"“{entry}” needs the {needed.get_kind_display().lower()} “{needed}”, which was deleted, too, and which"
                    " you may not restore."
                )
            wanted.setdefault(needed.pk, needed)
    return [restore_deleted(entry, by=person(request)) for entry in wanted.values()]


def _restored_words(restored: Sequence[RestoredObject]) -> str:
    *needed, last = restored
    words = f"Restored {_quote_name(last)}"
    if needed and len(needed) <= 3:  # noqa: PLR2004 - more would be a list
        words += f", with {', '.join(map(_quote_name, needed))}"
    elif needed:
        words = f"Restored {plural(len(restored), 'object')}"
    renamed = [f"“{name}”" for one in restored for name in one.renamed]
    if renamed:
        now = ", ".join(renamed)
        words += f". Someone has taken the old name since, so the new one is {now}"
    return f"{words}."


def _quote_name(restored: RestoredObject) -> str:
    return f"“{restored.name}”" if len(restored.rows) == 1 else restored.name


def _url_of(request: HttpRequest, restored: RestoredObject) -> str:
    """Return the page of what was restored; of cases, that of their suite."""
    row: Any = restored.rows[0]
    if not may_view(request, type(row)):
        return list_url(DeletedObject)
    if restored.kind == Kind.CASE:
        return reverse("admin:evals_app_suite_cases", args=[row.suite_id])
    options = row._meta  # noqa: SLF001 - the documented API of models
    return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[row.pk])


def _line(request: HttpRequest, entry: DeletedObject) -> DeletedLine:
    days = _days_left(entry.deleted_at)
    user = person(request)
    return DeletedLine(
        entry,
        icon=_LOOKS[Kind(entry.kind)][0],
        by="you" if entry.by_id == user.pk else entry.by_name,
        left=f"{plural(days, 'day')} left" if days > 1 else "Gone for good within a day",
        is_soon=days <= 1,
        may_restore=may_delete(user, entry.kind),
    )


def _days_left(deleted_at: datetime) -> int:
    """Return how many days something can be restored, rounded up."""
    end = deleted_at + timedelta(days=settings.EVALS_KEEP_DELETED_DAYS)
    return max(0, -((timezone.now() - end) // timedelta(days=1)))
