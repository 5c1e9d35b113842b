"""Deleting what people write: a page that asks, in our words, then a message that offers to undo it."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.admin import ModelAdmin

from evals_app.admin.kit.pages import person
from evals_app.admin.kit.presentation import plural
from evals_app.admin.kit.undo import offer_undo
from evals_app.library.deleting.written import (
    KINDS,
    MODELS,
    InUseError,
    delete_cases,
    delete_written,
    refuse_if_used,
)
from evals_app.models import Case, DeletedObject, Suite
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.models import Fixture

_MAX_NAMED = 10  # on the page that asks


class Deleting(ModelAdmin):
    """Lets people delete rows, from their page and from the list, so that they can be restored."""

    actions: Any = ["delete_selected"]
    delete_confirmation_template = "admin/evals_app/bin/confirm.html"

    def get_deleted_objects(
        self, objs: Iterable[object], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Find out what uses them and which right is missing, without reading all that goes too."""
        users: dict[Model, None] = {}
        lacking = set()
        for row in objs:
            try:
                refuse_if_used(row)
            except InUseError as error:
                users |= dict.fromkeys(error.rows)
            if isinstance(row, Suite) and not request.user.has_perm("evals_app.delete_case"):
                lacking |= {"cases"} if row.cases.exists() else set()
        return [], {}, lacking, [_link(row) for row in users]

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().delete_view(request, *args, **kwargs)
        except InUseError as error:  # something has begun to use it after the page had asked
            messages.error(request, f"Not deleted: used by {error}.")
            return redirect(self._list_url(request))

    def render_delete_form(self, request: HttpRequest, context: TemplateContext) -> HttpResponse:
        row = context["object"]
        change = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        back = reverse(change, args=[row.pk])
        asked = _question(self, [row], protected=context["protected"])
        return super().render_delete_form(request, {**context, **asked, "back": back})

    def log_deletions(self, request: HttpRequest, queryset: object) -> list[LogEntry]:
        """Leave it to the operation, which also notes it at the suite of a case."""
        return []

    def delete_model(self, request: HttpRequest, obj: object) -> None:
        _delete(request, [obj])

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        if IS_POPUP_VAR in request.POST:
            return super().response_delete(request, obj_display, obj_id)
        kind = KINDS[self.opts.label_lower]
        deleted = DeletedObject.objects.filter(kind=kind, object_id=obj_id).latest("pk")
        offer_to_restore(request, [deleted])
        return redirect(self.url_after_deleting(request, deleted))

    def url_after_deleting(self, request: HttpRequest, _deleted: DeletedObject) -> str:
        """Return where a person goes on: to the list, as they had filtered it."""
        return self._list_url(request)

    def _list_url(self, request: HttpRequest) -> str:
        if not self.has_view_permission(request):
            return reverse("admin:index")
        url = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        filters = request.GET.get("_changelist_filters")
        return f"{url}?{filters}" if filters else url

    @admin.action(description="Delete", permissions=["delete"])
    def delete_selected(
        self, request: HttpRequest, queryset: QuerySet[Any]
    ) -> TemplateResponse | None:
        rows = list(queryset)
        _, _, lacking, protected = self.get_deleted_objects(rows, request)
        if request.POST.get("post") and rows and not protected:
            if lacking:
                raise PermissionDenied
            offer_to_restore(request, _delete(request, rows))
            return None
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "perms_lacking": lacking,
            "protected": protected,
            "chosen": rows,
            "back": request.get_full_path(),
            **_question(self, rows, protected=protected),
        }
        return TemplateResponse(request, self.delete_confirmation_template, context)


def offer_to_restore(
    request: HttpRequest, deleted: Sequence[DeletedObject], *, done: str = ""
) -> None:
    """Show what was deleted, or `done`; with a button that undoes it, for people who may."""
    names = [entry.name if entry.object_id is None else f"“{entry}”" for entry in deleted]
    words = names[0] if len(names) == 1 else plural(len(names), "object")
    done = done or f"Deleted {words}."
    if deleted and all(may_delete(person(request), entry.kind) for entry in deleted):
        posted = [("entry", entry.pk) for entry in reversed(deleted)]
        offer_undo(request, done, url=reverse("admin:evals_app_restore"), posted=posted)
    else:
        messages.success(request, done)


def may_delete(user: User, kind: str) -> bool:
    """Whether someone may delete objects of a kind, and so restore them or delete them for good."""
    options = MODELS[kind]._meta  # noqa: SLF001 - the documented API of models
    return user.has_perm(f"{options.app_label}.delete_{options.model_name}")


@transaction.atomic
def _delete(request: HttpRequest, rows: Sequence[Any]) -> list[DeletedObject]:
    """Delete rows of one kind; cases of a suite go together."""
    by = person(request)
    of_suites: dict[Suite, list[int]] = {}
    deleted = []
    for row in rows:
        if isinstance(row, Case):
            of_suites.setdefault(row.suite, []).append(row.pk)
        else:
            deleted.append(delete_written(row, by=by))
    deleted += [delete_cases(suite, keys, by=by) for suite, keys in of_suites.items()]
    return [entry for entry in deleted if entry is not None]


def _question(
    page: ModelAdmin, rows: Sequence[object], *, protected: Sequence[object]
) -> dict[str, object]:
    """Return what the page that asks says about rows."""
    nouns = str(page.opts.verbose_name_plural)
    is_one = len(rows) == 1
    name = f"“{rows[0]}”" if is_one else f"{len(rows):,} {nouns}"
    return {
        "title": "Delete",
        "heading": f"{name} cannot be deleted" if protected else f"Delete {name}?",
        "names": [] if is_one else [str(row) for row in rows[:_MAX_NAMED]],
        "more": max(0, len(rows) - _MAX_NAMED),
        "with_it": _with_it(rows[0]) if is_one else "",
        "has_results": isinstance(rows[0], Case | Suite) if rows else False,
        "days": settings.EVALS_KEEP_DELETED_DAYS,
    }


def _with_it(row: object) -> str:
    """Return what is deleted with a row, in words."""
    if isinstance(row, Suite):
        return f"Its {plural(row.cases.count(), 'case')} and its checks are deleted, too."
    if isinstance(row, Case):
        return f"It belongs to the suite “{row.suite}”. Its turns and checks are deleted, too."
    if isinstance(row, Fixture):
        entities = plural(row.entities.count(), "entity", "entities")
        return f"Its {entities}, relations and texts are deleted, too."
    return ""


def _link(row: Model) -> SafeString:
    options = row._meta  # noqa: SLF001 - the documented API of models
    kind = capfirst(str(options.verbose_name))
    try:
        url = reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        return format_html("{}: {}", kind, row)
    return format_html('{}: <a class="ew-plain-link" href="{}">{}</a>', kind, url, row)
