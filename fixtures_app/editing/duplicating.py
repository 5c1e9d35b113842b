"""A button that duplicates a row."""

from collections.abc import Callable, Iterable

from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import BaseDialogForm


def free_name(wanted: str, taken: Iterable[str], *, length: int, mark: str = " ") -> str:
    """Return a free name: Refund copy, Refund copy 2."""
    known = set(taken)
    number = 1
    while True:
        end = f"{mark}copy" if number == 1 else f"{mark}copy{mark}{number}"
        # A slug must not end up with two hyphens in a row.
        name = f"{wanted[: length - len(end)].rstrip(' -_')}{end}"
        if name not in known:
            return name
        number += 1


class Duplicating(ModelAdmin):
    """Lets people duplicate a row; `make_copy` saves and returns the copy."""

    make_copy: Callable[..., Model]

    @action(
        description="Duplicate",
        icon="content_copy",
        url_path="duplicate",
        permissions=["copy"],
        dialog={
            "title": "Duplicate?",
            "description": "Copies the saved version with everything in it.",
            "form_submit_text": "Duplicate",
        },
    )
    def duplicate(self, request: HttpRequest, form: BaseDialogForm, object_id: str) -> HttpResponse:
        copy = self.make_copy(get_object_or_404(self.model, pk=object_id))
        self.log_addition(request, copy, [{"added": {}}])
        messages.success(request, f"Duplicated as “{copy}”.")
        options = self.opts
        page = f"admin:{options.app_label}_{options.model_name}_change"
        return HttpResponse(headers={"HX-Redirect": reverse(page, args=[copy.pk])})
