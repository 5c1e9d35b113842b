"""What real conversations say about the topics of an agent: how many failed lately, and what grew."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from evals_app.engine.statistics.agreement import Proportion
from evals_app.models import DueImport, GroupRise, Suite

LAST_GRADINGS = 7  # of each set: a day has few conversations of a topic


_NONE = Proportion(0, 0)


@dataclass(frozen=True, slots=True)
class RealTopic:
    """The conversations of a topic in the last daily gradings, and the groups that grew in it.

    `sets` are the keys of the sets; `at` is the time of the last grading.
    """

    failed: Proportion = _NONE
    sets: tuple[int, ...] = ()
    at: datetime | None = None
    rises: Sequence[GroupRise] = field(default_factory=tuple)


def real_topics(suites: Iterable[Suite]) -> Mapping[str, RealTopic]:
    """Return what the conversations that suites grade every day say, by topic, in two queries."""
    of_suites = [suite.pk for suite in suites]
    place = Window(RowNumber(), partition_by=F("daily_import"), order_by=F("due_at").desc())
    graded = DueImport.objects.filter(daily_import__suite__in=of_suites).exclude(topics={})
    columns = ("daily_import__conversation_set", "due_at", "topics")
    last = graded.annotate(place=place).filter(place__lte=LAST_GRADINGS).order_by("due_at")
    found: dict[str, RealTopic] = {}
    for target, due_at, topics in last.values_list(*columns):
        for name, (failed, count) in topics.items():
            was = found.get(name, RealTopic())
            total = Proportion(was.failed.count + failed, was.failed.total + count)
            found[name] = RealTopic(total, tuple(dict.fromkeys([*was.sets, target])), due_at)
    rises: dict[str, list[GroupRise]] = {}
    current = GroupRise.objects.current().order_by("began_at", "pk")
    of_agent = {"group__reading__conversation_set__daily_import__suite__in": of_suites}
    for rise in current.filter(**of_agent):
        for name in rise.topics:
            rises.setdefault(name, []).append(rise)
    return {
        name: RealTopic(was.failed, was.sets, was.at, rises.get(name, ()))
        for name in {*found, *rises}
        for was in [found.get(name, RealTopic())]
    }
