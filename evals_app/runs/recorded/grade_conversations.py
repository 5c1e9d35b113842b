"""Grade real conversations by the general checks of a suite: a run of it for each import."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import ceil
from typing import Any, Self
from uuid import uuid4

from django.contrib.auth.models import User
from django.db.models import Count, F, Q, QuerySet, TextField, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, RowNumber, Substr, TruncDate

from evals_app.models import ConversationSet, ImportedConversation, Run, Suite
from evals_app.reports.words.regrading import left_out_in_words
from evals_app.runs.regrading.start_regrade import (
    NothingToGradeError,
    RegradePlan,
    plan_regrade,
    regrade,
)
from evals_app.runs.starting.freeze import CannotStartError

_RECENT = 28  # days
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

    @property
    def is_sample(self) -> bool:
        """Whether only some of those that fit are wanted."""
        return self.count is not None or self.a_day is not None

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
        imports = Run.all_runs.filter(conversation_set=target, is_import=True)
        rows = target.conversations.all()
        # Mostly there is none, and then no row is looked at for it. A condition that says so makes
        # PostgreSQL expect so much work that it compiles the query, which takes longer than all of it.
        if others := list(imports.exclude(status=Run.Status.FINISHED).values_list("pk", flat=True)):
            rows = rows.exclude(execution__run__in=others)
        if self.imports is not None:
            rows = rows.filter(execution__run__in=self.imports)
        return self.narrow(rows)

    def narrow(self, rows: QuerySet[ImportedConversation]) -> QuerySet[ImportedConversation]:
        """Leave those that fit, whatever the size of the sample."""
        conditions = Q()
        if self.since:
            conditions &= Q(happened_at__gte=_begin_of(self.since))
        if self.until:
            conditions &= Q(happened_at__lt=_begin_of(self.until + timedelta(days=1)))
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
            place = Window(
                RowNumber(), partition_by=_UtcDay("happened_at"), order_by=F("digest").asc()
            )
            placed = rows.values("pk").annotate(place=place).filter(place__lte=self.a_day)
            rows = target.conversations.filter(pk__in=placed.values("pk"))
        return rows if self.count is None else rows.order_by("digest", "pk")[: self.count]


class _UtcDay(TruncDate):
    """The day of a time, the same for everyone."""

    def __init__(self, expression: str) -> None:
        super().__init__(expression, tzinfo=UTC)

    def as_sqlite(self, compiler: Any, connection: Any, **_more: Any) -> Any:
        # Times are stored in UTC, as texts; Django would call Python for each.
        return compiler.compile(Substr(self.get_source_expressions()[0], 1, 10))


def _begin_of(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


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
        for part in by_import(target, wanted):
            share = len(part.some) / part.count
            plan = plan_regrade(part.run, by_suite=suite, executions=part.some, share=share, **how)
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


@contextmanager
def plan_grading_of_new(
    target: ConversationSet, suite: Suite, count: int, **how: Any
) -> Iterator[RegradePlan]:
    """Plan grading `count` conversations that are still to come, to see its price.

    They are assumed to be like those of the newest import; its `planned` have those that are read.

    Raises:
        CannotStartError: there is nothing that they could be like, or something is missing.
    """
    newest = target.imports.exclude(finished_at=None).filter(added__gt=0).order_by("-pk").first()
    if newest is None:
        raise CannotStartError(
            "The price is unknown: no conversation is here yet that new ones could be like."
        )
    [part] = by_import(target, WantedConversations(imports=(newest.run_id,)))
    some = part.some[:count]
    share = len(some) / count
    with plan_regrade(part.run, by_suite=suite, executions=some, share=share, **how) as plan:
        yield plan


def new_of_a_day(target: ConversationSet) -> int | None:
    """Return the mean of the last 28 days that the set knows; None if it knows fewer than 2."""
    days = {date.fromisoformat(day): count for day, count in target.days.items() if day}
    if not days:
        return None
    since = max(min(days), max(days) - timedelta(days=_RECENT - 1))
    length = (max(days) - since).days + 1
    recent = sum(count for day, count in days.items() if day >= since)
    return ceil(recent / length) if length > 1 else None


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
    for part in parts:
        try:
            started.append(part.regrade(by_suite=suite, **limits, **how))
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


@dataclass(frozen=True, slots=True)
class ImportPart:
    """The conversations of one import that are wanted; `run` is that of the import.

    `some` are executions that are read for a price, the same each time.
    """

    run: Run
    wanted: QuerySet[ImportedConversation]
    count: int
    some: Sequence[int]

    def regrade(self, **how: Any) -> Run:
        """Start the run that grades them."""
        return regrade(self.run, executions=self.wanted.values_list("execution", flat=True), **how)


def by_import(target: ConversationSet, wanted: WantedConversations) -> list[ImportPart]:
    """Return what is wanted of each import, the newest first.

    Raises:
        CannotStartError: there is nothing.
    """
    sample = wanted.sample(target)
    counts: Mapping[int, int]
    some: dict[int, list[int]] = {}
    if wanted.is_sample:
        places = sorted(sample.values_list("digest", "execution", "execution__run"))
        counts = Counter(run for _, _, run in places)
        for _, execution, run in places:
            some.setdefault(run, []).append(execution)
    else:
        counts = _counts(target, wanted, sample)
        for run in counts:
            of_run = sample.filter(execution__run=run).order_by("digest", "pk")
            some[run] = list(of_run.values_list("execution", flat=True)[:LOOKED_AT])
    if not counts:
        raise CannotStartError(f"No conversation of {target.name} fits. Choose others.")
    runs = Run.all_runs.select_related("suite", "snapshot", "conversation_set").in_bulk(counts)
    return [
        ImportPart(run, sample, counts[pk], some[pk][:LOOKED_AT])
        for pk, run in sorted(runs.items(), reverse=True)
    ]


def _counts(
    target: ConversationSet, wanted: WantedConversations, rows: QuerySet[ImportedConversation]
) -> dict[int, int]:
    """Return how many conversations of each import fit, as they were counted if they were."""
    complete = target.imports.exclude(finished_at=None).filter(added__gt=0)
    if wanted == WantedConversations():
        return dict(complete.values_list("run", "added"))
    if wanted == WantedConversations(topic=wanted.topic):
        topics: dict[int, dict[str, int]] = dict(complete.values_list("run", "topics"))
        names = {name for counted in topics.values() for name in counted}
        alike = [name for name in names if name.lower() == wanted.topic.lower()]
        # Beyond many names the rest is counted together; SQLite takes "Price" for "price".
        if "" not in names and alike == [wanted.topic]:
            counts = {run: counted.get(wanted.topic, 0) for run, counted in topics.items()}
            return {run: count for run, count in counts.items() if count}
    of_runs = rows.order_by().values("execution__run").annotate(number=Count("pk"))
    return dict(of_runs.values_list("execution__run", "number"))
