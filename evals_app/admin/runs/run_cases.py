"""The cases of a run that has ended, by how they ended, and how many there are of each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case as Choice
from django.db.models import (
    Count,
    F,
    IntegerField,
    JSONField,
    Max,
    OuterRef,
    Q,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils.safestring import SafeString

from evals_app.admin.kit.presentation import SIGNS, people_badge, plural
from evals_app.admin.runs.run_causes import Trials
from evals_app.admin.runs.run_changes import NO_CHANGE, ChangeMark
from evals_app.admin.runs.run_trials import TrialRow, people_of, trial_row
from evals_app.admin.starting.reruns import count_to_rerun, counts_to_rerun
from evals_app.engine.record.trial import Verdict
from evals_app.engine.record.usage import Usage, total_usage
from evals_app.engine.statistics.deciding import case_verdict
from evals_app.models import CaseResult, Execution, Run, SnapshotCase
from evals_app.reports.words.figures import (
    UNKNOWN,
    decided_after,
    interval,
    percent,
    score_text,
    token_sum,
)
from evals_app.reports.words.shares import share_of_trials

MAX_CASES = 200
_IS_MIXED = Q(failed__gt=0) | Q(trials__gt=F("passed") + F("measured") + F("skipped"))
# How cases end, in the order in which they are shown: those to look at first.
_ENDS = (
    (Q(verdict=Verdict.FAILED), "failed"),
    (Q(verdict__in=["", Verdict.ERRORED]), "without a verdict"),
    (Q(verdict=Verdict.PASSED) & _IS_MIXED, "passed, but not in every trial"),
    (Q(verdict=Verdict.PASSED), "passed"),
    (Q(verdict=Verdict.MEASURED), "only measured"),
)
_CLEAN = 3  # from here on, nothing is wrong


@dataclass(frozen=True, slots=True)
class CaseOfRun:
    """A case over its trials."""

    name: str
    question: str
    tone: str
    verdict: str
    people: SafeString | str  # the badge of another verdict with the decisions of people
    reason: str
    change: ChangeMark
    trials: TrialRow
    pass_rate: str
    interval: str
    score: str
    pass_at_k: str
    pass_hat_k: str
    judge_tokens: str


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Cases that ended alike; `title` counts them."""

    title: str
    cases: tuple[CaseOfRun, ...]
    is_clean: bool  # nothing is wrong with any of them


def first_cases(run: Run) -> list[Any]:
    """Return the first cases of a run with their questions, those that failed first."""
    rank = Choice(
        *(When(condition, then=Value(number)) for number, (condition, _) in enumerate(_ENDS)),
        default=Value(len(_ENDS)),
        output_field=IntegerField(),
    )
    rows = run.case_results.annotate(rank=rank).order_by("rank", "position")
    # The questions are read only of those that are shown.
    shown = CaseResult.objects.filter(pk__in=rows.values("pk")[:MAX_CASES])
    # A part of a suite has places of its own; its executions have those of the snapshot.
    trials = Execution.objects.filter(run=run, case=OuterRef(OuterRef("name")))
    place = Subquery(trials.values("position")[:1])
    frozen = SnapshotCase.objects.filter(snapshot=run.snapshot_id, position=place)
    asked = frozen.annotate(case=Cast("content", JSONField())).values(
        text=KT("case__turns__0__user")
    )
    question = Subquery(asked[:1], output_field=TextField())
    return list(shown.annotate(rank=rank, question=question).order_by("rank", "position"))


def case_groups(
    run: Run, cases: Iterable[Any], trials: Trials, changes: Mapping[str, ChangeMark]
) -> list[CaseGroup]:
    """Return the cases by how they ended."""
    by_rank: dict[int, list[CaseOfRun]] = {}
    for case in cases:
        line = _line(run, case, trials.get(case.name, ()), changes.get(case.name, NO_CHANGE))
        by_rank.setdefault(case.rank, []).append(line)
    return [
        CaseGroup(_title(run.unit, rank, lines), tuple(lines), is_clean=rank >= _CLEAN)
        for rank, lines in by_rank.items()
    ]


def _title(unit: str, rank: int, lines: Sequence[CaseOfRun]) -> str:
    title = f"{plural(len(lines), unit)} {_ENDS[rank][1]}"
    in_trials = {line.trials.in_words for line in lines}
    is_alike = rank == _CLEAN and len(in_trials) == 1 and len(lines[0].trials.marks) > 1
    return f"{title}, {in_trials.pop()}" if is_alike else title


def _line(run: Run, case: Any, trials: Sequence[Execution], change: ChangeMark) -> CaseOfRun:
    sign = SIGNS[case.verdict or "not_run"]
    ended = [row for row in trials if row.verdict]
    return CaseOfRun(
        name=case.name,
        question=case.question or "",
        tone=sign.tone,
        verdict=sign.word,
        people=_people_of_case(case, ended, run.reviewed),
        reason=next((row.reason for row in ended if row.reason), ""),
        change=change,
        trials=trial_row(run, trials),
        pass_rate=share_of_trials(vars(case)),
        interval=_interval(case),
        score=score_with_deviation(case, scale=run.score_scale),
        pass_at_k=each_k(case.pass_at_k),
        pass_hat_k=each_k(case.pass_hat_k),
        judge_tokens=_judge_tokens(ended),
    )


def _people_of_case(
    case: CaseResult, trials: Sequence[Execution], reviewed: Mapping[str, Any]
) -> SafeString | str:
    """Return the badge of another verdict that the decisions of people give a case."""
    if not any(map(people_of, trials)) or not reviewed:
        return ""
    verdicts = [(people_of(row) or row).verdict for row in trials]
    counts = map(verdicts.count, Verdict)
    verdict = case_verdict(*counts, min_pass_rate=reviewed["min_pass_rate"])
    return people_badge(verdict) if verdict is not None and verdict != case.verdict else ""


def _judge_tokens(trials: Sequence[Execution]) -> str:
    if not trials:
        return UNKNOWN
    used = total_usage(
        [Usage(row.judge_prompt_tokens, row.judge_response_tokens) for row in trials]
    )
    return token_sum(used.prompt_tokens, used.response_tokens)


def _interval(case: CaseResult) -> str:
    if case.interval_low is None or case.interval_high is None:
        return decided_after(case.trials, case.skipped)
    return interval((case.interval_low, case.interval_high))


def score_with_deviation(case: CaseResult, *, scale: str) -> str:
    """Write the score of a case, and how far its trials are from it."""
    score = score_text(case.score, scale=scale)
    if case.deviation is None:
        return score
    spread = f"{4 * case.deviation:.1f}" if scale == "1-5" else f"{case.deviation:.2f}"
    return f"{score} ± {spread}"


def each_k(values: Sequence[float]) -> str:
    """Write pass@k for every k, or for first, middle and last of many."""
    if len(values) < 2:  # noqa: PLR2004 - one trial has no k
        return ""
    chosen = list(range(1, len(values) + 1))
    if len(values) > 4:  # noqa: PLR2004 - more do not fit a cell
        chosen = sorted({1, (len(values) + 1) // 2, len(values)})
    return ", ".join(f"k={k}:\u00a0{percent(values[k - 1])}" for k in chosen)


def count_cases(run: Run, cases: Sequence[Any]) -> Mapping[str, int]:
    """Count the cases of a run by outcome; `cases` are the first, and of most runs all of them."""
    if len(cases) < MAX_CASES:
        verdicts = Counter(case.verdict for case in cases)
        by_verdict = {name: verdicts[verdict] for name, verdict in _COUNTED.items()}
        most = max((case.trials for case in cases), default=0)
        return by_verdict | count_to_rerun(cases) | {"cases": len(cases), "most_trials": most}
    counts = run.case_results.aggregate(
        cases=Count("pk"),
        most_trials=Max("trials"),
        **{name: Count("pk", filter=Q(verdict=verdict)) for name, verdict in _COUNTED.items()},
        **counts_to_rerun(),
    )
    return {name: number or 0 for name, number in counts.items()}


_COUNTED = {
    "cases_passed": Verdict.PASSED.value,
    "cases_failed": Verdict.FAILED.value,
    "cases_not_graded": Verdict.ERRORED.value,
    "cases_not_run": "",
    "cases_measured": Verdict.MEASURED.value,
}
