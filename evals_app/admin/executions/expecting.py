"""The dialog that turns what an agent changed in its world into a check of its case."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from evals_app.admin.checks.check_form import title_of
from evals_app.admin.kit.boxes import Box, part_boxes
from evals_app.admin.kit.permissions import ReadOnly, requires
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.engine.proposing.expected_changes import CannotExpectError, Happening
from evals_app.engine.proposing.proposals import MAX_BOXES
from evals_app.library.making.expecting import expect_changes, is_edited, live_case
from evals_app.library.making.observing import Observed, observe
from evals_app.models import Case, Execution


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
        observed = observe(execution) if execution.verdict == "passed" else None
        if observed is None:
            raise Http404("Only the changes of a passed conversation can become a check.")
        case = live_case(execution)
        if case is None:
            return _render(request, problem="The case was deleted or renamed.")
        if request.method != "POST":
            return self._ask(request, execution, case, observed)
        try:
            return self._add(request, execution, case, observed)
        except CannotExpectError as error:
            return self._ask(request, execution, case, observed, str(error))

    def _add(
        self, request: HttpRequest, execution: Execution, case: Case, observed: Observed
    ) -> HttpResponse:
        kept, nothing_else = set(request.POST.getlist("keep")), "nothing_else" in request.POST
        check = expect_changes(case, observed, kept=kept, nothing_else=nothing_else)
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
        observed: Observed,
        problem: str = "",
    ) -> HttpResponse:
        changes = observed.changes()
        if sum(1 + len(change.parts) for change in changes) > MAX_BOXES:
            problem = (
                f"There are more than {MAX_BOXES} changes. Write this check in the case editor."
            )
            return _render(request, problem=problem)
        kept = set(request.POST.getlist("keep")) if request.method == "POST" else None
        return _render(
            request,
            problem=problem,
            case=case,
            is_edited=is_edited(case, since=execution),
            boxes=[_box(change, kept) for change in changes],
            nothing_else=observed.changed_nothing_else()
            if kept is None
            else "nothing_else" in request.POST,
        )


def _render(request: HttpRequest, **context: Any) -> HttpResponse:
    return render(request, "admin/evals_app/conversation/expect.html", context)


def _box(change: Happening, kept: set[str] | None) -> Box:
    """Return the boxes of a change, ticked as they were or as by default."""
    is_ticked = not change.doubt if kept is None else change.key in kept
    return Box(change.key, str(change), is_ticked, change.doubt, part_boxes(change.parts, kept))
