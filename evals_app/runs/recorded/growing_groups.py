"""Groups of what goes wrong that grow: each grading of new conversations is compared with those before.

What is counted is kept with each time, so no old grade is read again. A group is followed by the
check that was saved for it, in one wording and with one judge: after a change of these it is unknown
how it was before.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.growth import (
    Growth,
    Shares,
    grown_parts,
    growths,
    is_as_before,
)
from evals_app.engine.statistics.retest import Trials
from evals_app.models import (
    ConversationSet,
    DueImport,
    Execution,
    GradeResult,
    GroupRise,
    NoteGroup,
)
from evals_app.runs.notices import note_growth

WINDOW = timedelta(days=28)  # of earlier gradings
ALL = ""  # the key of what is counted in all, beside topics
_TOPICS = "execution__source__imported_conversation__topics"

Counts = dict[str, list[int]]  # by topic: failed, and graded


@dataclass(frozen=True, slots=True)
class _Counted:
    """How often the check of a group failed at one time, in all and by topic."""

    group: NoteGroup
    yardstick: int
    topics: Counts
    example: int | None  # the execution of one that failed

    @property
    def now(self) -> Trials:
        return _trials(self.topics)


@dataclass(frozen=True, slots=True)
class GradedTime:
    """What a grading of new conversations shows: verdicts by topic, groups, and their rises.

    `over` are the rises that have ended.
    """

    topics: Counts
    groups: Mapping[str, Any]
    rises: Sequence[GroupRise]
    over: Collection[int]


def count_graded(due: DueImport) -> GradedTime:
    """Count what the gradings of a time found, and compare groups with the times before."""
    runs = list(due.grading.runs.values_list("pk", flat=True)) if due.grading else []
    counted = list(_count_groups(due, runs))
    open_rises = {
        rise.group_id: rise
        for rise in GroupRise.objects.filter(
            group__in=[found.group.pk for found in counted], ended_at=None
        )
    }
    before = [_before(due, found, open_rises.get(found.group.pk)) for found in counted]
    shares = [
        Shares(_trials(earlier), found.now) for earlier, found in zip(before, counted, strict=True)
    ]
    new = [n for n, found in enumerate(counted) if found.group.pk not in open_rises]
    growth = dict(zip(new, growths([shares[n] for n in new]), strict=True))
    groups, rises, over = {}, [], []
    for n, (found, earlier, share) in enumerate(zip(counted, before, shares, strict=True)):
        if rise := open_rises.get(found.group.pk):
            is_over = is_as_before(share)
            growth[n] = Growth.NOT_SHOWN if is_over else Growth.GREW
            over += [rise.pk] if is_over else []
        elif growth[n] is Growth.GREW:
            rises.append(_rise(due, found, earlier, runs))
        groups[str(found.group.pk)] = {
            "yardstick": found.yardstick,
            "topics": found.topics,
            "before": [share.before.failed, share.before.total],
            "growth": growth[n],
        }
    return GradedTime(_count_verdicts(runs), groups, rises, over)


def note_rises(due: DueImport, found: GradedTime) -> None:
    """Store what grew and what no longer does, and notify people; in the caller's transaction."""
    GroupRise.objects.filter(pk__in=found.over).update(ended_at=due.due_at)
    for rise in found.rises:
        rise.save()
        note_growth(rise, due.daily_import)


def end_rises(target: ConversationSet) -> None:
    """End the rises of a set whose conversations are graded no more: nothing would end them."""
    rises = GroupRise.objects.filter(group__reading__conversation_set=target, ended_at=None)
    rises.update(ended_at=timezone.now())


def _count_groups(due: DueImport, runs: Sequence[int]) -> Sequence[_Counted]:
    groups = NoteGroup.objects.filter(
        reading__conversation_set=due.daily_import.conversation_set_id,
        removed_at=None,
        assertion__isnull=False,
    ).select_related("assertion")
    by_criterion = {_criterion(group): group for group in groups.order_by("pk")}
    grades = GradeResult.objects.filter(
        execution__run__in=runs,
        type="llm_judge",
        passed__isnull=False,
        yardstick__criterion__in=by_criterion,
    ).order_by("execution__run", "execution__position", "pk")
    columns = ("yardstick__criterion", "yardstick", "execution", "passed", _TOPICS)
    seen: dict[str, dict[int, tuple[bool, str]]] = defaultdict(dict)
    judged_by: dict[str, int] = {}
    for criterion, yardstick, execution, passed, topics in grades.values_list(*columns):
        # Of a check that is there twice, and of judges that changed meanwhile, the first counts.
        if judged_by.setdefault(criterion, yardstick) == yardstick:
            seen[criterion].setdefault(execution, (passed, topics or ""))
    return [
        _Counted(
            group,
            judged_by.get(criterion, 0),
            _by_topic(seen[criterion].values()),
            next((pk for pk, (passed, _) in seen[criterion].items() if not passed), None),
        )
        for criterion, group in by_criterion.items()
    ]


def _criterion(group: NoteGroup) -> str:
    options: Mapping[str, Any] = group.assertion.options if group.assertion else {}
    return str(options.get("criteria", ""))


def _count_verdicts(runs: Sequence[int]) -> Counts:
    rows = Execution.objects.filter(
        run__in=runs, verdict__in=[Verdict.PASSED.value, Verdict.FAILED.value]
    ).values_list("verdict", "source__imported_conversation__topics")
    counts = _by_topic((verdict == Verdict.PASSED, topics or "") for verdict, topics in rows)
    return counts if counts[ALL][1] else {}


def _by_topic(graded: Iterable[tuple[bool, str]]) -> Counts:
    counts: Counts = {ALL: [0, 0]}
    for passed, topics in graded:
        for topic in (ALL, *topics.split("\n")[1:-1]):
            count = counts.setdefault(topic, [0, 0])
            count[0] += not passed
            count[1] += 1
    return counts


def _before(due: DueImport, found: _Counted, rise: GroupRise | None) -> Counts:
    """Return the counts of the times before at which a group had not grown."""
    if rise is not None:
        return {ALL: [rise.failed_before, rise.total_before]}
    total: Counts = {ALL: [0, 0]}
    for groups in _earlier(due):
        one = groups.get(str(found.group.pk), {})
        if one and one["yardstick"] == found.yardstick and one["growth"] != Growth.GREW:
            for topic, (failed, graded) in one["topics"].items():
                count = total.setdefault(topic, [0, 0])
                count[0] += failed
                count[1] += graded
    return total


def _earlier(due: DueImport) -> Sequence[Mapping[str, Any]]:
    times = DueImport.objects.filter(
        daily_import=due.daily_import_id,
        state=DueImport.State.ENDED,
        due_at__lt=due.due_at,
        due_at__gte=due.due_at - WINDOW,
    )
    return list(times.order_by("due_at").values_list("groups", flat=True))


def _rise(due: DueImport, found: _Counted, before: Counts, runs: Sequence[int]) -> GroupRise:
    example = Execution.objects.filter(pk=found.example or 0).first()
    topics = [topic for topic in found.topics if topic]
    parts = [Shares(_part(before, topic), _part(found.topics, topic)) for topic in topics]
    earlier = _trials(before)
    return GroupRise(
        group=found.group,
        run_id=example.run_id if example else runs[0],
        example=example,
        failed=found.now.failed,
        total=found.now.total,
        failed_before=earlier.failed,
        total_before=earlier.total,
        topics=[topic for topic, grew in zip(topics, grown_parts(parts), strict=True) if grew],
        began_at=due.due_at,
    )


def _trials(counts: Mapping[str, Sequence[int]], topic: str = ALL) -> Trials:
    failed, graded = counts.get(topic, (0, 0))
    return Trials(graded - failed, failed)


def _part(counts: Mapping[str, Sequence[int]], topic: str) -> Trials:
    """Return how many of all conversations failed and have a topic: also if there are more of these."""
    failed, _ = counts.get(topic, (0, 0))
    _, graded = counts[ALL]
    return Trials(graded - failed, failed)
