"""The history of a case: its results from run to run, and who changed what in between.

A case is known by the name of its suite and its own; renamed, it is a new one.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import CharField, Model, Q, QuerySet
from django.db.models.functions import Cast
from pydantic import ValidationError

from evals_app.engine.statistics.comparison import ChangeKind, change_of
from evals_app.engine.suites.suite_spec import CaseSpec
from evals_app.formats.snapshots.key_differences import differences
from evals_app.formats.snapshots.run_snapshot import NOT_IN_DIGEST, read_case
from evals_app.formats.snapshots.snapshot_differences import (
    PartDifferences,
    SnapshotPart,
    UnreadableSnapshotError,
    snapshot_differences,
)
from evals_app.models import (
    Agent,
    Case,
    CaseResult,
    Execution,
    Provider,
    Run,
    Snapshot,
    SnapshotCase,
    Suite,
)
from evals_app.reports.answers.history_answers import CaseInHistory, changed_part_json
from evals_app.reports.answers.run_answers import Json
from fixtures_app.models import EntityType, Fixture

MAX_EDITS = 5  # of one part, the newest

_SHOWN = 50  # values of a case that differ

# Whose histories record the edits of a part.
_EDITED: Mapping[SnapshotPart, tuple[type[Model], ...]] = {
    SnapshotPart.CASE: (Case,),
    SnapshotPart.AGENT: (Agent, Provider),
    SnapshotPart.SUITE: (Suite,),
    SnapshotPart.FIXTURES: (Fixture, EntityType, Suite),
    SnapshotPart.JUDGE: (Suite, Provider),
    SnapshotPart.SIMILARITY: (Suite, Provider),
    SnapshotPart.PRICES: (Provider,),
    SnapshotPart.RUN: (Suite, Provider),
}


@dataclass(frozen=True, slots=True)
class CaseEdit:
    """A change that a person made, as recorded in the history of the changed object."""

    by: str  # username
    at: datetime
    kind: str  # of what was changed: case, suite, agent ...


@dataclass(frozen=True, slots=True)
class PartChange:
    """What differs in one part between two runs, and who edited it in between, the last one first."""

    what: PartDifferences
    edits: tuple[CaseEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A case in one run, compared with the run before in which it was.

    `change`, `is_same_case` and `parts` are None for the first one, and where it is unknown.
    """

    result: CaseResult
    before: CaseResult | None
    executions: tuple[Execution, ...]
    change: ChangeKind | None = None
    is_same_case: bool | None = None
    parts: tuple[PartChange, ...] | None = None

    @property
    def run(self) -> Run:
        return self.result.run

    @property
    def covers(self) -> str:
        """Return a description of its run; empty for a run of the whole suite."""
        again = f"run {self.run.grades_of_id} graded again"
        is_named = self.run.grades_of_id is None or again in self.run.covers
        return self.run.covers if is_named else again

    def without_values(self) -> "HistoryEntry":
        """Return the same for people who may not read prompts and data: what differs, no value of it."""
        if self.parts is None:
            return self
        parts = (replace(part, what=part.what.without_values()) for part in self.parts)
        return replace(self, parts=tuple(parts))


# Tries prove nothing, retests run an older version again, and real conversations are of no case.
COUNTED = Q(run__is_tryout=False, run__settlement=None, run__conversation_set=None)


@dataclass(frozen=True, slots=True)
class OfSuite:
    """A suite by its slug, also one that was deleted; `pk` is None then."""

    pk: int | None
    slug: str

    @classmethod
    def find(cls, slug: str) -> "OfSuite | None":
        """Return the suite that has this slug, else one whose runs had it; None if there is none."""
        pk = Suite.objects.filter(slug=slug).values_list("pk", flat=True).first()
        if pk is None and not Run.objects.filter(suite=None, suite_slug=slug).exists():
            return None
        return cls(pk, slug)

    def results(self) -> QuerySet[CaseResult]:
        """Return the results of its cases with their runs, the newest first."""
        if self.pk is None:
            rows = CaseResult.objects.filter(run__suite=None, run__suite_slug=self.slug)
        else:
            rows = CaseResult.objects.filter(run__suite=self.pk)
        return rows.select_related("run").defer("run__summary").order_by("-run_id")


def entries_of(suite: OfSuite, results: Sequence[CaseResult]) -> list[HistoryEntry]:
    """Return results of one case, the newest first, each with what differs from the next in the list."""
    executions = executions_of(results)
    pairs = list(pairwise(results))
    differing = _Differences(pairs, executions)
    parts = [differing.differences_between(before, after) for after, before in pairs]
    edits = _Edits(suite, pairs, parts)
    entries = [
        HistoryEntry(
            after,
            before,
            executions[after.run_id],
            change_of(before.outcome, after.outcome),
            is_same_case(before, after),
            None if changed is None else tuple(edits.with_editors(changed, before, after)),
        )
        for (after, before), changed in zip(pairs, parts, strict=True)
    ]
    oldest = results[-1:]
    return [*entries, *(HistoryEntry(row, None, executions[row.run_id]) for row in oldest)]


def executions_of(results: Sequence[CaseResult]) -> dict[int, tuple[Execution, ...]]:
    """Return the trials behind results of one case, by run."""
    trials: dict[int, list[Execution]] = {result.run_id: [] for result in results}
    rows = Execution.objects.filter(run__in=trials, case__in={result.name for result in results})
    for row in rows.only("run_id", "trial", "position", "verdict").order_by("trial"):
        trials[row.run_id].append(row)
    return {pk: tuple(executions) for pk, executions in trials.items()}


def most_telling(executions: Iterable[Execution]) -> Execution | None:
    """Return the trial to read first: one that did not pass, else the first one."""
    ended = [execution for execution in executions if execution.verdict]
    return next((one for one in ended if one.verdict != "passed"), next(iter(ended), None))


def is_same_case(before: CaseResult, after: CaseResult) -> bool | None:
    """Whether both runs had the same content of a case; runs of older versions did not note it."""
    known = before.digest and after.digest
    return before.digest == after.digest if known else None


class _Differences:
    """What differs between neighbours of a list, read for all of them at once."""

    def __init__(
        self,
        pairs: Iterable[tuple[CaseResult, CaseResult]],
        executions: Mapping[int, Sequence[Execution]],
    ) -> None:
        self._executions = executions
        wanted = Q(pk__in=[])
        names: set[str] = set()
        for pair in pairs:
            if len({result.run.snapshot_id for result in pair}) > 1:
                names |= {result.run.snapshot_id for result in pair}
            if is_same_case(*pair) is False:
                for key in filter(None, map(self._place, pair)):
                    wanted |= Q(snapshot=key[0], position=key[1])
        self._heads = _texts(Snapshot.objects.filter(pk__in=names), "pk") if names else {}
        self._cases = (
            _texts(SnapshotCase.objects.filter(wanted), "snapshot_id", "position") if wanted else {}
        )

    def _place(self, result: CaseResult) -> tuple[str, int] | None:
        """Return where the content of a case is; a re-run has only some cases of its snapshot."""
        trials = self._executions[result.run_id]
        return (result.run.snapshot_id, trials[0].position) if trials else None

    def differences_between(
        self, before: CaseResult, after: CaseResult
    ) -> list[PartDifferences] | None:
        """Return what differs, part by part; None if one run is of another version."""
        case = [self._of_case(before, after)] if is_same_case(before, after) is False else []
        names = before.run.snapshot_id, after.run.snapshot_id
        if names[0] == names[1]:
            return case
        try:
            return [*case, *snapshot_differences(*(self._heads[name,] for name in names))]
        except UnreadableSnapshotError:
            return None

    def _of_case(self, before: CaseResult, after: CaseResult) -> PartDifferences:
        left, right = map(self._case, (before, after))
        if left is None or right is None:
            return PartDifferences(SnapshotPart.CASE, ())  # edited; difference unreadable
        values = [
            difference
            for difference in differences(left, right)
            if difference.keys.partition("[")[0] not in NOT_IN_DIGEST
        ]
        return PartDifferences(
            SnapshotPart.CASE, tuple(values[:_SHOWN]), max(0, len(values) - _SHOWN)
        )

    def _case(self, result: CaseResult) -> CaseSpec | None:
        content = self._cases.get(self._place(result) or ())
        try:
            return read_case(content) if content else None
        except ValidationError:
            return None


def _texts(
    rows: QuerySet[Snapshot] | QuerySet[SnapshotCase], *keys: str
) -> dict[tuple[object, ...], str]:
    return {tuple(key): content for *key, content in rows.values_list(*keys, "content")}


class _Edits:
    """What the histories of case, suite, agent and fixtures note between runs, in one query."""

    def __init__(
        self,
        suite: OfSuite,
        pairs: Sequence[tuple[CaseResult, CaseResult]],
        parts: Sequence[Sequence[PartDifferences] | None],
    ) -> None:
        self._of: defaultdict[type[Model], list[LogEntry]] = defaultdict(list)
        models = {
            model for changed in parts for part in changed or () for model in _EDITED[part.part]
        }
        if not models or suite.pk is None:
            return
        (newest, _), (_, oldest) = pairs[0], pairs[-1]
        agents = {result.run.agent_slug for pair in pairs for result in pair}
        rows = {
            Case: Case.objects.filter(suite=suite.pk, name=newest.name),
            Suite: Suite.objects.filter(pk=suite.pk),
            Agent: Agent.objects.filter(slug__in=agents),
            Fixture: Fixture.objects.filter(suites=suite.pk),
            EntityType: EntityType.objects.all(),
            Provider: Provider.objects.all(),
        }
        noted = Q(pk__in=[])
        for model in models:
            keys = rows[model].annotate(key=Cast("pk", CharField())).values("key")
            kind = ContentType.objects.get_for_model(model)
            noted |= Q(content_type=kind, object_id__in=keys)
        entries = LogEntry.objects.filter(
            noted, action_time__gt=oldest.run.created_at, action_time__lte=newest.run.created_at
        )
        for entry in entries.select_related("user", "content_type").order_by("-action_time", "-pk"):
            if entry.content_type and (kind_of := entry.content_type.model_class()):
                self._of[kind_of].append(entry)

    def with_editors(
        self, parts: Iterable[PartDifferences], before: CaseResult, after: CaseResult
    ) -> Iterator[PartChange]:
        """Return the parts with who edited them between two runs."""
        start, end = before.run.created_at, after.run.created_at
        for part in parts:
            noted = [
                entry
                for model in _EDITED[part.part]
                for entry in self._of[model]
                if start < entry.action_time <= end
            ]
            yield PartChange(part, tuple(map(_edit, noted[:MAX_EDITS])))


def _edit(entry: LogEntry) -> CaseEdit:
    kind = str(entry.content_type.name) if entry.content_type else ""
    return CaseEdit(entry.user.get_username(), entry.action_time, kind)


def entry_json(entry: HistoryEntry) -> Json:
    """Return an entry as REST answers it."""
    run = entry.run
    return CaseInHistory.of_object(
        entry.result,
        run=run.pk,
        executions=[execution.pk for execution in entry.executions],
        finished_at=run.finished_at and run.finished_at.isoformat(),
        verdict=entry.result.verdict or None,
        agent=run.agent_slug,
        model=run.model or None,
        judge=run.judge or None,
        is_scripted=run.is_scripted,
        is_simulated=run.is_simulated,
        is_whole=run.is_whole,
        is_tryout=run.is_tryout,
        covers=entry.covers or None,
        rerun_of=run.rerun_of_id,
        grades_of=run.grades_of_id,
        is_same_case=entry.is_same_case,
        change=entry.change,
        changes=None
        if entry.parts is None
        else [changed_part_json(part.what, part.edits) for part in entry.parts],
    )
