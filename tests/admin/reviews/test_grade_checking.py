"""Checking grades one at a time: nothing gives the judge away before the person has spoken."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evals_app.models import Execution, GradeResult, Review, ReviewTask, Transcript
from evals_app.runs.reviews.review_tasks import close_task, create_task
from tests.runs.judged_runs import RUBRIC, judged_run, reviewer

pytestmark = pytest.mark.django_db

# Found only in reasons, quotes and votes of the judge.
SECRETS = ("Zanzibar", "Marrakesh", "Samarkand")


@pytest.fixture
def ann() -> User:
    return reviewer("ann")


@pytest.fixture
def client(ann: User) -> Client:
    client = Client()
    client.force_login(ann)
    return client


def url(task: ReviewTask, position: int = 1) -> str:
    return reverse("admin:evals_app_reviewtask_check", args=[task.pk, position])


def answer(client: Client, task: ReviewTask, value: str, position: int = 1, **more: str) -> Any:
    return client.post(url(task, position), {"answer": value, **more}, follow=True)


def with_secrets(grade: GradeResult) -> None:
    """Give the judge recognizable words."""
    quote = {"quote": "Marrakesh", "is_verified": True, "turn": 1, "speaker": "agent"}
    grade.reason, grade.evidence = "Zanzibar is not polite.", [quote]
    grade.details |= {"votes": [{"model": "m", "raw": "fail", "critique": "Samarkand"}]}
    for item in grade.details.get("items", []):
        item |= {"critique": "Zanzibar", "evidence": quote}
    grade.save()


@pytest.mark.parametrize(
    "suite",
    [
        pytest.param({}, id="a check"),
        pytest.param(
            {"rubric": RUBRIC, "check": {"type": "contains", "value": "rude"}}, id="a bullet"
        ),
    ],
)
@pytest.mark.parametrize("message", ["hello", "rude", "unclear"])
def test_nothing_on_the_page_gives_the_judge_away(
    client: Client, ann: User, suite: dict[str, Any], message: str
) -> None:
    run = judged_run(message, **suite)
    for grade in GradeResult.objects.filter(family="judged"):
        with_secrets(grade)
    Execution.objects.update(reason="Zanzibar")
    task = create_task(run, by=ann)

    before = client.get(url(task)).content.decode()
    after = answer(client, task, "yes").content.decode()

    assert "Zanzibar" in after
    for secret in (
        *SECRETS,
        "tone-good",
        "tone-bad",
        "tone-warn",
        "is-good",
        "is-bad",
        "Passed",
        "Failed",
        "Ungraded",
    ):
        assert secret not in before, secret
    assert f"/execution/{run.executions.get().pk}/" not in before


def test_it_shows_the_conversation_up_to_the_checked_reply(client: Client, ann: User) -> None:
    run = judged_run("hello")
    stored = Transcript.objects.get()
    turn = stored.trial["turns"][0]
    stored.trial["turns"] = [turn | {"index": n, "user": f"message {n}"} for n in (1, 2, 3, 4, 5)]
    stored.save()
    GradeResult.objects.update(turn=4)
    task = create_task(run, by=ann)

    context = client.get(url(task)).context

    shown = [(line.number, line.is_open, checked) for line, checked in context["turns"]]
    assert shown == [(1, False, False), (2, True, False), (3, True, False), (4, True, True)]


def test_the_expected_answer_and_the_headings_of_a_bullet_are_shown(
    client: Client, ann: User
) -> None:
    run = judged_run("hello", rubric=RUBRIC, check={"type": "contains", "value": "hello"})
    task = create_task(run, by=ann)

    page = client.get(url(task))

    criterion = page.context["criterion"]
    assert criterion.under == ("# Manners",)
    assert criterion.text in {"Greets", "Says goodbye"}
    assert "# Manners" in page.content.decode()
    assert page.context["turns"][0][0].record.expected == "Hello."


@pytest.mark.parametrize(
    ("message", "value", "expected"),
    [
        pytest.param("hello", "yes", (True, True), id="agrees"),
        pytest.param("hello", "no", (False, False), id="disagrees"),
        pytest.param("hello", "unsure", (None, None), id="cannot tell"),
        pytest.param("unclear", "yes", (True, None), id="the judge did not decide"),
    ],
)
def test_an_answer_is_stored_and_compared(
    client: Client, ann: User, message: str, value: str, expected: tuple[bool | None, bool | None]
) -> None:
    passed, agrees = expected
    task = create_task(judged_run(message), by=ann)
    told = client.get(url(task)).content.decode()

    page = answer(client, task, value, reason="I have read it.")

    assert "The recorded result stays." in told
    assert ("has a second result" in page.content.decode()) is (agrees is False)
    review = Review.objects.get()
    assert (review.passed, review.reason, review.task) == (passed, "I have read it.", task)
    assert (review.by, review.was_blind) == (ann, True)
    assert page.context["agrees"] is agrees
    assert page.context["own_answer"].value == value
    assert page.context["done"] == 1


def test_on_a_scale_the_grades_are_the_answers(client: Client, ann: User) -> None:
    check = {"type": "llm_judge", "criteria": "How clear it is.", "scale": "1-5"}
    task = create_task(judged_run("hello", check=check), by=ann)

    offered = [one.value for one in client.get(url(task)).context["answers"]]
    page = answer(client, task, "2")

    assert offered == ["1", "2", "3", "4", "5", "unsure"]
    review = Review.objects.get()
    assert (review.score, review.passed) == (0.25, False)
    assert page.context["agrees"] is False


def test_a_change_of_mind_is_no_longer_blind(client: Client, ann: User) -> None:
    task = create_task(judged_run("hello"), by=ann)
    answer(client, task, "no")
    answer(client, task, "yes")

    current = Review.objects.get(withdrawn_at=None)

    assert (current.passed, current.was_blind) == (True, False)
    assert Review.objects.get(withdrawn_at__isnull=False).was_blind
    Review.objects.update(withdrawn_at="2026-11-01T00:00Z")
    answer(client, task, "yes")
    assert not Review.objects.get(withdrawn_at=None).was_blind


def test_the_same_answer_twice_is_one_answer(client: Client, ann: User) -> None:
    task = create_task(judged_run("hello"), by=ann)

    for _ in range(2):
        answer(client, task, "yes", reason="So it is.")

    assert Review.objects.get().was_blind


@pytest.mark.parametrize("value", ["", "maybe", "3"])
def test_what_is_no_answer_is_not_stored(client: Client, ann: User, value: str) -> None:
    task = create_task(judged_run("hello"), by=ann)

    page = answer(client, task, value, reason="Kept")

    assert (page.status_code, page.context["reason"]) == (200, "Kept")
    assert not page.context["is_answered"]
    assert not Review.objects.exists()


def test_the_next_grade_is_one_that_is_not_answered(client: Client, ann: User) -> None:
    task = create_task(judged_run("hello", "hello", "hello"), by=ann)

    first = client.get(reverse("admin:evals_app_reviewtask_next", args=[task.pk]))
    assert first.headers["Location"] == url(task, 1)
    assert answer(client, task, "yes", 2).context["next"] == url(task, 3)
    assert answer(client, task, "yes", 3).context["next"] == url(task, 1)
    last = answer(client, task, "yes", 1)

    assert (last.context["next"], last.context["skip"], last.context["back"]) == (
        "",
        url(task, 2),
        "",
    )
    done = client.get(reverse("admin:evals_app_reviewtask_next", args=[task.pk]))
    assert done.headers["Location"] == reverse("admin:evals_app_reviewtask_change", args=[task.pk])


def test_a_closed_task_and_a_task_of_others_are_only_looked_at(client: Client, ann: User) -> None:
    task = create_task(judged_run("hello"), by=ann, people=[reviewer("bob")])

    page = client.get(url(task))  # ann created it

    assert page.context["is_revealed"]
    assert not page.context["may_answer"]
    assert client.post(url(task), {"answer": "yes"}).status_code == 403
    task.people.clear()
    close_task(task, by=ann)
    assert client.get(url(task)).context["is_revealed"]
    assert client.post(url(task), {"answer": "yes"}).status_code == 403


def test_other_people_are_shown_once_one_has_spoken(client: Client, ann: User) -> None:
    task = create_task(judged_run("hello"), by=ann)
    bob = Client()
    bob.force_login(reviewer("bob"))
    answer(bob, task, "no", reason="Too short")

    assert "Too short" not in client.get(url(task)).content.decode()
    page = answer(client, task, "yes")

    assert [(word.name, words) for word, words in page.context["others"]] == [
        ("bob", "does not meet it")
    ]


def test_a_removed_transcript_is_explained(client: Client, ann: User) -> None:
    task = create_task(judged_run("hello"), by=ann)
    Transcript.objects.all().delete()

    assert client.get(url(task)).context["trial"] is None
