"""The inputs of checks. Pages load them when someone opens a check or chooses a kind.

A case with many checks would otherwise be a page of more than a megabyte.
"""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from evals_app.admin.checks.check_form import CheckForm
from evals_app.engine.graders import GRADERS
from evals_app.models import Assertion


def inputs_of_kind(request: HttpRequest, kind: str) -> HttpResponse:
    """Return the blank inputs of one kind of check; a page fragment."""
    if kind not in GRADERS:
        raise Http404
    check = Assertion(type=kind, options=dict(GRADERS[kind].begins))
    form = CheckForm(instance=check, prefix="__row__")
    return render(request, "admin/evals_app/checks/kind_inputs.html", {"form": form})


def inputs_of_check(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the inputs of a stored check, with the prefix of its row; a page fragment."""
    check = get_object_or_404(Assertion, pk=pk)
    page = "case" if check.suite_id is None else "suite"
    if not any(request.user.has_perm(f"evals_app.{right}_{page}") for right in ("view", "change")):
        raise PermissionDenied
    form = CheckForm(instance=check, prefix=request.GET.get("prefix"))
    return render(request, "admin/evals_app/checks/inputs.html", {"form": form})
