"""The buttons next to grades: store a review, or withdraw it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_POST

from evals_app.admin.conversation.review_blocks import (
    ExecutionReviews,
    ReviewSubject,
    people_verdict,
    subject_of,
)
from evals_app.admin.kit.pages import person, viewers_of
from evals_app.admin.kit.presentation import SIGNS, headline
from evals_app.engine.basics.errors import CannotError
from evals_app.models import Execution, GradeResult, Review
from evals_app.runs.reviews.reviewing import (
    REVIEWING,
    CannotReviewError,
    comment,
    may_withdraw,
    not_the_agents_fault,
    vote,
    withdraw,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

_MAX_KEY_DIGITS = 18
_TEMPLATES = "admin/evals_app/conversation"
# The possible reviews, and what their form asks for.
_WORDS = {
    "agree": "",
    "disagree": "Because",
    "comment": "Comment",
    "not_the_agent": "Why is it not the agent's fault?",
}


@viewers_of(Execution)
@permission_required(REVIEWING, raise_exception=True)
def write_review(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the form of a review (GET), or store it (POST) and return the changed blocks."""
    execution = _find_execution(pk)
    given = request.POST if request.method == "POST" else request.GET
    grade = _grade(execution, given.get("grade"))
    subject = subject_of(grade, _number(given.get("item")))
    word = given.get("word", "")
    if word not in _WORDS or subject is None:
        raise Http404
    form = {"execution": execution, "subject": subject, "word": word, "label": _WORDS[word]}
    if request.method == "POST":
        try:
            _take(word, given, subject, execution=execution, grade=grade, by=person(request))
        except CannotError as error:
            form |= {"problem": str(error), "reason": given.get("reason", "")}
        else:
            return _changed_blocks(request, execution, grade, subject.item)
    return render(request, f"{_TEMPLATES}/review_form.html", form)


@require_POST
@viewers_of(Execution)
@permission_required(REVIEWING, raise_exception=True)
def withdraw_review(request: HttpRequest, pk: int, review: int) -> HttpResponse:
    """Withdraw a review, and return the changed blocks."""
    execution = _find_execution(pk)
    rows = Review.objects.select_related("grade", "execution")
    row = get_object_or_404(rows, pk=review, execution=execution)
    if not may_withdraw(row, request.user):
        raise PermissionDenied
    try:
        withdraw(row, by=person(request))
    except CannotError as error:
        return HttpResponse(str(error), status=409)
    return _changed_blocks(request, execution, row.grade, row.item)


def _find_execution(pk: int) -> Execution:
    return get_object_or_404(Execution.objects.select_related("run"), pk=pk)


def _changed_blocks(
    request: HttpRequest, execution: Execution, grade: GradeResult | None, item: int | None
) -> HttpResponse:
    """Return the blocks that a review may change, and the verdict."""
    fresh = Execution.objects.select_related("run", "reviewed").get(pk=execution.pk)
    block, *others = ExecutionReviews.of(fresh, request.user).changed_by(grade, item)
    context = {
        "execution": fresh,
        "may_review": True,
        "block": block,
        "others": others,
        "sign": SIGNS[fresh.verdict],
        "headline": headline(fresh),
        **people_verdict(fresh),
    }
    return render(request, f"{_TEMPLATES}/reviewed.html", context)


def _take(
    word: str,
    given: Mapping[str, str],
    subject: ReviewSubject,
    *,
    execution: Execution,
    grade: GradeResult | None,
    by: "User",
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
        score = dict(subject.scores).get(given.get("score", ""))
        vote(grade, by=by, agrees=word == "agree", item=subject.item, score=score, reason=reason)


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
