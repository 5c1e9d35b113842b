"""Executions in the admin: the list, and the page that shows what an agent did."""

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from unfold.admin import ModelAdmin
from unfold.decorators import display

from evals_app.admin.comparing.side_by_side import side_by_side_url
from evals_app.admin.conversation.execution_numbers import (
    JUDGE_NUMBERS,
    UNKNOWNS,
    execution_numbers,
)
from evals_app.admin.conversation.judgements import agreements_of
from evals_app.admin.conversation.review_actions import ReviewActions
from evals_app.admin.conversation.review_blocks import ExecutionReviews, people_verdict
from evals_app.admin.conversation.span_lines import spans_context
from evals_app.admin.conversation.transcripts import (
    final_lines,
    grade_state,
    judge_call,
    limit_lines,
    readable_trial,
    turn_lines,
    world_lines,
)
from evals_app.admin.executions.case_making import MakesCases
from evals_app.admin.executions.paging import InfinitePaginator
from evals_app.admin.history.case_history import history_url, strip_of
from evals_app.admin.kit.presentation import (
    CAUSES,
    SUMMARY_LABELS,
    badge,
    execution_scripted_badge,
    execution_state,
    people_badge,
    token_lines,
    verdict_state,
)
from evals_app.admin.regrading.regrade_dialog import regrade_url
from evals_app.admin.regrading.regrade_results import execution_context, note_steadiness
from evals_app.admin.runs.run_admin import SuiteFilter, run_name
from evals_app.admin.runs.run_progress import running_line
from evals_app.admin.starting.run_dialog import may_run
from evals_app.engine.record.trial import Trial
from evals_app.engine.verdicts.execution_verdict import NOT_GRADED, summarized_checks
from evals_app.models import Case, Execution, GradeResult, Run, Transcript
from evals_app.reports.renderers.conversations import json_text
from evals_app.reports.words.figures import UNKNOWN, duration, score_text
from evals_app.reports.words.similarity import DIFFERENTLY, is_measured_differently

WENT_WRONG = ("failed", "errored")
_SHOW_A_CASE = ("view", "change")
# A search that matches more names fills its page from the newest executions.
MAX_NAMES = 1000


class CaseFilter(admin.SimpleListFilter):
    """Executions of one case; shown only to people who come from that case's page."""

    title = parameter_name = column = "case"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> Iterable[tuple[str, str]]:
        chosen = request.GET.get(self.parameter_name)
        return [(chosen, chosen)] if chosen else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Execution]) -> QuerySet[Execution]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


class RunFilter(CaseFilter):
    """Executions of one run; shown only to people who come from that run's page."""

    title = parameter_name = "run"
    # By its own key: a number too large for a key finds nothing, but breaks a foreign key.
    column = "run__id"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> Iterable[tuple[str, str]]:
        return [
            (pk, f"Run {pk}") for pk, _ in super().lookups(request, model_admin) if pk.isdecimal()
        ]


class RunSuiteFilter(SuiteFilter):
    """Executions of one suite."""

    column: ClassVar[str] = "run__suite_slug"


@admin.register(Execution)
class ExecutionAdmin(ReviewActions, MakesCases):
    """Executions: written by workers, read here."""

    list_display = (
        *("name", "verdict_badge", "why", "score_shown", "took", "tokens_shown"),
        *("run_shown", "finished_at"),
    )
    list_filter = (RunFilter, CaseFilter, "verdict", "cause", "status", RunSuiteFilter)
    search_fields = ("case",)
    search_help_text = "Part of the current name of a case, or within one run, of its name then"
    paginator = InfinitePaginator
    change_form_template = "admin/evals_app/conversation/review.html"
    when_empty = (
        "An execution is one conversation of a run, with its verdict. Open a suite and press Run."
    )

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Execution]:
        whole = super().get_queryset(request).select_related("run", "reviewed")
        return whole.defer("summary", "turn_ms", "run__summary")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Execution], search_term: str
    ) -> tuple[QuerySet[Execution], bool]:
        """Search the cases, which are few, and find their executions by an index.

        Former names are found within one run, or where no case matches.
        """
        in_one_run = RunFilter.parameter_name in request.GET
        names = _names_with(search_term) if search_term and not in_one_run else []
        if 0 < len(names) <= MAX_NAMES:
            return queryset.filter(case__in=names), False
        return super().get_search_results(request, queryset, search_term)

    @display(description="Case")
    def name(self, execution: Execution) -> str:
        return str(execution)

    @display(description="Verdict")
    def verdict_badge(self, execution: Execution) -> SafeString:
        sign = badge(execution_state(execution, run=execution.run))
        people = getattr(execution, "reviewed", None)
        decided = people_badge(people.verdict) if people else ""
        return format_html("{} {} {}", sign, execution_scripted_badge(execution), decided)

    @display(description="Reason")
    def why(self, execution: Execution) -> SafeString | str:
        if not execution.cause:
            return ""
        return format_html(
            '<div>{}<br><span class="quiet clipped">{}</span></div>',
            CAUSES[execution.cause],
            execution.reason,
        )

    @display(description="Score")
    def score_shown(self, execution: Execution) -> str:
        return score_text(execution.score, scale=execution.run.score_scale)

    @display(description="Agent time")
    def took(self, execution: Execution) -> str:
        return duration(execution.time_ms)

    @display(description="Tokens")
    def tokens_shown(self, execution: Execution) -> SafeString | str:
        return token_lines(execution, judge=execution.run.judge) if execution.verdict else UNKNOWN

    @display(description="Run")
    def run_shown(self, execution: Execution) -> SafeString:
        return run_name(execution.run)

    # The page

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/live/", never_cache(self.live), name="evals_app_execution_live"),
            path(
                "<int:pk>/strip/", require_GET(view(self.strip)), name="evals_app_execution_strip"
            ),
            path("<int:pk>/judge/<int:grade>/", view(self.judge), name="evals_app_execution_judge"),
            *super().get_urls(),
        ]

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Execution | None:
        return _with_its_run().filter(pk=object_id).first() if object_id.isdecimal() else None

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: object, **kwargs: object
    ) -> HttpResponse:
        execution: Execution = context["original"]
        case_id = self._case_id(request, execution)
        may_rerun = may_run(request) and not execution.run.is_open
        may_regrade = may_rerun and execution.verdict
        context |= self._live_context(request, execution, case_id) | {
            **execution_context(execution),
            "title": f"{execution} in run {execution.run_id}",
            "neighbours": _neighbours(execution),
            "previous_result": _previous_result(execution),
            "case_id": case_id,
            "history_url": history_url(execution.run.suite_slug, execution.case),
            "may_rerun": may_rerun and execution.run.gradings == 1,
            "regrade_url": regrade_url(execution.run_id, execution=execution.pk)
            if may_regrade
            else "",
            "show_history": False,
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def live(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the page fragment that changes when the conversation ends."""
        if refused := self.refused_refresh(request):
            return refused
        execution = get_object_or_404(_with_its_run(), pk=pk)
        case_id = self._case_id(request, execution) if execution.verdict else None
        context = self._live_context(request, execution, case_id) | {"is_poll": True}
        return render(request, "admin/evals_app/conversation/live.html", context)

    def strip(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return the last results of the case, including this one."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        execution = get_object_or_404(_with_its_run(), pk=pk)
        context = {"execution": execution, "marks": strip_of(execution)}
        return render(request, "admin/evals_app/history/strip.html", context)

    def judge(self, request: HttpRequest, pk: int, grade: int) -> HttpResponse:
        """Return the judge's prompts and answers for a grade."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = GradeResult.objects.only("calls")
        row = get_object_or_404(rows, pk=grade, execution__id=pk)
        context = {"calls": list(map(judge_call, row.calls))}
        return render(request, "admin/evals_app/conversation/judge.html", context)

    def _live_context(
        self, request: HttpRequest, execution: Execution, case_id: int | None
    ) -> dict[str, Any]:
        """Return the context that changes during the conversation, and the available actions."""
        run = execution.run
        state = execution_state(execution, run=run)
        is_passed = case_id is not None and execution.verdict == "passed"
        context = {
            "execution": execution,
            "run": run,
            "state": state,
            "badge": badge(state),
            "scripted_badge": execution_scripted_badge(execution),
            "cause": CAUSES.get(execution.cause, ""),
            "is_open": state in {"queued", "running"},
            "can_add_checks": is_passed and self.has_checks_permission(request),
        }
        if state == "running":
            return context | {"running": running_line(execution)}
        if state in {"queued", "skipped", "not_run"}:
            return context
        reviews = ExecutionReviews.of(execution, request.user)
        review = _review(execution, reviews)
        has_trial, is_finished = review["trial"] is not None, bool(execution.verdict)
        has_turns = has_trial and bool(review["trial"].turns)
        return (
            context
            | review
            | {
                "can_make_case": is_finished and has_turns and self.has_case_permission(request),
                "may_review": is_finished and has_trial and self.has_review_permission(request),
                "execution_block": reviews.of_execution() if is_finished else None,
                **people_verdict(execution),
            }
        )

    def _case_id(self, request: HttpRequest, execution: Execution) -> int | None:
        """Return the current case, if it still exists and the person may see it."""
        suite_id = execution.run.suite_id
        may_see = any(request.user.has_perm(f"evals_app.{action}_case") for action in _SHOW_A_CASE)
        if suite_id is None or not may_see:
            return None
        cases = Case.objects.filter(suite=suite_id, name=execution.case)
        return cases.values_list("pk", flat=True).first()


def _names_with(search_term: str) -> list[str]:
    """Return names of cases that contain every word, at most one more than `MAX_NAMES`."""
    cases = Case.objects.all()
    for word in search_term.split():
        cases = cases.filter(name__icontains=word)
    names = cases.order_by("name").values_list("name", flat=True).distinct()
    return list(names[: MAX_NAMES + 1])


def _with_its_run() -> QuerySet[Execution]:
    rows = Execution.objects.select_related("run__grades_of", "source", "reviewed")
    left_out = ("turn_ms", "run__summary", "run__grades_of__summary")
    return rows.defer(*left_out, "source__turn_ms", "source__summary")


def _review(execution: Execution, reviews: ExecutionReviews) -> dict[str, Any]:
    """Return the conversation, its grades and its numbers."""
    scale = execution.run.score_scale
    stored = Transcript.objects.of(execution)
    trial = readable_trial(stored)
    # A judge's prompts are long: loaded only on request.
    rows = GradeResult.objects.filter(execution=execution).select_related("yardstick")
    grades = list(rows.defer("calls").order_by("position", "pk"))
    known = agreements_of(grades)
    note_steadiness(execution, grades)
    turns = turn_lines(trial, grades, scale=scale, known=known, reviews=reviews)
    pruned_at = (execution.run.grades_of or execution.run).pruned_at
    is_pruned = stored is None and pruned_at is not None
    is_unreadable = stored is not None and trial is None
    return {
        "is_pruned": is_pruned,
        "pruned_at": pruned_at,
        "is_unreadable": is_unreadable,
        "trial": trial,
        "turns": turns,
        "is_long": any(not turn.is_open for turn in turns),
        "is_silent": not (is_pruned or is_unreadable or any(turn.messages for turn in turns)),
        "history": trial.history if trial else (),
        "final_grades": final_lines(grades, scale=scale, known=known, reviews=reviews),
        "limits": limit_lines(execution, grades, reviews=reviews),
        "summary": _summary(execution, grades),
        "failure_reason": execution.summary.get("response_criteria_failure_reason"),
        **_numbers(execution, trial, scale=scale),
        **spans_context(trial),
        "world": world_lines(trial.world_changes if trial else {}),
        "journal": json_text(list(trial.world_journal)) if trial and trial.world_journal else "",
        "context_params": json_text(trial.context_params) if trial and trial.context_params else "",
    }


def _numbers(execution: Execution, trial: Trial | None, *, scale: str) -> dict[str, Any]:
    """Return the known numbers, and the names of the unknown ones."""
    numbers = execution_numbers(execution, trial, scale=scale)
    # Similarity may use tokens though the run has no judge.
    if not (execution.run.judge or execution.judge_prompt_tokens or execution.judge_cost_usd):
        numbers = [pair for pair in numbers if pair[0] not in JUDGE_NUMBERS]
    if (
        execution.source_id is not None
    ):  # the note at the top lists the numbers that are not its own
        numbers = [pair for pair in numbers if pair[0] != "Cost"]
    return {
        "numbers": [(name, value) for name, value in numbers if value not in UNKNOWNS],
        "unknown_numbers": [name for name, value in numbers if value in UNKNOWNS],
    }


def _summary(execution: Execution, grades: Iterable[GradeResult]) -> list[tuple[str, SafeString]]:
    if not execution.summary:
        return []
    states = {
        key: _summary_state(execution.summary.get(key), summarized_checks(key, grades))
        for key in SUMMARY_LABELS
    }
    # In the summary an errored execution has merely not passed.
    states["overall_passed"] = execution.verdict or states["overall_passed"]
    return [(label, badge(states[key])) for key, label in SUMMARY_LABELS.items() if states[key]]


def _summary_state(passed: bool | None, grades: Iterable[GradeResult]) -> str:  # noqa: FBT001
    """Return the state of a part; a part that was only not graded has the word of its grade."""
    states = sorted(map(grade_state, grades), reverse=True)
    unknown = next((state for state in states if state in NOT_GRADED), None)
    if passed is False and unknown and "failed" not in states:
        return unknown
    return verdict_state(passed, otherwise="")


# Links to other executions


def _neighbours(execution: Execution) -> dict[str, Execution | None]:
    """Return the executions before and after in the run, and the next one that went wrong."""
    siblings = Execution.objects.filter(run=execution.run_id)
    here = {"position": execution.position}
    # The range of positions alone says where in the index to begin.
    after = siblings.filter(
        Q(position__gt=execution.position) | Q(trial__gt=execution.trial, **here),
        position__gte=execution.position,
    ).order_by("position", "trial")
    before = siblings.filter(
        Q(position__lt=execution.position) | Q(trial__lt=execution.trial, **here),
        position__lte=execution.position,
    ).order_by("-position", "-trial")
    wanted = [before, after, after.filter(verdict__in=WENT_WRONG)]
    columns = ("pk", "case", "position", "trial", "verdict")
    # One query, each part of which takes the first row of an index.
    nearest = Execution.objects.filter(
        reduce(or_, (Q(pk=Subquery(rows.values("pk")[:1])) for rows in wanted))
    ).only(*columns)
    place = (execution.position, execution.trial)
    rows = sorted(nearest, key=lambda row: (row.position, row.trial))
    later = [row for row in rows if (row.position, row.trial) > place]
    return {
        "previous": next((row for row in rows if row not in later), None),
        "next": next(iter(later), None),
        "next_failure": next((row for row in later if row.verdict in WENT_WRONG), None),
    }


def _previous_result(execution: Execution) -> dict[str, Any] | None:
    """Return the result of the same case in the latest whole run of the suite before this one."""
    run: Run = execution.run
    if run.grades_again:
        return None  # another note shows the verdict of the same conversation
    earlier = Execution.objects.filter(
        case=execution.case,
        run__suite_slug=run.suite_slug,
        run__is_whole=True,
        run_id__lt=execution.run_id,
        status=Execution.Status.FINISHED,
    )
    compared = ("agent_slug", "agent_name", "model", "similarity")
    rows = earlier.select_related("run").only(
        "verdict", "trial", *(f"run__{name}" for name in compared)
    )
    previous = rows.order_by("-run_id", "trial").first()
    if previous is None:
        return None
    return {
        "pk": previous.pk,
        "run_id": previous.run_id,
        "side_by_side": side_by_side_url(
            execution.case,
            runs=[previous.run_id, execution.run_id],
            trials=[previous.trial, execution.trial],
        ),
        "badge": badge(previous.verdict),
        "differs": ", ".join(_differences(previous.run, run)),
    }


def _differences(before: Run, run: Run) -> Iterator[str]:
    """Return why the results of two runs cannot be compared directly."""
    if before.agent_slug != run.agent_slug:
        yield f"agent {before.agent_name}"
    if before.model != run.model:
        yield f"model {before.model or 'none'}"
    if is_measured_differently(before.similarity, run.similarity):
        yield DIFFERENTLY
