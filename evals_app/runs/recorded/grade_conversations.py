"""Grade real conversations by the general checks of a suite: a run of it for each import."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Self
from uuid import uuid4

from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, RowNumber, TruncDate

from evals_app.models import ConversationSet, Execution, ImportedConversation, Run, Suite
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.regrading.start_regrade import (
    NothingToGradeError,
    RegradePlan,
    plan_regrade,
    regrade,
)
from evals_app.runs.starting.freeze import CannotStartError

LOOKED_AT = 200  # conversations of an import that are read for a price


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
    imports: tuple[int, ...] | None = None

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        days = {
            name: date.fromisoformat(stored[name]) if stored[name] else None
            for name in ("since", "until")
        }
        lists = {
            name: tuple(stored[name]) if stored[name] else None for name in ("flag", "imports")
        }
        return cls(**{**stored, **days, **lists})

    def to_json(self) -> dict[str, Any]:
        """Return what is wanted as a row keeps it."""
        days = {"since": self.since, "until": self.until}
        texts = {name: day.isoformat() if day else None for name, day in days.items()}
        return {**asdict(self), **texts}

    def of(self, target: ConversationSet) -> QuerySet[ImportedConversation]:
        """Return all that fit, of complete imports, whatever the size of the sample."""
        rows = target.conversations.filter(execution__run__status=Run.Status.FINISHED)
        if self.imports is not None:
            rows = rows.filter(execution__run__in=self.imports)
        return self.narrow(rows)

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
    """Plan grading real conversations, to see its price; the rest is as for `plan_regrade`.

    Of each import only some conversations are read, the same each time: others are like these. The
    newest import is first.

    Raises:
        CannotStartError: there is nothing to grade, or something is missing.
    """
    planned: list[RegradePlan] = []
    empty: list[NothingToGradeError] = []
    with ExitStack() as plans:
        for run, keys in by_import(target, wanted):
            looked_at = _some_of(run, keys)
            plan = plan_regrade(run, by_suite=suite, executions=keys, looked_at=looked_at, **how)
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
    parts = by_import(target, wanted)
    limits: dict[str, Any] = {"by": by, "max_cost_usd": max_cost_usd}
    limits["group"] = uuid4() if len(parts) > 1 else None
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
    left_out: dict[str, dict[str, Any]] = {}
    for plan in plans:
        for why, names in plan.left_out.items():
            of_why = left_out.setdefault(why, {"count": 0, "names": [], "is_about": False})
            of_why["count"] += round(len(names) / plan.share)
            of_why["names"] += names
            of_why["is_about"] |= plan.share < 1
    return left_out_in_words(left_out)


def by_import(
    target: ConversationSet, wanted: WantedConversations
) -> list[tuple[Run, QuerySet[Any, int]]]:
    """Return the runs of imports, the newest first, with the executions of each that are wanted.

    Raises:
        CannotStartError: there are none.
    """
    sample = wanted.sample(target).values_list("execution", flat=True)
    runs = Run.all_runs.filter(conversation_set=target, is_import=True)
    found = runs.filter(Exists(Execution.objects.filter(run=OuterRef("pk"), pk__in=sample)))
    rows = found.select_related("suite", "snapshot", "conversation_set").order_by("-pk")
    if not rows:
        raise CannotStartError(f"No conversation of {target.name} fits. Choose others.")
    return [(run, sample) for run in rows]


def _some_of(run: Run, keys: QuerySet[Any, int]) -> list[int] | None:
    """Return some of the executions, the same each time; None if all are to be read."""
    chosen = ImportedConversation.objects.filter(execution__run=run, execution__in=keys)
    some = list(chosen.order_by("digest").values_list("execution", flat=True)[: LOOKED_AT + 1])
    return some[:LOOKED_AT] if len(some) > LOOKED_AT else None
