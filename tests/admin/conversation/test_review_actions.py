"""Reviews on the page of an execution: what is shown, what may be said, and by whom."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evals_app.models import Execution, GradeResult, Review, ReviewedVerdict, Run
from evals_app.runs.reviews.reviewing import review_grade
from tests.authored import client_who_may
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db

SEES, REVIEWS = ("view_execution",), ("view_execution", "review_execution")


@pytest.fixture
def grade() -> GradeResult:
    """A grade that failed, in a run of two cases."""
    finished(make_suite(["hello", "bye"]))
    return GradeResult.objects.get(passed=False)


@pytest.fixture
def ann() -> User:
    return User.objects.create_superuser("ann")


def as_judged(grade: GradeResult, **columns: Any) -> GradeResult:
    """Make it the grade of a judge."""
    GradeResult.objects.filter(pk=grade.pk).update(family="judged", **columns)
    grade.refresh_from_db()
    return grade


def as_rubric(grade: GradeResult) -> GradeResult:
    items = [
        {"id": 1, "text": "Is kind", "verdict": "pass"},
        {"id": 2, "text": "Is brief", "verdict": "fail"},
    ]
    details = {"scale": "rubric", "items": items, "met": 1, "applicable": 2, "undecided": 0}
    return as_judged(grade, type="rubric", threshold=0.8, score=0.5, details=details)


def page(client: Client, execution: Execution) -> Any:
    return client.get(reverse("admin:evals_app_execution_change", args=[execution.pk]))


def block(client: Client, grade: GradeResult) -> Any:
    """Return what the page shows of the reviews of the grade of a turn."""
    (line,) = page(client, grade.execution).context["turns"][0].grades
    return line.people


def say(client: Client, grade: GradeResult, word: str, **body: Any) -> Any:
    address = reverse("admin:evals_app_execution_review", args=[grade.execution_id])
    return client.post(address, {"grade": grade.pk, "word": word, **body})


def test_a_wrong_grade_is_overruled_and_both_verdicts_are_shown(grade: GradeResult) -> None:
    client = client_who_may(*REVIEWS)

    answer = say(client, grade, "disagree", reason="It greets in its own way.").content.decode()

    review = Review.objects.get()
    assert (review.passed, review.reason, review.by_name) == (
        *(True, "It greets in its own way."),
        "writer",
    )
    assert ReviewedVerdict.objects.get().verdict == "passed"
    for part in (f'id="people-{grade.pk}"', 'id="people-verdict"', 'id="execution-status"'):
        assert part in answer
    shown = page(client, grade.execution).context
    assert (shown["state"], shown["people"].verdict) == ("failed", "passed")


def test_who_may_not_review_sees_what_others_say_and_is_refused(
    grade: GradeResult, ann: User
) -> None:
    review = review_grade(grade, by=ann, passed=True, reason="In its own way.")
    viewer = client_who_may(*SEES)

    text = page(viewer, grade.execution).content.decode()

    assert "In its own way." in text
    assert "people-button" not in text
    withdrawing = reverse(
        "admin:evals_app_execution_withdraw", args=[grade.execution_id, review.pk]
    )
    assert say(viewer, grade, "disagree").status_code == 403
    assert viewer.post(withdrawing).status_code == 403
    author = client_who_may(*SEES, "change_case", name="author")
    assert say(author, grade, "agree").status_code == 403


def test_only_admins_withdraw_what_others_said(grade: GradeResult, ann: User) -> None:
    review = review_grade(grade, by=ann, passed=True)
    address = reverse("admin:evals_app_execution_withdraw", args=[grade.execution_id, review.pk])
    reviewer = client_who_may(*REVIEWS)

    (line,) = block(reviewer, grade).lines
    assert not line.may_withdraw
    assert reviewer.post(address).status_code == 403

    admin = Client()
    admin.force_login(ann)
    assert admin.post(address).status_code == 200
    assert not ReviewedVerdict.objects.exists()
    shown = block(admin, grade)
    assert (len(shown.lines), len(shown.withdrawn), shown.own) == (0, 1, "")


@pytest.mark.parametrize(
    ("word", "given", "passed", "score"),
    [
        ("agree", {}, False, 0.25),
        ("disagree", {"score": "4"}, True, 0.75),
        pytest.param("disagree", {"score": "1"}, False, 0.0, id="still failed"),
    ],
)
def test_on_a_scale_people_give_their_own_grade(
    word: str,
    given: dict[str, Any],
    passed: bool,  # noqa: FBT001 - a column of the table
    score: float,
    grade: GradeResult,
) -> None:
    as_judged(grade, type="llm_judge", score=0.25, details={"scale": "1-5", "raw": 2})

    say(client_who_may(*REVIEWS), grade, word, **given)

    review = Review.objects.get()
    assert (review.passed, review.score, review.judged_score) == (passed, score, 0.25)


def test_on_a_scale_no_grade_is_refused_and_nothing_typed_is_lost(grade: GradeResult) -> None:
    as_judged(grade, type="llm_judge", score=0.25, details={"scale": "1-5", "raw": 2})

    answer = say(client_who_may(*REVIEWS), grade, "disagree", reason="Too strict.")

    assert "Too strict." in answer.content.decode()
    assert not Review.objects.exists()


def test_a_bullet_is_reviewed_alone_and_the_rubric_follows(grade: GradeResult) -> None:
    as_rubric(grade)
    client = client_who_may(*REVIEWS)

    answer = say(client, grade, "disagree", item=2).content.decode()

    assert f'id="people-{grade.pk}-2"' in answer
    assert f'id="people-{grade.pk}"' in answer
    (line,) = page(client, grade.execution).context["turns"][0].grades
    assert "Passed" in line.people.decided
    first, second = line.judgement.items
    assert (first.people.own, second.people.own) == ("", "disagree")
    assert "Met" in second.people.decided


def test_people_who_disagree_decide_nothing(grade: GradeResult, ann: User) -> None:
    client = client_who_may(*REVIEWS)
    review_grade(grade, by=ann, passed=True)

    say(client, grade, "agree")

    shown = block(client, grade)
    assert (shown.is_disputed, shown.own, shown.decided) == (True, "agree", "")
    assert not ReviewedVerdict.objects.exists()


def test_what_is_not_the_agents_fault_needs_a_reason(grade: GradeResult) -> None:
    client = client_who_may(*REVIEWS)
    address = reverse("admin:evals_app_execution_review", args=[grade.execution_id])

    assert 'role="alert"' in client.post(address, {"word": "not_the_agent"}).content.decode()
    assert not Review.objects.exists()
    client.post(address, {"word": "not_the_agent", "reason": "The case is wrong."})

    verdict = ReviewedVerdict.objects.get()
    assert (verdict.verdict, verdict.cause) == ("errored", "case")
    assert "The case is wrong." in page(client, grade.execution).content.decode()


@pytest.mark.parametrize(
    "body",
    [
        {"word": "praise"},
        {"grade": "0"},
        {"grade": "one"},
        {"grade": "9" * 40},
        {"item": "7"},
        {"item": "-1"},
    ],
)
def test_what_does_not_exist_is_not_found(body: dict[str, str], grade: GradeResult) -> None:
    whole = {"word": "agree", "grade": str(grade.pk)} | body
    address = reverse("admin:evals_app_execution_review", args=[grade.execution_id])

    assert client_who_may(*REVIEWS).post(address, whole).status_code == 404


def test_nothing_that_people_write_becomes_markup(grade: GradeResult) -> None:
    client = client_who_may(*REVIEWS)

    answer = say(client, grade, "comment", reason="<script>alert(1)</script>\x00").content.decode()

    assert "<script>" not in answer
    assert "&lt;script&gt;" in answer


def test_where_the_conversation_was_removed_nothing_can_be_said(grade: GradeResult) -> None:
    grade.execution.transcript.delete()
    client = client_who_may(*REVIEWS)

    assert "people-button" not in page(client, grade.execution).content.decode()
    assert "removed" in say(client, grade, "disagree").content.decode()


# Lists and other pages


def test_lists_and_the_run_show_both_results(grade: GradeResult, admin_client: Client) -> None:
    run = Run.objects.get()
    review_grade(grade, by=User.objects.get(username="admin"), passed=True, reason="Fine.")

    pages: list[tuple[str, list[Any], list[str]]] = [
        ("evals_app_execution_changelist", [], ["Failed", "Passed with people"]),
        ("evals_app_run_changelist", [], ["1 passed, 1 failed", "Passed with people", "100"]),
        (
            "evals_app_run_change",
            [run.pk],
            ["1 of 2 cases passed", "With their decisions", "Passed with people"],
        ),
        ("index", [], ["2 of 2 cases passed", "With people"]),
        ("evals_app_suite_results", [run.suite_id], ["with people", "50", "100"]),
    ]
    for name, args, words in pages:
        text = admin_client.get(reverse(f"admin:{name}", args=args)).content.decode()
        assert [word for word in words if word not in text] == [], name


def test_a_case_of_several_trials_shows_its_other_verdict(admin_client: Client) -> None:
    run = finished(make_suite(["bye"], trials=2, min_pass_rate=0.5))
    first = GradeResult.objects.order_by("execution__trial")[0]
    review_grade(first, by=User.objects.get(username="admin"), passed=True)

    context = admin_client.get(reverse("admin:evals_app_run_change", args=[run.pk])).context

    ((case,),) = [group.cases for group in context["case_groups"]]
    assert (case.verdict, "Passed" in case.people) == ("Failed", True)
    assert [("people" in mark.label) for mark in case.trials.marks] == [True, False]
