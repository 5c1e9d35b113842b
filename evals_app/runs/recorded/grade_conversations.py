"""Grade real conversations by the general checks of a suite: a run of it for each import."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet, TextField, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, RowNumber, TruncDate

from evals_app.models import ConversationSet, ImportedConversation, Run, Suite
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.regrading.start_regrade import (
    NothingToGradeError,
    RegradePlan,
    plan_regrade,
    regrade,
)
from evals_app.runs.starting.freeze import CannotStartError


@dataclass(frozen=True, slots=True)
class WantedConversations:
    """Which conversations of a set are wanted; at most `count` of them, and `a_day` of each day.

    `flag` is the name of a fact and its value. A sample is the same each time, and says nothing
    about what is in it: it goes by the digest of each conversation.
    """

    since: date | None = None
    until: date | None = None
    topic: str = ""
    flag: tuple[str, str] | None = None
    text_id: str = ""
    count: int | None = None
    a_day: int | None = None

    def of(self, target: ConversationSet) -> QuerySet[ImportedConversation]:
        """Return all that fit, of complete imports, whatever the size of the sample."""
        return self.narrow(target.conversations.filter(execution__run__status=Run.Status.FINISHED))

    def narrow(self, rows: QuerySet[ImportedConversation]) -> QuerySet[ImportedConversation]:
        """Leave those that fit, whatever the size of the sample."""
        conditions = Q()
        if self.since:
            conditions &= Q(happened_at__date__gte=self.since)
        if self.until:
            conditions &= Q(happened_at__date__lte=self.until)
        if self.topic:
            conditions &= Q(topics__contains=f"\n{self.topic}\n")
        if self.text_id:
            conditions &= Q(external_id__icontains=self.text_id)
        if self.flag:
            name, value = self.flag
            # As text: the key transform itself compares with JSON.
            rows = rows.annotate(flag=Cast(KeyTextTransform(name, "facts"), TextField()))
            conditions &= Q(flag=value)
        return rows.filter(conditions)

    def sample(self, target: ConversationSet) -> QuerySet[ImportedConversation]:
        """Return the sample."""
        rows = self.of(target)
        if self.a_day is not None:
            day = TruncDate("happened_at")
            place = Window(RowNumber(), partition_by=day, order_by=F("digest").asc())
            rows = rows.annotate(place=place).filter(place__lte=self.a_day)
        return rows if self.count is None else rows.order_by("digest", "pk")[: self.count]


def flag_of(written: str) -> tuple[str, str] | None:
    """Read the name of a fact and its value, as `name=value`; None if it is something else."""
    name, is_there, value = written.partition("=")
    return (name.strip(), value.strip()) if is_there and name.strip() else None


@contextmanager
def plan_grading(
    target: ConversationSet, suite: Suite, wanted: WantedConversations, **how: Any
) -> Iterator[list[RegradePlan]]:
    """Plan grading real conversations, the newest import first; the rest is as for `plan_regrade`.

    Raises:
        CannotStartError: there is nothing to grade, or something is missing.
    """
    planned: list[RegradePlan] = []
    empty: list[NothingToGradeError] = []
    with ExitStack() as plans:
        for run, keys in _by_import(target, wanted):
            plan = plan_regrade(run, by_suite=suite, executions=keys, **how)
            try:
                planned.append(plans.enter_context(plan))
            except NothingToGradeError as error:
                empty.append(error)
        if not planned:
            raise empty[0]
        for nothing in empty:
            for why, names in nothing.left_out.items():
                planned[0].left_out.setdefault(why, []).extend(names)
        yield planned


def start_grading(
    target: ConversationSet,
    suite: Suite,
    wanted: WantedConversations,
    *,
    by: User | None = None,
    max_cost_usd: Decimal | None = None,
    **how: Any,
) -> list[Run]:
    """Start a run of the suite for each import that has some of the conversations.

    Raises:
        CannotStartError: there is nothing to grade, or something is missing.
    """
    parts = _by_import(target, wanted)
    group = uuid4() if len(parts) > 1 else None
    limits: dict[str, Any] = {"by": by, "max_cost_usd": max_cost_usd, "group": group}
    started: list[Run] = []
    empty: list[NothingToGradeError] = []
    for run, keys in parts:
        try:
            started.append(regrade(run, by_suite=suite, executions=keys, **limits, **how))
        except NothingToGradeError as error:
            empty.append(error)
    if not started:
        raise empty[0]
    return started


def left_out_of(plans: Iterable[RegradePlan]) -> list[str]:
    """Return which conversations are not graded, and why, of several imports."""
    left_out: dict[str, list[str]] = {}
    for plan in plans:
        for why, names in plan.left_out.items():
            left_out.setdefault(why, []).extend(names)
    return left_out_in_words(
        {why: {"count": len(names), "names": names} for why, names in left_out.items()}
    )


def _by_import(
    target: ConversationSet, wanted: WantedConversations
) -> list[tuple[Run, QuerySet[Any, int]]]:
    """Return the runs of imports with the executions of each that are wanted."""
    sample = wanted.sample(target).values_list("execution", flat=True)
    runs = Run.all_runs.filter(conversation_set=target, is_import=True, executions__in=sample)
    keys = runs.order_by("-pk").values_list("pk", flat=True).distinct()
    found = Run.all_runs.select_related("suite", "snapshot", "conversation_set").in_bulk(list(keys))
    if not found:
        raise CannotStartError(f"No conversation of {target.name} fits. Choose others.")
    return [(run, sample) for _, run in sorted(found.items(), reverse=True)]
