"""The page of evaluation steps: a judge writes them from criteria, and people may edit them."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display

from evals_app.admin.kit.lines import TextLines
from evals_app.admin.kit.permissions import WrittenByRuns
from evals_app.admin.kit.presentation import first_words
from evals_app.engine.judging.metrics.steps import MAX_STEP_CHARS, MAX_STEPS
from evals_app.models import EvaluationSteps
from fixtures_app.editing.editor import Editor, VersionedForm


class EvaluationStepsForm(VersionedForm):
    """The steps; criteria, fields and model identify them."""

    steps = TextLines(
        kind="area",
        label="Steps",
        required=True,
        help_text="In order. New runs grade by these steps. Runs that have already started keep "
        "theirs.",
    )

    class Meta:
        model = EvaluationSteps
        fields = ("steps",)

    def clean_steps(self) -> list[str]:
        steps: list[str] = self.cleaned_data["steps"]
        if len(steps) > MAX_STEPS:
            raise forms.ValidationError(
                f"There are {len(steps)} steps. At most {MAX_STEPS} are allowed."
            )
        for number, step in enumerate(steps, 1):
            if len(step) > MAX_STEP_CHARS:
                raise forms.ValidationError(
                    f"Step {number} has {len(step):,} characters. At most {MAX_STEP_CHARS:,} are allowed."
                )
            if not step.strip():
                raise forms.ValidationError(f"Step {number} contains only spaces.")
        return steps


@admin.register(EvaluationSteps)
class EvaluationStepsAdmin(WrittenByRuns, Editor):
    """Steps of G-Eval checks that have criteria and no steps of their own."""

    form = EvaluationStepsForm
    list_display = ["show_criteria", "show_fields", "model", "show_editor", "updated_at"]
    list_select_related = ["edited_by"]
    search_fields = ["criteria", "model"]
    ordering = ["-pk"]
    when_empty = (
        "When a G-Eval check has criteria but no steps, the judge writes steps in the first run. "
        "They are kept here, and later runs with the same criteria reuse them."
    )
    readonly_fields = ["show_whole_criteria", "show_fields", "model", "show_written", "show_editor"]
    fieldsets = [
        (None, {"fields": ["steps", "show_editor"]}),
        ("Written from", {"fields": ["show_whole_criteria", "show_fields", "model"]}),
        ("As the judge wrote them", {"fields": ["show_written"]}),
    ]

    def save_model(
        self,
        request: HttpRequest,
        obj: EvaluationSteps,
        form: Any,
        change: bool,  # noqa: FBT001 - Django's signature
    ) -> None:
        if form.has_changed():
            obj.edited_by_id = request.user.pk
        super().save_model(request, obj, form, change)

    @display(description="Criteria")
    def show_criteria(self, row: EvaluationSteps) -> str:
        return first_words(row.criteria)

    @display(description="Criteria")
    def show_whole_criteria(self, row: EvaluationSteps) -> SafeString:
        return format_html('<div class="written">{}</div>', row.criteria)

    @display(description="What the judge sees")
    def show_fields(self, row: EvaluationSteps) -> str:
        return ", ".join(row.shown)

    @display(description="Steps")
    def show_written(self, row: EvaluationSteps) -> SafeString:
        steps = format_html_join("", "<li>{}</li>", ((step,) for step in row.written))
        return format_html("<ol>{}</ol>", steps)

    @display(description="Edited by")
    def show_editor(self, row: EvaluationSteps) -> str:
        if row.steps == row.written:
            return "Not edited since the judge wrote them"
        return str(row.edited_by or "A deleted user")
