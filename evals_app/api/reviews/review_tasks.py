"""Tasks to check grades over REST: draw, list, read, close. Answers are reviews of executions."""

from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db.models import Count, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evals_app.api.runs.run_views import find_run
from evals_app.models import GradeResult, ReviewTask, Run
from evals_app.reports.answers.review_tasks import (
    JudgedItem,
    ReviewTaskDetails,
    ReviewTaskItem,
    ReviewTaskRow,
    SaidOfItem,
    TaskItem,
    progress_json,
)
from evals_app.requests.auth import user_of
from evals_app.requests.bodies import DrawGrades, Nothing, read_body
from evals_app.requests.endpoint import (
    Endpoint,
    ListEndpoint,
    OneEndpoint,
    describe_get,
    find_or_404,
    new_response,
    responses,
)
from evals_app.requests.permissions import Need, Scope
from evals_app.runs.judges.criteria import GradeCriterion, criteria_of
from evals_app.runs.reviews.review_tasks import (
    CHECKING,
    SEEING,
    CannotCheckError,
    close_task,
    create_task,
    items_of,
    people_who_may_review,
    progress,
    visible_tasks,
)
from fixtures_app.ground.strict_json import JsonObject

SEE = Need(Scope.READ, SEEING)
REVIEW = Need(Scope.AUTHOR, *CHECKING)


@describe_get("review_tasks_list", "List the tasks to check grades of a run", 404)
class ReviewTasks(ListEndpoint):
    """The tasks of a run that the caller may see, newest first."""

    needs: ClassVar = {"GET": SEE, "POST": REVIEW}
    queryset = ReviewTask.objects.none()  # for the schema
    answer = ReviewTaskRow

    def get_queryset(self) -> QuerySet[ReviewTask]:
        tasks = visible_tasks(self.request.user).filter(run=find_run(self.kwargs["pk"]))
        return _whole(tasks)

    def row_json(self, row: ReviewTask) -> JsonObject:
        return _columns(row)

    @extend_schema(
        operation_id="review_tasks_create",
        summary="Draw grades of a run for people to check",
        request=DrawGrades,
        responses=responses(ReviewTaskDetails, 404, 422, status=201),
    )
    def post(self, request: Request, pk: int) -> Response:
        body = read_body(DrawGrades, request.data)
        user = user_of(request)
        run = find_run(pk)
        people = list(people_who_may_review().filter(username__in=body.people))
        unknown = set(body.people) - {person.get_username() for person in people}
        if unknown:
            name = min(unknown)
            problem = f"{name} does not exist or may not review conversations."
            raise CannotCheckError(problem, key="people", value=name)
        task = create_task(run, by=user, people=people, **body.model_dump(exclude={"people"}))
        return new_response(_details(task.pk, user), "review-task", task.pk)


@describe_get(
    "review_tasks_get", "Read a task with its grades, and what people and the judge say", 404
)
class OneReviewTask(OneEndpoint):
    """One task, as far as the caller may know it."""

    needs: ClassVar = {"GET": SEE}
    model = ReviewTask
    answer = ReviewTaskDetails

    def read(self, key: int) -> JsonObject:
        return _details(key, user_of(self.request))


class CloseReviewTask(Endpoint):
    """Close a task."""

    needs: ClassVar = {"POST": REVIEW}

    @extend_schema(
        operation_id="review_tasks_close",
        summary="Close a task",
        description="All answers are kept. Then everyone who may see the task sees all of them.",
        request=None,
        responses=responses(ReviewTaskDetails, 404),
    )
    def post(self, request: Request, pk: int) -> Response:
        read_body(Nothing, request.data)
        user = user_of(request)
        close_task(find_or_404(visible_tasks(user), pk=pk), by=user)
        return Response(_details(pk, user))


def _whole(tasks: QuerySet[ReviewTask]) -> QuerySet[ReviewTask]:
    rows = tasks.select_related("created_by").prefetch_related("people")
    return rows.annotate(item_count=Count("items"))


def _columns(task: Any) -> JsonObject:
    row = {name: getattr(task, name) for name in ("id", "created_at", "closed_at")}
    return ReviewTaskRow.of(
        row,
        run=task.run_id,
        count=task.item_count,
        people=sorted(person.get_username() for person in task.people.all()),
        created_by=task.created_by and task.created_by.get_username(),
    )


def _details(pk: int, user: User) -> JsonObject:
    """Return a task; while it is open, others' reviews are hidden until people give their own."""
    task = find_or_404(_whole(visible_tasks(user)), pk=pk)
    items = items_of(task)
    rows = GradeResult.objects.filter(pk__in={item.grade for item in items})
    grades = rows.select_related("execution").defer("calls", "execution__summary").in_bulk()
    run = Run.objects.select_related("snapshot").defer("summary").get(pk=task.run_id)
    criteria = criteria_of(run, [(grades[item.grade], item.item) for item in items])
    listed = [
        _item_json(
            item,
            grades[item.grade],
            criterion,
            is_revealed=task.closed_at is not None or item.ruling_of(user.pk) is not None,
        )
        for item, criterion in zip(items, criteria, strict=True)
    ]
    return ReviewTaskDetails.of(_columns(task), items=listed, **progress_json(progress(task)))


def _item_json(
    item: TaskItem, grade: GradeResult, criterion: GradeCriterion, *, is_revealed: bool
) -> JsonObject:
    people = [SaidOfItem.of_object(word, by=word.name) for word in item.words]
    return ReviewTaskItem.of_object(
        item,
        criterion=criterion.text,
        under=list(criterion.under),
        scale="1-5" if item.item is None and criterion.has_five_points else "pass_fail",
        is_revealed=is_revealed,
        judge=_judge_json(item, grade) if is_revealed else None,
        people=people if is_revealed else None,
    )


def _judge_json(item: TaskItem, grade: GradeResult) -> JsonObject:
    """Return the judge's verdict on a check or a bullet."""
    score, reason = grade.score, grade.reason
    if item.item is not None:
        listed = grade.details.get("items", [])
        bullet: JsonObject = next((row for row in listed if row.get("id") == item.item), {})
        score = None if item.judged is None else float(item.judged)
        reason = str(bullet.get("critique") or "")
    return JudgedItem.of(passed=item.judged, score=score, reason=reason)
