"""Masking patterns in the admin: what a site masks beside names, addresses and numbers."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from evals_app.admin.kit.permissions import NotesEachDeletion
from evals_app.models import MaskingPattern
from evals_app.runs.recorded.masking import (
    MAX_PATTERNS,
    masked_sample,
    problem_of_name,
    problem_of_pattern,
)
from fixtures_app.editing.markup import TemplateContext

MAX_SAMPLE = 5_000  # characters
_RIGHTS = ("evals_app.add_maskingpattern", "evals_app.change_maskingpattern")
_TRIED = "mask"  # the word in masks as long as there is no name


class MaskingPatternForm(forms.ModelForm):
    """A word and a pattern that RE2 can search for."""

    class Meta:
        model = MaskingPattern
        fields = ("name", "pattern", "is_enabled")
        labels = {"is_enabled": "Enabled"}
        help_texts = {
            "name": "The word in the mask: “contract” becomes [contract 1].",
            "pattern": r"A regular expression (RE2), for example VN-\d{6}. Upper and lower case differ.",
        }
        widgets = {
            "pattern": UnfoldAdminTextInputWidget(
                attrs={"autocomplete": "off", "spellcheck": "false"}
            )
        }

    def clean_name(self) -> str:
        name: str = " ".join(self.cleaned_data["name"].split())
        if problem := problem_of_name(name):
            raise forms.ValidationError(problem)
        return name

    def clean_pattern(self) -> str:
        pattern: str = self.cleaned_data["pattern"]
        if problem := problem_of_pattern(pattern):
            raise forms.ValidationError(problem)
        return pattern

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if self.instance.pk is None and MaskingPattern.objects.count() >= MAX_PATTERNS:
            raise forms.ValidationError(f"A site has at most {MAX_PATTERNS} masking patterns.")
        return cleaned


@admin.register(MaskingPattern)
class MaskingPatternAdmin(NotesEachDeletion):
    """Masking patterns, tried on a text while they are written."""

    form = MaskingPatternForm
    change_form_template = "admin/evals_app/site/masking/pattern.html"
    list_display = ["name", "pattern", "show_enabled"]
    search_fields = ["name"]
    ordering = ["name"]
    when_empty = (
        "Names, addresses and many numbers are masked in real conversations by themselves. A pattern"
        " masks what only you have, for example the numbers of your contracts."
    )

    class Media:
        css = {"all": ["evals_app/conversation/review.css"]}

    @display(description="Enabled", boolean=True)
    def show_enabled(self, row: MaskingPattern) -> bool:
        return row.is_enabled

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        sample = UnfoldAdminTextareaWidget({"id": "sample", "rows": 4, "maxlength": MAX_SAMPLE})
        context["sample"] = sample.render("sample", "")
        context["try_url"] = reverse("admin:evals_app_maskingpattern_try")
        return super().render_change_form(request, context, *args, **kwargs)


@require_POST
def try_pattern(request: HttpRequest) -> HttpResponse:
    """Show a text as it would be masked with a pattern that is being written."""
    if not any(map(request.user.has_perm, _RIGHTS)):
        raise PermissionDenied
    name = " ".join(request.POST.get("name", "").split()) or _TRIED
    pattern, text = request.POST.get("pattern", ""), request.POST.get("sample", "")[:MAX_SAMPLE]
    context: dict[str, Any] = {}
    if pattern and (problem := problem_of_pattern(pattern) or problem_of_name(name)):
        context["problem"] = problem
    elif pattern and text:
        masked, count = masked_sample(text, name=name, pattern=pattern)
        context |= {"masked": masked, "count": count, "name": name}
    return render(request, "admin/evals_app/site/masking/tried.html", context)
