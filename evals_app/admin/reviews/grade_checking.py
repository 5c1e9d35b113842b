"""The page on which people check grades, one at a time, before they see the judge's verdict."""

from dataclasses import dataclass, replace

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from evals_app.admin.conversation.transcripts import (
    TurnLine,
    grade_line,
    readable_trial,
    turn_lines,
)
from evals_app.admin.kit.pages import page_context, person
from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.trial import Trial
from evals_app.engine.verdicts.overruling import Ruling
from evals_app.models import GradeResult, ReviewItem, ReviewTask, Transcript
from evals_app.reports.answers.review_tasks import TaskItem
from evals_app.reports.renderers.conversations import json_text
from evals_app.runs.judges.criteria import FIVE_POINTS, GradeCriterion, criteria_of
from evals_app.runs.reviews.review_tasks import (
    answer_item,
    answered_by,
    item_with_words,
    may_answer,
    next_position,
    visible_tasks,
)
from evals_app.runs.reviews.reviewing import SCORES

_OPEN_BEFORE = 2  # earlier turns that are open; more are folded


@dataclass(frozen=True, slots=True)
class AnswerButton:
    """A button: its value, label and key, and the verdict it gives."""

    value: str
    words: str
    key: str
    passed: bool | None
    score: float | None = None
    icon: str = ""


_CANNOT_TELL = AnswerButton("unsure", "Cannot tell", "u", None, icon="help")
_VERDICTS = (
    AnswerButton("yes", "Meets it", "y", passed=True, icon="check_circle"),
    AnswerButton("no", "Does not meet it", "n", passed=False, icon="cancel"),
    _CANNOT_TELL,
)


def check_next(request: HttpRequest, pk: int) -> HttpResponse:
    """Redirect to the next grade that the person has not checked, or to the result."""
    task = _visible(request, pk)
    if not may_answer(task, request.user):
        raise PermissionDenied
    position = next_position(task, person(request).pk)
    if position is None:
        return redirect("admin:evals_app_reviewtask_change", pk)
    return redirect(_url(task, position))


def check_one(request: HttpRequest, pk: int, position: int) -> HttpResponse:
    """Show a grade without the judge's verdict, store the answer, then show the verdict."""
    task = _visible(request, pk)
    may_say = may_answer(task, request.user)
    rows = task.items.select_related("grade__execution__run__snapshot", "grade__yardstick")
    rows = rows.defer("grade__calls", "grade__execution__summary", *_UNREAD)
    item = get_object_or_404(rows, position=position)
    item.task = task
    (criterion,) = criteria_of(item.grade.execution.run, [(item.grade, item.item)])
    answers = _answers(criterion, item)
    if request.method == "POST":
        if not may_say:
            raise PermissionDenied
        if taken := _take(request, item, answers):
            return taken
    context = page_context(request, ReviewTask, task) | {
        "title": f"Grade {position}",
        "task": task,
        "item": item,
        "execution": item.grade.execution,
        "run": item.grade.execution.run,
        "criterion": criterion,
        "answers": answers,
        "has_points": answers is not _VERDICTS,
        "may_answer": may_say,
        **_place(task, item, person(request).pk),
        **_conversation(item, criterion),
    }
    if context["is_answered"] or not may_say:
        context |= _reveal_verdicts(item, answers, person(request).pk)
    context["reason"] = request.POST.get("reason", context.get("reason", ""))
    return render(request, "admin/evals_app/reviews/tasks/check.html", context)


_UNREAD = tuple(f"grade__execution__run__{name}" for name in ("summary", "overrides", "reviewed"))


def _visible(request: HttpRequest, pk: int) -> ReviewTask:
    tasks = visible_tasks(request.user).select_related("run").defer("run__summary")
    return get_object_or_404(tasks.prefetch_related("people"), pk=pk)


def _url(task: ReviewTask, position: int) -> str:
    return reverse("admin:evals_app_reviewtask_check", args=[task.pk, position])


def _answers(criterion: GradeCriterion, item: ReviewItem) -> tuple[AnswerButton, ...]:
    """Return the buttons: a grade on the scale 1-5, else a verdict."""
    if item.item is not None or not criterion.has_five_points:
        return _VERDICTS
    points = (
        AnswerButton(name, name, name, None, score=score)
        for name, score in reversed(SCORES[FIVE_POINTS])
    )
    return (*points, _CANNOT_TELL)


def _take(
    request: HttpRequest, item: ReviewItem, answers: tuple[AnswerButton, ...]
) -> HttpResponseRedirect | None:
    """Store an answer; return None if it was refused."""
    answer = next((one for one in answers if one.value == request.POST.get("answer")), None)
    if answer is None:
        messages.error(request, "Choose one of the answers.")
        return None
    try:
        reason = request.POST.get("reason", "")
        by = person(request)
        answer_item(item, by=by, passed=answer.passed, score=answer.score, reason=reason)
    except CannotError as error:
        messages.error(request, str(error))
        return None
    return HttpResponseRedirect(_url(item.task, item.position))


def _place(task: ReviewTask, item: ReviewItem, person: int) -> dict[str, object]:
    """Return the progress of the person, and the links."""
    answered = answered_by(task, person)
    if item.position not in answered:
        raise Http404
    is_open = [position for position, done in answered.items() if not done]
    is_open = [position for position in is_open if position != item.position]
    following = next(
        (position for position in is_open if position > item.position), next(iter(is_open), None)
    )
    return {
        "total": len(answered),
        "done": sum(answered.values()),
        "is_answered": answered[item.position],
        "back": _url(task, item.position - 1) if item.position > 1 else "",
        "skip": _url(task, item.position + 1) if item.position < len(answered) else "",
        "next": _url(task, following) if following else "",
    }


def _conversation(item: ReviewItem, criterion: GradeCriterion) -> dict[str, object]:
    """Return the conversation up to the checked reply."""
    execution = item.grade.execution
    trial = readable_trial(Transcript.objects.of(execution))
    if trial is None:
        return {"trial": None, "turns": ()}
    last = item.grade.turn or len(trial.turns)
    return {
        "trial": trial,
        "history": trial.history,
        "context_params": json_text(trial.context_params) if trial.context_params else "",
        "turns": _turns(trial, last, whole=criterion.whole),
        "checked": last,
    }


def _turns(trial: Trial, last: int, *, whole: bool) -> list[tuple[TurnLine, bool]]:
    """Return the turns up to the last one, and whether their replies are checked."""
    seen = trial.but(turns=trial.turns[:last], planned_turns=last)
    first_open = 1 if whole else last - _OPEN_BEFORE
    return [
        (replace(turn, is_open=turn.number >= first_open), whole or turn.number == last)
        for turn in turn_lines(seen, (), scale="0-1", known={})
    ]


def _reveal_verdicts(
    item: ReviewItem, answers: tuple[AnswerButton, ...], person: int
) -> dict[str, object]:
    """Return the verdicts of the judge and other people, and whether the person agrees."""
    checked = item_with_words(item)
    own = checked.ruling_of(person)
    grade: GradeResult = item.grade
    line = grade_line(grade, scale=grade.execution.run.score_scale, known={})
    bullets = [one for one in line.judgement.items if one.id == item.item]
    return {
        "is_revealed": True,
        "own": own,
        "reason": own.reason if own else "",
        "own_answer": next((one for one in answers if own and _is_answer(one, own)), None),
        "own_words": verdict_in_words(own.passed) if own else "",
        "agrees": _agrees(checked, person),
        "bullet": bullets[0] if item.item is not None and bullets else None,
        "grades": [] if item.item is not None else [line],
        "others": [
            (word, verdict_in_words(word.passed)) for word in checked.words if word.person != person
        ],
    }


def _is_answer(answer: AnswerButton, word: Ruling) -> bool:
    if answer.score is not None or word.score is not None:
        return answer.score == word.score
    return answer.passed is word.passed


def _agrees(checked: TaskItem, person: int) -> bool | None:
    """Whether a person agrees with the judge; None if one of them did not decide."""
    own = checked.ruling_of(person)
    if own is None or own.passed is None or checked.judged is None:
        return None
    return own.passed is checked.judged


def verdict_in_words(passed: bool | None) -> str:  # noqa: FBT001 - a verdict
    """Return a verdict of a person or of a judge in words."""
    return {True: "meets it", False: "does not meet it", None: "cannot tell"}[passed]
