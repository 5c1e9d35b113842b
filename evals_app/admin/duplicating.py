"""The button that duplicates a row with everything in it."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import BaseDialogForm

from evals_app.admin.starting import leave_dialog


class Duplicating(ModelAdmin):
    """Lets people duplicate a row; `copied` saves and returns the copy."""

    copied: Callable[[Any], Any]

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
        copy = self.copied(get_object_or_404(self.model, pk=object_id))
        self.log_addition(request, copy, [{"added": {}}])
        messages.success(request, f"Duplicated as “{copy}”.")
        kind = self.opts.model_name
        return leave_dialog(reverse(f"admin:evals_app_{kind}_change", args=[copy.pk]))
