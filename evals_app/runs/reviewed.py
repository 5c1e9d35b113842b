"""The results of executions and of their run with the decisions of people.

What a run recorded never changes. Beside it, `ReviewedVerdict` has the verdict of each execution of
which people overruled a grade, and `Run.reviewed` the result of the run with those verdicts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from evals_app.engine.overruling import GivenGrade, Word, decide_with_people
from evals_app.engine.scoring import CaseSummary, Decision, summarise_run
from evals_app.engine.suite import SuiteSpec
from evals_app.engine.trial import Cause, Grade, GradeStatus, Trial, Verdict
from evals_app.formats.snapshot import read_case, read_suite
from evals_app.models import (
    CaseResult,
    Execution,
    GradeResult,
    Review,
    ReviewedVerdict,
    Run,
    Transcript,
)
from evals_app.runs.baselines import regressions_of
from evals_app.runs.facts import facts_of, with_rules_of

_COUNTED = (Review.Kind.VERDICT, Review.Kind.NOT_THE_AGENT)


class UndecidableError(Exception):
    """The verdict of an execution cannot be computed; the text is a sentence for people."""


def counting_reviews(executions: Iterable[int]) -> Any:
    """Return the reviews of executions that may change verdicts, oldest first."""
    current = Review.objects.filter(withdrawn_at=None, is_label=False, kind__in=_COUNTED)
    return current.filter(execution__in=executions).order_by("pk")


def write_reviewed(run: Run, executions: Iterable[int]) -> None:
    """Write what people's decisions make of some executions of a run, and of the run.

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
        problem = f"Run {run.pk} was made by another version of Touchstone."
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
            not_the_agent=_blame(reviews),
        )
    except ValidationError as exc:
        problem = f"Execution {execution.pk} was made by another version of Touchstone."
        raise UndecidableError(problem) from exc


def _trial_of(execution: Execution) -> Trial:
    """Return the conversation, which is that of its source where one was graded again."""
    stored = Transcript.objects.filter(pk__in=[execution.pk, execution.source_id]).first()
    if stored is None:
        raise UndecidableError(
            "The conversation was removed to save space, so no verdict can be computed from it."
        )
    return Trial.from_json(stored.trial)


def _blame(reviews: Iterable[Review]) -> str | None:
    blames = [review for review in reviews if review.kind == Review.Kind.NOT_THE_AGENT]
    return f"{blames[-1].by_name}: {blames[-1].reason}" if blames else None


def given_grades(execution: Execution, reviews: Iterable[Review]) -> list[GivenGrade]:
    """Return the grades of an execution with what people say of each."""
    words: dict[int | None, list[Word]] = defaultdict(list)
    for review in reviews:
        words[review.grade_id].append(word_of(review))
    rows = GradeResult.objects.filter(execution=execution).defer("calls", "evidence")
    return [given_grade(row, words[row.pk]) for row in rows.order_by("position", "pk")]


def given_grade(row: GradeResult, words: Iterable[Word]) -> GivenGrade:
    """Return a stored grade with what people say of it."""
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


def word_of(review: Review) -> Word:
    """Return what a review says; of people who are gone, the name is what is left."""
    person = review.by_id or review.by_name
    return Word(person, review.by_name, review.passed, review.score, review.item, review.reason)


# The run


def write_run(run: Run) -> None:
    """Write the result of a run that has ended, with the decisions of people."""
    Run.objects.filter(pk=run.pk).update(reviewed=reviewed_run(run))


def reviewed_run(run: Run) -> dict[str, Any]:
    """Return the result of a run with the decisions of people; empty if they changed no grade.

    All rows of the run are read again, but only the suite of its snapshot.

    Raises:
        UndecidableError: another version made the run.
    """
    rows = ReviewedVerdict.objects.filter(execution__run=run)
    changed = {
        pk: (verdict, score) for pk, verdict, score in rows.values_list("pk", "verdict", "score")
    }
    if not changed:
        return {}
    suite = with_rules_of(run, _suite_of(run))
    cases: Counter[Verdict | None] = Counter()
    trials: Counter[str] = Counter()

    def count(case: CaseSummary) -> None:
        cases[case.verdict] += 1
        trials.update(passed=case.passed, failed=case.failed, errored=case.errored)

    summary = summarise_run(
        facts_of(run, changed),
        suite=suite,
        keep=count,
        # The baseline counts as it was recorded.
        regressions=regressions_of(run, suite.gates, digests=_digests(run, suite)),
    )
    reviews = Review.objects.filter(execution__run=run, withdrawn_at=None, is_label=False)
    return {
        "verdict": summary.verdict,
        "score": summary.score,
        "pass_rate": summary.pass_rate,
        "gates": [asdict(gate) for gate in summary.gates],
        **{verdict.value: trials[verdict.value] for verdict in Verdict},
        **{f"cases_{verdict.value}": cases[verdict] for verdict in Verdict},
        "min_pass_rate": suite.min_pass_rate,
        "reviews": reviews.filter(kind__in=_COUNTED).count(),
        "overruled": len(changed),
    }


def _digests(run: Run, suite: SuiteSpec) -> dict[str, str]:
    """Return the contents of cases by name, where a gate compares them with a baseline."""
    if suite.gates.max_regressions is None and suite.gates.max_score_drop is None:
        return {}
    return dict(CaseResult.objects.filter(run=run).values_list("name", "digest"))
