"""Which runs the list shows, and those that belong to another one, which it shows below it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Window
from django.db.models.functions import Coalesce, RowNumber
from django.http import HttpRequest

from evals_app.admin.kit.presentation import plural
from evals_app.models import Run, Settlement
from evals_app.runs.reading.suite_verdict import with_pass_rates
from fixtures_app.editing.counting import count_of

ALL = "all"
MAX_BELOW = 4  # runs that a list shows below the run that they belong to
# Gradings of real conversations follow no run of an agent.
_GRADES_AGAIN = Q(grades_of__isnull=False, conversation_set__isnull=True)
_FOLLOWS = Q(rerun_of__isnull=False) | _GRADES_AGAIN | Q(settlement__isnull=False)
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
        # What people do with ticked runs may be about those that the list shows below others.
        is_whole = self.value() == ALL or request.method == "POST"
        return queryset if is_whole else queryset.exclude(_belongs())

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


def runs_below(runs: Sequence[Run]) -> dict[int, list[Any]]:
    """Return the newest retests, re-runs and gradings again of runs, in one query."""
    keys = [run.pk for run in runs]
    parent = Coalesce("settlement__head", "grades_of", "rerun_of")
    newest = Window(RowNumber(), partition_by=F("parent"), order_by=F("pk").desc())
    retests = Settlement.objects.filter(head__in=keys).values("pk")  # a join would read all runs
    follow = Q(settlement__in=retests) | Q(grades_of__in=keys) | Q(rerun_of__in=keys)
    rows = Run.objects.filter(follow).annotate(parent=parent, back=newest)
    loaded = with_followers(with_pass_rates(rows.filter(back__lte=MAX_BELOW)))
    below: dict[int, list[Any]] = {}
    rows_with_parents: QuerySet[Any] = loaded.select_related("suite").order_by("-pk")
    for run in rows_with_parents:
        below.setdefault(run.parent, []).append(run)
    return below


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
