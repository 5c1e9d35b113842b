"""Grading a run again over REST."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from evals_app.models import Assertion, Case, Run
from evals_app.reports.answers.forecasts import RegradeForecastAnswer
from evals_app.reports.answers.run_answers import JudgeNoise, LeftOutJson, RegradingJson
from evals_app.runs.process.worker_loop import work
from tests.api.clients import make_client
from tests.runs.suites import finished, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> APIClient:
    return make_client("run")


@pytest.fixture
def run() -> Run:
    return finished(make_suite(["hello", "bye"]))


def post(client: APIClient, run: Run, body: dict[str, Any], what: str = "") -> Any:
    return client.post(f"/api/runs/{run.pk}/regrade/{what}", body, format="json")


def test_a_run_is_graded_again(client: APIClient, run: Run) -> None:
    Assertion.objects.filter(turn__case__name="case 2").update(options={"value": "bye"})

    response = post(client, run, {})
    work()

    assert response.status_code == 201
    again = client.get(response.headers["Location"]).json()
    assert (again["grades_of"], again["verdict"], again["is_whole"]) == (run.pk, "passed", False)
    assert again["regrading"].keys() == set(RegradingJson.KEYS)
    assert again["judge_noise"] is None
    assert client.get(f"/api/runs/{run.pk}/").json()["regrading"] is None
    listed = client.get(f"/api/runs/?grades_of={run.pk}").json()["results"]
    assert [row["id"] for row in listed] == [again["id"]]


def test_each_execution_names_the_one_whose_conversation_it_has(
    client: APIClient, run: Run
) -> None:
    client = make_client("author")
    source = run.executions.get(case="case 2")
    again = post(client, run, {"cases": ["case 2"], "suite": "as_it_was"}).json()
    work()

    (row,) = client.get(f"/api/runs/{again['id']}/executions/").json()["results"]
    execution = client.get(f"/api/executions/{row['id']}/").json()

    assert row["source"] == execution["source"] == source.pk
    assert client.get(f"/api/executions/{source.pk}/").json()["source"] is None
    assert execution["messages"][-1]["content"] == "You said: bye"
    assert [grade["is_reused"] for grade in execution["grades"]] == [None]


def test_a_forecast_names_what_is_left_out_and_starts_nothing(client: APIClient, run: Run) -> None:
    Case.objects.get(name="case 1").turns.update(user="Good morning")

    answer = post(client, run, {"trials": 3}, "forecast/").json()

    assert answer.keys() == set(RegradeForecastAnswer.KEYS)
    assert (answer["conversations"], answer["calls"]) == (3, {"agent": 0, "judge": 0})
    assert answer["left_out"] == {"changed": LeftOutJson.of({"count": 1, "names": ["case 1"]})}
    assert Run.objects.count() == 1


def test_the_noise_of_judges_is_reported(client: APIClient, run: Run) -> None:
    again = post(client, run, {"trials": 2}).json()
    work()
    Run.objects.filter(pk=again["id"]).update(
        summary={
            "judge_noise": [
                {
                    "yardstick": "a" * 32,
                    "label": label,
                    "conversations": 2,
                    "gradings": 4,
                    "undecided": 0,
                    "flip_rate": flips,
                }
                for label, flips in (("steady", 0.0), ("shaky", 0.3))
            ]
        }
    )

    noise = client.get(f"/api/runs/{again['id']}/").json()["judge_noise"]

    assert [check["name"] for check in noise] == ["shaky", "steady"]
    assert noise[0].keys() == set(JudgeNoise.KEYS)


@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        pytest.param({"suite": "tomorrow"}, 400, "suite", id="unknown version"),
        pytest.param({"trials": 0}, 400, "trials", id="never"),
        pytest.param({"trials": 101}, 400, "trials", id="too often"),
        pytest.param({"max_cost_usd": 0}, 400, "max_cost_usd", id="a ceiling of nothing"),
        pytest.param({"only": "failed"}, 400, "only", id="unknown key"),
        pytest.param({"cases": ["case 7"]}, 422, "case 7", id="unknown case"),
        pytest.param({"judge": "nobody"}, 422, "provider/model", id="no judge"),
    ],
)
def test_what_makes_no_sense_is_refused(
    client: APIClient, run: Run, body: dict[str, Any], status: int, expected: str
) -> None:
    for what in ("", "forecast/"):
        response = post(client, run, body, what)

        assert response.status_code == status
        assert expected in str(response.json())
    assert Run.objects.count() == 1
