"""Reviews over REST: say, read, withdraw; and both results in answers."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from evals_app.models import Execution, GradeResult, ReviewedVerdict, Run
from evals_app.reports.answers.run_answers import ReviewJson
from tests.api.clients import make_client
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db

SEES, REVIEWS = "evals_app.view_execution", "evals_app.review_execution"


@pytest.fixture
def grade() -> GradeResult:
    """A grade that failed, in a run of two cases."""
    finished(make_suite(["hello", "bye"]))
    return GradeResult.objects.get(passed=False)


def address(execution: Execution | int, review: int | None = None) -> str:
    pk = execution if isinstance(execution, int) else execution.pk
    return f"/api/executions/{pk}/reviews/" + (f"{review}/" if review else "")


def say(client: APIClient, grade: GradeResult, /, **body: Any) -> Any:
    whole = {"grade": grade.pk, "passed": True} | body
    return client.post(address(grade.execution), whole, format="json")


def test_a_review_overrules_a_grade_and_is_withdrawn(grade: GradeResult) -> None:
    client = make_client()

    said = say(client, grade, reason="Polite.")

    assert said.status_code == 201
    answer = said.json()
    ReviewJson.model_validate_json(said.content)
    assert said.headers["Location"] == address(grade.execution, answer["id"])
    assert (answer["passed"], answer["judged_passed"], answer["reason"]) == (True, False, "Polite.")
    details = client.get(f"/api/executions/{grade.execution_id}/").json()
    assert (details["verdict"], details["reviewed"]["verdict"]) == ("failed", "passed")
    assert [review["id"] for review in details["reviews"]] == [answer["id"]]
    assert grade.pk in [row["id"] for row in details["grades"]]
    run = client.get(f"/api/runs/{Run.objects.get().pk}/").json()
    assert (run["counts"]["passed"], run["reviewed"]["passed"]) == (1, 2)

    withdrawn = client.delete(said.headers["Location"])

    assert (withdrawn.status_code, withdrawn.json()["withdrawn_at"] is None) == (200, False)
    assert not ReviewedVerdict.objects.exists()
    details = client.get(f"/api/executions/{grade.execution_id}/").json()
    assert (details["reviewed"], details["reviews"]) == (None, [])
    (listed,) = client.get(address(grade.execution)).json()["results"]
    assert listed["withdrawn_by"] == listed["by"]


def test_rights_and_scopes_are_checked(grade: GradeResult) -> None:
    answer = say(make_client(), grade).json()
    reviewer = make_client(permissions=[SEES, REVIEWS])
    viewer = make_client(permissions=[SEES])

    assert say(viewer, grade).status_code == 403
    assert say(make_client("run"), grade).status_code == 403
    assert viewer.get(address(grade.execution)).status_code == 200
    assert reviewer.delete(address(grade.execution, answer["id"])).status_code == 403
    own = say(reviewer, grade).json()["id"]
    assert reviewer.delete(address(grade.execution, own)).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"grade": None}, 422),
        ({"grade": 10**12}, 422),
        ({"grade": 0}, 400),
        ({"item": 4}, 422),
        ({"score": 1.5}, 400),
        ({"score": "high"}, 400),
        ({"kind": "praise"}, 400),
        ({"kind": "comment", "reason": " "}, 422),
        ({"kind": "not_the_agent"}, 422),
        ({"reason": "x" * 5001}, 400),
        ({"verdict": "passed"}, 400),
    ],
)
def test_what_means_nothing_is_refused(
    body: dict[str, Any], status: int, grade: GradeResult
) -> None:
    assert say(make_client(), grade, **body).status_code == status


def test_what_does_not_exist_is_not_found(grade: GradeResult) -> None:
    client = make_client()

    assert client.get(address(10**9)).status_code == 404
    assert client.post(address(10**9), {"passed": True}, format="json").status_code == 404
    for missing in (address(grade.execution, 10**9), address(2**63, 1), address(1, 2**63)):
        assert client.delete(missing).status_code == 404


def test_a_null_verdict_says_that_one_cannot_tell(grade: GradeResult) -> None:
    assert say(make_client(), grade, passed=None).json()["passed"] is None


def test_comments_and_blame_are_kinds(grade: GradeResult) -> None:
    client = make_client()

    remark = {"kind": "comment", "passed": None, "reason": "Hm."}
    assert say(client, grade, **remark).json()["grade"] == grade.pk
    blame = {"kind": "not_the_agent", "grade": None, "passed": None, "reason": "The case is wrong."}
    assert say(client, grade, **blame).status_code == 201
    assert ReviewedVerdict.objects.get().verdict == "errored"
