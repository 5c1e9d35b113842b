"""Judges compared with people, from the rows of reviews."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from evals_app.engine.statistics.agreement import Agreement, Proportion
from evals_app.engine.statistics.corrected import CorrectedRate
from evals_app.models import Execution, GradeResult, Review, Run, Yardstick
from evals_app.runs.judges.calibration import (
    Calibration,
    agreements,
    calibrations_of,
    find_calibration,
    labels_of,
    most_compared,
    newest_judged_run,
    versions,
)
from tests.labels import forty_labels, graded_again, judged_answer, label, make_yardstick, review
from tests.makers import make_run

pytestmark = pytest.mark.django_db


def read(yardstick: Any) -> Calibration:
    found = find_calibration(yardstick.digest)
    assert found is not None
    return found


def agreed(*yardsticks: Yardstick) -> dict[str, Agreement]:
    keys = [yardstick.pk for yardstick in yardsticks]
    return agreements(labels_of(Yardstick.objects.filter(pk__in=keys)).values())


def grade_of(review_: Review) -> GradeResult:
    assert review_.grade is not None
    return review_.grade


def test_forty_labels_give_the_table_worked_out_by_hand() -> None:
    yardstick = make_yardstick()
    forty_labels(yardstick)

    found = read(yardstick)

    assert found.agreement == Agreement(28, 4, 2, 6)
    assert len(found.disagreements) == 6
    assert agreed(yardstick) == {yardstick.digest: found.agreement}


def test_an_agreement_is_computed_again_only_after_its_labels_changed(
    django_assert_num_queries: Any,
) -> None:
    yardstick, other = make_yardstick(), make_yardstick("Is short")
    label(yardstick, person=True)
    label(other, person=True)

    def queries(count: int) -> Agreement:
        with django_assert_num_queries(count):
            return agreed(yardstick, other)[yardstick.digest]

    assert queries(2) == Agreement(both_passed=1)
    assert queries(1) == Agreement(both_passed=1)

    wrong = label(yardstick, person=False)
    assert queries(2) == Agreement(both_passed=1, only_judge_passed=1)

    Review.objects.filter(pk=wrong.pk).update(withdrawn_at=timezone.now())
    assert queries(1) == Agreement(both_passed=1)  # the labels of before

    Review.objects.filter(yardstick=yardstick).delete()
    assert agreed(yardstick, other) == {other.digest: Agreement(both_passed=1)}


def test_an_agreement_is_computed_again_when_people_or_other_grades_of_a_conversation_go() -> None:
    yardstick = make_yardstick()
    grade = grade_of(label(yardstick, person=True, by="ann"))
    review(grade, passed=False, by="bob", by_name="ann")
    assert agreed(yardstick) == {}  # two people disagree

    User.objects.all().delete()  # what is left is a name, which gave both
    assert agreed(yardstick) == {yardstick.digest: Agreement(only_judge_passed=1)}

    first = label(yardstick, person=False)
    graded_again(first, yardstick, judge=True, run=make_run())
    assert agreed(yardstick)[yardstick.digest].n == 2

    Execution.objects.exclude(source=None).update(source=None)
    assert agreed(yardstick)[yardstick.digest].n == 3


def test_a_yardstick_without_labels_has_an_empty_calibration() -> None:
    yardstick = make_yardstick()

    assert read(yardstick).agreement == Agreement()
    assert agreed(yardstick) == {}
    assert find_calibration("0" * 32) is None


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"withdrawn_at": timezone.now()}, id="withdrawn"),
        pytest.param({"kind": Review.Kind.COMMENT}, id="a comment"),
        pytest.param({"passed": None}, id="cannot tell"),
        pytest.param({"judged_passed": None}, id="the judge gave no verdict"),
        pytest.param({"yardstick": None}, id="not judged"),
    ],
)
def test_what_is_no_label_does_not_count(changes: dict[str, Any]) -> None:
    yardstick = make_yardstick()
    label(yardstick, person=True)
    grade = judged_answer(yardstick)
    review(grade, **{"passed": False} | changes)

    assert read(yardstick).agreement == Agreement(both_passed=1)


@pytest.mark.parametrize(
    ("verdicts", "agreement", "ties"),
    [
        pytest.param([True, False, False], Agreement(only_judge_passed=1), 0, id="two against one"),
        pytest.param([True, False], Agreement(), 1, id="a tie"),
        pytest.param([True, False, None], Agreement(), 1, id="a tie, and one who cannot tell"),
        pytest.param([True, None, None], Agreement(both_passed=1), 0, id="one who can tell"),
        pytest.param([None, None], Agreement(), 0, id="nobody who can tell"),
    ],
)
def test_most_people_decide_about_an_answer(
    verdicts: list[bool | None], agreement: Agreement, ties: int
) -> None:
    yardstick = make_yardstick()
    grade = judged_answer(yardstick)
    for number, passed in enumerate(verdicts):
        review(grade, passed=passed, by=f"person {number}")

    found = read(yardstick)

    assert (found.agreement, found.ties) == (agreement, ties)


def test_the_newest_word_of_a_person_counts() -> None:
    yardstick = make_yardstick()
    grade = judged_answer(yardstick)
    review(grade, passed=True)
    review(grade, passed=False)

    assert read(yardstick).agreement == Agreement(only_judge_passed=1)


def test_a_bullet_of_a_rubric_is_compared_by_itself() -> None:
    bullets = [make_yardstick(name, is_item=True) for name in ("Polite", "Short")]
    rubric = make_yardstick("Rubric", type="rubric")
    grade = judged_answer(rubric)
    for item, bullet in enumerate(bullets, 1):
        review(grade, passed=True, item=item, judged_passed=item == 1, yardstick=bullet)

    agreements = [read(each).agreement for each in (*bullets, rubric)]

    assert agreements == [Agreement(both_passed=1), Agreement(only_people_passed=1), Agreement()]


def test_an_answer_that_is_graded_again_is_one_answer_with_its_newest_grade() -> None:
    yardstick = make_yardstick()
    first = label(yardstick, person=True, judge=False)
    again = graded_again(first, yardstick, judge=True, run=make_run())
    review(grade_of(first), passed=False, by="ben")  # after that, on the first grade
    review(grade_of(first), passed=False, by="cid")

    found = read(yardstick)

    assert found.agreement == Agreement(only_judge_passed=1)
    assert [answer.newest.execution for answer in found.answers] == [again.execution_id]


def test_people_who_saw_the_verdict_are_not_counted_as_blind() -> None:
    yardstick = make_yardstick()
    label(yardstick, person=True, was_blind=True)
    label(yardstick, person=True)
    grade = judged_answer(yardstick)
    review(grade, passed=True, was_blind=True)
    review(grade, passed=True, by="ben")

    assert read(yardstick).blind == 1


def test_grades_on_a_scale_are_compared_by_the_scores_of_those_who_agree() -> None:
    yardstick = make_yardstick(scale="1-5")
    grade = judged_answer(yardstick, grade={"score": 0.75})
    review(grade, passed=True, score=1.0)
    review(grade, passed=True, score=0.5, by="ben")
    review(grade, passed=False, score=0.0, by="cid")

    (answer,) = read(yardstick).answers
    on_scale = read(yardstick).agreement.on_scale

    assert (answer.label.person_score, answer.label.judge_score) == (0.75, 0.75)
    assert on_scale is not None
    assert (on_scale.n, on_scale.same) == (1, 1)


def test_a_list_begins_with_what_people_compared_most_and_takes_two_queries(
    django_assert_num_queries: Any,
) -> None:
    none, few, many, new = (make_yardstick(name) for name in ("none", "few", "many", "new"))
    label(few, person=True)
    for _ in range(3):
        label(many, person=False)

    with django_assert_num_queries(2):
        found = calibrations_of(most_compared()[:10])

    assert [each.yardstick for each in found] == [many, few, new, none]
    assert [each.agreement.n for each in found] == [3, 1, 0, 0]


def test_only_the_newest_labels_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals_app.runs.judges.calibration.MAX_REVIEWS", 2)
    yardstick, other = make_yardstick(), make_yardstick("Is short")
    for person in (True, False, False):
        label(yardstick, person=person)
    label(other, person=True)

    assert agreed(yardstick, other) == {
        yardstick.digest: Agreement(only_judge_passed=2),
        other.digest: Agreement(both_passed=1),
    }


def test_a_reworded_criterion_is_a_version_of_the_same_check() -> None:
    first, second, elsewhere = (make_yardstick(name) for name in ("Polite", "Very polite", "Short"))
    run, again = make_run(), make_run()
    old = label(first, person=True, judge=False, run=run)
    graded_again(old, second, judge=True, run=again)
    label(elsewhere, person=True, run=run)

    assert [each.yardstick for each in versions(read(first))] == [second]
    assert [each.agreement for each in versions(read(second))] == [Agreement(only_people_passed=1)]
    assert versions(read(elsewhere)) == []


def test_labels_that_were_carried_to_another_place_connect_versions_too() -> None:
    first, second = make_yardstick("Polite"), make_yardstick("Very polite")
    old = label(first, person=True)
    new = graded_again(old, second, judge=True, run=make_run())
    GradeResult.objects.filter(pk=grade_of(new).pk).update(position=5)

    assert [each.yardstick for each in versions(read(first))] == [second]
    assert [each.yardstick for each in versions(read(second))] == [first]


def test_a_check_at_the_same_place_of_another_suite_is_another_check() -> None:
    first, second = make_yardstick("Polite"), make_yardstick("Very polite")
    label(first, person=True, run=make_run())
    grade = judged_answer(second, run=make_run(suite_slug="other"))
    review(grade, passed=True)

    assert versions(read(first)) == []


def test_the_pass_rate_is_corrected_in_the_newest_run_that_has_ended() -> None:
    yardstick, ended, is_open = make_yardstick(), make_run(), make_run()
    for judge, person in [(True, True), (True, True), (True, False), (False, False)]:
        label(yardstick, person=person, judge=judge, run=ended)
    for _ in range(4):
        judged_answer(yardstick, judge=False, run=ended)
    label(yardstick, person=True, run=is_open)
    Run.objects.filter(pk=is_open.pk).update(status="running", verdict="", finished_at=None)

    found = newest_judged_run(read(yardstick))

    # The judge passed 3 of 8, of which people would pass two thirds, and nothing of the others.
    assert found is not None
    assert (found.run, found.judged) == (ended.pk, Proportion(3, 8))
    assert isinstance(found.corrected, CorrectedRate)
    assert found.corrected.share == pytest.approx(2 / 8)
    assert (found.plan.passed, found.plan.failed) == (0, 4)
