"""What waits for people, and what they decided lately: short lists for the first page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import (
    CharField,
    Count,
    Exists,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils.text import capfirst

from evals_app.admin.history.trends import SuiteLine
from evals_app.admin.kit.presentation import plural
from evals_app.models import (
    AcceptedFailure,
    CaseResult,
    Execution,
    GroupRise,
    Review,
    ReviewItem,
    Settlement,
    ShipDecision,
    Suite,
)
from evals_app.runs.reviews.review_tasks import CHECKING, visible_tasks

MAX_SHOWN = 5
MAX_READ = 100  # decisions: older retests are not named beside their suites

_NOT_PASSED = ("failed", "errored")


@dataclass(frozen=True, slots=True)
class ActivityRow:
    """Something to look at, or something decided: a title with a link, and a grey line."""

    title: str
    url: str
    text: str
    at: datetime | None = None
    button: str = ""


# Worth a look


def failed_cases(lines: Sequence[SuiteLine]) -> list[ActivityRow]:
    """Return cases that failed in the last full runs and that no one has reviewed or accepted."""
    of_runs = {line.last.run.pk: line for line in lines if line.last}
    if not of_runs:
        return []
    place = {"run": OuterRef("run"), "position": OuterRef("position")}
    failed = Execution.objects.filter(**place, verdict__in=_NOT_PASSED).order_by("verdict", "trial")
    seen = Review.objects.filter(
        withdrawn_at=None,
        execution__run=OuterRef("run"),
        execution__position=OuterRef("position"),
    )
    rows = CaseResult.objects.filter(run__in=of_runs, verdict__in=_NOT_PASSED)
    for pk, line in of_runs.items():
        if line.release.accepted:
            names = [accepted.case for accepted in line.release.accepted]
            rows = rows.exclude(run=pk, name__in=names)
    # By the alphabet, failed ones come before errored ones.
    found = rows.exclude(Exists(seen)).order_by("-verdict", "-run", "position")
    columns = ("run", "name", "verdict", "trials", "failed", "errored")
    first = Subquery(failed.values("pk")[:1])
    return [
        ActivityRow(
            name,
            reverse("admin:evals_app_execution_change", args=[execution]),
            f"{of_runs[pk].name}, {_trials(verdict, trials, bad if verdict == 'failed' else broken)}",
        )
        for pk, name, verdict, trials, bad, broken, execution in found.annotate(
            execution=first
        ).values_list(*columns, "execution")[:MAX_SHOWN]
        if execution is not None
    ]


def _trials(verdict: str, trials: int, bad: int) -> str:
    return f"{bad:,} of {trials:,} trials {verdict}" if trials > 1 else verdict


def grades_to_check(user: Any) -> list[ActivityRow]:
    """Return the tasks with grades that a person has not checked yet."""
    if not user.has_perms(CHECKING):
        return []
    own = Review.objects.filter(
        Q(item=OuterRef("item")) | Q(item=None),
        grade=OuterRef("grade"),
        by=user.pk,
        kind=Review.Kind.VERDICT,
        withdrawn_at=None,
        is_label=False,
    )
    tasks = visible_tasks(user).filter(closed_at=None).values("pk")
    items = ReviewItem.objects.filter(~Exists(own), task__in=tasks).order_by("-task")
    rows: QuerySet[Any, Any] = items.values_list("task", "task__run", "task__run__suite_name")
    return [
        ActivityRow(
            f"{plural(count, 'grade')} of a judge to check",
            reverse("admin:evals_app_reviewtask_next", args=[task]),
            f"{suite}, run {run}",
            button="Check",
        )
        for task, run, suite, count in rows.annotate(count=Count("pk"))[:MAX_SHOWN]
    ]


def grown_groups(user: Any) -> list[ActivityRow]:
    """Return what goes wrong more often in real conversations, the newest first."""
    if not user.has_perm("evals_app.view_conversationset"):
        return []
    rises = GroupRise.objects.current().order_by("-began_at", "pk")
    return [
        ActivityRow(
            f"“{rise.group}” goes wrong more often",
            f"{reverse('admin:evals_app_conversationset_change', args=[target.pk])}#every-day",
            f"{target}: {rise.failed:,} of {rise.total:,} new conversations, before"
            f" {rise.failed_before:,} of {rise.total_before:,}",
        )
        for rise in rises[:MAX_SHOWN]
        for target in [rise.group.reading.conversation_set]
        if target is not None
    ]


# Decided lately


def decided_lately(suites: QuerySet[Suite]) -> list["Decided"]:
    """Return what people decided, and what retests found, the newest first, in one query."""
    rows = _ship_decisions(suites).union(_acceptances(suites), _retests(suites), all=True)
    return [Decided(*row) for row in rows.order_by("-created_at")[:MAX_READ]]


def really_worse(decided: Sequence["Decided"]) -> dict[int, int]:
    """Return how many cases the last retest of a run found to be really worse, by run."""
    return {row.run: row.number for row in reversed(decided) if row.what == "settled"}


def _kind(word: str) -> Value:
    return Value(word, output_field=CharField())


def _ship_decisions(suites: QuerySet[Suite]) -> QuerySet[Any, Any]:
    return (
        ShipDecision.objects.filter(suite__in=suites.values("pk"))
        .order_by()
        .annotate(what=_kind("shipped"), number=Cast("shipped", IntegerField()))
        .values_list(
            "what",
            "suite__name",
            "suite",
            "run_number",
            "number",
            "reason",
            "by_name",
            "created_at",
        )
    )


def _acceptances(suites: QuerySet[Suite]) -> QuerySet[Any, Any]:
    rows = AcceptedFailure.objects.filter(suite__in=suites.values("pk"), withdrawn_at=None)
    return (
        rows.order_by()
        .values("suite__name", "suite", "run_number", "reason", "by_name")
        .annotate(what=_kind("accepted"), number=Count("pk"), at=Max("created_at"))
        .values_list(
            "what", "suite__name", "suite", "run_number", "number", "reason", "by_name", "at"
        )
    )


def _retests(suites: QuerySet[Suite]) -> QuerySet[Any, Any]:
    rows = Settlement.objects.filter(
        head__suite__in=suites.values("pk"), status=Settlement.Status.FINISHED
    )
    return (
        rows.order_by()
        .annotate(what=_kind("settled"), text=Cast("base", CharField()), who=_kind(""))
        .values_list(
            "what", "head__suite__name", "pk", "head", "really_worse", "text", "who", "finished_at"
        )
    )


class Decided(NamedTuple):
    """What people decided, or a retest found; `number` is a count, or 1 for yes."""

    what: str
    suite: str
    key: int  # of the suite, or the retest
    run: int  # of a retest, the later one
    number: int
    text: str
    by: str
    at: datetime

    def to_row(self) -> ActivityRow:
        if self.what == "settled":
            url = reverse("admin:evals_app_settlement_change", args=[self.key])
            found = f"{self.number:,} really worse" if self.number else "none really worse"
            text = f"Retested, run {self.run} against run {self.text}"
            return ActivityRow(f"{self.suite}: {found}", url, text, self.at)
        url = reverse("admin:evals_app_suite_cases", args=[self.key])
        what = "shipped" if self.number else "not shipped"
        if self.what == "accepted":
            what = f"{plural(self.number, 'failing case')} accepted"
        reason = f"“{self.text}”" if self.text else ""
        words = ", ".join(filter(None, [reason, f"run {self.run}", self.by]))
        return ActivityRow(f"{self.suite}: {what}", url, capfirst(words), self.at)
