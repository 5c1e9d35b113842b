"""A button that duplicates a row."""

from collections.abc import Callable

from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import BaseDialogForm


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
