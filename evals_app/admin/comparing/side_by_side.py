"""The page that shows one case in two runs: grades and messages, with differences marked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.db.models import Q
from django.http import Http404, QueryDict
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from evals_app.admin.comparing.paired_executions import paired_grades, paired_turns
from evals_app.admin.conversation.execution_numbers import execution_numbers, number_differences
from evals_app.admin.conversation.judgements import agreements_of, judgement
from evals_app.admin.conversation.transcripts import (
    WorldLines,
    grade_state,
    readable_trial,
    turn_lines,
    world_lines,
)
from evals_app.admin.kit.presentation import (
    SIGNS,
    badge,
    execution_badges,
    execution_state,
    headline,
)
from evals_app.engine.record.trial import Trial
from evals_app.engine.statistics.comparison import change_of
from evals_app.models import CaseResult, Execution, GradeResult, Run, Transcript
from evals_app.reports.words.word_differences import word_differences
from evals_app.runs.reading.outcomes import differing_trials, names_of_case

SIDES = 2
_DIGITS = 19  # of the largest key


class CheckLine(NamedTuple):
    """A check of one conversation in short."""

    tone: str
    word: str
    label: str
    missed: tuple[str, ...]


def check_line(grade: GradeResult) -> CheckLine:
    """Return a grade in short; of a judge's list only what is missing."""
    sign = SIGNS[grade_state(grade)]
    items = judgement(grade, {}).items if grade.passed is False else ()
    missed = tuple(item.text for item in items if item.is_missed)
    return CheckLine(sign.tone, sign.word.lower(), grade.label, missed)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two executions; `execution` is None if the run does not have the case."""

    run: Run
    label: str
    shows_trial: bool
    execution: Execution | None
    trials: tuple[tuple[int, str], ...]  # number and verdict of each trial
    trial: Trial | None = None
    is_pruned: bool = False
    is_unreadable: bool = False
    grades: tuple[GradeResult, ...] = ()
    trial_links: tuple[
        tuple[int, str, str], ...
    ] = ()  # number, address of the page and of its part

    @property
    def state(self) -> str:
        return execution_state(self.execution, run=self.run) if self.execution else "none"

    @property
    def tone(self) -> str:
        return SIGNS[self.state].tone

    @property
    def word(self) -> str:
        return SIGNS[self.state].word.lower()

    @property
    def check_lines(self) -> list[CheckLine]:
        """The checks that decided, with what a judge found missing."""
        return [check_line(grade) for grade in self.grades if grade.weight > 0]

    @property
    def badge(self) -> SafeString | str:
        if self.execution is None:
            return ""
        return badge(execution_state(self.execution, run=self.run))

    @property
    def labels(self) -> SafeString | str:
        return execution_badges(self.execution) if self.execution else ""

    @property
    def headline(self) -> str:
        return headline(self.execution) if self.execution else ""

    @property
    def world(self) -> WorldLines:
        return world_lines(self.trial.world_changes if self.trial else {})

    def numbers(self, *, scale: str) -> Mapping[str, str]:
        if self.execution is None:
            return {}
        return dict(execution_numbers(self.execution, self.trial, scale=scale))


def side_by_side_url(case: str, *, runs: Iterable[int], trials: Iterable[int] = ()) -> str:
    """Return the address of the page for a case in two runs; without trials it picks differing ones."""
    query = urlencode(
        [
            *(("run", str(pk)) for pk in runs),
            ("case", case),
            *(("trial", str(number)) for number in trials),
        ]
    )
    return f"{reverse('admin:evals_app_run_side_by_side')}?{query}"


def replies_url(case: str, *, runs: Iterable[int], trials: Iterable[int] = ()) -> str:
    """Return the address of what was said in two runs, as a part of another page."""
    whole = side_by_side_url(case, runs=runs, trials=trials)
    return f"{reverse('admin:evals_app_run_replies')}?{whole.partition('?')[2]}"


def read_number(text: str) -> int | None:
    """Read a number from an address; None if it is not a number, or too large for a key."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def comparison_url(runs: Iterable[int], **more: str) -> str:
    """Return the address of the comparison of runs, the base first."""
    query = urlencode([*(("run", str(pk)) for pk in runs), *more.items()])
    return f"{reverse('admin:evals_app_run_compare')}?{query}"


def side_by_side(query: QueryDict) -> dict[str, object]:
    """Return what the page shows.

    Raises:
        Http404: there are not two runs, or none of them has the case.
    """
    runs = _runs(query.getlist("run"))
    case = query.get("case", "")
    trials = _trials(runs, case)
    if not any(trials):
        raise Http404(f"No such case in run {runs[0].pk} or {runs[1].pk}.")
    base, head = _sides(runs, trials, asked=query.getlist("trial"))
    scale = head.run.score_scale
    is_one_run = runs[0].pk == runs[1].pk
    known = agreements_of([*base.grades, *head.grades])
    grades = paired_grades(base.grades, head.grades, scale=scale, known=known)
    changed = [pair for pair in grades if pair.change]
    turns = paired_turns(
        *(turn_lines(side.trial, (), scale=scale, known={}) for side in (base, head)),
        marks_words=any(pair.is_exact for pair in changed) or not changed,
    )
    prompts = word_differences(_prompt(base), _prompt(head))
    return {
        "case": case,
        "sides": (base, head),
        "compare_url": _compare_url(base, head),
        "change": "" if is_one_run else _change(base, head),
        "grades": changed,
        "same_grades": [pair for pair in grades if not pair.change],
        "turns": turns,
        "turn": next((turn for turn in turns if turn.differences), turns[-1] if turns else None),
        "differing_turns": sum(bool(turn.differences) for turn in turns),
        "prompts": prompts,
        "prompt_sides": ((base, prompts.base), (head, prompts.head)),
        "figures": _figures(base, head, scale=scale),
    }


def replies(query: QueryDict) -> dict[str, object]:
    """Return what the part below a case shows: the first turn that differs, and its checks."""
    context = side_by_side(query)
    case, runs = query.get("case", ""), query.getlist("run")
    base, head = _with_links(context["sides"], case)  # type: ignore[arg-type]
    pks = [read_number(text) or 0 for text in runs]
    chosen = [side.execution.trial if side.execution else 0 for side in (base, head)]
    return context | {
        "sides": (base, head),
        "whole_url": side_by_side_url(case, runs=pks, trials=chosen),
    }


def _with_links(sides: tuple[Side, Side], case: str) -> list[Side]:
    """Return both sides with the addresses of their other trials."""
    pks = [side.run.pk for side in sides]
    shown = [side.execution.trial if side.execution else 0 for side in sides]
    linked = []
    for place, side in enumerate(sides):
        links = []
        for number, _ in side.trials:
            trials = [number, shown[1]] if place == 0 else [shown[0], number]
            page = side_by_side_url(case, runs=pks, trials=trials)
            links.append((number, page, replies_url(case, runs=pks, trials=trials)))
        several = len(links) > 1
        linked.append(replace(side, trial_links=tuple(links) if several else ()))
    return linked


def _runs(texts: Sequence[str]) -> tuple[Run, Run]:
    numbers = [read_number(text) or 0 for text in texts]
    if len(numbers) != SIDES:
        raise Http404("Name two runs, as in ?run=1&run=2.")
    # Not `pk__in`: a number too large for a key would break it.
    wanted = Q(pk=numbers[0]) | Q(pk=numbers[1])
    rows = Run.objects.select_related("grades_of").defer("summary", "grades_of__summary")
    runs = {run.pk: run for run in rows.filter(wanted)}
    if missing := [text for text, pk in zip(texts, numbers, strict=True) if pk not in runs]:
        raise Http404(f"There is no run {missing[0][:40]}.")
    return runs[numbers[0]], runs[numbers[1]]


def _trials(runs: tuple[Run, Run], case: str) -> tuple[list[Execution], list[Execution]]:
    names = _names(runs, case)
    wanted = Q(run=runs[0].pk, case=names[0]) | Q(run=runs[1].pk, case=names[1])
    rows = list(Execution.objects.filter(wanted).order_by("trial"))
    by_run = {run.pk: [row for row in rows if row.run_id == run.pk] for run in runs}
    base, head = (by_run[run.pk] for run in runs)
    for run in runs:
        for row in by_run[run.pk]:
            row.run = run
    return base, head


def _names(runs: tuple[Run, Run], case: str) -> tuple[str, str]:
    """Return what a case is called in each run; the newer one may have renamed it."""
    base, head = runs
    if base.pk == head.pk or base.is_open or head.is_open:
        return case, case
    return names_of_case(base, head, case)


def _sides(
    runs: tuple[Run, Run],
    trials: tuple[list[Execution], list[Execution]],
    *,
    asked: Sequence[str],
) -> tuple[Side, Side]:
    chosen = _choose_trials(*trials, asked=asked)
    keys = [execution.pk for execution in chosen if execution]
    transcripts = Transcript.objects.of_all({row.pk: row.source_id for row in chosen if row})
    grades: dict[int, list[GradeResult]] = {}
    rows = GradeResult.objects.filter(execution__in=keys).defer("calls")
    for grade in rows.select_related("yardstick").order_by("position", "pk"):
        grades.setdefault(grade.execution_id, []).append(grade)
    shows_trials = runs[0].pk == runs[1].pk or max(map(len, trials)) > 1
    sides = []
    for run, rows_of_run, execution in zip(runs, trials, chosen, strict=True):
        stored = transcripts.get(execution.pk) if execution else None
        trial = readable_trial(stored)
        shows_trial = execution is not None and shows_trials
        number = f", trial {execution.trial}" if execution and shows_trials else ""
        sides.append(
            Side(
                run=run,
                label=f"Run {run.pk}{number}",
                shows_trial=shows_trial,
                execution=execution,
                trials=tuple((row.trial, row.verdict or row.status) for row in rows_of_run),
                trial=trial,
                is_pruned=execution is not None
                and stored is None
                and (execution.content_removed_at or (run.grades_of or run).pruned_at) is not None,
                is_unreadable=stored is not None and trial is None,
                grades=tuple(grades.get(execution.pk, ())) if execution else (),
            )
        )
    base, head = sides
    return base, head


def _choose_trials(
    base: Sequence[Execution], head: Sequence[Execution], *, asked: Sequence[str]
) -> tuple[Execution | None, Execution | None]:
    """Return the requested trials, else the first ones that differ."""
    before, after = differing_trials(base, head)
    wanted = [read_number(text) for text in asked]
    if len(wanted) != SIDES:
        return before, after
    return (
        next((row for row in base if row.trial == wanted[0]), before),
        next((row for row in head if row.trial == wanted[1]), after),
    )


def _change(base: Side, head: Side) -> SafeString | str:
    """Return what happened to the case over all its trials, if both runs have ended."""
    if base.run.is_open or head.run.is_open:
        return ""
    wanted = Q()
    for side in (base, head):
        if side.execution:
            wanted |= Q(run=side.run.pk, position=side.execution.position)
    outcomes = {row.run_id: row.outcome for row in CaseResult.objects.filter(wanted)}
    before, after = (outcomes.get(side.run.pk) for side in (base, head))
    return badge(change_of(before, after)) if before or after else ""


def _compare_url(base: Side, head: Side) -> str:
    """Return the address of the comparison of both runs, if they can be compared."""
    if base.run.pk == head.run.pk or base.run.is_open or head.run.is_open:
        return ""
    return comparison_url([base.run.pk, head.run.pk])


def _prompt(side: Side) -> str:
    return side.trial.system_prompt if side.trial else ""


def _figures(base: Side, head: Side, *, scale: str) -> list[tuple[str, str, str, str]]:
    """Return each number with its label, both values and their difference."""
    before, after = (side.numbers(scale=scale) for side in (base, head))
    changes = number_differences(base.execution, head.execution, scale=scale)
    return [
        (label, before.get(label, ""), after.get(label, ""), changes.get(label, ""))
        for label in before or after
    ]
