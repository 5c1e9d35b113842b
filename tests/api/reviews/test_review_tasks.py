"""Tasks to check grades over REST: nobody reads what others say before they have spoken."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from evals_app.models import ApiToken, Review, ReviewTask, Run
from evals_app.reports.answers.review_tasks import ReviewTaskDetails, ReviewTaskItem, ReviewTaskRow
from evals_app.runs.reviews.review_tasks import answer_item
from tests.runs.judged_runs import RUBRIC, judged_run, reviewer

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return reviewer("ann")


def client_of(person: User, scope: str = "author") -> APIClient:
    _, text = ApiToken.issue(name="test", user=person, scope=scope)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


def draw(run: Run, *, by: User, **body: Any) -> Any:
    return client_of(by).post(f"/api/runs/{run.pk}/review-tasks/", body, format="json")


def say(task: ReviewTask, position: int, *, by: User, passed: bool) -> None:
    answer_item(task.items.get(position=position), by=by, passed=passed, reason="Because.")


def test_a_task_is_drawn_listed_and_read(ann: User) -> None:
    run = judged_run("hello", "rude")
    reviewer("bob")

    made = draw(run, by=ann, count=1, people=["bob", "ann"])

    assert made.status_code == 201
    details = made.json()
    assert details.keys() == set(ReviewTaskDetails.KEYS)
    assert (details["count"], details["people"], details["created_by"]) == (
        1,
        ["ann", "bob"],
        "ann",
    )
    assert details["progress"] == [{"name": "ann", "done": 0}, {"name": "bob", "done": 0}]
    client = client_of(ann, "read")
    assert client.get(made.headers["Location"]).json() == details
    (row,) = client.get(f"/api/runs/{run.pk}/review-tasks/").json()["results"]
    assert row == {key: details[key] for key in ReviewTaskRow.KEYS}


def test_what_others_say_is_there_once_one_has_spoken(ann: User) -> None:
    run = judged_run("hello", "rude")
    draw(run, by=ann)
    task, client = ReviewTask.objects.get(), client_of(ann)
    address = f"/api/review-tasks/{task.pk}/"
    bob = reviewer("bob")
    say(task, 1, by=bob, passed=False)
    say(task, 1, by=ann, passed=True)
    say(task, 2, by=bob, passed=True)

    first, second = client.get(address).json()["items"]

    assert first.keys() == set(ReviewTaskItem.KEYS)
    assert first["is_revealed"]
    assert first["judge"]["passed"] is (first["case"] == "case 1")
    assert first["judge"]["reason"]
    assert {(said["by"], said["passed"]) for said in first["people"]} == {
        ("ann", True),
        ("bob", False),
    }
    assert (second["is_revealed"], second["judge"], second["people"]) == (False, None, None)
    assert client.get(address).json()["disputed"] == [1]
    client.post(f"{address}close/", {}, format="json")
    assert all(item["is_revealed"] for item in client.get(address).json()["items"])
    assert Review.objects.count() == 3


def test_an_answer_is_a_review_of_the_execution(ann: User) -> None:
    run = judged_run("hello", rubric=RUBRIC, check={"type": "contains", "value": "hello"})
    task = draw(run, by=ann).json()
    item = task["items"][0]
    client = client_of(ann)

    def answered(**body: Any) -> Any:
        asked = {"grade": item["grade"], "item": item["item"], "passed": True, **body}
        return client.post(f"/api/executions/{item['execution']}/reviews/", asked, format="json")

    assert answered(task=task["id"]).status_code == 201
    assert answered(task=task["id"]).status_code == 201  # sent twice
    review = Review.objects.get()
    assert (review.task_id, review.was_blind) == (task["id"], True)
    seen = client.get(f"/api/review-tasks/{task['id']}/").json()["items"][0]
    assert seen["is_revealed"]
    for wrong in ({"task": 10**9}, {"task": task["id"], "item": None}):
        refused = answered(**wrong)
        assert refused.status_code == 422
        assert [error["keys"] for error in refused.json()["errors"]] == ["task"]


def test_a_bullet_has_its_headings_and_a_scale_is_named(ann: User) -> None:
    check = {"type": "llm_judge", "criteria": "How clear it is.", "scale": "1-5"}
    run = judged_run("hello", rubric=RUBRIC, check=check)

    items = draw(run, by=ann).json()["items"]

    by_criterion = {item["criterion"]: item for item in items}
    assert by_criterion.keys() == {"Greets", "Says goodbye", "How clear it is."}
    assert by_criterion["Greets"]["under"] == ["# Manners"]
    assert (by_criterion["Greets"]["item"], by_criterion["Greets"]["turn"]) == (1, None)
    assert {item["scale"] for item in items} == {"pass_fail", "1-5"}


@pytest.mark.parametrize(
    ("body", "status", "key"),
    [
        pytest.param({"count": 0}, 400, "count", id="none"),
        pytest.param({"checks": ["Rude"]}, 422, "checks", id="an unknown check"),
        pytest.param({"people": ["nobody"]}, 422, "people", id="an unknown person"),
        pytest.param({"poeple": ["ann"]}, 400, "poeple", id="an unknown key"),
    ],
)
def test_a_wrong_body_is_explained(ann: User, body: Any, status: int, key: str) -> None:
    answer = draw(judged_run("hello"), by=ann, **body)

    assert answer.status_code == status
    assert [error["keys"] for error in answer.json()["errors"]] == [key]
    assert not ReviewTask.objects.exists()


def test_a_task_of_others_is_not_there(ann: User) -> None:
    run = judged_run("hello")
    bob = reviewer("bob")
    task = draw(run, by=bob, people=["bob"]).json()["id"]
    client = client_of(ann)

    assert client.get(f"/api/review-tasks/{task}/").status_code == 404
    assert client.post(f"/api/review-tasks/{task}/close/").status_code == 404
    assert client.get(f"/api/runs/{run.pk}/review-tasks/").json()["results"] == []
