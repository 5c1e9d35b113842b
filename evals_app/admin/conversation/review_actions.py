"""The buttons next to grades: store a review, or withdraw it."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path

from evals_app.admin.conversation.review_blocks import (
    ExecutionReviews,
    ReviewSubject,
    people_verdict,
    subject_of,
)
from evals_app.admin.kit.permissions import ReadOnly, requires
from evals_app.engine.basics.errors import CannotError
from evals_app.models import Execution, GradeResult, Review
from evals_app.runs.reviews.reviewing import (
    REVIEWING,
    CannotReviewError,
    comment,
    may_withdraw,
    not_the_agents_fault,
    review_grade,
    withdraw,
)

_MAX_KEY_DIGITS = 18
# The possible reviews: heading of the form, whether a reason is required, label of the button.
_WORDS: dict[str, dict[str, Any]] = {
    "agree": {},
    "disagree": {"label": "Because", "submit": "Save"},
    "comment": {"label": "Comment", "is_required": True, "submit": "Save"},
    "not_the_agent": {
        "label": "Why is it not the agent's fault?",
        "is_required": True,
        "submit": "Save",
    },
}


class ReviewActions(ReadOnly):
    """The buttons next to grades."""

    has_review_permission = requires(REVIEWING)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/review/", view(self.review), name="evals_app_execution_review"),
            path(
                "<int:pk>/review/<int:review>/withdraw/",
                view(self.withdraw),
                name="evals_app_execution_withdraw",
            ),
            *super().get_urls(),
        ]

    def review(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the form of a review (GET), or store it (POST) and return the changed blocks."""
        execution = self._reviewable(request, pk)
        given = request.POST if request.method == "POST" else request.GET
        grade = _grade(execution, given.get("grade"))
        subject = subject_of(grade, _number(given.get("item")))
        word = given.get("word", "")
        if word not in _WORDS or subject is None:
            raise Http404
        context = {"execution": execution, "subject": subject, "word": word, "form": _WORDS[word]}
        if request.method != "POST":
            return render(request, "admin/evals_app/conversation/review_form.html", context)
        try:
            _take(word, given, subject, execution=execution, grade=grade, by=request.user)
        except CannotError as error:
            problem = {"problem": str(error), "reason": given.get("reason", "")}
            return render(
                request, "admin/evals_app/conversation/review_form.html", context | problem
            )
        return self._changed_blocks(request, execution, grade, subject.item)

    def withdraw(self, request: HttpRequest, pk: int, review: int) -> HttpResponse:
        """Withdraw a review, and return the changed blocks."""
        execution = self._reviewable(request, pk)
        row = get_object_or_404(
            Review.objects.select_related("grade", "execution"), pk=review, execution=execution
        )
        if request.method != "POST":
            return HttpResponse(status=405, headers={"Allow": "POST"})
        user: Any = request.user
        if not may_withdraw(row, user):
            raise PermissionDenied
        try:
            withdraw(row, by=user)
        except CannotError as error:
            return HttpResponse(str(error), status=409)
        return self._changed_blocks(request, execution, row.grade, row.item)

    def _reviewable(self, request: HttpRequest, pk: int) -> Execution:
        # admin_view() asks only whether the person is staff.
        if not (self.has_view_permission(request) and self.has_review_permission(request)):
            raise PermissionDenied
        return get_object_or_404(Execution.objects.select_related("run"), pk=pk)

    def _changed_blocks(
        self,
        request: HttpRequest,
        execution: Execution,
        grade: GradeResult | None,
        item: int | None,
    ) -> HttpResponse:
        """Return the blocks that a review may change, and the verdict."""
        fresh = Execution.objects.select_related("run", "reviewed").get(pk=execution.pk)
        block, *others = ExecutionReviews.of(fresh, request.user).changed_by(grade, item)
        context = {
            "execution": fresh,
            "may_review": True,
            "block": block,
            "others": others,
            **people_verdict(fresh),
        }
        return render(request, "admin/evals_app/conversation/reviewed.html", context)


def _take(
    word: str,
    given: Mapping[str, str],
    subject: ReviewSubject,
    *,
    execution: Execution,
    grade: GradeResult | None,
    by: Any,
) -> None:
    """Store a review."""
    reason = given.get("reason", "")
    if word == "comment":
        comment(execution, by=by, reason=reason, grade=grade)
    elif word == "not_the_agent":
        not_the_agents_fault(execution, by=by, reason=reason)
    elif grade is None:
        raise CannotReviewError("Choose a grade.")
    else:
        agrees = word == "agree"
        passed: bool | None = subject.verdict(agrees=agrees)
        score = None
        if subject.scores:
            score = grade.score if agrees else _score(given.get("score"), subject)
        review_grade(grade, by=by, passed=passed, item=subject.item, score=score, reason=reason)


def _score(given: str | None, subject: ReviewSubject) -> float:
    for name, score in subject.scores:
        if name == given:
            return score
    raise CannotReviewError("Choose the grade that is right.")


def _grade(execution: Execution, given: str | None) -> GradeResult | None:
    if not given:
        return None
    rows = GradeResult.objects.select_related("yardstick", "execution__run").defer("calls")
    return get_object_or_404(rows, execution=execution, pk=_number(given) or 0)


def _number(given: str | None) -> int | None:
    if not given:
        return None
    if not given.isdecimal() or len(given) > _MAX_KEY_DIGITS:
        raise Http404
    return int(given)
