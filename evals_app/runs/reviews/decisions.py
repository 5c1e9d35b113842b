"""The results of executions and of their run with the decisions of people.

What a run recorded never changes. `ReviewedVerdict` has the verdict of each execution in which
people overruled a grade, and `Run.reviewed` the result of the run with those verdicts.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from pydantic import ValidationError

from evals_app.engine.basics.errors import CannotError
from evals_app.engine.record.grade import Grade, GradeStatus
from evals_app.engine.record.trial import Cause, Trial, Verdict
from evals_app.engine.statistics.comparison import CaseOutcome, digests_of
from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.engine.verdicts.case_summary import CaseSummary, outcome_of, summarise_case
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.engine.verdicts.gates import (
    OF_EFFORT,
    GateResult,
    RunMeasure,
    check_gates,
)
from evals_app.engine.verdicts.overruling import GivenGrade, Ruling, decide_with_people
from evals_app.engine.verdicts.regressions import Regressions
from evals_app.engine.verdicts.run_summary import RunEffort, Scores, VerdictCounts
from evals_app.formats.snapshots.run_snapshot import read_case, read_suite
from evals_app.models import (
    CaseResult,
    Execution,
    GradeResult,
    Review,
    ReviewedVerdict,
    Run,
    Transcript,
)
from evals_app.runs.reading.baselines import compares_cases, regressions_of
from evals_app.runs.reading.facts import CHUNK, facts_of, with_rules_of
from evals_app.runs.reading.outcomes import case_outcomes

_COUNTED = (Review.Kind.VERDICT, Review.Kind.NOT_THE_AGENT)


class UndecidableError(CannotError):
    """The verdict of an execution cannot be computed."""


def counting_reviews(executions: Iterable[int]) -> QuerySet[Review]:
    """Return the reviews of executions that may change verdicts, oldest first."""
    current = Review.objects.filter(withdrawn_at=None, is_label=False, kind__in=_COUNTED)
    return current.filter(execution__in=executions).order_by("pk")


def write_reviewed(run: Run, executions: Iterable[int]) -> None:
    """Update the results of some executions and of their run with people's decisions.

    The caller has locked the run.

    Raises:
        UndecidableError: a verdict cannot be computed, because the conversation was removed, or
            another version wrote it.
    """
    by_execution: dict[int, list[Review]] = {pk: [] for pk in executions}
    for review in counting_reviews(by_execution):
        by_execution[review.execution_id].append(review)
    silent = [pk for pk, reviews in by_execution.items() if not reviews]
    ReviewedVerdict.objects.filter(pk__in=silent).delete()
    reviewed = {pk: reviews for pk, reviews in by_execution.items() if reviews}
    if reviewed:
        suite = _suite_of(run)
        for execution in Execution.objects.filter(pk__in=reviewed).defer("summary", "turn_ms"):
            _write_verdict(execution, reviewed[execution.pk], run=run, suite=suite)
    if not run.is_open:
        write_run(run)


def _suite_of(run: Run) -> SuiteSpec:
    try:
        return read_suite(run.snapshot.content)
    except ValidationError as exc:
        problem = f"Run {run.pk} was made by another version of Evalwell."
        raise UndecidableError(problem) from exc


def _write_verdict(
    execution: Execution, reviews: list[Review], *, run: Run, suite: SuiteSpec
) -> None:
    decision = _decide(execution, reviews, run=run, suite=suite)
    if decision is None:
        ReviewedVerdict.objects.filter(pk=execution.pk).delete()
        return
    ReviewedVerdict.objects.update_or_create(
        execution=execution,
        defaults={
            "verdict": decision.verdict.value,
            "cause": decision.cause.value if decision.cause else "",
            "reason": decision.reason,
            "score": decision.score,
        },
    )


def _decide(
    execution: Execution, reviews: list[Review], *, run: Run, suite: SuiteSpec
) -> Decision | None:
    content = run.snapshot.cases.filter(position=execution.position).values_list("content")
    try:
        (case,) = content.get()
        return decide_with_people(
            _trial_of(execution),
            given_grades(execution, reviews),
            case=read_case(case),
            suite=suite,
            not_the_agent=_not_the_agent(reviews),
        )
    except ValidationError as exc:
        problem = f"Conversation {execution.pk} was made by another version of Evalwell."
        raise UndecidableError(problem) from exc


def _trial_of(execution: Execution) -> Trial:
    """Return the conversation: that of its source if it grades one again."""
    stored = Transcript.objects.of(execution)
    if stored is None:
        raise UndecidableError(
            "The conversation was removed to save space, so no verdict can be computed from it."
        )
    return Trial.from_json(stored.trial)


def _not_the_agent(reviews: Iterable[Review]) -> str | None:
    blames = [review for review in reviews if review.kind == Review.Kind.NOT_THE_AGENT]
    return f"{blames[-1].by_name}: {blames[-1].reason}" if blames else None


def given_grades(execution: Execution, reviews: Iterable[Review]) -> list[GivenGrade]:
    """Return the grades of an execution with people's reviews of each."""
    words: dict[int | None, list[Ruling]] = defaultdict(list)
    for review in reviews:
        words[review.grade_id].append(ruling_of(review))
    rows = GradeResult.objects.filter(execution=execution).defer("calls", "evidence")
    return [given_grade(row, words[row.pk]) for row in rows.order_by("position", "pk")]


def given_grade(row: GradeResult, words: Iterable[Ruling]) -> GivenGrade:
    """Return a stored grade with people's reviews of it."""
    grade = Grade(
        row.score,
        row.passed,
        row.reason,
        GradeStatus(row.status),
        Cause(row.cause) if row.cause else None,
        details=row.details,
    )
    return GivenGrade(
        type=row.type,
        label=row.label,
        family=row.family,
        turn=row.turn,
        position=row.position,
        weight=row.weight,
        threshold=row.threshold,
        grade=grade,
        words=tuple(words),
    )


def ruling_of(review: Review) -> Ruling:
    """Return the content of a review; of deleted users only the name is left."""
    person = review.by_id or review.by_name
    return Ruling(person, review.by_name, review.passed, review.score, review.item, review.reason)


# The run


def write_run(run: Run) -> None:
    """Write the result of a run that has ended, with the decisions of people."""
    Run.objects.filter(pk=run.pk).update(reviewed=reviewed_run(run))


def reviewed_run(run: Run) -> dict[str, object]:
    """Return the result of a run with the decisions of people; empty if they changed no grade.

    Only the cases that people decided on are read trial by trial; the database adds up the others
    from their results, because a run may have 100,000. Decided gates on times and costs stay as
    they are.

    Raises:
        UndecidableError: another version made the run.
    """
    rows = ReviewedVerdict.objects.filter(execution__run=run)
    others = {
        pk: (verdict, score) for pk, verdict, score in rows.values_list("pk", "verdict", "score")
    }
    if not others:
        return {}
    suite = with_rules_of(run, _suite_of(run))
    names = set(rows.values_list("execution__case", flat=True))
    cases = _cases_with_people(run, suite, names, others)
    counts, scores = _rest_of(run, names, min_pass_rate=suite.min_pass_rate)
    for case in cases:
        counts.add(case)
        scores.add(case)
    gates = _gates(run, suite, cases, score=scores.mean, pass_rate=counts.rate, others=others)
    reviews = Review.objects.filter(execution__run=run, withdrawn_at=None, is_label=False)
    return {
        "verdict": counts.verdict(gates, suite),
        "score": scores.mean.actual,
        "pass_rate": counts.pass_rate,
        "cases_not_graded": counts.not_graded,
        "gates": [asdict(gate) for gate in gates],
        **{name: getattr(counts, name) for name in _COUNTS},
        "min_pass_rate": suite.min_pass_rate,
        "reviews": reviews.filter(kind__in=_COUNTED).count(),
        "overruled": len(others),
    }


def outcomes_with_people(run: Run) -> dict[str, CaseOutcome]:
    """Return the outcome of each case of a run that has ended, with the decisions of people."""
    outcomes = case_outcomes(run)
    if not run.reviewed:
        return outcomes
    rows = ReviewedVerdict.objects.filter(execution__run=run)
    others = {
        pk: (verdict, score) for pk, verdict, score in rows.values_list("pk", "verdict", "score")
    }
    names = set(rows.values_list("execution__case", flat=True))
    suite = with_rules_of(run, _suite_of(run))
    # People overruled some of their checks, so the recorded counts no longer apply.
    decided = _cases_with_people(run, suite, names, others)
    digests = digests_of(outcomes)
    return outcomes | {case.name: outcome_of(case, digests, checks={}) for case in decided}


def _cases_with_people(
    run: Run,
    suite: SuiteSpec,
    names: Collection[str],
    others: Mapping[int, tuple[str, float | None]],
) -> list[CaseSummary]:
    """Return the cases that people decided on; `others` are the verdicts of their executions."""
    facts = facts_of(run, cases=names, others=others)
    return [
        summarise_case(name, list(trials), min_pass_rate=suite.min_pass_rate)
        for name, trials in groupby(facts, key=lambda fact: fact.case)
    ]


_COUNTS = (
    *("passed", "failed", "errored", "measured"),
    *("cases_passed", "cases_failed", "cases_errored", "cases_measured"),
)


def _rest_of(
    run: Run, names: Collection[str], *, min_pass_rate: float
) -> tuple[VerdictCounts, Scores]:
    """Count the cases without those named, and add up their scores."""
    rest = CaseResult.objects.filter(run=run).exclude(name__in=names)
    ended = F("passed") + F("failed") + F("measured") + F("skipped")
    whole = rest.filter(trials=ended)
    verdicts = {f"cases_{verdict.value}": Q(verdict=verdict) for verdict in Verdict}
    trials = ("passed", "failed", "errored", "measured")
    sums = whole.aggregate(
        **{f"{name}_sum": Coalesce(Sum(name), 0) for name in trials},
        **{name: Count("pk", filter=condition) for name, condition in verdicts.items()},
        cases=Count("pk"),
        scores=Coalesce(Sum("score"), 0.0),
        scored=Count("score"),
    )
    passed = sums["cases_passed"]
    counts = VerdictCounts(
        min_pass_rate,
        cases=sums["cases"],
        could_pass=passed,
        must_pass=passed,
        **{name: sums[name] for name in verdicts},
        **{name: sums[f"{name}_sum"] for name in trials},
    )
    scores = Scores(sums["scores"], sums["scored"])
    for row in rest.exclude(trials=ended).iterator(CHUNK):
        counts.add(row.summary)
        scores.add(row.summary)
    return counts, scores


def _gates(
    run: Run,
    suite: SuiteSpec,
    cases: Sequence[CaseSummary],
    *,
    score: RunMeasure,
    pass_rate: RunMeasure,
    others: Mapping[int, tuple[str, float | None]],
) -> list[GateResult]:
    """Check gates again; those on times and costs only if people's decisions can change them.

    A baseline chosen later does not apply to a run that was compared with none.
    """
    summary = Run.objects.values_list("summary", flat=True).get(pk=run.pk)
    recorded = [GateResult(**gate) for gate in summary.get("gates", ())]
    kept = {
        gate.name
        for gate in recorded
        if not gate.is_applied or (gate.name in OF_EFFORT and gate.passed is not None)
    }
    has_effort = any(gate.name in OF_EFFORT - kept for gate in recorded)
    effort = _effort(run, others) if has_effort else RunEffort()
    again = check_gates(
        suite.gates,
        score=score,
        pass_rate=pass_rate,
        times=effort.times,
        agent=effort.agent,
        everyone=effort.everyone,
        regressions=_regressions(run, suite, cases),
    )
    by_name = {gate.name: gate for gate in again}
    return [gate if gate.name in kept else by_name[gate.name] for gate in recorded]


def _effort(run: Run, others: Mapping[int, tuple[str, float | None]]) -> RunEffort:
    """Return times and costs of executions; people's decisions change which of them count."""
    effort = RunEffort()
    for _, trials in groupby(facts_of(run, others=others), key=lambda fact: fact.case):
        effort.add(list(trials))
    return effort


def _regressions(run: Run, suite: SuiteSpec, cases: Sequence[CaseSummary]) -> Regressions | None:
    """Compare the cases with those of the baseline, which count as they were recorded."""
    if not compares_cases(run, suite.gates):
        return None
    outcomes = case_outcomes(run, reads_effort=suite.gates.compare_efforts)
    digests = digests_of(outcomes)
    regressions = regressions_of(run, suite.gates, digests=digests, checks={})
    # People overruled some of their checks, so the recorded counts no longer apply.
    outcomes |= {case.name: outcome_of(case, digests, checks={}) for case in cases}
    if regressions is not None:
        for outcome in outcomes.values():
            regressions.add(outcome)
    return regressions
