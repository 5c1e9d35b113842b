"""Pages of our own, beside those that Django makes of a model; each room lists its own in `urls.py`."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def page_path(route: str, view: Callable[..., HttpResponseBase], *, name: str) -> URLPattern:
    """Return the address of a page, below `/admin/evals_app/`, for people who are signed in.

    The view checks every other right: `@viewers_of`, or Django's `permission_required`.
    """
    return path(f"evals_app/{route}", admin.site.admin_view(view), name=f"evals_app_{name}")


def page_context(request: HttpRequest, model: type[Model]) -> dict[str, object]:
    """Return what the frame of a page needs: the menu, and the model that the page belongs to."""
    return {**admin.site.each_context(request), "opts": model._meta}  # noqa: SLF001 - documented


def may_view(request: HttpRequest, model: type[Model]) -> bool:
    """Whether this person may see the rows of a model in the admin."""
    return admin.site.get_model_admin(model).has_view_permission(request)


def viewers_of(model: type[Model]) -> Callable[[View[P]], View[P]]:
    """Open a page to those who may see the rows of a model."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def page(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not may_view(request, model):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return page

    return decorate


def refused_refresh(request: HttpRequest, model: type[Model]) -> HttpResponse | None:
    """Return the refusal of a page fragment, which reloads the page; None if it may be read.

    Such a fragment has no `admin_view`: without a session the page itself must ask for the
    password, not its fragment.
    """
    if admin.site.has_permission(request) and may_view(request, model):
        return None
    return HttpResponse(status=403, headers={"HX-Refresh": "true"})
