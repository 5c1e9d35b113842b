"""What people's words make of grades: who counts, and what follows by the rules of runs."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from evals_app.engine.record.grade import Grade, GradedAssertion
from evals_app.engine.record.trial import Cause, Failure, Trial, Verdict
from evals_app.engine.statistics.trust import ONLY_INFORMS
from evals_app.engine.verdicts.execution_verdict import Decision
from evals_app.engine.verdicts.overruling import (
    GivenGrade,
    Ruling,
    consensus,
    decide_with_people,
    overrule,
    passes,
)
from tests.engine.makers import (
    graded_check,
    graded_limit,
    make_case,
    make_suite,
    make_trial,
    make_turn,
)

TRIAL = make_trial(make_turn())
HIT, MISS = Grade.hit("Found."), Grade.miss("Not found.")
UNGRADED = Grade.without_result(Cause.JUDGE, "The judge refused.")


def word(*, passed: bool | None, by: int = 1, **changes: Any) -> Ruling:
    return Ruling(by, f"Person {by}", passed, **changes)


yes, no, unsure = (partial(word, passed=passed) for passed in (True, False, None))
RIGHT, WRONG, UNSURE = yes(), no(), unsure()


@pytest.mark.parametrize(
    ("words", "passed", "is_disputed"),
    [
        pytest.param([], None, False, id="nobody says anything"),
        ([RIGHT], True, False),
        ([WRONG], False, False),
        ([UNSURE], None, False),
        pytest.param([WRONG, RIGHT], True, False, id="the latest word of a person counts"),
        pytest.param([RIGHT, UNSURE], None, False, id="who takes it back for unsure has no vote"),
        pytest.param([WRONG, yes(by=2)], None, True, id="a tie decides nothing"),
        pytest.param([WRONG, yes(by=2), yes(by=3)], True, False, id="majority"),
        pytest.param([WRONG, unsure(by=2)], False, False, id="unsure is no vote"),
    ],
)
def test_the_majority_of_people_counts(
    words: list[Ruling],
    passed: bool | None,  # noqa: FBT001 - a column of the table
    is_disputed: bool,  # noqa: FBT001
) -> None:
    together = consensus(words)

    assert (together.passed, together.is_disputed) == (passed, is_disputed)


def test_scores_of_those_who_agree_are_averaged() -> None:
    words = [yes(score=1.0), yes(by=2, score=0.5), no(by=3, score=0.0)]

    assert consensus(words).score == 0.75


@pytest.mark.parametrize(
    ("kind", "threshold", "score", "passed"),
    [
        pytest.param("llm_judge", None, 0.5, True, id="3 of 5 passes without a threshold"),
        pytest.param("llm_judge", None, 0.25, False, id="2 of 5 does not"),
        ("llm_judge", 0.75, 0.5, False),
        ("llm_judge", 0.7, 0.1 + 0.6, True),
        pytest.param("python", None, 0.4, False, id="a usual threshold counts"),
        pytest.param("of another version", None, 0.6, True, id="unknown"),
    ],
)
def test_a_score_passes_as_it_would_of_a_judge(
    kind: str,
    threshold: float | None,
    score: float,
    passed: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert passes(score, kind=kind, threshold=threshold) is passed


def given_grade(check: GradedAssertion, *words: Ruling) -> GivenGrade:
    return GivenGrade(
        check.type,
        check.label,
        check.family,
        check.turn,
        check.position,
        check.weight,
        check.threshold,
        check.grade,
        words,
    )


def result_of(check: GradedAssertion, *words: Ruling) -> tuple[bool | None, float | None] | None:
    grade = overrule(given_grade(check, *words))
    return None if grade is None else (grade.passed, grade.score)


@pytest.mark.parametrize(
    ("grade", "words", "expected"),
    [
        (HIT, [WRONG], (False, 0.0)),
        (MISS, [RIGHT], (True, 1.0)),
        pytest.param(HIT, [RIGHT], None, id="who agrees changes nothing"),
        pytest.param(HIT, [WRONG, yes(by=2)], None, id="disputed"),
        pytest.param(UNGRADED, [WRONG], (False, 0.0), id="people decide what a judge could not"),
        pytest.param(replace(MISS, score=0.25), [WRONG], None, id="agreeing keeps a score"),
        pytest.param(replace(MISS, score=0.25), [no(score=0.0)], (False, 0.0), id="own score"),
        (Grade.of_score(0.4, "Close."), [yes(score=0.9)], (None, 0.9)),
    ],
)
def test_a_check_gets_the_grade_that_people_give_it(
    grade: Grade, words: list[Ruling], expected: tuple[bool, float] | None
) -> None:
    assert result_of(graded_check(grade), *words) == expected


def test_a_limit_has_no_score_whoever_decides() -> None:
    assert result_of(graded_limit(is_kept=False), RIGHT) == (True, None)
    failed = overrule(given_grade(graded_limit(is_kept=True), WRONG))
    assert failed is not None
    assert (failed.score, failed.cause) == (None, Cause.LIMIT)


def rubric(*verdicts: str | None, threshold: float | None = 0.6, **grade: Any) -> GradedAssertion:
    items = [
        {"id": number, "text": f"Goal {number}", "verdict": verdict}
        for number, verdict in enumerate(verdicts, 1)
    ]
    details = {"scale": "rubric", "items": items}
    judged = Grade.miss("1 of 2.").but(score=0.5, details=details).but(**grade)
    return graded_check(judged, family="judged", type="rubric", turn=None, threshold=threshold)


@pytest.mark.parametrize(
    ("check", "words", "expected"),
    [
        (rubric("pass", "fail"), [yes(item=2)], (True, 1.0)),
        (rubric("pass", "fail"), [no(item=1)], (False, 0.0)),
        pytest.param(rubric("pass", "fail"), [yes(item=1)], None, id="agrees"),
        pytest.param(rubric("pass", "fail"), [yes(item=9)], None, id="no such bullet"),
        pytest.param(rubric("pass", "not_applicable"), [no(item=2)], (False, 0.5), id="applies"),
        pytest.param(rubric("pass", None, "fail"), [yes(item=2)], (True, 2 / 3), id="was open"),
        pytest.param(rubric("pass", None, "fail"), [no(item=1)], (False, 0.0), id="no matter"),
        pytest.param(rubric("pass", None, "fail"), [yes(item=3)], (True, 2 / 3), id="open, enough"),
        pytest.param(rubric("fail", None, "fail"), [yes(item=3)], (None, None), id="it matters"),
        (rubric("pass", "fail", threshold=None, passed=None), [yes(item=2)], (None, 1.0)),
        pytest.param(rubric("pass", "fail"), [yes(item=2), no()], None, id="the whole goes first"),
        pytest.param(rubric("pass", "fail"), [yes(item=2), unsure()], (True, 1.0), id="unsure"),
    ],
)
def test_bullets_of_a_rubric_are_counted_again(
    check: GradedAssertion, words: list[Ruling], expected: tuple[bool, float] | None
) -> None:
    assert result_of(check, *words) == expected


# The verdict


def decision(
    *grades: GivenGrade, trial: Trial = TRIAL, blame: str | None = None, **suite: Any
) -> Decision | None:
    case = make_case("hello", contains="hello")
    return decide_with_people(
        trial, grades, case=case, suite=make_suite(case, **suite), not_the_agent=blame
    )


def outcome(*grades: GivenGrade, **options: Any) -> tuple[Any, ...]:
    decided = decision(*grades, **options)
    assert decided is not None
    return decided.verdict, decided.cause, decided.score


def test_people_are_held_to_the_score_that_the_case_has_to_reach() -> None:
    case = make_case("hello", contains="hello", pass_threshold=0.4)
    suite = make_suite(case, pass_rule="score", pass_threshold=0.9)
    grades = [given_grade(graded_check(HIT), WRONG), given_grade(graded_check(HIT, position=1))]

    decided = decide_with_people(TRIAL, grades, case=case, suite=suite)

    assert decided is not None
    assert (decided.verdict, decided.score) == (Verdict.PASSED, 0.5)


def test_the_verdict_follows_by_the_rules_of_runs() -> None:
    miss, limit = graded_check(MISS), graded_limit(is_kept=False)
    by_score = {"pass_rule": "score", "pass_threshold": 0.5}
    other = graded_check(MISS, position=1)

    assert outcome(given_grade(miss, RIGHT)) == (Verdict.PASSED, None, 1.0)
    assert outcome(given_grade(graded_check(HIT), WRONG)) == (Verdict.FAILED, Cause.ASSERTION, 0.0)
    assert outcome(given_grade(graded_check(UNGRADED), RIGHT)) == (Verdict.PASSED, None, 1.0)
    assert outcome(given_grade(miss, RIGHT), given_grade(limit))[:2] == (
        Verdict.FAILED,
        Cause.LIMIT,
    )
    assert outcome(given_grade(miss, RIGHT), given_grade(limit, RIGHT)) == (
        Verdict.PASSED,
        None,
        1.0,
    )
    assert outcome(given_grade(miss, RIGHT), given_grade(other), **by_score) == (
        Verdict.PASSED,
        None,
        0.5,
    )


def test_no_verdict_of_people_without_an_overruled_grade() -> None:
    assert decision(given_grade(graded_check(HIT))) is None
    assert decision(given_grade(graded_check(HIT), RIGHT)) is None


def test_what_the_agent_did_outweighs_grades() -> None:
    crashed = make_trial(make_turn(error="The agent crashed."))
    down = make_trial(failure=Failure(Cause.PROVIDER, "The API is down."))
    right = given_grade(graded_check(MISS), RIGHT)

    assert outcome(right, trial=crashed) == (Verdict.FAILED, Cause.AGENT, 0.0)
    assert outcome(right, trial=down)[:2] == (Verdict.ERRORED, Cause.PROVIDER)


def test_what_is_not_the_agents_fault_counts_in_no_rate() -> None:
    decided = decision(given_grade(graded_check(MISS)), blame="The case is wrong.")

    assert decided is not None
    assert (decided.verdict, decided.cause) == (Verdict.ERRORED, Cause.CASE)
    assert (decided.score, decided.reason) == (None, "The case is wrong.")


def test_a_check_that_only_informs_still_does() -> None:
    shown = [{"type": "contains", "value": "x", "weight": 0}]
    case = make_case("hello")
    turn = {"user": "hello", "assertions": shown}
    case = case.model_validate({"name": "Greeting", "turns": [turn]})
    suite = make_suite(case)
    overruled_check = given_grade(graded_check(HIT, weight=0.0), WRONG)

    decided = decide_with_people(TRIAL, [overruled_check], case=case, suite=suite)

    assert decided is not None
    assert (decided.verdict, decided.cause) == (Verdict.MEASURED, None)  # nothing decides


def test_a_grade_whose_judge_was_not_trusted_decides_nothing_whatever_people_say() -> None:
    hit = HIT.but(details={ONLY_INFORMS: "It only informs."})
    untrusted = given_grade(graded_check(hit, weight=0.0), WRONG)  # the check itself has a weight

    assert outcome(untrusted)[:2] == (Verdict.ERRORED, Cause.CASE)
    assert outcome(untrusted, given_grade(graded_check(HIT, position=1))) == (
        Verdict.PASSED,
        None,
        1.0,
    )


def test_the_rubric_of_the_suite_keeps_its_share() -> None:
    case = make_case("hello", contains="hello")
    suite = make_suite(case, rubric="- Is kind\n- Is brief\n", rubric_weight=0.25)
    whole = replace(rubric("pass", "fail", threshold=0.8), weight=0.25, position=0)
    grades = [given_grade(graded_check(HIT)), given_grade(whole, yes(item=2))]

    decided = decide_with_people(TRIAL, grades, case=case, suite=suite)

    assert decided is not None
    assert (decided.verdict, decided.score) == (Verdict.PASSED, 1.0)
    kept = decide_with_people(
        TRIAL, [given_grade(graded_check(MISS), RIGHT), given_grade(whole)], case=case, suite=suite
    )
    assert kept is not None
    assert (kept.verdict, kept.score) == (Verdict.FAILED, 0.875)
