"""The gate on judges: from the labels of people to what a run decides."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evals_app.engine.statistics.trust import ONLY_INFORMS
from evals_app.formats.snapshots.run_snapshot import SnapshotSpec
from evals_app.models import Execution, GradeResult, Run, Suite, Turn, Yardstick
from evals_app.runs.starting.forecast import informing_judges
from tests.labels import label
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db(transaction=True)


def judged_suite(**changes: Any) -> Suite:
    """Write a suite of one case that contains a word, which a scripted judge finds rude."""
    make_agent("strict", rules=[{"reply": "fail"}])
    written: dict[str, Any] = {"judge_model": "scripted/strict", "min_judge_agreement": 0.8}
    return make_suite(cases=1, **written | changes)


def with_judge(suite: Suite, *criteria: str) -> Suite:
    for number, criterion in enumerate(criteria):
        suite.default_assertions.create(
            type="llm_judge", options={"criteria": criterion}, position=number
        )
    Turn.objects.filter(case__suite=suite).update(checks=Turn.Checks.BOTH)
    return suite


def judged_grades(run: Run) -> list[GradeResult]:
    rows = GradeResult.objects.filter(execution__run=run, family="judged")
    return list(rows.order_by("pk").select_related("yardstick"))


def yardstick_of(grade: GradeResult) -> Yardstick:
    assert grade.yardstick is not None
    return grade.yardstick


def agree(yardstick: Yardstick, same: int, other: int = 0) -> None:
    """Label answers: with `same`, in turn failed and passed by both; others only the judge failed."""
    for number in range(same + other):
        passed = number % 2 == 1 and number < same
        label(yardstick, person=passed or number >= same, judge=passed)


def test_without_the_gate_a_judge_decides() -> None:
    run = finished(with_judge(judged_suite(min_judge_agreement=None), "Is kind"))

    assert run.verdict == "failed"
    assert SnapshotSpec.read(run.snapshot.content).judge_trust is None


def test_a_judge_decides_from_the_run_on_that_starts_with_enough_labels() -> None:
    suite = with_judge(judged_suite(), "Is kind")
    before = finished(suite)
    (grade,) = judged_grades(before)
    agree(yardstick_of(grade), 19)
    still = finished(suite)
    agree(yardstick_of(grade), 1)
    after = finished(suite)

    assert [run.verdict for run in (before, still, after)] == ["passed", "passed", "failed"]
    assert (grade.weight, grade.passed, ONLY_INFORMS in grade.details) == (0.0, False, True)
    (decided,) = judged_grades(after)
    assert (decided.weight, ONLY_INFORMS in decided.details) == (1.0, False)
    notes = [" ".join(run.summary["notes"]) for run in (before, after)]
    assert ["judged" in note for note in notes] == [True, False]


@pytest.mark.parametrize(
    ("same", "other", "verdict"),
    [(16, 4, "failed"), (15, 5, "passed")],
    ids=["as often as asked", "too rarely"],
)
def test_a_judge_must_agree_as_often_as_the_suite_asks(same: int, other: int, verdict: str) -> None:
    suite = with_judge(judged_suite(), "Is kind")
    (grade,) = judged_grades(finished(suite))
    agree(yardstick_of(grade), same, other)

    assert finished(suite).verdict == verdict


def test_a_judge_that_always_says_the_same_decides_nothing_however_often_it_agrees() -> None:
    suite = with_judge(judged_suite(), "Is kind")
    (grade,) = judged_grades(finished(suite))
    for number in range(20):
        label(yardstick_of(grade), person=number < 4, judge=False)

    assert finished(suite).verdict == "passed"


def test_a_reworded_criterion_only_informs_again() -> None:
    suite = with_judge(judged_suite(), "Is kind")
    (grade,) = judged_grades(finished(suite))
    agree(yardstick_of(grade), 20)
    suite.default_assertions.update(options={"criteria": "Is kind and short"})

    run = finished(suite)

    assert run.verdict == "passed"
    assert yardstick_of(judged_grades(run)[0]) != yardstick_of(grade)


def test_each_check_is_trusted_by_itself() -> None:
    suite = with_judge(judged_suite(), "Is kind", "Is short")
    kind, _ = judged_grades(finished(suite))
    agree(yardstick_of(kind), 20)

    run = finished(suite)

    assert [grade.weight for grade in judged_grades(run)] == [1.0, 0.0]
    trust = SnapshotSpec.read(run.snapshot.content).judge_trust
    assert trust is not None
    assert (trust.judged, trust.deciding) == (2, 1)
    assert trust.trusted == {yardstick_of(kind).digest: "Is kind"}


def test_the_page_of_the_suite_says_how_many_checks_only_inform(admin_client: Client) -> None:
    suite = with_judge(judged_suite(), "Is kind", "Is short")
    url = reverse("admin:evals_app_suite_judges", args=[suite.pk])
    loads_it = admin_client.get(reverse("admin:evals_app_suite_cases", args=[suite.pk])).content
    before = admin_client.get(url).context["words"]
    for grade in judged_grades(finished(suite)):
        agree(yardstick_of(grade), 20)

    assert url in loads_it.decode()
    assert before.startswith("2 of 2 ")
    assert admin_client.get(url).context["words"] == ""


def test_a_suite_without_the_gate_or_that_cannot_run_says_nothing() -> None:
    suite = with_judge(judged_suite(min_judge_agreement=None), "Is kind")
    assert informing_judges(suite) == ""
    suite.min_judge_agreement = 0.8
    suite.judge_model = "nobody/model"
    suite.save()
    assert informing_judges(suite) == ""


def test_where_only_judges_grade_an_execution_errs_instead_of_passing() -> None:
    suite = with_judge(judged_suite(), "Is kind")
    turn = suite.cases.get().turns.get()
    turn.assertions.all().delete()

    run = finished(suite)

    execution = Execution.objects.get(run=run)
    assert (run.verdict, execution.verdict, execution.cause) == ("inconclusive", "errored", "case")
    assert "20" in execution.reason


def test_a_rubric_is_trusted_by_its_bullets() -> None:
    suite = judged_suite(rubric="- Is kind\n- Is short", pass_threshold=1.0)
    (grade,) = judged_grades(finished(suite))
    assert grade.details["share"] == 0.0
    for item in grade.details["items"]:
        bullet = Yardstick.objects.of_item(
            yardstick_of(grade), digest=item["yardstick"], criterion=item["text"]
        )
        agree(bullet, 20)

    (trusted,) = judged_grades(finished(suite))

    assert trusted.weight == 0.5
