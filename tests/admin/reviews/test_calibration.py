"""The pages of judges compared with people."""

from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client, TestCase
from django.urls import reverse

from evals_app.admin.reviews import calibration
from evals_app.models import Assertion, GradeResult, ReviewTask, Run, Yardstick
from evals_app.runs.process.worker_loop import work
from evals_app.runs.reviews.reviewing import review_grade
from tests.labels import forty_labels, judged_answer, label, make_yardstick, review
from tests.makers import make_run
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/judgetally/criteria/"


def page_of(client: Client, yardstick: Yardstick) -> Any:
    return client.get(reverse("admin:evals_app_yardstick", args=[yardstick.digest]))


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_list_says_which_judges_may_decide_and_the_next_step(admin_client: Client) -> None:
    compared, new = make_yardstick("Is polite"), make_yardstick("Is short")
    forty_labels(compared)

    page = admin_client.get(LIST)

    first, second = page.context["lines"]
    assert (first.yardstick, second.yardstick) == (compared, new)
    assert plain(first.answer.sentence) == (
        "Agrees with people in 34 of 40 answers (85 %, 71 to 93 %): may decide."
    )
    assert (first.answer.tone, first.answer.check) == ("good", "")
    assert (second.answer.tone, second.answer.check) == ("warn", "Check 20 answers")
    assert page.content.decode().count("not yet compared with people") == 1


def test_the_list_can_be_of_one_judge(admin_client: Client) -> None:
    make_yardstick(judge="openai/large")
    small = make_yardstick(judge="openai/small")

    lines = admin_client.get(LIST, {"judge": "openai/small"}).context["lines"]

    assert [line.yardstick for line in lines] == [small]


@pytest.mark.parametrize("number", ["1", "2", "3", "0", "x", "9" * 30])
def test_the_list_has_pages(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setattr(calibration, "PER_PAGE", 2)
    for name in "abc":
        make_yardstick(name)

    page = admin_client.get(LIST, {"p": number})

    shown = {"2": 1, "3": 0}.get(number, 2)
    assert len(page.context["lines"]) == shown
    assert bool(page.context["later"]) is (shown == 2)


def test_the_calibration_begins_with_words_and_has_the_numbers_worked_out_by_hand(
    admin_client: Client,
) -> None:
    yardstick = make_yardstick()
    forty_labels(yardstick)

    context = page_of(admin_client, yardstick).context

    assert "34 of 40" in context["answer"].sentence
    figures = [(plain(figure.value), plain(figure.interval)) for figure in context["figures"]]
    assert figures == [
        ("34 of 40: 85 %", "71 % to 93 %"),
        ("30 of 40: 75 %", "60 % to 86 %"),
        ("6 of 10: 60 %", "31 % to 83 %"),
        ("28 of 30: 93 %", "79 % to 98 %"),
        ("0.57", "0.27 to 0.88"),
    ]
    # All 40 were labelled, and people passed 30 of them.
    assert "32 of 40" in context["corrected"]
    assert "75 % (" in plain(context["corrected"])


def test_a_criterion_without_labels_says_so_and_offers_nothing_to_try(admin_client: Client) -> None:
    text = page_of(admin_client, make_yardstick()).content.decode()

    assert "not yet compared with people" in text
    assert "/try/" not in text


def test_disagreements_lead_to_the_grade_with_both_reasons(admin_client: Client) -> None:
    yardstick = make_yardstick()
    label(yardstick, person=True)
    different = label(yardstick, person=False, reason="It is rude.")

    (line,) = page_of(admin_client, yardstick).context["disagreements"]

    assert line.url.endswith(f"/{different.execution_id}/change/#grade-{different.grade_id}")
    assert (line.by, line.reason, line.judged) == ("ann", "It is rude.", "The judge says so.")


def test_a_bullet_shows_the_critique_of_the_judge(admin_client: Client) -> None:
    bullet = make_yardstick("Is short", is_item=True)
    items = [{"id": 1, "critique": "Not it."}, {"id": 2, "critique": "Ten words."}]
    grade = judged_answer(
        make_yardstick("Rubric", type="rubric"), grade={"details": {"items": items}}
    )
    review(grade, passed=False, item=2, yardstick=bullet, judged_passed=True)

    (line,) = page_of(admin_client, bullet).context["disagreements"]

    assert line.judged == "Ten words."


def test_an_unknown_criterion_is_not_found(admin_client: Client) -> None:
    url = reverse("admin:evals_app_yardstick", args=["0" * 32])

    assert admin_client.get(url).status_code == HTTPStatus.NOT_FOUND


def test_nothing_that_people_or_judges_write_runs_on_the_page(admin_client: Client) -> None:
    hostile = "<script>alert(1)</script>"
    yardstick = make_yardstick(hostile, judge=hostile)
    label(yardstick, person=False, reason=hostile)

    for url in (LIST, reverse("admin:evals_app_yardstick", args=[yardstick.digest])):
        assert hostile not in admin_client.get(url).content.decode()


# The answer and the next step


def answered(
    suite_changes: dict[str, Any], cells: tuple[int, int, int, int], **grade: Any
) -> tuple[Yardstick, Run]:
    """Label answers of a run: both pass, only the judge, only people, both fail."""
    suite = make_suite(cases=1, **suite_changes)
    run, yardstick = make_run(suite=suite), make_yardstick()
    pairs = [(True, True), (False, True), (True, False), (False, False)]
    for (person, judge), number in zip(pairs, cells, strict=True):
        for _ in range(number):
            label(yardstick, person=person, judge=judge, run=run, grade=grade)
    return yardstick, run


CRITERION, NO_WEIGHT = "Change the criterion", {"weight": 0.0}


@pytest.mark.parametrize(
    ("least", "cells", "grade", "expected"),
    [
        pytest.param(None, (16, 3, 8, 3), {}, ("bad", CRITERION), id="worse"),
        pytest.param(None, (20, 2, 0, 0), {}, ("bad", CRITERION), id="no better"),
        pytest.param(0.9, (28, 4, 2, 6), {}, ("bad", CRITERION), id="less than the suite asks"),
        pytest.param(None, (28, 4, 2, 6), {}, ("good", ""), id="it decides"),
        pytest.param(None, (28, 4, 2, 6), NO_WEIGHT, ("good", "Let it decide"), id="no weight"),
        pytest.param(0.8, (28, 4, 2, 6), NO_WEIGHT, ("good", "Run the suite"), id="from now on"),
        pytest.param(None, (8, 0, 0, 0), {}, ("warn", ""), id="too few"),
    ],
)
def test_the_page_answers_whether_the_judge_may_decide_and_leads_on(
    admin_client: Client,
    least: float | None,
    cells: tuple[int, int, int, int],
    grade: dict[str, Any],
    expected: tuple[str, str],
) -> None:
    yardstick, _ = answered({"min_judge_agreement": least}, cells, **grade)

    answer = page_of(admin_client, yardstick).context["answer"]

    (line,) = admin_client.get(LIST).context["lines"]
    assert (answer.tone, answer.button) == expected
    assert (line.answer.tone, line.answer.sentence) == (answer.tone, answer.sentence)
    if answer.button:
        assert admin_client.get(answer.url).status_code == HTTPStatus.OK


def test_one_click_opens_the_answers_that_narrow_most(admin_client: Client) -> None:
    yardstick, run = answered({}, (10, 1, 1, 8))
    passes = [judged_answer(yardstick, judge=True, run=run) for _ in range(5)]
    failures = [judged_answer(yardstick, judge=False, run=run) for _ in range(5)]

    page = page_of(admin_client, yardstick)
    url = reverse("admin:evals_app_yardstick_check", args=[yardstick.digest])
    opened = admin_client.post(url, follow=True)
    again = admin_client.post(url)

    task = ReviewTask.objects.get()
    asked = set(task.items.values_list("grade", flat=True))
    assert page.context["answer"].check == f"Check {len(asked)} more answers"
    assert f"{len(asked)} more answers of run {run.pk}" in page.context["plan"]
    assert asked == {grade.pk for grade in (*passes, *failures)}
    assert opened.redirect_chain[-1][0].endswith(f"/reviewtask/{task.pk}/check/1/")
    assert again.headers["Location"].endswith(f"/reviewtask/{task.pk}/check/")


def test_where_nothing_is_left_to_check_the_page_says_so(admin_client: Client) -> None:
    yardstick, _ = answered({}, (2, 0, 0, 1))

    url = reverse("admin:evals_app_yardstick_check", args=[yardstick.digest])
    opened = admin_client.post(url, follow=True)

    assert not ReviewTask.objects.exists()
    assert "left to check" in opened.content.decode()


# Trying a new wording


def labelled_run(*, labels: int = 2) -> Yardstick:
    """Run a suite whose scripted judge passes everything, and label answers as bad."""
    make_agent("kind", rules=[{"reply": "pass"}])
    suite = make_suite(cases=labels, judge_model="scripted/kind")
    for case in suite.cases.all():
        case.turns.get().assertions.update(type="llm_judge", options={"criteria": "Is polite"})
    run = finished(suite)
    for execution in run.executions.all():
        review(execution.grades.get(), passed=False)
    return Yardstick.objects.get()


def try_url(yardstick: Yardstick) -> str:
    return reverse("admin:evals_app_yardstick_try", args=[yardstick.digest])


@pytest.mark.django_db(transaction=True)
def test_the_button_grades_the_labelled_answers_again_by_the_suite_as_it_is_now(
    admin_client: Client,
) -> None:
    yardstick = labelled_run()
    source = Run.objects.get()
    asked = admin_client.get(try_url(yardstick))
    answer = admin_client.post(try_url(yardstick), {"max_cost_usd": "1"})

    new = Run.objects.latest("pk")
    assert "2" in asked.context["price"]
    assert answer.headers["HX-Redirect"] == reverse("admin:evals_app_run_change", args=[new.pk])
    assert (new.grades_of, new.total, new.max_cost_usd) == (source, 2, 1)
    assert new.created_by == User.objects.get(username="admin")


@pytest.mark.django_db(transaction=True)
def test_the_labels_are_compared_with_the_verdicts_of_the_new_wording(
    admin_client: Client, admin_user: User
) -> None:
    make_agent("kind", rules=[{"when": "short", "reply": "fail"}, {"reply": "pass"}])
    suite = make_suite(cases=2, judge_model="scripted/kind")
    checks = Assertion.objects.filter(turn__case__suite=suite)
    checks.update(type="llm_judge", options={"criteria": "Is polite"})
    for grade in GradeResult.objects.filter(execution__run=finished(suite)):
        review_grade(grade, by=admin_user, passed=False)
    checks.update(options={"criteria": "Is polite and short"})
    first = Yardstick.objects.get()

    with TestCase.captureOnCommitCallbacks(execute=True):
        admin_client.post(try_url(first), {})
    work()

    second = Yardstick.objects.latest("pk")
    ((before, is_earlier),) = page_of(admin_client, second).context["versions"]
    ((after, _),) = page_of(admin_client, first).context["versions"]
    assert (before.yardstick, "0 of 2" in before.answer.why, is_earlier) == (first, True, True)
    assert (after.yardstick, "2 of 2" in after.answer.why) == (second, True)


@pytest.mark.django_db(transaction=True)
def test_each_run_with_labels_gets_a_run_the_newest_first(admin_client: Client) -> None:
    yardstick = labelled_run()
    suite = Run.objects.get().suite
    assert suite is not None
    second = finished(suite)
    review(second.executions.all()[0].grades.get(), passed=True)

    answer = admin_client.post(try_url(yardstick), {})

    newest = list(Run.objects.order_by("pk").values_list("grades_of", "total"))[-2:]
    assert newest == [(second.pk, 1), (second.pk - 1, 2)]
    assert answer.headers["HX-Redirect"].startswith("/admin/evals_app/run/?")


@pytest.mark.parametrize("method", ["get", "post"])
def test_what_cannot_be_graded_again_is_said_in_the_dialog(
    admin_client: Client, method: str
) -> None:
    yardstick = make_yardstick()
    label(yardstick, person=False)
    runs = Run.objects.count()

    answer = getattr(admin_client, method)(try_url(yardstick))

    assert answer.context["problems"]
    assert Run.objects.count() == runs


def test_a_wrong_ceiling_starts_nothing(admin_client: Client) -> None:
    yardstick = make_yardstick()
    label(yardstick, person=False)

    answer = admin_client.post(try_url(yardstick), {"max_cost_usd": "-1"})

    assert "max_cost_usd" in answer.context["form"].errors


def test_who_may_not_run_anything_is_offered_no_trial(client: Client) -> None:
    yardstick = make_yardstick()
    label(yardstick, person=False)
    reader = User.objects.create_user("reader", is_staff=True)
    codes = ("view_run", "view_execution")
    reader.user_permissions.set(Permission.objects.filter(codename__in=codes))
    client.force_login(reader)

    page = page_of(client, yardstick)

    assert page.status_code == HTTPStatus.OK
    assert "/try/" not in page.content.decode()
