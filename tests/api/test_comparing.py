"""Comparisons of runs over REST."""

from typing import Any, get_args

import pytest
from openapi_schema_validator import OAS31Validator

from evals_app.engine.statistics.comparison import MAX_RUNS, ChangeKind
from evals_app.models import Run
from evals_app.reports.answers.comparison_answers import CaseChange, ChangeCounts
from tests.api.clients import make_client
from tests.makers import make_run
from tests.runs.settlements import two_runs_of_a_case_that_always_fails
from tests.runs.suites import finished, make_agent, make_suite

pytestmark = pytest.mark.django_db

PATH = "/api/runs/compare/"


def compare(*runs: Run | int | str, **query: Any) -> Any:
    ids = [run.pk if isinstance(run, Run) else run for run in runs]
    return make_client("read").get(PATH, {"run": ids, **query})


def two_runs() -> tuple[Run, Run]:
    suite = make_suite(["hello", "hello there", "hello again"])
    rules = [{"when": "there", "reply": "Go away."}, {"reply": "hello"}]
    return finished(suite), finished(suite, agent=make_agent("rude", rules=rules))


def test_two_runs_are_compared_with_words_numbers_and_cases(schema: Any) -> None:
    base, head = two_runs()

    answer = compare(base, head).json()

    assert [
        (run["id"], run["agent"], run["pass_rate"], run["cases"], run["is_scripted"])
        for run in answer["runs"]
    ] == [
        (base.pk, "echo", 1.0, {"total": 3, "passed": 3, "failed": 0}, True),
        (head.pk, "rude", pytest.approx(2 / 3), {"total": 3, "passed": 2, "failed": 1}, True),
    ]
    (against,) = answer["heads"]
    assert against["run"] == head.pk
    assert (against["verdict"], against["is_worse"]) == ("no_clear_difference", True)
    assert against["test"] == {
        "cases": 3,
        "differing": 1,
        "fell": 1,
        "rose": 0,
        "mean": pytest.approx(-1 / 3),
        "p": pytest.approx(1.0),
    }
    assert (against["counts"]["worse"], against["counts"]["same"]) == (1, 2)
    assert against["counts"] == answer["counts"]
    assert [(part["part"], part["is_yardstick"]) for part in against["differences"]] == [
        ("agent", False)
    ]
    assert (answer["count"], answer["next"], answer["previous"]) == (3, None, None)
    first = answer["cases"][0]
    assert (first["name"], first["change"], first["changes"]) == ("case 2", "worse", ["worse"])
    assert [result["verdict"] for result in first["results"]] == ["passed", "failed"]
    assert first["score_differences"] == first["pass_rate_differences"] == [-1.0]
    described = schema["paths"][PATH]["get"]["responses"]["200"]["content"]["application/json"]
    whole = {**described["schema"], "components": schema["components"]}
    errors = [f"{e.json_path}: {e.message}" for e in OAS31Validator(whole).iter_errors(answer)]
    assert errors == []


def test_the_words_of_changes_are_those_of_the_engine() -> None:
    assert list(get_args(CaseChange)) == list(ChangeCounts.KEYS) == [*ChangeKind]


def test_a_case_that_a_run_lacks_has_no_result_there() -> None:
    base, head = make_run({"A": ["passed"], "B": ["passed"]}), make_run({"B": ["passed"]})
    third = make_run({"B": ["passed"], "C": ["not_run"]}, stop_reason="deadline")

    answer = compare(base, head, third).json()

    shown = {
        case["name"]: (
            case["changes"],
            [result and result["verdict"] for result in case["results"]],
        )
        for case in answer["cases"]
    }
    assert shown == {
        "A": (["missing", "missing"], ["passed", None, None]),
        "B": (["same", "same"], ["passed", "passed", "passed"]),
        "C": ([None, "new"], [None, None, None]),
    }
    first, second = answer["cases"][0]["results"], answer["cases"][1]["results"]
    assert (first[0], first[1], second[1], second[2]) == (None,) * 4
    assert first[2]["verdict"] is None
    assert answer["runs"][2]["rubric_items"] is answer["runs"][2]["judge_agreement"] is None


def test_cases_are_filtered_and_come_page_by_page() -> None:
    names = [f"Case {number:02}" for number in range(30)]
    base = make_run({name: ["passed"] for name in names})
    head = make_run({name: ["failed" if name < "Case 20" else "passed"] for name in names})

    first = compare(base, head, change="worse", case="case 1", page_size=6).json()
    second = make_client("read").get(first["next"]).json()

    assert [case["name"] for case in first["cases"]] == names[10:16]
    assert [case["name"] for case in second["cases"]] == names[16:20]
    assert (first["count"], first["previous"], second["next"]) == (10, None, None)
    assert first["counts"]["worse"] == 20
    assert compare(base, head, change="better").json()["cases"] == []
    only = compare(base, head, fields="counts,count").json()
    assert list(only) == ["counts", "count"]


@pytest.mark.parametrize(
    ("runs", "query", "keys"),
    [
        pytest.param([], {}, "run", id="none"),
        pytest.param(["ended"], {}, "run", id="one"),
        pytest.param(["ended", "ended"], {}, "run", id="twice the same"),
        pytest.param(["ended", 10**9], {}, "run", id="unknown"),
        pytest.param(["ended", "seven"], {}, "run", id="not a number"),
        pytest.param(["ended", "-1"], {}, "run", id="negative"),
        pytest.param(["ended", str(2**63)], {}, "run", id="larger than any"),
        pytest.param(["ended", "open"], {}, "run", id="has not ended"),
        pytest.param(list(range(1, MAX_RUNS + 2)), {}, "run", id="too many"),
        pytest.param(["ended", "other"], {"change": "worst"}, "change", id="unknown change"),
        pytest.param(["ended", "other"], {"page_size": "0"}, "page_size", id="page size"),
        pytest.param(["ended", "other"], {"runs": "1"}, "runs", id="unknown parameter"),
        pytest.param(["ended", "other"], {"fields": "case"}, "fields", id="unknown field"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    runs: list[int | str], query: dict[str, str], keys: str
) -> None:
    known: dict[int | str, int] = {
        "ended": make_run(["passed"]).pk,
        "other": make_run(["passed"]).pk,
        "open": make_run(["running"]).pk,
    }

    response = compare(*(known.get(run, run) for run in runs), **query)

    assert response.status_code == 400
    assert [error["keys"] for error in response.json()["errors"]] == [keys]


@pytest.mark.parametrize("page", ["0", "9", "x", "-1", "9" * 30])
def test_a_page_that_does_not_exist_is_not_found(page: str) -> None:
    response = compare(make_run(["passed"]), make_run(["failed"]), page=page)

    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/problem+json"


def test_a_comparison_needs_the_right_to_see_runs() -> None:
    runs = [make_run(["passed"]).pk, make_run(["failed"]).pk]

    for permissions, status in (([], 403), (["evals_app.view_run"], 200)):
        client = make_client("read", permissions)
        assert client.get(PATH, {"run": runs}).status_code == status
    assert make_client("read").post(PATH).status_code == 405


def test_values_of_settings_need_the_rights_to_see_them_elsewhere() -> None:
    runs = [run.pk for run in two_runs()]

    for permissions, has_values in ((None, True), (["evals_app.view_run"], False)):
        answer = make_client("read", permissions).get(PATH, {"run": runs}).json()
        (head,) = answer["heads"]
        assert head["differences"]
        for part in head["differences"]:
            assert bool(part["values"]) is has_values
            assert bool(part["more"]) is not has_values


def test_checks_that_turned_are_listed_for_who_may_see_them() -> None:
    base, head = two_runs_of_a_case_that_always_fails()

    answer = compare(base, head, change="check_worse").json()

    assert answer["heads"][0]["is_worse"]
    assert answer["counts"]["check_worse"] == answer["count"] == 1
    (case,) = answer["cases"]
    assert [(check["run"], check["turn"], check["is_worse"]) for check in case["checks"]] == [
        (head.pk, 1, True),
        (head.pk, 1, False),
    ]
    limited = make_client("read", ["evals_app.view_run"])
    (case,) = limited.get(PATH, {"run": [base.pk, head.pk]}).json()["cases"]
    assert (case["change"], case["checks"]) == ("check_worse", [])
