"""The list of suites: its rows with their verdicts, its columns, and the filter by tag."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.views import ChangeList

from evals_app.admin.history.last_results import last_results, result_dots
from evals_app.admin.history.suite_verdict import standing_text
from evals_app.admin.kit.cells import bar_of_cases, two_lines
from evals_app.admin.kit.presentation import plural
from evals_app.models import Suite
from evals_app.reports.words.shares import share_of_cases
from evals_app.runs.reading.suite_verdict import standings


class SuiteList(ChangeList):
    """A page of the list, with the verdicts and last results of its suites."""

    result_list: Any

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        has_run_links = request.user.has_perm("evals_app.view_run")
        last = last_results(self.result_list, "suite")
        for suite, standing in zip(self.result_list, standings(self.result_list), strict=True):
            suite.standing, suite.has_run_links = standing, has_run_links
            suite.last_runs = last.get(suite.pk, ())

    def url_for_result(self, result: Any) -> str:
        return reverse("admin:evals_app_suite_cases", args=[result.pk])


class SuiteTagFilter(admin.SimpleListFilter):
    """Suites with a tag."""

    title = "tag"
    parameter_name = "tag"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        lists = Suite.objects.exclude(tags=[]).values_list("tags", flat=True)
        return [(tag, tag) for tag in sorted({tag for tags in lists for tag in tags})]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (tag := self.value()):
            return queryset
        # Not every database can look into a list.
        tagged = Suite.objects.exclude(tags=[]).values_list("pk", "tags")
        return queryset.filter(pk__in=[pk for pk, tags in tagged if tag in tags])


@display(description="Suite", ordering="name")
def suite_cell(suite: Any) -> SafeString:
    """Return the name of a suite, and below it its agent and the number of its cases."""
    return two_lines(suite.name, f"{suite.agent.name}, {plural(suite.case_count, 'case')}")


@display(description="Last verdict")
def verdict_cell(suite: Any) -> SafeString:
    """Return the verdict of the last full run."""
    return standing_text(suite.standing, has_links=suite.has_run_links)


@display(description="Last five")
def last_cell(suite: Any) -> SafeString | str:
    """Return how the last full runs ended."""
    return result_dots(suite.last_runs)


@display(description="Cases passed")
def passed_cell(suite: Any) -> SafeString | str:
    """Return how the cases of the last full run ended."""
    run = suite.standing.verdict_run
    return two_lines(bar_of_cases(run), share_of_cases(vars(run))) if run else ""
