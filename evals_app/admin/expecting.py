"""The dialog that takes what an agent did in its world as what its case expects from now on."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from unfold.admin import ModelAdmin

from evals_app.admin.checks import title_of
from evals_app.admin.starting import leave_dialog
from evals_app.admin.transcripts import readable_trial
from evals_app.engine.expecting import Happening, Part, happenings
from evals_app.engine.trial import Trial
from evals_app.library.expecting import CannotExpectError, expect_changes, is_edited, live_case
from evals_app.models import Case, Execution, Transcript

# More boxes nobody ticks; such a check is written in the editor.
MOST_BOXES = 500


@dataclass(frozen=True, slots=True)
class Box:
    """A change, or a part of one, with a box to tick."""

    key: str
    text: str
    is_ticked: bool
    parts: tuple["Box", ...] = ()


class ExpectAction(ModelAdmin):
    """The button in what an execution changed in its world."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        expect = path("<int:pk>/expect/", view(self.expect), name="evals_app_execution_expect")
        return [expect, *super().get_urls()]

    def has_expect_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("evals_app.change_case")

    def expect(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask what is to hold from now on, then add it to the case."""
        # admin_view() asks only whether the person is staff.
        if not (self.has_view_permission(request) and self.has_expect_permission(request)):
            raise PermissionDenied
        execution = get_object_or_404(Execution.objects.select_related("run"), pk=pk)
        trial = readable_trial(Transcript.objects.filter(pk=pk).first())
        if execution.verdict != "passed" or trial is None:
            message = "Only what a passed conversation did can be expected."
            raise Http404(message)
        case = live_case(execution)
        if case is None:
            return _render(request, problem="The case no longer exists under its name.")
        if request.method != "POST":
            return self._ask(request, execution, case, trial)
        try:
            return self._add(request, execution, case, trial)
        except CannotExpectError as error:
            return self._ask(request, execution, case, trial, problem=str(error))

    def _add(
        self, request: HttpRequest, execution: Execution, case: Case, trial: Trial
    ) -> HttpResponse:
        kept, nothing_else = set(request.POST.getlist("keep")), "nothing_else" in request.POST
        check = expect_changes(case, trial, kept=kept, nothing_else=nothing_else)
        title = title_of(check)
        self.log_change(request, case, [{"added": {"name": "final check", "object": str(check)}}])
        editor = reverse("admin:evals_app_case_change", args=[case.pk])
        said = format_html(
            'Added to the case: “{}”. <a class="underline" href="{}">Open it in the editor</a>',
            title,
            editor,
        )
        messages.success(request, said)
        return leave_dialog(reverse("admin:evals_app_execution_change", args=[execution.pk]))

    def _ask(
        self,
        request: HttpRequest,
        execution: Execution,
        case: Case,
        trial: Trial,
        *,
        problem: str = "",
    ) -> HttpResponse:
        found = happenings(trial)
        if sum(1 + len(each.parts) for each in found) > MOST_BOXES:
            return _render(request, problem="There are too many changes to choose from.")
        kept = set(request.POST.getlist("keep")) if request.method == "POST" else None
        return _render(
            request,
            problem=problem,
            case=case,
            is_edited=is_edited(case, since=execution),
            boxes=[_box(each, kept) for each in found],
            nothing_else=kept is None or "nothing_else" in request.POST,
        )


def _render(request: HttpRequest, **context: Any) -> HttpResponse:
    return render(request, "admin/evals_app/execution/expect.html", context)


def _box(change: Happening, kept: set[str] | None) -> Box:
    """Give the boxes of a change, ticked as they were or, at first, as is usual."""

    def part(each: Part) -> Box:
        is_ticked = not each.is_time if kept is None else each.key in kept
        return Box(each.key, str(each), is_ticked)

    parts = tuple(part(each) for each in change.parts)
    fixed = change.fixed.get("status")
    text = f"{change.kind.capitalize()} {change.what}"
    text += "" if fixed is None else f", status {fixed}"
    return Box(change.key, text, kept is None or change.key in kept, parts)
