"""Pages of our own, beside those that Django makes of a model; each room lists its own in `urls.py`."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache

from evals_app.models import Run

if TYPE_CHECKING:
    from django.contrib.auth.models import User

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def page_path(route: str, view: Callable[..., HttpResponseBase], *, name: str) -> URLPattern:
    """Return the address of a page, below `/admin/evals_app/`, for people who are signed in.

    The view checks every other right: `@viewers_of`, or Django's `permission_required`.
    """
    return path(f"evals_app/{route}", admin.site.admin_view(view), name=f"evals_app_{name}")


def fragment_path(route: str, view: Callable[..., HttpResponseBase], *, name: str) -> URLPattern:
    """Return the address of a fragment that a page asks for again and again; see `fragment_of`.

    It has no `admin_view`: without a session the page itself must ask for the password.
    """
    return path(f"evals_app/{route}", view, name=f"evals_app_{name}")


def page_context(
    request: HttpRequest, model: type[Model], row: Model | None = None
) -> dict[str, object]:
    """Return what the frame of a page needs: the menu, and the model and row that it belongs to."""
    place = {"opts": model._meta, "page_of": row}  # noqa: SLF001 - documented
    return {**admin.site.each_context(request), **place}


def list_url(model: type[Model]) -> str:
    """Return the address of the list of a model's rows."""
    options = model._meta  # noqa: SLF001 - documented
    return reverse(f"admin:{options.app_label}_{options.model_name}_changelist")


def sent_decision_url(run: Run) -> str:
    """Return the address of the page to send about the decision on a run."""
    return reverse("admin:evals_app_run_report", args=[run.pk, "decision"])


def secret_link_page(
    request: HttpRequest, template: str, context: dict[str, object], *, link: str, ends_at: datetime
) -> HttpResponse:
    """Show a link to send to someone, once: not even the back button shows it again."""
    context |= {
        "title": "Copy the link",
        "link": request.build_absolute_uri(link),
        "ends_at": ends_at,
    }
    response = render(request, template, context)
    response.headers["Cache-Control"] = "no-store"
    return response


def may_view(request: HttpRequest, model: type[Model]) -> bool:
    """Whether this person may see the rows of a model in the admin."""
    return admin.site.get_model_admin(model).has_view_permission(request)


def viewers_of(model: type[Model]) -> Callable[[View[P]], View[P]]:
    """Open a page to those who may see the rows of a model."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def page(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not may_view(request, model):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return page

    return decorate


def fragment_of(model: type[Model]) -> Callable[[View[P]], View[P]]:
    """Open a page fragment that polls to those who may see the rows of a model.

    A refusal reloads the page.
    """

    def decorate(view: View[P]) -> View[P]:
        @never_cache
        @wraps(view)
        def fragment(
            request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponseBase:
            if admin.site.has_permission(request) and may_view(request, model):
                return view(request, *args, **kwargs)
            return HttpResponse(status=403, headers={"HX-Refresh": "true"})

        return fragment

    return decorate


def person(request: HttpRequest) -> "User":
    """Return who is signed in, as everyone is who sees a page."""
    return cast("User", request.user)


def form_data(request: HttpRequest) -> QueryDict | None:
    """Return what a form has sent; None if it is only asked for."""
    return request.POST if request.method == "POST" else None


def ask(request: HttpRequest, *, title: str, text: str, submit: str, dismiss: str) -> HttpResponse:
    """Return the dialog that asks before something is done."""
    dialog = {"title": title, "text": text, "submit": submit, "dismiss": dismiss}
    return render(request, "admin/evals_app/kit/dialog.html", {"dialog": dialog})
