"""Filters of lists; every filter has an index."""

from datetime import UTC, datetime

from django import forms
from django.core.validators import EMPTY_VALUES
from django.db.models import Exists, OuterRef, Q, QuerySet
from django_filters import rest_framework as filters

from evals_app.models import (
    Activity,
    Case,
    CaseResult,
    Execution,
    ImportedConversation,
    Review,
    Run,
    Suite,
    Yardstick,
)
from evals_app.models.authored.suites import SuiteQuerySet
from evals_app.models.judging.reviews import IS_LABEL
from evals_app.requests.pagination import MAX_ID
from evals_app.runs.reading.case_history import COUNTED
from evals_app.runs.recorded.grade_conversations import WantedConversations, flag_of
from evals_app.runs.starting.select import with_tag
from fixtures_app.ground.words import near

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_TRUE_OR_FALSE = [("true", "true"), ("false", "false")]
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)


class _MomentField(filters.IsoDateTimeFilter.field_class):  # type: ignore[misc]
    """A time in the range that every database supports."""

    def clean(self, value: object) -> datetime | None:
        try:
            moment: datetime | None = super().clean(value)
            is_out = moment is not None and not _EARLIEST <= moment <= _LATEST
        except (forms.ValidationError, OverflowError):
            is_out = True
        if is_out:
            raise forms.ValidationError("Enter a time such as 2026-05-01T09:30:00+00:00.")
        return moment


class _MomentFilter(filters.IsoDateTimeFilter):  # type: ignore[misc]
    field_class = _MomentField


class _WordField(filters.ChoiceFilter.field_class):  # type: ignore[misc]
    """One of some words; another one is answered with all of them."""

    def validate(self, value: object) -> None:
        try:
            super().validate(value)
        except forms.ValidationError:
            known = [word for word, _ in self.choices if word]
            problem = f"{value!r} is none of {', '.join(known)}.{near(str(value), known)}"
            raise forms.ValidationError(problem) from None


class _WordFilter(filters.ChoiceFilter):  # type: ignore[misc]
    field_class = _WordField


class RunFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of runs."""

    suite = filters.CharFilter("suite_slug", label="Slug of the suite.")
    agent = filters.CharFilter("agent_slug", label="Slug of the agent.")
    status = _WordFilter(choices=Run.Status.choices)
    verdict = _WordFilter(choices=Run.Verdict.choices)
    is_whole = _WordFilter(
        choices=_TRUE_OR_FALSE,
        method="of_coverage",
        label="Whether the run covers the whole suite, with its own agent and model.",
    )
    grades_of = filters.NumberFilter(
        "grades_of", min_value=1, max_value=MAX_ID, label="Number of a run that is graded again."
    )
    group = filters.UUIDFilter("group", label="Of runs that were started together.")
    created_after = _MomentFilter("created_at", "gte", label="At this time or later.")
    created_before = _MomentFilter("created_at", "lt", label="Before this time.")

    def of_coverage(self, runs: QuerySet[Run], _name: str, value: str) -> QuerySet[Run]:
        """Return full runs, or the others."""
        return runs.filter(is_whole=value == "true")


class ActivityFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of acts."""

    person = filters.CharFilter("by_name", label="Username.")
    kind = _WordFilter(choices=Activity.Kind.choices)
    origin = _WordFilter(choices=Activity.Origin.choices)
    type = filters.CharFilter("object_type", label="Type of object, for example run.")
    object = filters.CharFilter(method="about", label="Number or whole name of an object.")
    after = _MomentFilter(method="since", label="At this time or later.")
    before = _MomentFilter(method="until", label="Before this time.")

    def about(self, acts: QuerySet[Activity], _name: str, value: str) -> QuerySet[Activity]:
        """Return acts with one object."""
        return acts & Activity.objects.about(value)

    def since(self, acts: QuerySet[Activity], _name: str, value: datetime) -> QuerySet[Activity]:
        """Return acts at this time or later."""
        return acts.filter(Activity.objects.since(value))

    def until(self, acts: QuerySet[Activity], _name: str, value: datetime) -> QuerySet[Activity]:
        """Return acts before this time."""
        return acts.filter(Activity.objects.before(value))


class SettlementFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of retests."""

    base = filters.NumberFilter("base", min_value=1, max_value=MAX_ID, label="Number of a run.")
    head = filters.NumberFilter("head", min_value=1, max_value=MAX_ID, label="Number of a run.")


class YardstickFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of what judges grade by. The table is small: a row for each wording."""

    judge = filters.CharFilter("judge", label="As `judge` in the answer.")
    suite = filters.CharFilter(
        method="compared_in", label="Slug of a suite: only what people compared in its runs."
    )

    def compared_in(
        self, yardsticks: QuerySet[Yardstick], _name: str, value: str
    ) -> QuerySet[Yardstick]:
        """Return judged criteria with labels of the answers of a suite."""
        labels = Review.objects.filter(IS_LABEL, execution__run__suite_slug=value)
        return yardsticks.filter(Exists(labels.filter(yardstick=OuterRef("pk"))))


class SuiteFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of suites: current ones or, with `archived=true`, archived ones."""

    archived = _WordFilter(choices=_TRUE_OR_FALSE)

    def filter_queryset(self, queryset: SuiteQuerySet) -> SuiteQuerySet:
        if self.form.cleaned_data["archived"] == "true":
            return queryset.exclude(archived_at=None)
        return queryset.current()


class CaseFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of the cases of a suite."""

    name = filters.CharFilter(label="The whole name.")


class ExecutionFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of the executions of a run."""

    verdict = _WordFilter(choices=Execution._meta.get_field("verdict").choices)  # noqa: SLF001
    status = _WordFilter(choices=Execution.Status.choices)
    cause = _WordFilter(
        choices=Execution._meta.get_field("cause").choices,  # noqa: SLF001
        method="of_cause",
    )
    case = filters.CharFilter("case", label="Name of the case.")

    def of_cause(
        self, executions: QuerySet[Execution], _name: str, value: str
    ) -> QuerySet[Execution]:
        """Return executions with a cause; that there is one lets SQLite use the index."""
        return executions.exclude(cause="").filter(cause=value)


class AllExecutionFilters(ExecutionFilters):
    """Filters of the conversations of all runs."""

    suite = filters.CharFilter("run__suite_slug", label="Slug of the suite.")
    agent = filters.CharFilter("run__agent_slug", label="Slug of the agent.")
    since = _MomentFilter("run__created_at", "gte", label="Of runs of this time or later.")
    until = _MomentFilter("run__created_at", "lt", label="Of runs before this time.")
    tag = filters.CharFilter(
        method="of_tag", label="Of cases that have this tag now, or whose suite has."
    )
    reviewed = _WordFilter(
        choices=_TRUE_OR_FALSE, method="of_reviews", label="Whether a person has reviewed it."
    )

    def matching_runs(self) -> QuerySet[Run] | None:
        """Return the runs that the filters on columns of runs leave; None if none of them is used."""
        conditions = {
            f"{chosen.field_name.removeprefix('run__')}__{chosen.lookup_expr}": value
            for name, value in self.form.cleaned_data.items()
            if value not in EMPTY_VALUES
            and (chosen := self.filters[name]).field_name.startswith("run__")
        }
        return Run.all_runs.filter(**conditions) if conditions else None

    def of_tag(
        self, executions: QuerySet[Execution], _name: str, value: str
    ) -> QuerySet[Execution]:
        """Return conversations of the cases with a tag."""
        cases = with_tag(Case, value).filter(suite=OuterRef("run__suite"), name=OuterRef("case"))
        suites = with_tag(Suite, value).values("pk")
        return executions.filter(Q(run__suite__in=suites) | Exists(cases))

    def of_reviews(
        self, executions: QuerySet[Execution], _name: str, value: str
    ) -> QuerySet[Execution]:
        """Return conversations with reviews that were not withdrawn, or those without."""
        reviews = Review.objects.filter(execution=OuterRef("pk"), withdrawn_at=None)
        return executions.filter(Exists(reviews) if value == "true" else ~Exists(reviews))


class HistoryFilters(filters.FilterSet):  # type: ignore[misc]
    """The case whose history is read, and whether tries and retests are part of it."""

    case = filters.CharFilter("name", required=True, label="Name of the case.")
    all = _WordFilter(
        choices=_TRUE_OR_FALSE, label="Whether to include tries and the runs of retests."
    )

    def filter_queryset(self, queryset: QuerySet[CaseResult]) -> QuerySet[CaseResult]:
        results = queryset.filter(name=self.form.cleaned_data["case"])
        return results if self.form.cleaned_data["all"] == "true" else results.filter(COUNTED)


class ConversationFilters(filters.FilterSet):  # type: ignore[misc]
    """Filters of the conversations of a set."""

    since = filters.DateFilter(label="Of this day or later.")
    until = filters.DateFilter(label="Of this day or before.")
    topic = filters.CharFilter(label="Topic.")
    fact = filters.CharFilter(label="Name and value, for example channel=chat.")
    id = filters.CharFilter(label="Part of the id in the file.")

    def filter_queryset(
        self, queryset: QuerySet[ImportedConversation]
    ) -> QuerySet[ImportedConversation]:
        given = self.form.cleaned_data
        wanted = WantedConversations(
            since=given["since"],
            until=given["until"],
            topic=given["topic"] or "",
            flag=flag_of(given["fact"] or ""),
            text_id=given["id"] or "",
        )
        return wanted.narrow(queryset)
