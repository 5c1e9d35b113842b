"""Ask people for the labels that say most about one judge on one criterion."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random

from django.contrib.auth.models import User
from django.db.models import Max

from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.engine.statistics.agreement import Proportion, compare
from evals_app.engine.verdicts.overruling import bullets
from evals_app.models import GradeResult, JudgeTally, Review, ReviewItem, ReviewTask, Run, Yardstick
from evals_app.models.judging.reviews import IS_LABEL
from evals_app.reports.words.judges import judges_in
from evals_app.runs.judges.calibration import MAX_CORRECTED, Calibration, plan_next
from evals_app.runs.reviews.review_tasks import (
    CannotCheckError,
    next_position,
    refuse_run,
    store_task,
)

_MAX_RUNS = 20  # newest ones that may have answers to check
_MAX_TASKS = 5

_Place = tuple[int, int | None]  # a grade, and the number of the bullet


def ask_for_labels(calibration: Calibration, *, by: User) -> ReviewTask:
    """Return a task of the answers to check next; the person's own one is continued.

    They are drawn by chance from those that the judge passed and from those that it failed, as many of
    each as narrow the corrected pass rate most. They are mixed, so that their order says nothing about
    the judge.

    Raises:
        CannotCheckError: no run has answers left to check, or the person may not.
    """
    for run in _runs(calibration):
        verdicts = dict(_verdicts(run, calibration.yardstick))
        if task := _open_task(run, verdicts, by=by):
            return task
        if drawn := _draw(calibration, run, verdicts):
            refuse_run(run, [by], len(drawn))
            return store_task(run, drawn, by=by)
    raise CannotCheckError("No recent run has answers by this criterion that are left to check.")


def _runs(calibration: Calibration) -> Iterator[Run]:
    """Return the runs to draw from: those with labels, newest first, then the judge's newest."""
    recent = JudgeTally.objects.filter(model__in=judges_in(calibration.yardstick.judge))
    newest = recent.values("run").annotate(last=Max("run")).order_by("-last")
    keys = [*calibration.by_run, *newest.values_list("run", flat=True)[:_MAX_RUNS]]
    runs = Run.objects.filter(total__lte=MAX_CORRECTED, pruned_at=None).exclude(status__in=Run.OPEN)
    by_key = runs.defer("summary", "overrides", "reviewed").in_bulk(keys)
    return (by_key[key] for key in dict.fromkeys(keys) if key in by_key)


def _verdicts(run: Run, yardstick: Yardstick) -> Iterator[tuple[_Place, bool]]:
    """Return what the judge decided in a run by one criterion, by grade and bullet."""
    grades = GradeResult.objects.filter(execution__run=run, status=GradeStatus.OK)
    if not yardstick.is_item:
        decided = grades.filter(yardstick=yardstick, passed__isnull=False)
        for pk, passed in decided.exclude(cause=Cause.AGENT).values_list("pk", "passed"):
            yield (pk, None), passed is True
        return
    rubrics = grades.filter(family="judged", details__scale="rubric")
    for pk, details in rubrics.values_list("pk", "details"):
        asked = {item["id"]: item.get("yardstick") for item in details["items"] if "id" in item}
        for number, met in bullets(details).items():
            if met is not None and asked[number] == yardstick.digest:
                yield (pk, number), met


def _open_task(run: Run, verdicts: Collection[_Place], *, by: User) -> ReviewTask | None:
    """Return the person's own task on a criterion that they have not finished."""
    own = ReviewTask.objects.filter(run=run, created_by=by, closed_at=None).order_by("-pk")
    for task in own[:_MAX_TASKS]:
        places = set(task.items.values_list("grade", "item"))
        if places <= set(verdicts) and next_position(task, by.pk) is not None:
            return task
    return None


def _draw(calibration: Calibration, run: Run, verdicts: Mapping[_Place, bool]) -> Sequence[_Place]:
    judged = Proportion(sum(verdicts.values()), len(verdicts))
    labels = [answer for answer in calibration.answers if answer.newest.run == run.pk]
    plan = plan_next(calibration.agreement, compare([answer.label for answer in labels]), judged)
    seen = set(_places_known(run, calibration.yardstick))
    chance = Random(f"{run.pk}-{len(seen)}")
    drawn: list[_Place] = []
    for verdict, number in ((True, plan.passed), (False, plan.failed)):
        fresh = sorted(
            (
                place
                for place, passed in verdicts.items()
                if passed is verdict and place not in seen
            ),
            key=lambda place: (place[0], place[1] or 0),
        )
        drawn += chance.sample(fresh, min(number, len(fresh)))
    chance.shuffle(drawn)
    return drawn


def _places_known(run: Run, yardstick: Yardstick) -> Iterator[_Place]:
    """Return what is labelled already, or asked about in an open task."""
    labels = Review.objects.filter(IS_LABEL, execution__run=run, yardstick=yardstick)
    yield from labels.values_list("grade", "item")
    asked = ReviewItem.objects.filter(task__run=run, task__closed_at=None)
    yield from asked.values_list("grade", "item")
