"""Views of lists: a search and filters that a person keeps under a name, as chips above the list."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin

from evals_app.admin.kit.pages import list_url, may_view, person
from evals_app.models import SavedView

MAX_VIEWS = 20  # of a list and person
_NOT_KEPT = {PAGE_VAR, ERROR_FLAG, "_changelist_filters"}


class WithViews(ModelAdmin):
    """A list whose search and filters people keep."""

    list_before_template = "admin/evals_app/people/views.html"

    def changelist_view(
        self, request: HttpRequest, extra_context: Mapping[str, object] | None = None
    ) -> HttpResponse:
        query = _query_of(request.GET.urlencode())
        views = list(_views_of(request, self.opts.label_lower))
        current = next((view for view in views if view.query == query), None)
        shown = {"views": views, "view": current, "view_query": query}
        return super().changelist_view(request, {**(extra_context or {}), **shown})


class ViewForm(forms.ModelForm):
    """What to keep of a list, and under which name."""

    class Meta:
        model = SavedView
        fields = ("name", "query")


@require_POST
def keep_view(request: HttpRequest) -> HttpResponse:
    """Keep what a list shows under a name, or remove a view with the name `remove`."""
    label = request.POST.get("list", "")
    model = _list_with_views(label)
    if model is None or not may_view(request, model):
        raise PermissionDenied
    views = _views_of(request, label)
    query = _query_of(request.POST.get("query", ""))
    if name := request.POST.get("remove"):
        views.filter(name=name).delete()
        messages.success(request, f"Removed the view “{name}”.")
    elif problem := _keep(request, label, query):
        messages.error(request, problem)
    return redirect(f"{list_url(model)}?{query}")


def _keep(request: HttpRequest, label: str, query: str) -> str:
    """Store a view; return why not, if it was not stored."""
    form = ViewForm({"name": request.POST.get("name", ""), "query": query})
    if not form.is_valid():
        return "The view was not saved: give it a name of at most 60 characters."
    views = _views_of(request, label)
    name = form.cleaned_data["name"]
    if len(views.exclude(name=name)[:MAX_VIEWS]) == MAX_VIEWS:
        return f"A list has at most {MAX_VIEWS} views. Remove one first."
    views.update_or_create(person=person(request), list=label, name=name, defaults={"query": query})
    messages.success(request, f"Saved the view “{name}”.")
    return ""


def _views_of(request: HttpRequest, label: str) -> QuerySet[SavedView]:
    return SavedView.objects.filter(person=person(request), list=label).order_by("name")


def _list_with_views(label: str) -> type[Model] | None:
    """Return the model of a list that has views, by its label."""
    for model in apps.get_models():
        if model._meta.label_lower == label and admin.site.is_registered(model):  # noqa: SLF001 - documented
            return model if isinstance(admin.site.get_model_admin(model), WithViews) else None
    return None


def _query_of(text: str) -> str:
    """Return the search and filters of an address, always in the same order."""
    kept = [(key, value) for key, value in parse_qsl(text) if key not in _NOT_KEPT]
    return urlencode(sorted(kept))
