"""Which runs the list shows: without those that belong to another run, which are a click away below it."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from evals_app.admin.kit.presentation import plural
from evals_app.models import Run, Settlement
from fixtures_app.editing.counting import count_of

ALL = "all"
_FOLLOWS = Q(rerun_of__isnull=False) | Q(grades_of__isnull=False) | Q(settlement__isnull=False)
_OF_ANOTHER_MODEL = Q(group__isnull=False, is_whole=False)


class BelongingFilter(admin.SimpleListFilter):
    """Runs of their own, all runs, or with a number those that belong to this run."""

    title = "which runs"
    parameter_name = "which"

    def lookups(self, request: HttpRequest, model_admin: object) -> Iterable[tuple[str, str]]:
        of_run = [(text, f"Those that belong to run {text}")] if (text := self._number()) else []
        return [*of_run, (ALL, "All: also retests, re-runs, gradings again and other models")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        usual, *others = super().choices(changelist)
        yield usual | {"display": "Without those that belong to another run"}
        yield from others

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if number := self._number():
            return queryset.filter(_belonging_to(int(number)))
        return queryset if self.value() == ALL else queryset.exclude(_belongs())

    def _number(self) -> str:
        text = str(self.value() or "")
        return text if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else ""


_MAX_DIGITS = 18  # what a database can look for


def _belongs() -> Q:
    """Match runs that belong to another: they follow it, or test another model beside it."""
    beside = Run.objects.filter(group=OuterRef("group"), suite_slug=OuterRef("suite_slug"))
    first = beside.filter(Q(is_whole=True) | Q(pk__lt=OuterRef("pk")))
    return _FOLLOWS | (_OF_ANOTHER_MODEL & Q(Exists(first)))


def _belonging_to(pk: int) -> Q:
    follows = Q(rerun_of=pk) | Q(grades_of=pk) | Q(settlement__head=pk)
    run = Run.objects.filter(pk=pk).values("group", "suite_slug").first()
    if run is None or run["group"] is None:
        return follows
    return follows | (_OF_ANOTHER_MODEL & Q(**run) & ~Q(pk=pk))


def with_followers(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return runs with how many retests, re-runs and gradings again followed each."""
    return runs.annotate(
        retest_count=count_of(Settlement.objects.all(), "head"),
        rerun_count=count_of(Run.objects.filter(settlement=None), "rerun_of"),
        regrade_count=count_of(Run.objects.all(), "grades_of"),
    )


def followers_in_words(run: Any) -> str:
    """Name what followed a run, loaded `with_followers`: `1 retest, 2 re-runs`."""
    counted = (
        (run.retest_count, "retest", "retests"),
        (run.rerun_count, "re-run", "re-runs"),
        (run.regrade_count, "grading again", "gradings again"),
    )
    return ", ".join(plural(number, one, many) for number, one, many in counted if number)
