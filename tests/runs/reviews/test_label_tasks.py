"""Tasks of the answers whose labels say most about a judge."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from evals_app.engine.record.grade import GradeStatus
from evals_app.engine.record.trial import Cause
from evals_app.models import JudgeTally, ReviewTask, Run, Yardstick
from evals_app.runs.judges.calibration import find_calibration
from evals_app.runs.reviews.label_tasks import ask_for_labels
from evals_app.runs.reviews.review_tasks import CannotCheckError, close_task
from tests.labels import judged_answer, label, make_yardstick, review
from tests.makers import make_run

pytestmark = pytest.mark.django_db


def ask(yardstick: Yardstick, by: User) -> ReviewTask:
    found = find_calibration(yardstick.digest)
    assert found is not None
    return ask_for_labels(found, by=by)


def verdicts(task: ReviewTask) -> list[bool | None]:
    return list(task.items.order_by("position").values_list("grade__passed", flat=True))


def answers(yardstick: Yardstick, run: Run, *, passed: int, failed: int) -> None:
    for number in range(passed + failed):
        judged_answer(yardstick, judge=number < passed, run=run)


def tally(run: Run, judge: str) -> None:
    JudgeTally.objects.create(run=run, day=timezone.now().date(), model=judge)


def test_of_a_judge_never_compared_its_newest_run_is_asked_about(admin_user: User) -> None:
    yardstick, other = make_yardstick(), make_yardstick("Is short")
    first, second, newest = make_run(), make_run(), make_run()
    for run in (first, second, newest):
        tally(run, yardstick.judge)
    answers(yardstick, first, passed=30, failed=30)
    answers(yardstick, second, passed=30, failed=30)
    answers(other, newest, passed=30, failed=30)

    task = ask(yardstick, admin_user)

    assert task.run == second
    assert sorted(map(bool, verdicts(task))) == [False] * 10 + [True] * 10


def test_the_order_says_nothing_about_the_judge(admin_user: User) -> None:
    yardstick, run = make_yardstick(), make_run()
    tally(run, yardstick.judge)
    answers(yardstick, run, passed=30, failed=30)

    drawn = verdicts(ask(yardstick, admin_user))

    assert len({tuple(drawn[:10]), tuple(drawn[10:]), (True,) * 10, (False,) * 10}) == 4


def test_what_is_labelled_asked_elsewhere_or_not_decided_by_the_judge_is_left_out(
    admin_user: User,
) -> None:
    yardstick, run = make_yardstick(), make_run()
    label(yardstick, person=True, run=run)
    asked = judged_answer(yardstick, run=run)
    ReviewTask.objects.create(run=run).items.create(position=1, grade=asked)
    judged_answer(yardstick, run=run, grade={"cause": Cause.AGENT})
    judged_answer(yardstick, run=run, grade={"status": GradeStatus.UNGRADED, "cause": Cause.JUDGE})
    left = judged_answer(yardstick, run=run)

    task = ask(yardstick, admin_user)

    assert list(task.items.values_list("grade", flat=True)) == [left.pk]


def test_a_bullet_is_asked_about_by_its_number(admin_user: User) -> None:
    bullet, rubric = make_yardstick("Is short", is_item=True), make_yardstick(type="rubric")
    items = [
        {"id": 1, "text": "Is kind", "verdict": "pass", "yardstick": "0" * 32},
        {"id": 2, "text": "Is short", "verdict": "fail", "yardstick": bullet.digest},
    ]
    run = make_run()
    details = {"scale": "rubric", "items": items}
    grades = [judged_answer(rubric, run=run, grade={"details": details}) for _ in range(3)]
    review(grades[0], passed=True, item=2, yardstick=bullet, judged_passed=False)

    task = ask(bullet, admin_user)

    asked = set(task.items.values_list("grade", "item"))
    assert asked == {(grade.pk, 2) for grade in grades[1:]}


def test_an_unfinished_task_is_continued_and_a_closed_one_is_not(admin_user: User) -> None:
    yardstick, run = make_yardstick(), make_run()
    tally(run, yardstick.judge)
    answers(yardstick, run, passed=20, failed=20)

    first, again = ask(yardstick, admin_user), ask(yardstick, admin_user)
    close_task(first, by=admin_user)
    after = ask(yardstick, admin_user)

    assert again == first
    assert after != first


@pytest.mark.parametrize(
    "changes",
    [{"status": "running", "verdict": ""}, {"pruned_at": timezone.now()}],
    ids=["open", "pruned"],
)
def test_runs_whose_grades_cannot_be_checked_are_passed_over(
    admin_user: User, changes: dict[str, object]
) -> None:
    yardstick, run = make_yardstick(), make_run()
    tally(run, yardstick.judge)
    answers(yardstick, run, passed=3, failed=3)
    Run.objects.filter(pk=run.pk).update(**changes)

    with pytest.raises(CannotCheckError):
        ask(yardstick, admin_user)
