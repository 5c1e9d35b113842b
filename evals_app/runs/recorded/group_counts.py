"""What goes wrong most: how many of the conversations that were read have a note of each group."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.utils import timezone

from evals_app.engine.statistics.agreement import Proportion
from evals_app.models import NoteGroup, Reading
from evals_app.runs.recorded.note_groups import current_groups
from evals_app.runs.recorded.readings import Kind, notes_of


class NoteLine(NamedTuple):
    """A note, and the conversation that it is about."""

    pk: int
    text: str
    by: str
    position: int
    execution: int
    conversation: str


class PartOfGroup(NamedTuple):
    """A topic or a week, and how many of its conversations that were read have the group."""

    name: str
    rate: Proportion


@dataclass(frozen=True, slots=True)
class GroupCount:
    """A group with its notes: how often it happens, in all and by topic and week."""

    group: NoteGroup
    notes: Sequence[NoteLine]
    rate: Proportion
    by_topic: Sequence[PartOfGroup]
    by_week: Sequence[PartOfGroup]


@dataclass(frozen=True, slots=True)
class ReadingCounts:
    """Conversations that were read: `fine` for all readers, `wrong` for one or more of them.

    `loose` are notes in no group; `groups` come most frequent first.
    """

    read: int
    fine: int
    wrong: int
    loose: Sequence[NoteLine]
    groups: Sequence[GroupCount]


class _Read(NamedTuple):
    """A conversation that someone has read."""

    item: int
    topics: tuple[str, ...]
    week: str


_COLUMNS = (
    *("pk", "text", "by_name", "item__position", "item__execution"),
    *("item__execution__case", "kind", "group", "item"),
    "item__execution__imported_conversation__topics",
    "item__execution__imported_conversation__happened_at",
)


def count_groups(reading: Reading) -> ReadingCounts:
    """Count the groups of a reading, in two queries."""
    read: dict[int, _Read] = {}
    kinds: dict[int, set[str]] = defaultdict(set)
    notes: dict[int | None, list[NoteLine]] = defaultdict(list)
    items: dict[int | None, set[int]] = defaultdict(set)
    rows = notes_of(reading).order_by("item__position", "pk").values_list(*_COLUMNS)
    for *line, kind, group, item, topics, happened_at in rows:
        read.setdefault(
            item, _Read(item, tuple((topics or "").split("\n")[1:-1]), _week(happened_at))
        )
        kinds[item].add(kind)
        if kind == Kind.WRONG:
            notes[group].append(NoteLine(*line))
            items[group].add(item)
    topics = _parts((topic, row.item) for row in read.values() for topic in row.topics)
    weeks = _parts((row.week, row.item) for row in read.values() if row.week)
    counts = [
        GroupCount(
            group,
            notes[group.pk],
            Proportion(len(items[group.pk]), len(read)),
            sorted(_shares(topics, items[group.pk]), key=lambda part: -part.rate.count),
            sorted(_shares(weeks, items[group.pk])),
        )
        for group in current_groups(reading)
    ]
    return ReadingCounts(
        read=len(read),
        fine=sum(found == {Kind.FINE} for found in kinds.values()),
        wrong=sum(Kind.WRONG in found for found in kinds.values()),
        loose=notes[None],
        groups=sorted(counts, key=lambda count: (-count.rate.count, count.group.name)),
    )


def _week(happened_at: datetime | None) -> str:
    if happened_at is None:
        return ""
    year, week, _ = timezone.localtime(happened_at).isocalendar()
    return f"{year}-W{week:02}"


def _parts(pairs: Iterable[tuple[str, int]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for name, item in pairs:
        found[name].add(item)
    return found


def _shares(parts: dict[str, set[int]], items: set[int]) -> list[PartOfGroup]:
    return [
        PartOfGroup(name, Proportion(len(items & members), len(members)))
        for name, members in parts.items()
    ]
