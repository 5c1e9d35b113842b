"""The dialog that turns what an agent changed in its world into a check of its case."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from evals_app.admin.check_form import title_of
from evals_app.admin.permissions import ReadOnly, requires
from evals_app.admin.starting import leave_dialog
from evals_app.admin.transcripts import readable_trial
from evals_app.engine.expecting import Happening, happenings
from evals_app.engine.trial import Trial
from evals_app.library.expecting import CannotExpectError, expect_changes, is_edited, live_case
from evals_app.models import Case, Execution, Transcript

# With more boxes, write the check in the editor.
MOST_BOXES = 500


@dataclass(frozen=True, slots=True)
class Box:
    """A change, or a part of one, with a box to tick."""

    key: str
    text: str
    is_ticked: bool
    parts: tuple["Box", ...] = ()


class ExpectAction(ReadOnly):
    """The button next to what an execution changed in its world."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        expect = path("<int:pk>/expect/", view(self.expect), name="evals_app_execution_expect")
        return [expect, *super().get_urls()]

    has_expect_permission = requires("evals_app.change_case")

    def expect(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask what to expect, then add the check to the case."""
        # admin_view() asks only whether the person is staff.
        if not (self.has_view_permission(request) and self.has_expect_permission(request)):
            raise PermissionDenied
        execution = get_object_or_404(Execution.objects.select_related("run"), pk=pk)
        trial = readable_trial(Transcript.objects.of(execution))
        if execution.verdict != "passed" or trial is None:
            raise Http404("Only the changes of a passed conversation can become a check.")
        case = live_case(execution)
        if case is None:
            return _render(request, problem="The case was deleted or renamed.")
        if request.method != "POST":
            return self._ask(request, execution, case, trial)
        try:
            return self._add(request, execution, case, trial)
        except CannotExpectError as error:
            return self._ask(request, execution, case, trial, str(error))

    def _add(
        self, request: HttpRequest, execution: Execution, case: Case, trial: Trial
    ) -> HttpResponse:
        kept, nothing_else = set(request.POST.getlist("keep")), "nothing_else" in request.POST
        check = expect_changes(case, trial, kept=kept, nothing_else=nothing_else)
        title = title_of(check)
        self.log_change(request, case, [{"added": {"name": "final check", "object": str(check)}}])
        editor = reverse("admin:evals_app_case_change", args=[case.pk])
        message = format_html(
            'Check added: “{}”. <a class="underline" href="{}">Open the case</a>', title, editor
        )
        messages.success(request, message)
        return leave_dialog(reverse("admin:evals_app_execution_change", args=[execution.pk]))

    def _ask(
        self,
        request: HttpRequest,
        execution: Execution,
        case: Case,
        trial: Trial,
        problem: str = "",
    ) -> HttpResponse:
        changes = happenings(trial)
        if sum(1 + len(change.parts) for change in changes) > MOST_BOXES:
            problem = (
                f"There are more than {MOST_BOXES} changes. Write this check in the case editor."
            )
            return _render(request, problem=problem)
        kept = set(request.POST.getlist("keep")) if request.method == "POST" else None
        return _render(
            request,
            problem=problem,
            case=case,
            is_edited=is_edited(case, since=execution),
            boxes=[_box(change, kept) for change in changes],
            nothing_else=kept is None or "nothing_else" in request.POST,
        )


def _render(request: HttpRequest, **context: Any) -> HttpResponse:
    return render(request, "admin/evals_app/execution/expect.html", context)


def _box(change: Happening, kept: set[str] | None) -> Box:
    """Return the boxes of a change, ticked as they were or as by default."""
    parts = tuple(
        Box(part.key, str(part), not part.is_time if kept is None else part.key in kept)
        for part in change.parts
    )
    fixed = change.fixed.get("status")
    text = f"{change.kind.capitalize()} {change.what}"
    text += "" if fixed is None else f", status {fixed}"
    return Box(change.key, text, kept is None or change.key in kept, parts)
