"""Tasks to check grades: what is drawn, for whom, how far they are, and who may do what."""

from collections import Counter
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from evals_app.models import GradeResult, Review, ReviewTask, Run
from evals_app.runs.judges.criteria import criteria_of
from evals_app.runs.reviews import review_tasks
from evals_app.runs.reviews.review_tasks import (
    CannotCheckError,
    checkable,
    checks_to_offer,
    close_task,
    create_task,
    items_of,
    may_answer,
    may_close,
    next_position,
    people_who_may_review,
    progress,
    visible_tasks,
)
from evals_app.runs.reviews.reviewing import review_grade, withdraw
from tests.makers import make_execution, make_grade, make_run
from tests.runs.judged_runs import POLITE, RUBRIC, judged_run, reviewer

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return reviewer("ann")


@pytest.fixture
def bob() -> User:
    return reviewer("bob")


def drawn(task: ReviewTask) -> Counter[tuple[str, bool | None]]:
    return Counter((item.case, item.judged) for item in items_of(task))


def say(task: ReviewTask, position: int, *, by: User, passed: bool | None) -> Review:
    row = task.items.get(position=position)
    return review_grade(row.grade, by=by, passed=passed, item=row.item, task=task)


# Drawing


def test_every_outcome_is_drawn_and_the_task_is_logged(ann: User) -> None:
    run = judged_run("hello", "rude", "unclear", "hello", "hello")

    task = create_task(run, by=ann, count=3)

    assert sorted(drawn(task).values()) == [1, 1, 1]
    assert {judged for _, judged in drawn(task)} == {True, False, None}
    assert [row.position for row in task.items.order_by("position")] == [1, 2, 3]
    entry = LogEntry.objects.get(user=ann, object_id=str(task.pk))
    assert entry.is_addition()


@pytest.mark.parametrize(
    ("flags", "message", "is_first"),
    [
        pytest.param(["against_verdict"], "hello", True, id="its critique is against it"),
        pytest.param(["injection"], "hello", True, id="a pass in spite of an injection"),
        pytest.param(["injection"], "rude", False, id="a fail in spite of one"),
        pytest.param(["same_family"], "hello", False, id="another flag"),
    ],
)
def test_a_sample_begins_with_what_is_doubtful(
    ann: User, flags: list[str], message: str, *, is_first: bool
) -> None:
    run = judged_run(*["hello"] * 8, *["rude"] * 8)
    number = 5 if message == "hello" else 12
    grade = GradeResult.objects.get(execution__case=f"case {number}", family="judged")
    grade.details = grade.details | {"flags": flags}
    grade.save()

    (doubtful, *_) = [one for one in checkable(run, seed="1") if one.grade == grade.pk]
    drawn = items_of(create_task(run, by=ann, count=4))

    assert doubtful.is_doubtful is is_first
    if is_first:
        assert drawn[0].grade == grade.pk


def test_a_bullet_whose_critique_is_against_its_verdict_is_doubtful() -> None:
    run = judged_run("hello", check={"type": "contains", "value": "hello"}, rubric=RUBRIC)
    grade = GradeResult.objects.get(family="judged")
    items = [item | {"critique": "The answer is wrong."} for item in grade.details["items"]]
    grade.details = grade.details | {"flags": ["against_verdict"], "items": items}
    grade.save()

    assert {one.item: one.is_doubtful for one in checkable(run, seed="1")} == {1: True, 2: False}


def test_bullets_are_items_of_their_own_and_those_that_do_not_apply_are_left_out(ann: User) -> None:
    run = judged_run("hello", check={"type": "contains", "value": "hello"}, rubric=RUBRIC)

    items = items_of(create_task(run, by=ann))

    assert {(item.item, item.bullet, item.judged) for item in items} == {
        (1, "Greets", True),
        (2, "Says goodbye", False),
    }


def test_checks_are_chosen_by_their_labels(ann: User) -> None:
    run = judged_run("hello", "rude", rubric=RUBRIC)

    assert checks_to_offer(run) == [("Rubric of the suite", 4), ("Polite", 2)]
    assert {item.check for item in items_of(create_task(run, by=ann, checks=["Polite"]))} == {
        "Polite"
    }


def test_other_checks_than_judged_ones_are_drawn_only_if_asked(ann: User) -> None:
    run = judged_run("hello", check={"type": "contains", "value": "hello"})

    with pytest.raises(CannotCheckError, match="judge"):
        create_task(run, by=ann)
    assert len(items_of(create_task(run, by=ann, only_judged=False))) == 1


def test_a_second_task_draws_other_grades_first(ann: User) -> None:
    run = judged_run(*["hello"] * 6)
    first, second = (create_task(run, by=ann, count=3) for _ in range(2))

    third = create_task(run, by=ann, count=6)

    cases = [{item.case for item in items_of(task)} for task in (first, second, third)]
    assert not cases[0] & cases[1]
    assert cases[2] == cases[0] | cases[1]


@pytest.mark.parametrize(
    ("grade", "is_checkable"),
    [
        pytest.param({}, True, id="passed"),
        ({"passed": None, "status": "ungraded", "cause": "judge"}, True),
        ({"passed": None, "status": "ungraded", "cause": "provider"}, False),
        pytest.param({"passed": None}, False, id="only informs"),
        pytest.param({"passed": False, "cause": "agent"}, False, id="the agent did not answer"),
        pytest.param({"passed": None, "status": "error"}, False, id="broken"),
        pytest.param({"passed": None, "status": "not_applicable"}, False, id="not applicable"),
        pytest.param({"family": "limit"}, False, id="a limit"),
        pytest.param({"family": "text"}, False, id="not judged"),
    ],
)
def test_only_what_a_judge_decided_or_could_not_decide_is_checked(
    grade: dict[str, Any], *, is_checkable: bool
) -> None:
    run = make_run(["passed"])
    make_execution(run, "A", grades=[make_grade(**{"family": "judged"} | grade)])

    assert bool(checkable(run, seed="1")) is is_checkable


def test_of_a_large_run_only_a_part_is_read(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = make_run([])
    for number in range(60):
        state = "failed" if number % 20 == 0 else "passed"
        grade = make_grade(family="judged", passed=state == "passed")
        make_execution(run, f"case {number}", state=state, grades=[grade])
    run.refresh_from_db()
    monkeypatch.setattr(review_tasks, "MAX_EXECUTIONS", 12)

    with django_assert_max_num_queries(5):
        candidates = checkable(run, seed="1", most=12)

    outcomes = Counter(candidate.outcome for candidate in candidates)
    assert outcomes["failed"] == 3  # the rare ones are all there
    assert 6 <= outcomes["passed"] <= 12


@pytest.mark.parametrize(
    ("change", "how", "key"),
    [
        ({"status": "running", "verdict": "", "finished_at": None}, {}, ""),
        pytest.param({"pruned_at": timezone.now()}, {}, "", id="nothing left to read"),
        pytest.param({}, {"count": 0}, "count", id="none"),
        pytest.param({}, {"count": 201}, "count", id="too many"),
        pytest.param({}, {"checks": ["Rude"]}, "checks", id="an unknown check"),
        pytest.param({}, {"checks": []}, "checks", id="no check"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    ann: User, change: dict[str, Any], how: dict[str, Any], key: str
) -> None:
    run = judged_run("hello")
    Run.objects.filter(pk=run.pk).update(**change)

    with pytest.raises(CannotCheckError) as refused:
        create_task(Run.objects.get(pk=run.pk), by=ann, **how)

    assert refused.value.key == key
    assert not ReviewTask.objects.exists()


def test_a_task_is_given_only_to_people_who_may_review(ann: User) -> None:
    run = judged_run("hello")
    viewer = User.objects.create_user("viewer")
    viewer.user_permissions.set(Permission.objects.filter(codename="view_execution"))

    with pytest.raises(CannotCheckError) as refused:
        create_task(run, by=ann, people=[ann, viewer])

    assert refused.value.key == "people"
    assert list(people_who_may_review()) == [ann]


# Working on it


def test_progress_counts_words_and_names_where_people_disagree(ann: User, bob: User) -> None:
    task = create_task(judged_run(*["hello"] * 4), by=ann, people=[ann, bob])
    say(task, 1, by=ann, passed=True)
    say(task, 1, by=bob, passed=True)
    say(task, 2, by=ann, passed=True)
    say(task, 2, by=bob, passed=False)
    say(task, 3, by=ann, passed=True)
    say(task, 3, by=bob, passed=None)

    reached = progress(task)

    assert [(row.name, row.done) for row in reached.people] == [("ann", 3), ("bob", 3)]
    assert (reached.total, reached.shared, reached.agreed) == (4, 2, 1)
    assert reached.disputed == (2,)
    assert next_position(task, ann.pk) == 4


def test_what_is_withdrawn_or_said_anew_counts_once(ann: User) -> None:
    task = create_task(judged_run("hello", "hello"), by=ann)
    say(task, 1, by=ann, passed=True)
    say(task, 1, by=ann, passed=False)
    review = say(task, 2, by=ann, passed=True)

    withdraw(review, by=ann)

    assert progress(task).done_by(ann.pk) == 1
    assert [item.people_say for item in items_of(task)] == [False, None]


def test_the_next_item_is_behind_the_last_one_and_then_the_first_that_was_skipped(
    ann: User,
) -> None:
    task = create_task(judged_run(*["hello"] * 3), by=ann)
    say(task, 2, by=ann, passed=True)

    assert next_position(task, ann.pk, after=2) == 3
    say(task, 3, by=ann, passed=None)
    assert next_position(task, ann.pk, after=3) == 1
    say(task, 1, by=ann, passed=True)
    assert next_position(task, ann.pk) is None


def test_closing_is_logged_once(ann: User) -> None:
    task = create_task(judged_run("hello"), by=ann)

    assert [close_task(task, by=ann), close_task(task, by=ann)] == [True, False]

    task.refresh_from_db()
    assert task.closed_at is not None
    assert LogEntry.objects.filter(object_id=str(task.pk), action_flag=2).count() == 1


def test_who_may_do_what(ann: User, bob: User) -> None:
    run = judged_run("hello")
    eve = reviewer("eve")
    root = User.objects.create_superuser("root")
    viewer = User.objects.create_user("viewer")
    viewer.user_permissions.set(Permission.objects.filter(codename="view_execution"))
    of_bob = create_task(run, by=ann, people=[bob])
    of_anyone = create_task(run, by=ann)

    def those_who(may: Any, task: ReviewTask) -> set[str]:
        return {who.username for who in (ann, bob, eve, root, viewer) if may(task, who)}

    def sees(task: ReviewTask, person: User) -> bool:
        return task in visible_tasks(person)

    assert those_who(sees, of_bob) == {"ann", "bob", "root"}
    assert those_who(may_answer, of_bob) == {"bob"}
    assert those_who(sees, of_anyone) == {"ann", "bob", "eve", "root", "viewer"}
    assert those_who(may_answer, of_anyone) == {"ann", "bob", "eve", "root"}
    assert those_who(may_close, of_anyone) == {"ann", "bob", "eve", "root"}
    assert User.objects.create_user("nobody").has_perm("evals_app.view_execution") is False
    close_task(of_anyone, by=ann)
    of_anyone.refresh_from_db()
    assert those_who(may_answer, of_anyone) == set()


# What it is about


def test_a_criterion_is_read_from_what_was_frozen(ann: User) -> None:
    run = judged_run("hello", rubric=RUBRIC, judge_context="Shops close at six.")
    rubric = GradeResult.objects.get(type="rubric")
    polite = GradeResult.objects.get(type="llm_judge")

    bullet, whole, reply = criteria_of(run, [(rubric, 2), (rubric, None), (polite, None)])

    assert (bullet.text, bullet.under) == ("Says goodbye", ("# Manners",))
    assert whole.text == RUBRIC
    assert (bullet.whole, reply.whole) == (True, False)
    assert reply.text == POLITE["criteria"]
    assert reply.facts == ("Shops close at six.",)


def test_a_scale_has_five_points_with_their_meanings() -> None:
    check = {"type": "llm_judge", "criteria": "How clear it is.", "scale": "1-5"}
    run = judged_run("hello", check=check | {"anchors": {"5": "Crystal", "1": "Mud"}})

    (criterion,) = criteria_of(run, [(GradeResult.objects.get(type="llm_judge"), None)])

    assert criterion.has_five_points
    assert criterion.anchors == (("5", "Crystal"), ("1", "Mud"))


def test_of_a_run_of_another_version_there_is_only_the_label() -> None:
    run = make_run(["passed"])
    execution = make_execution(run, "A", grades=[make_grade(family="judged", label="Polite")])

    (criterion,) = criteria_of(run, [(execution.grades.get(), None)])

    assert criterion.text == "Polite"
