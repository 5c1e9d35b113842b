"""People's word: what it changes and what it never touches, how it is taken back and carried."""

from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.forms.models import model_to_dict

from evals_app.engine.verdicts.run_summary import summarise_run
from evals_app.formats.snapshots.run_snapshot import read_suite
from evals_app.library.baselines import set_baseline
from evals_app.models import (
    Agent,
    Assertion,
    CaseResult,
    Execution,
    GradeResult,
    Review,
    ReviewedVerdict,
    Run,
    Suite,
    Transcript,
)
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reading.facts import facts_of, with_rules_of
from evals_app.runs.regrading.start_regrade import regrade
from evals_app.runs.reviews.decisions import UndecidableError
from evals_app.runs.reviews.reviewing import (
    CannotReviewError,
    carry_reviews,
    comment,
    not_the_agents_fault,
    review_grade,
    vote,
    withdraw,
)
from tests.runs.suites import finished, make_agent, make_suite, start

if TYPE_CHECKING:
    from evals_app.engine.verdicts.case_summary import CaseSummary

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", first_name="Ann", last_name="Lee")


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


def two_of_three(**suite: Any) -> Run:
    """Run three cases, of which the last fails."""
    return finished(make_suite(["hello", "hello", "bye"], **suite))


def execution_of(run: Run, number: int = 3) -> Execution:
    return run.executions.get(case=f"case {number}")


def grade_of(run: Run, number: int = 3) -> GradeResult:
    return GradeResult.objects.get(execution=execution_of(run, number))


def recorded(run: Run) -> list[Any]:
    """Return everything about a run that people never change."""
    run_row = model_to_dict(Run.objects.get(pk=run.pk), exclude=["reviewed", "providers"])
    tables: list[Any] = [Execution, CaseResult, Transcript, GradeResult]
    return [run_row, *(list(table.objects.order_by("pk").values()) for table in tables)]


def reviewed(run: Run) -> dict[str, Any]:
    result: dict[str, Any] = Run.objects.get(pk=run.pk).reviewed
    return result


def test_an_override_moves_the_standing_and_not_the_run(ann: User) -> None:
    run = two_of_three()
    before = recorded(run)

    review = review_grade(grade_of(run), by=ann, passed=True, reason="It greets in its own way.")

    assert recorded(run) == before
    verdict = ReviewedVerdict.objects.get()
    assert (verdict.execution, verdict.verdict, verdict.score) == (execution_of(run), "passed", 1.0)
    result = reviewed(run)
    assert (result["verdict"], result["passed"], result["failed"]) == ("passed", 3, 0)
    assert (result["cases_passed"], result["pass_rate"], result["score"]) == (3, 1.0, 1.0)
    assert (result["reviews"], result["overruled"]) == (1, 1)
    assert (review.by_name, review.judged_passed, review.judged_score) == ("Ann Lee", False, 0.0)


def test_a_withdrawal_restores_it(ann: User, bob: User) -> None:
    run = two_of_three()
    review = review_grade(grade_of(run), by=ann, passed=True)

    withdraw(review, by=bob)

    assert not ReviewedVerdict.objects.exists()
    assert reviewed(run) == {}
    review.refresh_from_db()
    assert (review.withdrawn_by, review.withdrawn_at is None) == (bob, False)
    withdraw(review, by=ann)
    review.refresh_from_db()
    assert review.withdrawn_by == bob


def test_a_word_replaces_the_persons_own_earlier_one(ann: User, bob: User) -> None:
    run = two_of_three()
    first = review_grade(grade_of(run), by=ann, passed=True)
    others = review_grade(grade_of(run), by=bob, passed=True)
    comment(execution_of(run), by=ann, reason="Hm.", grade=grade_of(run))

    review_grade(grade_of(run), by=ann, passed=False)

    current = Review.objects.filter(withdrawn_at=None)
    assert first not in current
    assert others in current
    assert current.count() == 3
    assert reviewed(run) == {}  # one to one: nothing is decided


def test_what_is_not_the_agents_fault_counts_in_no_rate(ann: User) -> None:
    run = two_of_three()

    review = not_the_agents_fault(execution_of(run), by=ann, reason="The case says bye.")

    result = reviewed(run)
    assert (result["passed"], result["failed"], result["errored"]) == (2, 0, 1)
    assert (result["pass_rate"], result["verdict"]) == (1.0, "inconclusive")
    assert ReviewedVerdict.objects.get().cause == "case"
    withdraw(review, by=ann)
    assert reviewed(run) == {}


def test_gates_are_checked_again(ann: User) -> None:
    run = two_of_three(gate_pass_rate=0.9)

    review_grade(grade_of(run), by=ann, passed=True)

    (gate,) = reviewed(run)["gates"]
    assert (gate["name"], gate["actual"], gate["passed"]) == ("min_pass_rate", 1.0, True)


def test_the_result_of_a_run_is_that_of_all_its_rows(ann: User) -> None:
    agent = make_agent()
    suite = make_suite(
        ["hello", "bye", "hello", "crash"],
        agent=agent,
        trials=3,
        min_pass_rate=0.5,
        gate_pass_rate=0.9,
        max_p95_ms=60_000,
        max_cost_usd=1,
    )
    run = finished(suite)
    for number, trial, passed in [(2, 1, True), (2, 3, True), (1, 2, False), (4, 1, True)]:
        grade = GradeResult.objects.get(
            execution__run=run, execution__case=f"case {number}", execution__trial=trial
        )
        review_grade(grade, by=ann, passed=passed)
    not_the_agents_fault(run.executions.get(case="case 3", trial=1), by=ann, reason="Odd.")
    rows = ReviewedVerdict.objects.values_list("pk", "verdict", "score")
    others = {pk: (verdict, score) for pk, verdict, score in rows}
    rules = with_rules_of(run, read_suite(run.snapshot.content))
    cases: list[CaseSummary] = []
    whole = summarise_run(facts_of(run, others=others), suite=rules, keep=cases.append)

    result = reviewed(run)

    assert (result["verdict"], result["pass_rate"]) == (whole.verdict, whole.pass_rate)
    assert result["score"] == pytest.approx(whole.score)
    gates = {gate.name: (gate.actual, gate.passed) for gate in whole.gates}
    assert {gate["name"]: (gate["actual"], gate["passed"]) for gate in result["gates"]} == gates
    assert len(gates) == 3
    for verdict in ("passed", "failed", "errored"):
        assert result[verdict] == sum(getattr(case, verdict) for case in cases)
        assert result[f"cases_{verdict}"] == sum(case.verdict == verdict for case in cases)


def test_a_regression_that_people_deny_is_none(ann: User) -> None:
    suite = make_suite(["hello", "hello"], max_regressions=0)
    first = finished(suite)
    set_baseline(first)
    Agent.objects.update(connection={"rules": [{"reply": "bye"}]})
    run = finished(Suite.objects.get())
    assert run.verdict == "failed"

    for number in (1, 2):
        review_grade(grade_of(run, number), by=ann, passed=True)

    assert reviewed(run)["verdict"] == "passed"
    assert [(gate["name"], gate["actual"]) for gate in reviewed(run)["gates"]] == [
        ("max_regressions", 0)
    ]


def test_confirming_a_grade_changes_no_verdict(ann: User) -> None:
    run = two_of_three()

    review_grade(grade_of(run), by=ann, passed=False)

    assert reviewed(run) == {}
    assert Review.objects.get().passed is False


def test_each_word_leaves_an_entry_in_the_history(ann: User) -> None:
    run = two_of_three()
    review = review_grade(grade_of(run), by=ann, passed=True, reason="x" * 1000)
    withdraw(review, by=ann)
    comment(execution_of(run), by=ann, reason="Look at this.")
    not_the_agents_fault(execution_of(run), by=ann, reason="The case is wrong.")

    entries = LogEntry.objects.filter(user=ann, object_id=str(execution_of(run).pk))
    assert entries.count() == 4
    assert all(len(entry.change_message) <= 200 for entry in entries)


def put_rubric(run: Run) -> GradeResult:
    """Turn the grade of a run's last case into one of a rubric."""
    items = [
        {"id": 1, "text": "Is kind", "verdict": "pass"},
        {"id": 2, "text": "Is brief", "verdict": "fail"},
    ]
    grade = grade_of(run)
    GradeResult.objects.filter(pk=grade.pk).update(
        type="rubric",
        family="judged",
        threshold=0.8,
        score=0.5,
        passed=False,
        details={"scale": "rubric", "items": items, "met": 1, "applicable": 2, "undecided": 0},
    )
    return grade_of(run)


def test_a_bullet_of_a_rubric_is_reviewed_alone(ann: User) -> None:
    run = two_of_three()
    grade = put_rubric(run)

    review = review_grade(grade, by=ann, passed=True, item=2)

    assert (review.item, review.judged_passed, review.judged_score) == (2, False, 0.0)
    assert reviewed(run)["passed"] == 3


SCALE = {"family": "judged", "type": "llm_judge", "details": {"scale": "1-5", "raw": 2}}


def put_columns(run: Run, **columns: Any) -> GradeResult:
    """Change the grade of a run's last case, which failed."""
    GradeResult.objects.filter(pk=grade_of(run).pk).update(**columns)
    return grade_of(run)


@pytest.mark.parametrize(
    ("columns", "given", "passed", "score"),
    [
        ({}, {"agrees": True}, False, None),
        ({}, {"agrees": False}, True, None),
        pytest.param({}, {"agrees": False, "score": 0.2}, True, None, id="no scale"),
        ({"passed": True}, {"agrees": False}, False, None),
        ({"passed": None, "status": "ungraded"}, {"agrees": True}, True, None),
        ({"passed": None, "status": "ungraded"}, {"agrees": False}, False, None),
        (SCALE | {"score": 0.25}, {"agrees": True}, False, 0.25),
        (SCALE | {"score": 0.25}, {"agrees": False, "score": 0.75}, True, 0.75),
        pytest.param(
            SCALE | {"score": 0.25}, {"agrees": False, "score": 0}, False, 0, id="still failed"
        ),
        (SCALE | {"score": 0.75, "passed": None}, {"agrees": True}, True, 0.75),
    ],
)
def test_a_vote_is_a_verdict_on_the_check(
    columns: dict[str, Any],
    given: dict[str, Any],
    passed: bool,  # noqa: FBT001 - a column of the table
    score: float | None,
    ann: User,
) -> None:
    grade = put_columns(two_of_three(), **columns)

    review = vote(grade, by=ann, reason="So it is.", **given)

    assert (review.passed, review.score, review.reason) == (passed, score, "So it is.")


@pytest.mark.parametrize(
    ("item", "agrees", "passed"),
    [(1, True, True), (1, False, False), (2, True, False), (2, False, True)],
)
def test_a_vote_on_a_bullet_is_a_verdict_on_it_alone(
    item: int,
    agrees: bool,  # noqa: FBT001 - a column of the table
    passed: bool,  # noqa: FBT001 - a column of the table
    ann: User,
) -> None:
    review = vote(put_rubric(two_of_three()), by=ann, agrees=agrees, item=item)

    assert (review.item, review.passed, review.score) == (item, passed, None)


@pytest.mark.parametrize(
    ("columns", "given", "problem"),
    [
        pytest.param({"passed": None}, {"agrees": True}, "only measures", id="only a number"),
        (SCALE | {"score": 0.25}, {"agrees": False}, "Choose the grade"),
        ({}, {"agrees": True, "item": 3}, "no bullet 3"),
    ],
)
def test_a_vote_without_meaning_is_refused(
    columns: dict[str, Any], given: dict[str, Any], problem: str, ann: User
) -> None:
    grade = put_columns(two_of_three(), **columns)

    with pytest.raises(CannotReviewError, match=problem):
        vote(grade, by=ann, **given)

    assert not Review.objects.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"passed": True, "item": 3},
        {"passed": True, "item": 2, "score": 0.5},
        {"passed": None, "score": 1.5},
        {"passed": None, "score": float("nan")},
        {"passed": True, "reason": "x" * 5001},
    ],
)
def test_what_means_nothing_is_refused(changes: dict[str, Any], ann: User) -> None:
    grade = put_rubric(two_of_three())

    with pytest.raises(CannotReviewError):
        review_grade(grade, by=ann, **changes)

    assert not Review.objects.exists()


def test_a_conversation_that_was_removed_cannot_be_reviewed(ann: User) -> None:
    run = two_of_three()
    Transcript.objects.all().delete()

    with pytest.raises(UndecidableError, match="removed"):
        review_grade(grade_of(run), by=ann, passed=True)

    assert not Review.objects.exists()
    comment(execution_of(run), by=ann, reason="A comment decides nothing.")


def test_an_open_conversation_cannot_be_reviewed(ann: User) -> None:
    run = start(make_suite(cases=1))

    with pytest.raises(CannotReviewError, match="finished"):
        not_the_agents_fault(run.executions.get(), by=ann, reason="Too early.")


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_blame_and_comments_need_words(reason: str, ann: User) -> None:
    execution = execution_of(two_of_three())

    with pytest.raises(CannotReviewError):
        not_the_agents_fault(execution, by=ann, reason=reason)
    with pytest.raises(CannotReviewError):
        comment(execution, by=ann, reason=reason)


# Carried to a run that grades the same conversations again


def graded_again(run: Run, **choices: Any) -> Run:
    again = regrade(run, **choices)
    work()
    return Run.objects.get(pk=again.pk)


def reword() -> None:
    """Ask something else, of which the third case fails, too."""
    Assertion.objects.update(options={"value": "hell"})


def test_reviews_survive_where_the_question_is_the_same(ann: User) -> None:
    run = two_of_three()
    original = review_grade(grade_of(run), by=ann, passed=True, reason="Polite.")

    again = graded_again(run)

    copy = Review.objects.get(execution__run=again)
    assert (copy.carried_from, copy.grade, copy.is_label) == (original, grade_of(again), False)
    assert (copy.by, copy.reason, copy.created_at) == (ann, "Polite.", original.created_at)
    assert (again.passed, again.reviewed["passed"], again.reviewed["verdict"]) == (2, 3, "passed")
    withdraw(original, by=ann)
    assert reviewed(again) == {}
    assert reviewed(run) == {}


def test_what_people_say_of_a_grading_again_is_carried_on(ann: User, bob: User) -> None:
    run = two_of_three()
    review_grade(grade_of(run), by=ann, passed=False)
    again = graded_again(run)
    review_grade(grade_of(again), by=ann, passed=True)

    third = graded_again(again)

    assert Review.objects.get(execution__run=third).passed
    assert third.reviewed["passed"] == 3


def test_every_grading_of_a_conversation_gets_the_review(ann: User) -> None:
    run = two_of_three()
    review_grade(grade_of(run), by=ann, passed=True)

    again = graded_again(run, trials=3)

    assert Review.objects.filter(execution__run=again).count() == 3
    assert again.reviewed["overruled"] == 3


def test_a_run_that_ends_twice_carries_once(ann: User) -> None:
    run = two_of_three()
    review_grade(grade_of(run), by=ann, passed=True)
    again = graded_again(run)

    assert carry_reviews(again) == 0


def test_a_new_word_replaces_what_was_carried(ann: User) -> None:
    run = two_of_three()
    review_grade(grade_of(run), by=ann, passed=True)
    again = graded_again(run)

    review_grade(grade_of(run), by=ann, passed=False)

    copy = Review.objects.get(execution__run=again, withdrawn_at=None)
    assert copy.passed is False
    assert reviewed(again) == {}


def test_a_copy_may_be_withdrawn_alone(ann: User) -> None:
    run = two_of_three()
    review_grade(grade_of(run), by=ann, passed=True)
    again = graded_again(run)

    withdraw(Review.objects.get(execution__run=again), by=ann)

    assert reviewed(again) == {}
    assert reviewed(run)["passed"] == 3


def test_another_question_at_the_same_place_makes_it_a_label(ann: User) -> None:
    run = two_of_three()
    review_grade(grade_of(run), by=ann, passed=True)
    reword()

    again = graded_again(run)

    assert Review.objects.get(execution__run=again).is_label
    assert again.reviewed == {}


def test_comments_and_blame_are_carried_as_they_are(ann: User) -> None:
    run = two_of_three()
    execution = execution_of(run)
    comment(execution, by=ann, reason="Hm.")
    not_the_agents_fault(execution, by=ann, reason="The case is wrong.")
    withdraw(comment(execution, by=ann, reason="No."), by=ann)
    reword()

    again = graded_again(run)

    assert Review.objects.filter(execution__run=again).count() == 2
    assert again.reviewed["errored"] == 1


def test_a_grading_again_is_reviewed_by_the_conversation_of_its_source(ann: User) -> None:
    run = two_of_three()
    again = graded_again(run)

    review_grade(grade_of(again), by=ann, passed=True)

    assert reviewed(again)["passed"] == 3
    assert reviewed(run) == {}
