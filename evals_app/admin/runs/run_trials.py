"""The trials of cases in a run, as marks that lead to their conversations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from evals_app.admin.kit.presentation import SIGNS, execution_state
from evals_app.engine.record.trial import Verdict
from evals_app.models import Execution, Run
from evals_app.reports.answers.decided import WITH_PEOPLE
from evals_app.reports.words.figures import decided_after

_COLUMNS = (
    *("run", "case", "position", "trial", "verdict", "status", "cause", "reason"),
    *("judge_prompt_tokens", "judge_response_tokens", "reviewed__verdict"),
)
_WITHOUT_RESULT = {"not_run", "queued", "skipped", "cancelled"}


@dataclass(frozen=True, slots=True)
class TrialMark:
    """One trial of a case: the tone of its mark, and what it means in words."""

    pk: int
    tone: str
    label: str
    passed: bool

    @property
    def url(self) -> str:
        return reverse("admin:evals_app_execution_change", args=[self.pk])


@dataclass(frozen=True, slots=True)
class TrialRow:
    """The trials of a case in their order, and how many of them passed."""

    marks: tuple[TrialMark, ...]
    in_words: str

    @property
    def tones(self) -> list[str]:
        return [mark.tone for mark in self.marks]

    @property
    def links(self) -> list[tuple[str, str, str]]:
        return [(mark.tone, mark.label, mark.url) for mark in self.marks]

    @property
    def opens(self) -> str:
        """The page that a click on the case opens: the first trial that did not pass, if any."""
        wrong = (mark.url for mark in self.marks if not mark.passed)
        return next(wrong, self.marks[0].url if self.marks else "")


def trials_by_case(run: Run, names: Iterable[str]) -> dict[str, list[Execution]]:
    """Return the trials of these cases, by the name of the case."""
    found: dict[str, list[Execution]] = {}
    rows = run.executions.filter(case__in=names).select_related("reviewed")
    for row in rows.only(*_COLUMNS).order_by("position", "trial"):
        found.setdefault(row.case, []).append(row)
    return found


def trial_row(run: Run, trials: Sequence[Execution]) -> TrialRow:
    """Return the trials of one case as marks."""
    words = _passed_of([row.verdict for row in trials])
    reviewed = [(people_of(row) or row).verdict for row in trials]
    if (with_people := _passed_of(reviewed)) != words:
        words = f"{words}; {with_people} {WITH_PEOPLE}"
    skipped = sum(row.status == Execution.Status.SKIPPED for row in trials)
    in_words = ", ".join(filter(None, [words, decided_after(len(trials), skipped)]))
    return TrialRow(tuple(_mark(run, row) for row in trials), in_words)


def people_of(execution: Execution) -> Any:
    """Return the result of an execution with the decisions of people, if there is one."""
    return getattr(execution, "reviewed", None)


def _passed_of(verdicts: Sequence[str]) -> str:
    """Write how many trials passed: `2 of 3`, or `1 of 2, 1 not graded`."""
    passed, failed, errored = map(verdicts.count, (Verdict.PASSED, Verdict.FAILED, Verdict.ERRORED))
    share = f"{passed:,} of {passed + failed:,}" if passed + failed else ""
    return ", ".join(filter(None, [share, f"{errored:,} not graded" if errored else ""]))


def _mark(run: Run, row: Execution) -> TrialMark:
    state = execution_state(row, run=run)
    label = f"{row.case}, trial {row.trial}: {SIGNS[state].word}"
    if (people := people_of(row)) and people.verdict != row.verdict:
        label += f", {SIGNS[people.verdict].word.lower()} {WITH_PEOPLE}"
    tone = "none" if state in _WITHOUT_RESULT else SIGNS[state].tone
    return TrialMark(row.pk, tone, label, row.verdict in {Verdict.PASSED, Verdict.MEASURED})
