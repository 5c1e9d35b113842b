"""Tasks to check grades: drawn from a run, assigned to people, and their progress."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.judging import AGAINST_VERDICT, INJECTION, contradicts
from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause, Verdict
from evals_app.engine.statistics.sampling import Outcome, SampleCandidate, draw, shares
from evals_app.engine.verdicts.overruling import Ruling, bullets
from evals_app.models import GradeResult, Review, ReviewItem, ReviewTask, Run
from evals_app.models.people.names import shown_name
from evals_app.reports.answers.review_tasks import TaskItem, TaskProgress, progress_of
from evals_app.runs.judges.criteria import bullet_text
from evals_app.runs.reviews.reviewing import REVIEWING, review_grade

USUAL_COUNT = 30
MAX_ITEMS = 200  # of a task
SEEING = "evals_app.view_execution"
_BACKEND = "django.contrib.auth.backends.ModelBackend"
CHECKING = (SEEING, REVIEWING)

# Limits for large runs, which are sampled evenly: executions, grades, and rubrics with bullets.
MAX_EXECUTIONS = 6000
MAX_GRADES = 20_000
MAX_RUBRICS = 2000
_AT_ONCE = 900  # keys in a query
_FOR_CHECKS = 450  # executions that are read to list checks
_VERDICTS = (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED)
_OUTCOMES: dict[bool | None, Outcome] = {True: "passed", False: "failed", None: "ungraded"}


# Columns of a grade, as `_decided_grades` reads them.
_Graded = tuple[Any, ...]


class CannotCheckError(CannotError):
    """A task cannot be created."""


# Who may


def people_who_may_review() -> QuerySet[User]:
    """Return the people that a task can be assigned to."""
    people = get_user_model()._default_manager  # noqa: SLF001 - how Django names it
    may_see, may_review = (people.with_perm(name, backend=_BACKEND) for name in CHECKING)
    both: QuerySet[User] = may_review.filter(pk__in=may_see.values("pk"))
    return both.order_by("username")


def visible_tasks(user: User | AnonymousUser) -> QuerySet[ReviewTask]:
    """Return the tasks that a person may see: their own, and those assigned to no one."""
    tasks = ReviewTask.objects.all()
    if not user.has_perm(SEEING):
        return tasks.none()
    if user.is_superuser:
        return tasks
    given = ReviewTask.people.through.objects.all()
    mine = Q(created_by=user.pk) | Q(pk__in=given.filter(user=user.pk).values("reviewtask"))
    return tasks.filter(mine | ~Q(pk__in=given.values("reviewtask")))


def may_answer(task: ReviewTask, user: User | AnonymousUser) -> bool:
    """Whether a person may work on a task."""
    if task.closed_at is not None or not user.has_perms(CHECKING):
        return False
    people = {person.pk for person in task.people.all()}
    return not people or user.pk in people


def may_close(task: ReviewTask, user: User | AnonymousUser) -> bool:
    """Whether a person who sees a task may close it."""
    return task.closed_at is None and bool(user.has_perms(CHECKING))


# Creating


def create_task(
    run: Run,
    *,
    by: User,
    people: Collection[User] = (),
    count: int = USUAL_COUNT,
    only_judged: bool = True,
    checks: Collection[str] | None = None,
) -> ReviewTask:
    """Draw grades of a run for people to check; without `people`, for anyone with the right.

    `checks` are labels; None means all. Grades that are already in another task are drawn last.

    Raises:
        CannotCheckError: there is nothing to check, or someone may not.
    """
    refuse_run(run, people, count)
    known = list(ReviewItem.objects.filter(task__run=run).values_list("grade", "item"))
    tasks = ReviewTask.objects.filter(run=run).count()
    seed = f"{run.pk}-{tasks}"
    candidates = checkable(run, only_judged=only_judged, seed=seed)
    if not candidates:
        raise CannotCheckError(_nothing_to_check(only_judged=only_judged))
    if checks is not None:
        _refuse_unknown(checks, candidates)
        candidates = [candidate for candidate in candidates if candidate.check in checks]
    drawn = _draw_fresh(candidates, count=count, seed=seed, known=set(known))
    return store_task(run, [(one.grade, one.item) for one in drawn], by=by, people=people)


def store_task(
    run: Run, drawn: Sequence[tuple[int, int | None]], *, by: User, people: Collection[User] = ()
) -> ReviewTask:
    """Store a task that asks about grades, or bullets by number, in this order."""
    with transaction.atomic():
        task = ReviewTask.objects.create(run=run, created_by=by)
        task.people.set(people)
        ReviewItem.objects.bulk_create(
            ReviewItem(task=task, position=position, grade_id=grade, item=item)
            for position, (grade, item) in enumerate(drawn, 1)
        )
        names = ", ".join(sorted(map(shown_name, people)))
        whose = f" for {names}" if names else ""
        _note(task, by, ADDITION, f"{len(drawn)} grades of run {run.pk} to check{whose}.")
    return task


def close_task(task: ReviewTask, *, by: User) -> bool:
    """Close a task; return whether it was open."""
    still_open = ReviewTask.objects.filter(pk=task.pk, closed_at=None)
    with transaction.atomic():
        if not still_open.update(closed_at=Now()):
            return False
        _note(task, by, CHANGE, "Closed.")
    return True


def checks_to_offer(run: Run) -> list[tuple[str, int]]:
    """Return the judged checks of a run, the most frequent first, by a sample of a large run."""
    candidates = checkable(run, seed=str(run.pk), most=_FOR_CHECKS)
    return Counter(candidate.check for candidate in candidates).most_common()


def checkable(
    run: Run, *, only_judged: bool = True, seed: str, most: int = MAX_EXECUTIONS
) -> list[SampleCandidate]:
    """Return the grades that people could check; of a run with more than `most` executions, a sample."""
    rows: list[_Graded] = []
    keys = _executions(run, seed=seed, most=most)
    for start in range(0, len(keys), _AT_ONCE):
        rows += _decided_grades(keys[start : start + _AT_ONCE], only_judged=only_judged)
        if len(rows) >= MAX_GRADES:
            break
    rows = rows[:MAX_GRADES]
    rubrics = [pk for pk, *_, scale, _ in rows if scale == "rubric"]
    Random(seed).shuffle(rubrics)
    items = dict(_items_of(rubrics[:MAX_RUBRICS]))
    return [candidate for row in rows for candidate in _candidates(row, items)]


def _executions(run: Run, *, seed: str, most: int) -> list[int]:
    """Return executions in random order, with equal numbers of each verdict where possible."""
    counts = {verdict: getattr(run, verdict.value) for verdict in _VERDICTS}
    chance = Random(seed)
    keys: list[int] = []
    for verdict, number in shares(counts, most).items():
        rows = run.executions.filter(verdict=verdict).order_by("pk")
        if number < counts[verdict]:  # every nth, without reading the others
            stride = -(-counts[verdict] // max(1, number))
            rows = rows.annotate(rest=F("pk") % stride).filter(rest=chance.randrange(stride))
        keys += rows.values_list("pk", flat=True)
    chance.shuffle(keys)
    return keys


def _decided_grades(keys: Sequence[int], *, only_judged: bool) -> Iterator[_Graded]:
    rows = GradeResult.objects.filter(
        execution__in=keys, status__in=[GradeStatus.OK, GradeStatus.UNGRADED]
    ).exclude(family="limit")
    if only_judged:
        rows = rows.filter(family="judged")
    columns = ("pk", "execution__case", "label", "passed", "status", "cause", "score", "threshold")
    yield from rows.order_by("pk").values_list(*columns, "details__scale", "details__flags")


def _items_of(rubrics: Sequence[int]) -> Iterator[tuple[int, list[object]]]:
    for start in range(0, len(rubrics), _AT_ONCE):
        rows = GradeResult.objects.filter(pk__in=rubrics[start : start + _AT_ONCE])
        yield from rows.values_list("pk", "details__items")


def _candidates(row: _Graded, items: dict[int, list[object]]) -> Iterator[SampleCandidate]:
    pk, case, label, passed, status, cause, score, threshold, scale, flags = row
    flags = flags or ()
    if scale == "rubric":
        listed = items.get(pk) or []
        applicable = {
            item.get("id")
            for item in listed
            if isinstance(item, dict) and item.get("verdict") != "not_applicable"
        }
        against = _against_verdict(listed) if AGAINST_VERDICT in flags else set()
        for number, met in bullets({"scale": "rubric", "items": listed}).items():
            if number in applicable:
                is_doubtful = number in against or (INJECTION in flags and met is True)
                yield SampleCandidate(
                    pk, label, _OUTCOMES[met], case, item=number, is_doubtful=is_doubtful
                )
        return
    # Turns that the agent never answered, or that no judge saw, prove nothing about a judge.
    is_open = status == GradeStatus.UNGRADED and cause == Cause.JUDGE
    is_decided = status == GradeStatus.OK and passed is not None and cause != Cause.AGENT
    if is_open or is_decided:
        distance = 0.0 if score is None or threshold is None else abs(score - threshold)
        is_doubtful = AGAINST_VERDICT in flags or (INJECTION in flags and passed is True)
        yield SampleCandidate(
            pk, label, _OUTCOMES[passed], case, distance=distance, is_doubtful=is_doubtful
        )


def _against_verdict(listed: Iterable[object]) -> set[object]:
    """Return the bullets whose critique contradicts their verdict."""
    verdicts = {"pass": True, "fail": False}
    return {
        item.get("id")
        for item in listed
        if isinstance(item, dict)
        and contradicts(
            str(item.get("critique") or ""),
            str(item.get("text") or ""),
            passed=verdicts.get(str(item.get("verdict"))),
        )
    }


def _draw_fresh(
    candidates: Sequence[SampleCandidate],
    *,
    count: int,
    seed: str,
    known: set[tuple[int, int | None]],
) -> list[SampleCandidate]:
    fresh = [one for one in candidates if (one.grade, one.item) not in known]
    drawn = draw(fresh, count=count, seed=seed)
    if len(drawn) < count:
        others = [one for one in candidates if (one.grade, one.item) in known]
        drawn += draw(others, count=count - len(drawn), seed=seed)
    return drawn


def refuse_run(run: Run, people: Iterable[User], count: int) -> None:
    """Refuse runs whose grades cannot be checked, and people who may not.

    Raises:
        CannotCheckError: for one of these reasons.
    """
    if run.is_open:
        raise CannotCheckError(f"Run {run.pk} has not ended.")
    if run.pruned_at is not None:
        raise CannotCheckError(f"The transcripts of run {run.pk} were removed.")
    if not 1 <= count <= MAX_ITEMS:
        raise CannotCheckError(f"Choose from 1 to {MAX_ITEMS} grades.", key="count", value=count)
    for person in people:
        if not (person.is_active and person.has_perms(CHECKING)):
            problem = f"{person.get_username()} may not review conversations."
            raise CannotCheckError(problem, key="people")


def _refuse_unknown(checks: Collection[str], candidates: Iterable[SampleCandidate]) -> None:
    known = {candidate.check for candidate in candidates}
    if not checks:
        raise CannotCheckError("Choose at least one check.", key="checks", value=[])
    for check in checks:
        if check not in known:
            problem = f"No grade of a check “{check}” can be checked in this run."
            raise CannotCheckError(problem, key="checks", value=list(checks))


def _nothing_to_check(*, only_judged: bool) -> str:
    if only_judged:
        return "No judge passed or failed anything in this run, so there is nothing to check."
    return "No check passed or failed in this run, so there is nothing to check."


def _note(task: ReviewTask, by: User, flag: int, message: str) -> None:
    LogEntry.objects.log_actions(by.pk, [task], flag, change_message=message, single_object=True)


# Working on it


def progress(task: ReviewTask) -> TaskProgress:
    """Return the progress of a task."""
    return progress_of_all([task])[task.pk]


def progress_of_all(tasks: Sequence[ReviewTask]) -> dict[int, TaskProgress]:
    """Return the progress of tasks; their people are prefetched."""
    places: dict[int, list[ReviewItem]] = {task.pk: [] for task in tasks}
    for row in ReviewItem.objects.filter(task__in=places).order_by("task", "position"):
        places[row.task_id].append(row)
    words = _words({row.grade_id for rows in places.values() for row in rows})
    return {
        task.pk: progress_of(
            [(row.position, words.get((row.grade_id, row.item), ())) for row in places[task.pk]],
            assigned=[(person.pk, shown_name(person)) for person in task.people.all()],
        )
        for task in tasks
    }


def next_position(task: ReviewTask, person: int, *, after: int = 0) -> int | None:
    """Return the next item that a person has not answered, first those behind `after`."""
    is_open = [position for position, done in answered_by(task, person).items() if not done]
    return next((position for position in is_open if position > after), next(iter(is_open), None))


def answered_by(task: ReviewTask, person: int) -> dict[int, bool]:
    """Return all positions of a task, and whether a person has answered them."""
    rows = list(task.items.order_by("position").values_list("position", "grade", "item"))
    own = Review.objects.filter(by=person, grade__in=[grade for _, grade, _ in rows])
    answered = set(_current(own).values_list("grade", "item"))
    return {position: (grade, item) in answered for position, grade, item in rows}


def items_of(task: ReviewTask) -> list[TaskItem]:
    """Return the items of a task with the verdicts of the judge and of people."""
    rows = list(
        task.items.select_related("grade__execution")
        .only(
            *("task", "position", "item", "grade__turn", "grade__label", "grade__passed"),
            *("grade__status", "grade__details", "grade__execution__case"),
            "grade__execution__trial",
        )
        .order_by("position")
    )
    words = _words({row.grade_id for row in rows})
    return [_item(row, words.get((row.grade_id, row.item), ())) for row in rows]


def item_with_words(row: ReviewItem) -> TaskItem:
    """Return one item with the verdict of the judge and of people."""
    return _item(row, _words({row.grade_id}).get((row.grade_id, row.item), ()))


def _item(row: ReviewItem, words: Sequence[Ruling]) -> TaskItem:
    grade = row.grade
    return TaskItem(
        position=row.position,
        grade=grade.pk,
        item=row.item,
        execution=grade.execution_id,
        case=grade.execution.case,
        trial=grade.execution.trial,
        turn=grade.turn,
        check=grade.label,
        bullet=bullet_text(grade, row.item),
        judged=judge_verdict(grade, row.item),
        words=tuple(words),
    )


def judge_verdict(grade: GradeResult, item: int | None) -> bool | None:
    """Return the judge's verdict on a check or a bullet; None if it did not decide."""
    if item is not None:
        return bullets(grade.details).get(item)
    return grade.passed if grade.status == GradeStatus.OK else None


def _words(grades: Collection[int]) -> dict[tuple[int, int | None], list[Ruling]]:
    """Return each person's latest review of grades and bullets."""
    rows = _current(Review.objects.filter(grade__in=grades)).order_by("pk")
    by_place: dict[tuple[int, int | None], dict[int | str, Ruling]] = {}
    columns = ("grade", "item", "by", "by_name", "passed", "score", "reason")
    for grade, item, by, name, passed, score, reason in rows.values_list(*columns):
        person = name if by is None else by
        word = Ruling(person, name, passed, score, item, reason)
        by_place.setdefault((grade, item), {})[person] = word
    return {place: list(words.values()) for place, words in by_place.items()}


def _current(reviews: QuerySet[Review]) -> QuerySet[Review]:
    return reviews.filter(kind=Review.Kind.VERDICT, withdrawn_at=None, is_label=False)


def asked_item(task: int, *, grade: GradeResult, item: int | None, of: User) -> ReviewItem | None:
    """Return the item of a task that asks a person about a grade; None if it does not."""
    rows = ReviewItem.objects.filter(task=task, task__in=visible_tasks(of), grade=grade, item=item)
    row = rows.select_related("task").first()
    if row is None or not may_answer(row.task, of):
        return None
    row.grade = grade
    return row


def answer_item(
    row: ReviewItem,
    *,
    by: User,
    passed: bool | None,
    score: float | None = None,
    reason: str = "",
) -> Review:
    """Store a person's review of an item, once if it is sent twice.

    Anyone who has reviewed it before has seen the judge's verdict.

    Raises:
        CannotReviewError: no verdict can be computed from it.
    """
    earlier = list(Review.objects.filter(by=by, grade=row.grade_id, item=row.item))
    for review in earlier:
        # On a scale the verdict follows from the score.
        is_same = review.score == score and (score is not None or review.passed is passed)
        if is_same and review.reason == reason.strip() and review.withdrawn_at is None:
            return review
    return review_grade(
        row.grade,
        by=by,
        passed=passed,
        item=row.item,
        score=score,
        reason=reason,
        was_blind=not earlier,
        task=row.task,
    )
