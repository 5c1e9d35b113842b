"""What went wrong in a run: by cause, by the check that decided, and case by case."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Window
from django.db.models.functions import RowNumber

from evals_app.admin.kit.presentation import SIGNS
from evals_app.admin.runs.run_changes import NO_CHANGE, ChangeMark
from evals_app.admin.runs.run_trials import TrialRow, trial_row, trials_by_case
from evals_app.engine.graders import GRADERS
from evals_app.engine.record.trial import Cause
from evals_app.models import Execution, GradeResult, Run
from evals_app.reports.words.causes import CAUSE_WORDS

MAX_OF_A_CAUSE = 50  # conversations that are shown
WENT_WRONG = ("failed", "errored")
Trials = Mapping[str, Sequence[Execution]]  # by the name of their case


@dataclass(frozen=True, slots=True)
class CaseInCause:
    """A case with the reason of its first trial that a cause has, and all of its trials."""

    name: str
    reason: str
    trials: TrialRow
    opens: int
    change: ChangeMark


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """What went wrong for one cause; if checks failed, only by one kind of check.

    `reason` is the most frequent one, which `same` of `total` conversations have. `more` counts
    those with the same cause that are not shown.
    """

    cause: str
    title: str
    tone: str
    reason: str
    same: int
    total: int
    cases: tuple[CaseInCause, ...]
    more: int

    @property
    def is_shared(self) -> bool:
        """Whether several cases have the most frequent reason."""
        return sum(case.reason == self.reason for case in self.cases) > 1


@dataclass(frozen=True, slots=True)
class WrongConversations:
    """Conversations that went wrong, in the order of the cases, and how many each cause has."""

    rows: Sequence[Execution]
    totals: Mapping[str, int]

    @classmethod
    def among(cls, trials: Trials) -> "WrongConversations":
        rows = [row for of_case in trials.values() for row in of_case if row.verdict in WENT_WRONG]
        return cls(rows, Counter(row.cause for row in rows))

    @classmethod
    def first_of(cls, run: Run) -> "WrongConversations":
        """Return the first ones of each cause, so that a frequent cause does not hide another."""
        rows: Any = (
            run.executions.filter(verdict__in=WENT_WRONG)
            .annotate(
                number=Window(
                    RowNumber(), partition_by=[F("cause")], order_by=["position", "trial"]
                ),
                in_all=Window(Count("pk"), partition_by=[F("cause")]),
            )
            .filter(number__lte=MAX_OF_A_CAUSE)
            .only("run", "case", "position", "trial", "verdict", "cause", "reason")
            .order_by("cause", "number")
        )
        found = list(rows)
        return cls(found, {row.cause: row.in_all for row in found})

    @property
    def names(self) -> set[str]:
        return {row.case for row in self.rows}


def causes_so_far(run: Run) -> list[CauseGroup]:
    """Return what went wrong in a run that may still be open."""
    wrong = WrongConversations.first_of(run)
    return causes(run, wrong, trials_by_case(run, wrong.names)) if wrong.rows else []


def causes(
    run: Run,
    wrong: WrongConversations,
    trials: Trials,
    changes: Mapping[str, ChangeMark] | None = None,
) -> list[CauseGroup]:
    """Group what went wrong by cause: failures first, then the checks that failed most often."""
    shown: dict[Cause, list[Execution]] = {}
    for row in wrong.rows:
        of_cause = shown.setdefault(Cause(row.cause), [])
        if len(of_cause) < MAX_OF_A_CAUSE:
            of_cause.append(row)
    kinds = _deciding_kinds(shown.get(Cause.ASSERTION, ()))

    def in_cause(row: Execution) -> CaseInCause:
        marks = trial_row(run, trials.get(row.case, ()))
        change = (changes or {}).get(row.case, NO_CHANGE)
        return CaseInCause(row.case, row.reason, marks, row.pk, change)

    # Failures are about the agent, errors about the evaluation.
    order = sorted(shown, key=lambda cause: (cause.is_error, -list(Cause).index(cause)))
    groups = []
    for cause in order:
        parts = _by_check(shown[cause], kinds)
        for kind, rows in parts:
            first = {row.case: row for row in reversed(rows)}
            cases = [in_cause(first[name]) for name in dict.fromkeys(row.case for row in rows)]
            is_last = (kind, rows) == parts[-1]
            more = wrong.totals[cause] - len(shown[cause]) if is_last else 0
            groups.append(_group(cause, kind, rows, cases, more))
    return groups


def _group(
    cause: Cause, kind: str, rows: Sequence[Execution], cases: Iterable[CaseInCause], more: int
) -> CauseGroup:
    ((reason, same),) = Counter(row.reason for row in rows).most_common(1)
    return CauseGroup(
        cause=cause,
        title=kind or CAUSE_WORDS[cause],
        tone=SIGNS[rows[0].verdict].tone,
        reason=reason,
        same=same,
        total=len(rows),
        cases=tuple(cases),
        more=more,
    )


def _deciding_kinds(rows: Sequence[Execution]) -> dict[int, str]:
    """Return the kind of the check whose reason became that of each execution, by its key."""
    if not rows:
        return {}
    grades = GradeResult.objects.filter(execution__in=rows, reason__in={row.reason for row in rows})
    reasons = {row.pk: row.reason for row in rows}
    return {
        execution: GRADERS[kind].label
        for execution, kind, reason in grades.values_list("execution", "type", "reason")
        if reasons[execution] == reason and kind in GRADERS
    }


def _by_check(
    rows: Iterable[Execution], kinds: Mapping[int, str]
) -> list[tuple[str, list[Execution]]]:
    """Return executions by the kind of check that decided, the most frequent first."""
    by_kind: dict[str, list[Execution]] = {}
    for row in rows:
        by_kind.setdefault(kinds.get(row.pk, ""), []).append(row)
    return sorted(by_kind.items(), key=lambda item: -len(item[1]))
