import pytest
from django.contrib.auth.models import User
from django.test import Client

from evals_app.engine.judging import Recipe
from evals_app.models import EvaluationSteps
from tests.authored import client_who_may
from tests.page_form import open_page

pytestmark = pytest.mark.django_db

LIST = "/admin/evals_app/evaluationsteps/"
STEPS = [" Look for a date:\n- a day\n- a month ", "Grade."]


@pytest.fixture
def row() -> EvaluationSteps:
    recipe = Recipe("Names the <date>", ("actual_output", "input"), "local/judge-1")
    EvaluationSteps.objects.keep(recipe, STEPS)
    return EvaluationSteps.objects.get()


def test_the_list_says_what_they_are_written_from(
    admin_client: Client, row: EvaluationSteps
) -> None:
    page = admin_client.get(LIST).content.decode()

    assert "Names the &lt;date&gt;" in page
    assert "actual_output, input" in page
    assert "local/judge-1" in page
    assert "Not edited since the judge wrote them" in page


def test_saving_them_as_they_are_changes_nothing(
    admin_client: Client, row: EvaluationSteps
) -> None:
    page = open_page(admin_client, f"{LIST}{row.pk}/change/")

    assert "Names the <date>" in page.text
    assert page.post().is_saved

    row.refresh_from_db()
    assert (row.steps, row.edited_by) == (STEPS, None)


def test_an_edit_is_kept_with_its_author_beside_what_the_judge_wrote(
    admin_client: Client, admin_user: User, row: EvaluationSteps
) -> None:
    page = open_page(admin_client, f"{LIST}{row.pk}/change/")

    assert page.post(steps=["Look for a day.", "", "Grade it."]).is_saved

    row.refresh_from_db()
    assert row.steps == ["Look for a day.", "Grade it."]
    assert row.written == STEPS
    assert row.edited_by == admin_user
    text = open_page(admin_client, f"{LIST}{row.pk}/change/").text
    assert "Look for a date:" in text
    assert str(admin_user) in text


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        pytest.param([""], "Steps: This field is required.", id="none"),
        pytest.param(["x", " \n"], "Steps: Step 2 contains only spaces.", id="only spaces"),
        pytest.param(["x"] * 21, "Steps: There are 21 steps", id="too many"),
        pytest.param(["short", "x" * 2001], "Steps: Step 2 has 2,001 characters", id="too long"),
    ],
)
def test_steps_that_no_judge_can_follow_are_refused(
    admin_client: Client, row: EvaluationSteps, steps: list[str], problem: str
) -> None:
    (shown,) = open_page(admin_client, f"{LIST}{row.pk}/change/").post(steps=steps).problems

    assert shown.startswith(problem)


def test_who_may_only_look_reads_them_and_changes_nothing(row: EvaluationSteps) -> None:
    client = client_who_may("view_evaluationsteps")
    address = f"{LIST}{row.pk}/change/"

    text = open_page(client, address).text

    assert "Look for a date" in text
    assert "Save" not in text
    assert client.post(address, {"steps": ["Mine."]}).status_code == 403
