"""The check of a group: tried on conversations that were read, and saved with their labels.

A trial grades, by this check alone, conversations with a note of the group and others that were fine.
Its labels are what people wrote before any judge was asked, so they are blind reviews of its grades.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import transaction

from evals_app.engine.statistics.agreement import Agreement, Label, compare
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.models import GradeResult, NoteGroup, ReadingNote, Run, Suite
from evals_app.models.judging.readings import MAX_GROUP
from evals_app.reports.words.judges import has_script
from evals_app.runs.recorded.readings import CannotReadError, Kind, notes_of
from evals_app.runs.regrading.start_regrade import RegradePlan, plan_regrade, regrade
from evals_app.runs.reviews.reviewing import review_grade

MIN_OF_EACH = 5  # conversations of each kind
MAX_OF_EACH = 50
MAX_CRITERION = 4000
_KIND = "llm_judge"


@dataclass(frozen=True, slots=True)
class LabelledConversation:
    """A conversation that people have read: the notes that say whether it passes the check."""

    position: int
    execution: int
    passed: bool
    notes: Sequence[ReadingNote]


def labels_of_readers(group: NoteGroup) -> dict[int, LabelledConversation]:
    """Return conversations with a note of the group, and those that were fine for all, by execution.

    What a reader of a conversation contradicts is left out.
    """
    by_item: dict[int, list[ReadingNote]] = {}
    rows = notes_of(group.reading).select_related("item", "by").order_by("item__position", "pk")
    for note in rows:
        by_item.setdefault(note.item_id, []).append(note)
    found = {}
    for notes in by_item.values():
        item, kinds = notes[0].item, {note.kind for note in notes}
        own = [note for note in notes if note.group_id == group.pk]
        if kinds == {Kind.FINE} or (own and Kind.FINE not in kinds):
            found[item.execution_id] = LabelledConversation(
                item.position, item.execution_id, passed=not own, notes=own or notes
            )
    return found


def conversations_to_try(group: NoteGroup, each: int = MIN_OF_EACH) -> list[LabelledConversation]:
    """Return the first conversations of the group, and as many that were fine.

    Raises:
        CannotReadError: there are too few.
    """
    known = list(labels_of_readers(group).values())
    failed = [one for one in known if not one.passed]
    fine = [one for one in known if one.passed]
    if min(len(failed), len(fine)) < MIN_OF_EACH:
        raise CannotReadError(
            f"A check is tried on {MIN_OF_EACH} conversations of the group and {MIN_OF_EACH} that were fine, at"
            f" least; there are {len(failed)} and {len(fine)}. Read more, or put more notes into the"
            " group."
        )
    return failed[:each] + fine[:each]


def check_of(group: NoteGroup, criterion: str) -> AssertionSpec:
    """Return the check of a group: a judge reads the whole conversation.

    Raises:
        CannotReadError: it says nothing, or too much.
    """
    if not criterion.strip() or len(criterion) > MAX_CRITERION:
        raise CannotReadError(f"Write what must be met, in 1 to {MAX_CRITERION:,} characters.")
    written = {"type": _KIND, "criteria": criterion.strip(), "name": group.name[:MAX_GROUP]}
    return AssertionSpec.model_validate(written | {"scope": "conversation"})


@contextmanager
def plan_trial(
    group: NoteGroup, suite: Suite, criterion: str, *, each: int = MIN_OF_EACH, **how: Any
) -> Iterator[list[RegradePlan]]:
    """Plan a trial, to see its price; the rest is as for `plan_regrade`.

    Raises:
        CannotReadError: there are too few conversations, or no criterion.
        CannotStartError: the judge is missing, or something else.
    """
    check = check_of(group, criterion)
    with ExitStack() as plans:
        yield [
            plans.enter_context(
                plan_regrade(run, by_suite=suite, executions=keys, check=check, **how)
            )
            for run, keys in _by_run(conversations_to_try(group, each))
        ]


@transaction.atomic
def start_trial(
    group: NoteGroup,
    suite: Suite,
    criterion: str,
    *,
    by: User,
    each: int = MIN_OF_EACH,
    max_cost_usd: Decimal | None = None,
) -> list[Run]:
    """Start the runs that try a criterion with the judge of a suite, and keep it with the group.

    Raises:
        CannotReadError: there are too few conversations, or no criterion.
        CannotStartError: the judge is missing, or something else.
    """
    check, trial = check_of(group, criterion), uuid4()
    runs = [
        regrade(
            run,
            by_suite=suite,
            executions=keys,
            check=check,
            by=by,
            max_cost_usd=max_cost_usd,
            group=trial,
        )
        for run, keys in _by_run(conversations_to_try(group, each))
    ]
    group.criterion, group.suite, group.trial = criterion.strip(), suite, trial
    group.assertion = None
    group.save(update_fields=["criterion", "suite", "trial", "assertion"])
    return runs


def _by_run(chosen: Sequence[LabelledConversation]) -> list[tuple[Run, list[int]]]:
    """Return the runs that hold the conversations, with the executions of each."""
    keys = [one.execution for one in chosen]
    rows = Run.all_runs.select_related("suite", "snapshot", "conversation_set")
    runs = rows.filter(executions__in=keys).distinct().order_by("-pk")
    return [
        (run, list(run.executions.filter(pk__in=keys).values_list("pk", flat=True))) for run in runs
    ]


@dataclass(frozen=True, slots=True)
class TriedConversation:
    """What people and the judge say of one conversation; the judge may not have decided."""

    people: LabelledConversation
    grade: GradeResult

    @property
    def is_disagreed(self) -> bool:
        return self.grade.passed is not None and self.grade.passed is not self.people.passed


@dataclass(frozen=True, slots=True)
class CheckTrial:
    """A trial of the check of a group: how the judge agrees with the notes."""

    is_open: bool
    tried: Sequence[TriedConversation]
    agreement: Agreement
    spent_usd: Decimal
    is_scripted: bool  # the judge is a script

    @property
    def disagreements(self) -> list[TriedConversation]:
        return [one for one in self.tried if one.is_disagreed]

    @property
    def undecided_count(self) -> int:
        """The number of conversations that the judge did not grade."""
        return sum(one.grade.passed is None for one in self.tried)

    @property
    def may_be_saved(self) -> bool:
        known = self.agreement
        return not self.is_open and min(known.people_failed, known.people_passed) >= MIN_OF_EACH


def trial_of(group: NoteGroup) -> CheckTrial | None:
    """Return the last trial of a group's check; None if there is none."""
    runs = list(Run.objects.filter(group=group.trial).defer("summary")) if group.trial else []
    if not runs:
        return None
    people = labels_of_readers(group)
    rows = GradeResult.objects.filter(execution__run__in=runs, type=_KIND)
    rows = rows.select_related("execution", "yardstick")
    rows = rows.defer("calls", "execution__summary", "execution__turn_ms")
    tried = [
        TriedConversation(people[grade.execution.source_id], grade)
        for grade in rows.order_by("execution__position", "pk")
        if grade.execution.source_id in people
    ]
    tried.sort(key=lambda one: (one.people.passed, one.people.position))
    labels = [
        Label(one.people.passed, one.grade.passed) for one in tried if one.grade.passed is not None
    ]
    return CheckTrial(
        is_open=any(run.is_open for run in runs),
        tried=tried,
        agreement=compare(labels),
        spent_usd=sum((run.spent_usd for run in runs), Decimal(0)),
        is_scripted=any(has_script(run.judge) for run in runs),
    )


@transaction.atomic
def store_labels(group: NoteGroup, *, by: User) -> int:
    """Store what people wrote as reviews of the trial's grades; return of how many conversations.

    They are those of the readers: `by` only decides to use them.

    Raises:
        CannotReadError: the check was not tried yet, or the judge did not decide enough of them.
    """
    trial = trial_of(group)
    if trial is None or not trial.may_be_saved:
        raise CannotReadError(
            f"Try the check first. The judge must decide {MIN_OF_EACH} conversations of the group and"
            f" {MIN_OF_EACH} that were fine, at least."
        )
    for one in trial.tried:
        for note in one.people.notes:
            review_grade(
                one.grade,
                by=note.by or by,
                passed=one.people.passed,
                reason=note.text,
                was_blind=True,
                entered_by=by,
            )
    return len(trial.tried)
