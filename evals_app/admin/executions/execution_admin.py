"""Executions in the admin: the list, and the page that shows what an agent did."""

from collections.abc import Iterable
from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import display

from evals_app.admin.conversation.execution_numbers import UNKNOWNS
from evals_app.admin.executions.execution_pages import whole_context, with_its_run
from evals_app.admin.kit.paging import InfinitePaginator
from evals_app.admin.kit.permissions import ReadOnly, requires
from evals_app.admin.kit.presentation import (
    SIGNS,
    execution_badges,
    execution_state,
    headline,
    people_badge,
)
from evals_app.admin.people.saved_views import WithViews
from evals_app.admin.real_conversations.copy_page import COPYING, copy_chosen
from evals_app.admin.runs.run_admin import SuiteFilter, run_name
from evals_app.models import Case, Execution, Run
from evals_app.reports.words.figures import duration, score_text, token_sum
from evals_app.runs.reading.newest_rows import end_of
from fixtures_app.editing.markup import TemplateContext, verdict_dot
from fixtures_app.editing.times import moment

# A search that matches more names fills its page from the newest executions.
MAX_NAMES = 1000
_SEARCHED = 100_000  # the newest conversations, for names that no case has any more


class CaseFilter(admin.SimpleListFilter):
    """Executions of one case; shown only to people who come from that case's page."""

    title = parameter_name = column = "case"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        chosen = request.GET.get(self.parameter_name)
        return [(chosen, chosen)] if chosen else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Execution]) -> QuerySet[Execution]:
        return queryset.filter(**{self.column: self.value()}) if self.value() else queryset


class RunFilter(CaseFilter):
    """Executions of one run; shown only to people who come from that run's page."""

    title = parameter_name = "run"
    # By its own key: a number too large for a key finds nothing, but breaks a foreign key.
    column = "run__id"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        return [
            (pk, f"Run {pk}") for pk, _ in super().lookups(request, model_admin) if pk.isdecimal()
        ]


class RunSuiteFilter(SuiteFilter):
    """Executions of one suite."""

    column: ClassVar[str] = "run__suite_slug"


@admin.register(Execution)
class ExecutionAdmin(WithViews, ReadOnly):
    """Executions: written by workers, read here."""

    list_display = ("conversation", "run_shown", "when_ended")
    list_filter = (RunFilter, CaseFilter, "verdict", "cause", "status", RunSuiteFilter)
    search_fields = ("case",)
    search_help_text = "Part of the current name of a case, or within one run, of its name then"
    paginator = InfinitePaginator
    actions = (copy_chosen,)
    list_disable_select_all = True  # it would say how many there are
    has_copy_permission = requires(*COPYING)
    change_form_template = "admin/evals_app/conversation/review.html"
    when_empty = (
        "These are the conversations of runs, with their verdicts. Open a suite and press Run."
    )

    # The list

    def get_queryset(self, request: HttpRequest) -> QuerySet[Execution]:
        # Sets of real conversations have a list of their own.
        imports = Run.all_runs.filter(is_import=True).values("pk")
        graded = super().get_queryset(request).exclude(run__in=imports)
        whole = graded.select_related("run", "reviewed")
        return whole.defer("summary", "turn_ms", "run__summary")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Execution], search_term: str
    ) -> tuple[QuerySet[Execution], bool]:
        """Search the cases, which are few, and find their executions by an index.

        Former names are found within one run and, where no case matches, among the newest.
        """
        in_one_run = RunFilter.parameter_name in request.GET
        names = _names_with(search_term) if search_term and not in_one_run else []
        if 0 < len(names) <= MAX_NAMES:
            return queryset.filter(case__in=names), False
        if search_term and not in_one_run and not names:
            queryset = queryset.filter(pk__gte=end_of(Execution.objects.all()) - _SEARCHED)
        return super().get_search_results(request, queryset, search_term)

    @display(description="Conversation")
    def conversation(self, execution: Execution) -> SafeString:
        sign = SIGNS[execution_state(execution, run=execution.run)]
        labels = [execution_badges(execution)]
        if (people := getattr(execution, "reviewed", None)) is not None:
            labels.append(people_badge(people.verdict))
        return format_html(
            '<span class="ew-two"><span class="ew-name">{} {} {}</span>'
            '<span class="ew-why">{}</span></span>',
            verdict_dot(sign.tone, sign.word),
            execution,
            format_html_join(" ", "{}", ((label,) for label in labels if label)),
            headline(execution) or _numbers(execution),
        )

    @display(description="Run")
    def run_shown(self, execution: Execution) -> SafeString:
        return run_name(execution.run)

    @display(description="Ended", ordering="finished_at")
    def when_ended(self, execution: Execution) -> SafeString | str:
        return moment(execution.finished_at) or "not yet"

    # The page

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Execution | None:
        return with_its_run().filter(pk=object_id).first() if object_id.isdecimal() else None

    def render_change_form(
        self, request: HttpRequest, context: TemplateContext, *args: object, **kwargs: object
    ) -> HttpResponse:
        context |= whole_context(request, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)


def _numbers(execution: Execution) -> str:
    """Return the known numbers of a conversation in one line."""
    judged = token_sum(execution.judge_prompt_tokens, execution.judge_response_tokens)
    numbers = {
        "score": score_text(execution.score, scale=execution.run.score_scale),
        "time": duration(execution.time_ms),
        "tokens": token_sum(execution.agent_prompt_tokens, execution.agent_response_tokens),
        "judge tokens": "" if judged == "0" else judged,
    }
    return ", ".join(
        f"{name} {value}" for name, value in numbers.items() if value and value not in UNKNOWNS
    ).capitalize()


def _names_with(search_term: str) -> list[str]:
    """Return names of cases that contain every word, at most one more than `MAX_NAMES`."""
    cases = Case.objects.all()
    for word in search_term.split():
        cases = cases.filter(name__icontains=word)
    names = cases.order_by("name").values_list("name", flat=True).distinct()
    return list(names[: MAX_NAMES + 1])
