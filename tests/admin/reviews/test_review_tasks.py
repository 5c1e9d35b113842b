"""Tasks to check grades on pages: drawn on the page of a run, listed, closed, and their result."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evals_app.admin.reviews.review_task_form import ReviewTaskForm
from evals_app.models import ReviewTask, Run
from evals_app.runs.reviews.review_tasks import create_task
from evals_app.runs.reviews.reviewing import review_grade
from tests.admin.run_pages import page_of
from tests.runs.judged_runs import execution_of, judged_run, reviewer

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/reviewtask/"


@pytest.fixture
def ann() -> User:
    return reviewer("ann", "view_run")


@pytest.fixture
def bob() -> User:
    return reviewer("bob")


def url(what: str, *args: int) -> str:
    return reverse(f"admin:evals_app_reviewtask_{what}", args=args)


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def say(task: ReviewTask, case: str, *, by: User, passed: bool) -> None:
    row = task.items.get(grade__execution__case=case)
    review_grade(row.grade, by=by, passed=passed, item=row.item, reason=f"{by} knows", task=task)


# Starting


def test_the_page_of_a_run_offers_to_check_its_grades_and_shows_its_tasks(ann: User) -> None:
    run = judged_run("hello", "rude")
    task = create_task(run, by=ann)
    say(task, "case 1", by=ann, passed=True)

    page = client_of(ann).get(page_of(run))
    part = client_of(ann).get(url("of_run", run.pk))

    assert page.context["may_check_grades"]
    assert url("of_run", run.pk) in page.content.decode()
    assert part.context["answers"] == "1 answer"  # the other one is checked
    (row,) = part.context["tasks"]
    assert (row["task"], row["progress"].done_by(ann.pk), row["progress"].total) == (task, 1, 2)


def test_it_is_not_offered_without_the_right_or_without_a_judge(ann: User) -> None:
    run = judged_run("hello")
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.set(ann.user_permissions.exclude(codename="review_execution"))

    assert not client_of(viewer).get(page_of(run)).context["may_check_grades"]
    Run.objects.filter(pk=run.pk).update(judge="")
    assert not client_of(ann).get(page_of(run)).context["may_check_grades"]


def test_the_dialog_draws_what_is_chosen(ann: User, bob: User) -> None:
    run = judged_run("hello", "rude", rubric="- Greets\n- Thanks")
    client = client_of(ann)
    form = client.get(url("start", run.pk)).context["form"]

    assert form.fields["count"].initial == 30
    assert form.fields["checks"].initial == ["Rubric of the suite", "Polite"]
    assert {person for _, person in form.fields["people"].choices} == {"ann", "bob"}
    chosen = {"count": 5, "checks": ["Polite"], "people": [bob.pk]}
    answer = client.post(url("start", run.pk), chosen)

    task = ReviewTask.objects.get()
    assert answer.headers["HX-Redirect"] == url("change", task.pk)
    assert task.items.count() == 2
    assert list(task.people.all()) == [bob]


def test_of_a_large_run_checks_that_are_not_offered_are_drawn_unless_some_are_unticked(
    ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judged_run("hello", rubric="- Greets\n- Thanks")
    offered = ["Polite", "Rubric of the suite"]
    monkeypatch.setattr(
        "evals_app.admin.reviews.review_task_form.checks_to_offer",
        lambda _: [(x, 1) for x in offered],
    )
    chosen: list[Any] = []
    for checks in (offered, offered[:1]):
        form = ReviewTaskForm(run, data={"count": 3, "checks": checks})
        assert form.is_valid()
        chosen.append(form.task_options["checks"])

    assert chosen == [None, ["Polite"]]


@pytest.mark.parametrize(
    ("chosen", "key"),
    [
        pytest.param({"count": 0, "checks": ["Polite"]}, "count", id="none"),
        pytest.param({"count": "many", "checks": ["Polite"]}, "count", id="no number"),
        pytest.param({"count": 5, "checks": []}, "checks", id="no check"),
        pytest.param({"count": 5, "checks": ["Rude"]}, "checks", id="an unknown check"),
        pytest.param({"count": 5, "checks": ["Polite"], "people": [10**6]}, "people", id="no one"),
    ],
)
def test_the_dialog_comes_again_with_what_is_wrong(
    ann: User, chosen: dict[str, Any], key: str
) -> None:
    run = judged_run("hello", rubric="- Greets")

    answer = client_of(ann).post(url("start", run.pk), chosen)

    assert list(answer.context["form"].errors) == [key]
    assert not ReviewTask.objects.exists()


def test_a_run_that_is_open_or_has_nothing_to_check_is_explained(ann: User) -> None:
    run = judged_run("hello", check={"type": "contains", "value": "hello"})

    assert not client_of(ann).get(url("start", run.pk)).context["form"].has_checks
    run = create_run_that_is_open(run)
    answer = client_of(ann).post(url("start", run.pk), {"count": 3})
    assert answer.context["form"].non_field_errors()


def create_run_that_is_open(run: Run) -> Run:
    Run.objects.filter(pk=run.pk).update(status="running", verdict="", finished_at=None)
    return run


# The list


def test_the_list_shows_the_progress_of_each_person(ann: User, bob: User) -> None:
    run = judged_run("hello", "rude")
    mine = create_task(run, by=bob, people=[ann, bob])
    of_bob = create_task(run, by=bob, people=[bob])
    of_anyone = create_task(run, by=bob)
    say(mine, "case 1", by=ann, passed=True)

    rows = {task.pk: task for task in client_of(ann).get(LIST).context["cl"].result_list}

    assert set(rows) == {mine.pk, of_anyone.pk}
    reached = rows[mine.pk].reached
    assert [(row.name, row.done) for row in reached.people] == [("ann", 1), ("bob", 0)]
    everything = client_of(User.objects.create_superuser("root")).get(LIST)
    assert {task.pk for task in everything.context["cl"].result_list} == {*rows, of_bob.pk}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("?whose=mine", {"of anyone", "of ann"}, id="mine"),
        pytest.param("?whose=others", {"of bob"}, id="others"),
        pytest.param("?status=closed", {"of bob"}, id="closed"),
        pytest.param("?status=open", {"of anyone", "of ann"}, id="open"),
    ],
)
def test_the_list_is_filtered(ann: User, bob: User, query: str, names: set[str]) -> None:
    run = judged_run("hello")
    tasks = {
        create_task(run, by=ann).pk: "of anyone",
        create_task(run, by=ann, people=[ann]).pk: "of ann",
        create_task(run, by=ann, people=[bob]).pk: "of bob",
    }
    ReviewTask.objects.filter(people=bob).update(closed_at="2026-11-01T00:00Z")

    rows = client_of(ann).get(f"{LIST}{query}").context["cl"].result_list

    assert {tasks[task.pk] for task in rows} == names


# The result


def test_the_result_counts_agreement_and_links_to_every_difference(ann: User, bob: User) -> None:
    run = judged_run("hello", "hello", "rude", "unclear")
    task = create_task(run, by=ann)
    say(task, "case 1", by=ann, passed=True)
    say(task, "case 2", by=ann, passed=False)
    say(task, "case 3", by=ann, passed=True)
    say(task, "case 3", by=bob, passed=False)
    say(task, "case 4", by=ann, passed=True)

    page = client_of(ann).get(url("change", task.pk))

    context = page.context
    (tally,) = context["tallies"]
    assert (tally.check, tally.total, tally.answered) == ("Polite", 4, 4)
    assert (tally.compared, tally.agreeing) == (2, 1)
    people = {row["row"].name: row["agreement"] for row in context["people"]}
    assert people == {"ann": (1, 3), "bob": (1, 1)}
    assert [line["item"].case for line in context["disputed"]] == ["case 3"]
    assert [line["item"].case for line in context["differing"]] == ["case 2"]
    for case in ("case 2", "case 3"):
        address = reverse("admin:evals_app_execution_change", args=[execution_of(run, case).pk])
        assert address in page.content.decode()


def test_who_still_has_to_answer_does_not_see_what_others_say(ann: User, bob: User) -> None:
    task = create_task(judged_run("hello", "rude"), by=ann, people=[ann, bob])
    say(task, "case 1", by=ann, passed=False)
    say(task, "case 2", by=ann, passed=True)

    seen = client_of(bob).get(url("change", task.pk)).context
    say(task, "case 1", by=bob, passed=True)
    later = client_of(bob).get(url("change", task.pk)).context

    assert (seen["hidden"], seen["differing"], seen["tallies"]) == (2, [], [])
    assert later["hidden"] == 1
    assert [line["item"].case for line in later["disputed"]] == ["case 1"]
    assert client_of(ann).get(url("change", task.pk)).context["hidden"] == 0


def test_a_task_of_others_is_not_there(ann: User, bob: User) -> None:
    task = create_task(judged_run("hello"), by=bob, people=[bob])

    client = client_of(ann)

    assert client.get(url("change", task.pk)).status_code == 302
    for what in ("next", "close"):
        assert client.get(url(what, task.pk)).status_code == 404
    assert client.get(url("check", task.pk, 1)).status_code == 404


def test_a_task_is_closed_after_a_question(ann: User) -> None:
    task = create_task(judged_run("hello"), by=ann)
    client = client_of(ann)

    assert "dialog" in client.get(url("close", task.pk)).context
    assert ReviewTask.objects.get().closed_at is None
    answer = client.post(url("close", task.pk))

    assert answer.headers["HX-Redirect"] == url("change", task.pk)
    assert ReviewTask.objects.get().closed_at is not None
    assert not client.get(url("change", task.pk)).context["may_close"]
