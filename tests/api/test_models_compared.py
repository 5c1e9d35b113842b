"""The table of agents and models over REST."""

from typing import Any
from uuid import UUID

import pytest
from openapi_schema_validator import OAS31Validator

from tests.api.clients import make_client
from tests.makers import make_run, make_suite

pytestmark = pytest.mark.django_db

PATH = "/api/runs/comparison/"
GROUP = UUID(int=7)


def two_models() -> tuple[int, int]:
    make_suite("orders")
    one = make_run({"Late": ["passed"] * 2}, model="a/x", group=GROUP)
    other = make_run({"Late": ["passed", "failed"]}, model="a/y", group=GROUP)
    return one.pk, other.pk


def answered(client: Any = None, **query: Any) -> Any:
    response = (client or make_client("read")).get(PATH, query)
    assert response.status_code == 200, response.json()
    return response.json()


def test_runs_of_a_group_are_one_table(schema: Any) -> None:
    one, other = two_models()

    answer = answered(group=GROUP)

    assert (answer["group"], answer["is_open"]) == (str(GROUP), False)
    assert [
        (column["name"], column["trials"]["passed"], column["trials"]["graded"])
        for column in answer["columns"]
    ] == [("a/x", 2, 2), ("a/y", 1, 2)]
    (row,) = answer["suites"]
    assert [cell["run"] for cell in row["runs"]] == [one, other]
    assert answer["columns"][0]["tokens"]["agent"] == {"prompt": None, "response": None}
    assert answer["cases"] is None
    component = schema["components"]["schemas"]["ModelComparisonAnswer"]
    OAS31Validator(component | {"components": schema["components"]}).validate(answer)


def test_runs_are_chosen_by_number_and_cases_are_asked_for() -> None:
    one, other = two_models()

    answer = answered(run=[one, other], suite="refunds")

    assert [
        (row["suite"], row["case"], [cell["trials"]["passed"] for cell in row["columns"]])
        for row in answer["cases"]
    ] == [("refunds", "Late", [2, 1])]


def test_an_open_run_says_how_far_it_is() -> None:
    make_run(["passed", "running"], group=GROUP)

    answer = answered(group=GROUP)

    assert answer["is_open"] is True
    (cell,) = answer["suites"][0]["runs"]
    assert (cell["verdict"], cell["counts"]["passed"], cell["cases"]) == (None, 1, None)
    assert answer["columns"][0]["trials"]["rate"] is None


def test_labels_of_checks_need_the_rights_to_read_them() -> None:
    two_models()

    assert answered(group=GROUP)["missed"] == []
    assert answered(make_client("read", ["evals_app.view_run"]), group=GROUP)["missed"] is None


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ({}, "at least one"),
        ({"group": "nightly"}, "UUID"),
        ({"group": str(UUID(int=1))}, "No runs"),
        ({"group": str(GROUP), "run": "1"}, "not both"),
        ({"run": "4711"}, "no run 4711"),
        ({"run": "x"}, "number of a run"),
        ({"grup": "x"}, "Did you mean 'group'?"),
    ],
)
def test_what_is_no_table_is_refused(query: dict[str, str], word: str) -> None:
    response = make_client("read").get(PATH, query)

    assert response.status_code == 400
    assert word in str(response.json())
