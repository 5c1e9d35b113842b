"""The cases of two runs as people read them: in groups, each with its trials before and now."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Q

from evals_app.admin.comparing.side_by_side import (
    comparison_url,
    replies_url,
    side_by_side_url,
)
from evals_app.admin.kit.presentation import SIGNS, first_words
from evals_app.engine.record.trial import Verdict
from evals_app.engine.statistics.comparison import CaseOutcome, ChangeKind
from evals_app.engine.statistics.retest import Finding, Suspect, SuspectState
from evals_app.models import Execution, Run, Settlement, SnapshotCase
from evals_app.reports.answers.compared_cases import ComparedCase
from evals_app.reports.answers.comparison import CHANGES, ChangedCheck, check_name
from evals_app.reports.answers.retests import TESTING, WORDS, trials_of_both
from evals_app.reports.words.figures import count_text
from evals_app.runs.reading.compared_runs import Comparison, changed_checks

MAX_OF_A_GROUP = 20
MAX_MARKS = 12  # of one side; more trials are counted only
_QUESTION = 140  # characters

GroupKey = ChangeKind | Finding

# What a retest found comes first: it is certain.
_ORDER: Sequence[GroupKey] = (
    *(Finding.REALLY_WORSE, ChangeKind.WORSE, ChangeKind.CHECK_WORSE, Finding.CANNOT_TELL),
    *(Finding.WAS_FLAKY, ChangeKind.FEWER, ChangeKind.FLAKY, Finding.REALLY_BETTER),
    *(ChangeKind.BETTER, ChangeKind.CHECK_BETTER, ChangeKind.MORE, ChangeKind.NEW),
    *(ChangeKind.MISSING, ChangeKind.CHANGED, ChangeKind.UNDECIDED, ChangeKind.SAME),
)
_BY_CHECK = frozenset({ChangeKind.BETTER, ChangeKind.CHECK_BETTER, ChangeKind.CHECK_WORSE})
_WRONG = (Verdict.FAILED, Verdict.ERRORED)


class PairMark(NamedTuple):
    """One trial: the tone of its mark, its words, and the address of its conversation, if it may be read."""

    tone: str
    label: str
    url: str


@dataclass(frozen=True, slots=True)
class PairSide:
    """A case in one run; a run that does not have it has no share. `marks` may be too many to show."""

    label: str
    share: str = ""
    marks: tuple[PairMark, ...] = ()


@dataclass(frozen=True, slots=True)
class PairRow:
    """A case in both runs; `word` and `note` come before the reason."""

    name: str
    old_name: str
    question: str
    tone: str
    verdict: str
    word: str
    reason: str
    base: PairSide
    head: PairSide
    replies_url: str  # empty for people who may not read conversations


@dataclass(frozen=True, slots=True)
class PairGroup:
    """Cases to which the same happened; only the first ones are rows."""

    key: str
    title: str
    meaning: str
    tone: str
    count: int
    note: str
    rows: tuple[PairRow, ...]
    all_url: str


def case_groups(
    comparison: Comparison, cases: Iterable[ComparedCase] | None, *, may_read: bool
) -> list[PairGroup]:
    """Return the cases of a comparison with one head in groups, the gravest first.

    `cases` are those of a page; with None the first of each group, and none of those that are the same.
    """
    suspects = suspects_of(comparison.base, comparison.heads[0].run)
    found = comparison.cases.cases if cases is None else cases
    by_key: dict[GroupKey, list[ComparedCase]] = {}
    for case in found:
        by_key.setdefault(_key(case, suspects), []).append(case)
    shown = {
        key: by_key[key][: None if cases is not None else _most(key)]
        for key in _ORDER
        if key in by_key
    }
    rows = _Rows(comparison, [case for part in shown.values() for case in part], suspects, may_read)
    ids = [entry.run.pk for entry in comparison.runs]
    return [
        PairGroup(
            key=key.value,
            title=_title(key),
            meaning=CHANGES[key].meaning if isinstance(key, ChangeKind) else "",
            tone=SIGNS[key.value].tone,
            count=len(by_key[key]),
            note=_same_note(by_key[key]) if key is ChangeKind.SAME else "",
            rows=tuple(map(rows.row, part)),
            all_url=""
            if len(part) == len(by_key[key])
            else comparison_url(ids, change=by_key[key][0].change),
        )
        for key, part in shown.items()
    ]


def suspects_of(base: Run, head: Run) -> dict[str, Suspect]:
    """Return what retests found, by the name of the case in the head; the newest counts."""
    rows = Settlement.objects.filter(base=base, head=head).order_by("pk")
    found = rows.exclude(status=Settlement.Status.CANCELLED)
    return {suspect.name: suspect for settlement in found for suspect in settlement.read_cases()}


def _key(case: ComparedCase, suspects: Mapping[str, Suspect]) -> GroupKey:
    suspect = suspects.get(case.name)
    is_open = suspect is None or suspect.state is SuspectState.OPEN
    return (
        case.change if suspect is None or (is_open and not suspect.head.total) else suspect.finding
    )


def _most(key: GroupKey) -> int:
    return 0 if key is ChangeKind.SAME else MAX_OF_A_GROUP


def _title(key: GroupKey) -> str:
    return CHANGES[key].label if isinstance(key, ChangeKind) else WORDS[key]


def _same_note(cases: Sequence[ComparedCase]) -> str:
    """Return how many cases passed and failed in both runs."""
    verdicts = [outcome.verdict for case in cases if (outcome := case.outcomes[0])]
    counts = [(verdicts.count(verdict), verdict.value) for verdict in (Verdict.PASSED, *_WRONG[:1])]
    return f"{' and '.join(f'{n:,} {word}' for n, word in counts if n)} in both" if cases else ""


class _Trial(NamedTuple):
    trial: int
    verdict: str
    reason: str
    position: int


class _Rows:
    """Writes rows: reads the trials and questions of all of them at once."""

    def __init__(
        self,
        comparison: Comparison,
        cases: Sequence[ComparedCase],
        suspects: Mapping[str, Suspect],
        may_read: bool,  # noqa: FBT001 - a right
    ) -> None:
        self._runs = [entry.run for entry in comparison.runs]
        self._suspects, self._may_read = suspects, may_read
        self._checks = changed_checks(comparison, cases)
        self._trials = self._read_trials(cases) if cases else {}
        self._questions = self._read_questions() if may_read else {}

    def _read_trials(self, cases: Sequence[ComparedCase]) -> dict[tuple[int, str], list[_Trial]]:
        wanted = Q()
        for place, run in enumerate(self._runs):
            names = [outcome.name for case in cases if (outcome := case.outcomes[place])]
            wanted |= Q(run=run.pk, case__in=names)
        columns = ("run_id", "case", "trial", "verdict", "reason", "position")
        rows = Execution.objects.filter(wanted).order_by("trial").values_list(*columns)
        trials: dict[tuple[int, str], list[_Trial]] = {}
        for run, case, *rest in rows:
            trials.setdefault((run, case), []).append(_Trial(*rest))
        return trials

    def _read_questions(self) -> dict[tuple[str, int], str]:
        """Return the first message of each case, by snapshot and position."""
        wanted = Q()
        for run in self._runs:
            places = {
                trials[0].position for key, trials in self._trials.items() if key[0] == run.pk
            }
            wanted |= Q(snapshot=run.snapshot_id, position__in=places)
        rows = SnapshotCase.objects.filter(wanted).values_list("snapshot", "position", "content")
        return {(pk, position): _question(content) for pk, position, content in rows}

    def row(self, case: ComparedCase) -> PairRow:
        base, head = (self._side(case, place) for place in (0, 1))
        before, after = case.outcomes
        state = self._verdict(after or before)
        suspect = self._suspects.get(case.name)
        return PairRow(
            name=case.name,
            old_name=case.old_name,
            question=self._question_of(case),
            tone=SIGNS[state].tone,
            verdict=SIGNS[state].word.lower(),
            word=self._word(suspect),
            reason=self._reason(case, suspect),
            base=base,
            head=head,
            replies_url=replies_url(case.name, runs=self._pks) if self._may_read else "",
        )

    @property
    def _pks(self) -> list[int]:
        return [run.pk for run in self._runs]

    def _verdict(self, outcome: CaseOutcome | None) -> str:
        return outcome.verdict.value if outcome and outcome.verdict else "none"

    def _side(self, case: ComparedCase, place: int) -> PairSide:
        run, outcome = self._runs[place], case.outcomes[place]
        if outcome is None:
            return PairSide(f"Run {run.pk}")
        trials = self._trials.get((run.pk, outcome.name), ())
        marks = tuple(self._mark(case, place, trial) for trial in trials[: MAX_MARKS + 1])
        share = f"{outcome.passed:,} of {outcome.graded_count:,}"
        is_graded = outcome.graded_count > 0
        return PairSide(
            f"Run {run.pk}",
            share if is_graded else self._verdict(outcome),
            marks if len(marks) <= MAX_MARKS else (),
        )

    def _mark(self, case: ComparedCase, place: int, trial: _Trial) -> PairMark:
        sign = SIGNS[trial.verdict or "not_run"]
        label = f"Run {self._runs[place].pk}, trial {trial.trial}: {sign.word.lower()}"
        chosen = [trial.trial, 0] if place == 0 else [0, trial.trial]
        url = side_by_side_url(case.name, runs=self._pks, trials=chosen) if self._may_read else ""
        return PairMark(sign.tone, label, url)

    def _question_of(self, case: ComparedCase) -> str:
        for run, outcome in reversed(list(zip(self._runs, case.outcomes, strict=True))):
            trials = self._trials.get((run.pk, outcome.name), ()) if outcome else ()
            if trials:
                return self._questions.get((run.snapshot_id, trials[0].position), "")
        return ""

    def _word(self, suspect: Suspect | None) -> str:
        return TESTING if suspect is not None and suspect.state is SuspectState.OPEN else ""

    def _reason(self, case: ComparedCase, suspect: Suspect | None) -> str:
        """Return the main reason: what the retest found, the check that changed, or why a trial failed."""
        parts = []
        if suspect is not None and suspect.head.total:
            parts.append(f"{trials_of_both(suspect)}.")
        checks = self._checks.get(case.name, ())
        if case.change in _BY_CHECK:
            parts += _names(checks, is_worse=case.change is ChangeKind.CHECK_WORSE)
        elif case.change in {ChangeKind.FEWER, ChangeKind.MORE}:
            parts.append(_trials_text(case))
        elif self._may_read and case.change not in {ChangeKind.CHANGED, ChangeKind.SAME}:
            parts += self._why_wrong(case)
        return " ".join(parts)

    def _why_wrong(self, case: ComparedCase) -> list[str]:
        place = 0 if case.outcomes[1] is None else 1
        outcome = case.outcomes[place]
        trials = self._trials.get((self._runs[place].pk, outcome.name), ()) if outcome else ()
        wrong = (trial.reason for trial in trials if trial.verdict in _WRONG and trial.reason)
        return [reason for reason in [next(wrong, "")] if reason]


def _question(content: str) -> str:
    """Return the first message of a stored case; empty if another version wrote it."""
    turns = json.loads(content).get("turns") or [{}]
    return first_words(str(turns[0].get("user") or ""), most=_QUESTION)


def _names(checks: Iterable[ChangedCheck], *, is_worse: bool) -> list[str]:
    named = [check_name(check) for check in checks if check.is_worse is is_worse]
    return ["; ".join(dict.fromkeys(named))] if named else []


def _trials_text(case: ComparedCase) -> str:
    """Return how many more or fewer trials passed, where both runs graded equally many."""
    before, after = case.outcomes
    if before is None or after is None or before.graded_count != after.graded_count:
        return ""
    word = "fewer" if after.passed < before.passed else "more"
    return f"{count_text(abs(after.passed - before.passed), 'trial')} {word}"
