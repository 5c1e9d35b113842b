"""Reviews: people's verdicts and comments on grades and executions, and their withdrawal.

Each operation is one transaction that locks the run, leaves an entry in the history, and brings the
results with the decisions of people up to date.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.verdicts.overruling import bullets, passes
from evals_app.models import Execution, GradeResult, Review, ReviewTask, Run, Yardstick
from evals_app.models.people.names import author_of
from evals_app.runs.reviews.decisions import write_reviewed
from fixtures_app.ground.storable import storable

REVIEWING = "evals_app.review_execution"
# Only admins have it: executions never change.
_OTHERS_REVIEWS = "evals_app.change_execution"

MAX_CHARS = 5000  # of a reason or a comment
_MAX_LOGGED = 200
# The scales of judges on which people give a score of their own: each score and its name, the best first.
SCORES: Mapping[str, Sequence[tuple[str, float]]] = {
    "1-5": [(f"{grade}", (grade - 1) / 4) for grade in range(5, 0, -1)],
    "0-1": [(f"{tenth / 10:g}", tenth / 10) for tenth in range(10, -1, -1)],
}


class CannotReviewError(CannotError):
    """Something cannot be reviewed."""


def scale_of(grade: GradeResult) -> str:
    """Return the judge's scale, if people can give a score on it, too."""
    scale = str(grade.details.get("scale"))
    is_graded = grade.family == "judged" and grade.score is not None
    return scale if is_graded and scale in SCORES else ""


def can_be_right(grade: GradeResult) -> bool:
    """Whether a grade can be right or wrong, unlike one that only shows a number."""
    return grade.passed is not None or grade.status != GradeStatus.OK or bool(scale_of(grade))


def vote(
    grade: GradeResult,
    *,
    by: User,
    agrees: bool,
    item: int | None = None,
    score: float | None = None,
    reason: str = "",
) -> Review:
    """Store whether a person agrees with a grade, or with a rubric bullet.

    If it has no verdict, `agrees` is whether it passes. On a scale, anyone who disagrees gives a
    `score`.

    Raises:
        CannotReviewError: see `review_grade`; or the grade can be neither right nor wrong.
    """
    judged_passed, judged_score = _judge_result(grade, item)
    if item is None and not can_be_right(grade):
        raise CannotReviewError("This check only measures, so it can be neither right nor wrong.")
    if item is not None or not scale_of(grade):
        score = None
    elif agrees:
        score = judged_score
    elif score is None:
        raise CannotReviewError("Choose the grade that is right.")
    passed = agrees if judged_passed is None else judged_passed is agrees
    return review_grade(grade, by=by, passed=passed, item=item, score=score, reason=reason)


def review_grade(
    grade: GradeResult,
    *,
    by: User,
    passed: bool | None,
    item: int | None = None,
    score: float | None = None,
    reason: str = "",
    was_blind: bool = False,
    task: ReviewTask | None = None,
    entered_by: User | None = None,
) -> Review:
    """Store a person's review of a grade, or of a rubric bullet, in place of their earlier one.

    A `score` decides whether the check passes, as the judge's would. `entered_by` is who entered the
    word of another person.

    Raises:
        CannotReviewError: there is no such bullet, or no verdict can be computed from it.
    """
    judged_passed, judged_score = _judge_result(grade, item)
    if score is not None:
        passed = passes(_valid_score(score, item), kind=grade.type, threshold=grade.threshold)
    review = Review(
        execution=grade.execution,
        grade=grade,
        item=item,
        passed=passed,
        score=score,
        reason=_valid_text(reason),
        yardstick=_yardstick(grade, item),
        judged_passed=judged_passed,
        judged_score=judged_score,
        was_blind=was_blind,
        task=task,
        **author_of(by),
    )
    _add(review, _verdict_in_words(review), entered_by=entered_by)
    return review


def not_the_agents_fault(execution: Execution, *, by: User, reason: str) -> Review:
    """Record that the agent is not at fault: the execution then counts in no rate."""
    kind = Review.Kind.NOT_THE_AGENT
    given = _require_text(reason, "Say why this is not the agent's fault.")
    review = Review(execution=execution, kind=kind, reason=given, **author_of(by))
    _add(review, f"Not the agent's fault: {given}")
    return review


def comment(
    execution: Execution, *, by: User, reason: str, grade: GradeResult | None = None
) -> Review:
    """Write a comment on an execution that has finished, or on one of its grades."""
    given = _require_text(reason, "Write a comment.")
    review = Review(
        execution=execution, grade=grade, kind=Review.Kind.COMMENT, reason=given, **author_of(by)
    )
    of = f" on {grade.label}" if grade else ""
    _add(review, f"Comment{of}: {given}")
    return review


def withdraw(review: Review, *, by: User) -> None:
    """Withdraw a review, and its copies on grades of the same conversation; idempotent."""
    with _changing([review.execution]) as also:
        withdrawn = _withdraw([review], by)
        if withdrawn:
            also += [copy.execution for copy in withdrawn]
            words = f"Withdrawn: {review.get_kind_display().lower()} by {review.by_name}"
            _note(review.execution, f"{words}. {review.reason}".strip(), by)


def may_withdraw(review: Review, user: User | AnonymousUser) -> bool:
    """Whether a person may withdraw a review: their own, or as an admin any."""
    is_own = review.by_id == user.pk
    return bool(user.has_perm(REVIEWING if is_own else _OTHERS_REVIEWS))


def carry_reviews(run: Run) -> int:
    """Copy the reviews of the conversations that a run graded again; return how many.

    Where a check asks the same question, the copy counts. Where it is at the same place with another
    question, it is only a label by which the judge can be measured. The caller has locked the run,
    which is about to end.
    """
    copies: list[Review] = []
    executions = run.executions.filter(source__isnull=False, status=Execution.Status.FINISHED)
    if reviews := _reviews_of_sources(run, executions):
        chosen = executions.filter(source__in=reviews).defer("summary", "turn_ms")
        carried = set(_carried_before(run))  # the run may have been resumed since
        for execution in chosen:
            left = [r for r in reviews[execution.source_id] if (r.pk, execution.pk) not in carried]
            copies += _copies(left, execution)
    Review.objects.bulk_create(copies)
    changed = {copy.execution_id for copy in copies if not copy.is_label}
    if changed:
        write_reviewed(run, changed)
    return len(copies)


def _carried_before(run: Run) -> QuerySet[Review, tuple[int | None, int]]:
    copies = Review.objects.filter(execution__run=run, carried_from__isnull=False)
    return copies.values_list("carried_from", "execution")


def _reviews_of_sources(
    run: Run, executions: QuerySet[Execution]
) -> dict[int | None, list[Review]]:
    """Return the current reviews of the conversations by the execution that has it, oldest first.

    If the run regrades one that was itself a regrade, that one's reviews count, too.
    """
    current = Review.objects.filter(withdrawn_at=None)
    of_source = current.filter(execution__in=executions.values("source"))
    regraded = run.regrading.get("regraded")
    again = current.filter(execution__run=regraded, carried_from=None) if regraded else ()
    reviews: dict[int | None, list[Review]] = {}
    for rows in (of_source, again):
        for review in rows and rows.select_related("grade", "execution").order_by("pk"):
            execution = review.execution
            reviews.setdefault(execution.source_id or execution.pk, []).append(review)
    return reviews


# Reading what was given


def _judge_result(grade: GradeResult, item: int | None) -> tuple[bool | None, float | None]:
    """Return the grade's verdict on the check or one of its bullets."""
    if item is None:
        return grade.passed, grade.score
    known = bullets(grade.details)
    if item not in known:
        raise CannotReviewError(f"This grade has no bullet {item}.")
    met = known[item]
    return met, None if met is None else float(met)


def _yardstick(grade: GradeResult, item: int | None) -> Yardstick | None:
    """Return the criterion of the grade, or of one bullet; None if no judge was asked."""
    if item is None or grade.yardstick is None:
        return grade.yardstick
    rows = grade.details["items"]
    bullet = next(row for row in rows if row.get("id") == item)
    if not (digest := bullet.get("yardstick")):
        return None
    text = str(bullet.get("text") or "")
    return Yardstick.objects.of_item(grade.yardstick, digest=digest, criterion=text)


def _valid_score(score: float, item: int | None) -> float:
    if item is not None:
        raise CannotReviewError("A bullet is met or missed; it has no score.")
    if not 0 <= score <= 1 or math.isnan(score):
        raise CannotReviewError("A score is a number from 0 to 1.")
    return score


def _valid_text(text: str) -> str:
    text = storable(text.strip())
    if len(text) > MAX_CHARS:
        raise CannotReviewError(f"Write at most {MAX_CHARS:,} characters.")
    return text


def _require_text(text: str, otherwise: str) -> str:
    given = _valid_text(text)
    if not given:
        raise CannotReviewError(otherwise)
    return given


def _verdict_in_words(review: Review) -> str:
    of = f"bullet {review.item} of " if review.item is not None else ""
    label = review.grade.label if review.grade else ""
    verdicts = {True: "passed", False: "failed", None: "cannot tell"}
    reason = f": {review.reason}" if review.reason else "."
    return f"Review of {of}{label}: {verdicts[review.passed]}{reason}"


# Writing it


def _add(review: Review, note: str, *, entered_by: User | None = None) -> None:
    """Store a review in place of its author's earlier one of the same thing."""
    execution = review.execution
    with _changing([execution]) as also:
        replaced: list[Review] = []
        if review.kind != Review.Kind.COMMENT:
            same = Review.objects.filter(
                execution=execution, grade=review.grade, item=review.item, kind=review.kind
            )
            replaced = list(same.filter(by=review.by, withdrawn_at=None))
        withdrawn = _withdraw(replaced, review.by)
        review.save(force_insert=True)
        # The new review follows to all grades that the earlier one was copied to.
        copies = [
            _copy(review, earlier.execution, earlier.grade, earlier.item, is_label=earlier.is_label)
            for earlier in withdrawn
            if earlier.carried_from_id is not None and earlier.execution_id != execution.pk
        ]
        Review.objects.bulk_create(copies)
        also += [earlier.execution for earlier in withdrawn]
        _note(execution, note, entered_by or review.by)


@contextmanager
def _changing(executions: Sequence[Execution]) -> Iterator[list[Execution]]:
    """Lock the run, and bring its results up to date on leaving; more executions may be added."""
    changed = list(executions)
    with transaction.atomic():
        for execution in executions:
            _lock(execution.run_id)
            if not execution.verdict:
                raise CannotReviewError("This conversation has not finished.")
        yield changed
        by_run: dict[int, set[int]] = {}
        for execution in changed:
            by_run.setdefault(execution.run_id, set()).add(execution.pk)
        for run_id in sorted(by_run):
            write_reviewed(_lock(run_id), by_run[run_id])


def _lock(run_id: int) -> Run:
    return Run.objects.select_for_update().defer("summary").get(pk=run_id)


def _withdraw(reviews: Iterable[Review], by: User | None) -> list[Review]:
    """Withdraw reviews that are current, and all copies of them; return these rows."""
    withdrawn: list[Review] = []
    wave = [review for review in reviews if review.withdrawn_at is None]
    while wave:
        withdrawn += wave
        copies = Review.objects.filter(carried_from__in=wave, withdrawn_at=None)
        wave = list(copies.select_related("execution"))
    current = Review.objects.filter(pk__in=[row.pk for row in withdrawn], withdrawn_at=None)
    return withdrawn if current.update(withdrawn_at=Now(), withdrawn_by=by) else []


def _note(execution: Execution, message: str, by: Any) -> None:
    if len(message) > _MAX_LOGGED:
        message = f"{message[: _MAX_LOGGED - 1]}…"
    LogEntry.objects.log_actions(
        by.pk, [execution], CHANGE, change_message=message, single_object=True
    )


# Copying them to other grades of the same conversation


def _copies(reviews: Iterable[Review], execution: Execution) -> list[Review]:
    """Return copies of a conversation's reviews for an execution that grades it again."""
    grades = list(GradeResult.objects.filter(execution=execution).defer("calls", "evidence"))
    copies: dict[object, Review] = {}
    for review in reviews:
        copy = _carry(review, execution, grades)
        if copy is not None:
            is_comment = copy.kind == Review.Kind.COMMENT
            about = (copy.kind, copy.grade_id, copy.item, copy.by_id or copy.by_name)
            copies[review.pk if is_comment else about] = (
                copy  # a later review by the same person counts
            )
    return list(copies.values())


def _carry(review: Review, execution: Execution, grades: Sequence[GradeResult]) -> Review | None:
    """Return the copy of a review; None if the new grades contain nothing that it is about."""
    if review.grade is None:
        return _copy(review, execution, None, None, is_label=review.is_label)
    if (grade := _same_question(review.grade, grades)) is not None:
        return _copy(review, execution, grade, review.item, is_label=review.is_label)
    if (grade := _same_place(review.grade, grades)) is None:
        return None
    item = review.item
    if item is not None and (item := _same_bullet(review.grade, item, grade)) is None:
        return None
    return _copy(review, execution, grade, item, is_label=True)


def _copy(
    review: Review,
    execution: Execution,
    grade: GradeResult | None,
    item: int | None,
    *,
    is_label: bool,
) -> Review:
    judged: tuple[bool | None, float | None] = (None, None)
    yardstick = None
    if grade is not None and review.kind == Review.Kind.VERDICT:
        judged, yardstick = _judge_result(grade, item), _yardstick(grade, item)
    return Review(
        execution=execution,
        grade=grade,
        item=item,
        kind=review.kind,
        passed=review.passed,
        score=review.score,
        reason=review.reason,
        yardstick=yardstick,
        judged_passed=judged[0],
        judged_score=judged[1],
        was_blind=review.was_blind,
        is_label=is_label,
        carried_from=review,
        by=review.by,
        by_name=review.by_name,
        created_at=review.created_at,
    )


def _same_question(before: GradeResult, grades: Iterable[GradeResult]) -> GradeResult | None:
    """Return the grade of the same question, at the same place if there are several."""
    same = [grade for grade in grades if before.question and grade.question == before.question]
    return _same_place(before, same) or next(
        (grade for grade in same if grade.turn == before.turn), None
    )


def _same_place(before: GradeResult, grades: Iterable[GradeResult]) -> GradeResult | None:
    place = (before.turn, before.position, before.type)
    return next((g for g in grades if (g.turn, g.position, g.type) == place), None)


def _same_bullet(before: GradeResult, item: int, after: GradeResult) -> int | None:
    """Return the number that a bullet has in another wording of the rubric; None if it has none."""
    text = _texts(before).get(item)
    return next((number for number, other in _texts(after).items() if other == text), None)


def _texts(grade: GradeResult) -> dict[int, str]:
    known = bullets(grade.details)
    items = grade.details.get("items", []) if known else []
    return {item["id"]: str(item.get("text")) for item in items if item.get("id") in known}
