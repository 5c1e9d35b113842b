"""Tasks to check grades in the admin: the list, the result of one, the dialogs that start and close one."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.paginator import InfinitePaginator

from evals_app.admin.kit.pages import ask, form_data, fragment_of, person
from evals_app.admin.kit.permissions import ReadOnly, requires
from evals_app.admin.kit.presentation import badge, plural
from evals_app.admin.reviews.grade_checking import verdict_in_words
from evals_app.admin.reviews.review_task_form import ReviewTaskForm
from evals_app.admin.starting.run_dialog import leave_dialog
from evals_app.models import ReviewTask, Run
from evals_app.models.people.names import shown_name
from evals_app.reports.answers.review_tasks import (
    TaskItem,
    TaskProgress,
    agreement_with_judge,
    progress_of,
    tallies,
)
from evals_app.runs.judges.calibration import plan_for_run
from evals_app.runs.reviews.review_tasks import (
    CHECKING,
    SEEING,
    CannotCheckError,
    close_task,
    create_task,
    items_of,
    may_answer,
    may_close,
    progress_of_all,
    visible_tasks,
)
from fixtures_app.editing.markup import TemplateContext
from fixtures_app.editing.times import moment
from fixtures_app.ground.quoting import cut_middle

MAX_LINKED = 10  # tasks on the page of a run


class AssigneeFilter(admin.SimpleListFilter):
    """Tasks assigned to me, or to others."""

    title = "person"
    parameter_name = "whose"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        return [("mine", "I may check them"), ("others", "Others check them")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        given = ReviewTask.people.through.objects.all()
        mine = given.filter(user=person(request)).values("reviewtask")
        others = given.exclude(reviewtask__in=mine).values("reviewtask")
        if self.value() == "mine":
            return queryset.exclude(pk__in=others)
        return queryset.filter(pk__in=others) if self.value() == "others" else queryset


class ClosedFilter(admin.SimpleListFilter):
    """Open tasks, or closed ones."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        return [("open", "Open"), ("closed", "Closed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in {"open", "closed"}:
            return queryset
        return queryset.filter(closed_at__isnull=self.value() == "open")


class TaskList(ChangeList):
    """A page of the list, with how far its tasks are."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        reached = progress_of_all(self.result_list)
        for task in self.result_list:
            task.reached, task.reader = reached[task.pk], request.user.pk


@admin.register(ReviewTask)
class ReviewTaskAdmin(ReadOnly):
    """Tasks: started on the page of a run, worked on and read here."""

    list_display = ("name", "status_badge", "mine", "people_shown", "when_created")
    list_filter = (AssigneeFilter, ClosedFilter)
    list_per_page = 25
    paginator = InfinitePaginator
    change_form_template = "admin/evals_app/reviews/tasks/page.html"
    when_empty = (
        "People check a sample of grades to find out how far a judge can be trusted. Open a run and"
        " press Check grades."
    )

    has_view_permission = requires(SEEING)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReviewTask]:
        return _tasks_for(request)

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return TaskList

    @display(description="Grades of")
    def name(self, task: ReviewTask) -> str:
        return f"{task.run.suite_name}, run {task.run_id}"

    @display(description="Status")
    def status_badge(self, task: Any) -> SafeString:
        return _badge(task, task.reached)

    @display(description="Your progress")
    def mine(self, task: Any) -> str:
        if task.people.all() and task.reader not in {person.pk for person in task.people.all()}:
            return "not yours"
        return f"{task.reached.done_by(task.reader)} of {task.reached.total}"

    @display(description="People")
    def people_shown(self, task: Any) -> SafeString | str:
        lines = [f"{row.name}: {row.done} of {task.reached.total}" for row in task.reached.people]
        if not lines:
            return "anyone"
        return format_html("<div>{}</div>", format_html_join("", "{}<br>", ((x,) for x in lines)))

    @display(description="Created")
    def when_created(self, task: ReviewTask) -> str:
        return moment(task.created_at)

    # The page of a task

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> ReviewTask | None:
        # Before Django looks whether it exists.
        if not self.has_view_permission(request):
            raise PermissionDenied
        if not object_id.isdecimal():
            return None
        return self.get_queryset(request).filter(pk=object_id).first()

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        task: ReviewTask = context["original"]
        context |= _result(task, person(request)) | {
            "title": f"Grades of run {task.run_id} to check",
            "task": task,
            "may_close": may_close(task, request.user),
            "show_history": False,
        }
        return super().render_change_form(request, context, *args, **kwargs)


# Its dialogs, and its lines on the page of a run


@fragment_of(ReviewTask)
def show_tasks_of_run(request: HttpRequest, pk: int) -> HttpResponse:
    """Return the part of the page of a run with its latest tasks."""
    tasks = list(_tasks_for(request).filter(run=pk)[:MAX_LINKED])
    reached = progress_of_all(tasks)
    rows = [
        {"task": task, "progress": reached[task.pk], "badge": _badge(task, reached[task.pk])}
        for task in tasks
    ]
    return render(
        request,
        "admin/evals_app/reviews/tasks/of_run.html",
        {"tasks": rows, "run_id": pk} | _plan(request, pk),
    )


def _plan(request: HttpRequest, pk: int) -> dict[str, object]:
    """Return how many answers of a run to check next, and for which criterion."""
    run = Run.objects.defer("summary").filter(pk=pk).first()
    found = plan_for_run(run) if run and request.user.has_perms(CHECKING) else None
    if found is None:
        return {}
    yardstick, plan = found
    return {
        "digest": yardstick.digest,
        "criterion": cut_middle(yardstick.criterion, 80),
        "answers": plural(plan.count, "answer"),
    }


@permission_required(CHECKING, raise_exception=True)
def start_task(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask how many grades of which checks, and draw them."""
    run = get_object_or_404(Run.objects.defer("summary"), pk=pk)
    form = ReviewTaskForm(run, data=form_data(request))
    if form.is_valid():
        try:
            task = create_task(run, by=person(request), **form.task_options)
        except CannotCheckError as error:
            form.add_error(error.key if error.key in form.fields else None, error.problems)
        else:
            return leave_dialog(task_url(task.pk))
    context = {"form": form, "run": run}
    return render(request, "admin/evals_app/reviews/tasks/start.html", context)


@permission_required(CHECKING, raise_exception=True)
def ask_to_close(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then close the task."""
    task = get_object_or_404(visible_tasks(request.user), pk=pk)
    if request.method != "POST":
        return ask(
            request,
            title="Close this task?",
            text="No one is asked about its grades any more. All answers are kept and count.",
            submit="Close task",
            dismiss="Cancel",
        )
    if close_task(task, by=person(request)):
        messages.success(request, "The task is closed.")
    else:
        messages.info(request, "The task is closed already.")
    return leave_dialog(task_url(pk))


def task_url(pk: int) -> str:
    """Return the URL of a task's page."""
    return reverse("admin:evals_app_reviewtask_change", args=[pk])


def may_check_grades(request: HttpRequest, run: Run) -> bool:
    """Whether a person may draw grades of a run that has ended."""
    return bool(run.judge) and request.user.has_perms(CHECKING)


def _tasks_for(request: HttpRequest) -> QuerySet[ReviewTask]:
    tasks = visible_tasks(request.user).select_related("run", "created_by").order_by("-pk")
    return tasks.defer("run__summary", "run__overrides").prefetch_related("people")


def _badge(task: ReviewTask, reached: TaskProgress) -> SafeString:
    if task.closed_at is not None:
        return badge("finished", word="Closed")
    is_done = bool(reached.people) and all(row.done == reached.total for row in reached.people)
    return badge("finished", word="All checked") if is_done else badge("queued", word="Open")


def _result(task: ReviewTask, user: User) -> dict[str, object]:
    """Return how far a task is, and where people and the judge disagree.

    People still working on it do not see answers of others to grades they have not answered.
    """
    items = items_of(task)
    reached = _progress(task, items)
    is_mine = may_answer(task, user)
    seen = [item for item in items if not is_mine or item.ruling_of(user.pk)]
    compared = [item for item in seen if item.is_compared]
    return {
        "progress": reached,
        "badge": _badge(task, reached),
        "people": [
            {"row": row, "agreement": agreement_with_judge(seen, row.person)}
            for row in reached.people
        ],
        "tallies": tallies(seen),
        "compared": len(compared),
        "agreeing": sum(not item.differs for item in compared),
        "disputed": [_line(item) for item in seen if item.people_disagree],
        "differing": [_line(item) for item in seen if item.differs],
        "hidden": len(items) - len(seen),
        "is_mine": is_mine,
        "own": reached.done_by(user.pk),
        "is_done": all(item.ruling_of(user.pk) for item in items),
    }


def _progress(task: ReviewTask, items: list[TaskItem]) -> TaskProgress:
    assigned = [(person.pk, shown_name(person)) for person in task.people.all()]
    return progress_of([(item.position, item.words) for item in items], assigned=assigned)


def _line(item: TaskItem) -> dict[str, object]:
    address = reverse("admin:evals_app_execution_change", args=[item.execution])
    return {
        "item": item,
        "url": f"{address}#grade-{item.grade}",
        "judge": verdict_in_words(item.judged),
        "people": verdict_in_words(item.people_say),
        "words": [(word, verdict_in_words(word.passed)) for word in item.words],
    }
