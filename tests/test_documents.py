import json
from typing import Any

import pytest

from evals_app.models import Execution
from evals_app.reports.answers.run_json import json_pieces
from evals_app.runs.reading import run_readers
from evals_app.runs.reading.run_readers import (
    case_results,
    execution_details,
    run_details,
    run_document,
    runs_document,
)
from tests.makers import make_execution, make_grade, make_run, make_trial

pytestmark = pytest.mark.django_db


def whole(document: dict[str, Any]) -> Any:
    """Read what is written of a document."""
    return json.loads("".join(json_pieces(document)))


def test_a_document_has_every_execution_in_order_with_its_grades() -> None:
    make_run(["failed"])  # another one
    run = make_run({"B": ["passed", "failed"], "A": ["errored"]})
    make_execution(
        run, "C", trial=make_trial(reply="Last."), grades=[make_grade(), make_grade(None)]
    )

    answer = whole(run_document(run))

    assert answer["schema_version"] == 1
    assert answer["run"] == run_details(run.pk)
    assert [(row["case"], row["trial"]) for row in answer["executions"]] == [
        *(("B", 1), ("B", 2), ("A", 1), ("C", 1))
    ]
    assert answer["executions"][3]["messages"][-1]["content"] == "Last."
    assert [len(row["grades"]) for row in answer["executions"]] == [0, 0, 0, 2]


def test_a_large_run_is_read_in_chunks(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    run = make_run(["passed"] * 5)
    monkeypatch.setattr(run_readers, "CHUNK", 2)

    # The run, its cases, their tokens, the ids, and for each of three chunks rows, grades, reviews and transcripts.
    with django_assert_num_queries(4 + 3 * 4):
        answer = whole(run_document(run))

    assert [row["case"] for row in answer["executions"]] == [f"case {n}" for n in range(1, 6)]


def test_the_tokens_of_a_case_are_those_of_its_trials_and_unknown_if_one_is() -> None:
    run = make_run({"B": ["passed", "failed"], "A": ["passed", "not_run"], "C": ["not_run"]})
    Execution.objects.filter(run=run).update(judge_prompt_tokens=None)
    Execution.objects.filter(run=run, verdict="passed").update(judge_prompt_tokens=40)

    cases = {case["name"]: case["tokens"] for case in case_results(run.pk)}

    assert cases["B"]["agent"] == {"prompt": 240, "response": 60}
    assert cases["B"]["judge"]["prompt"] is None
    assert (cases["A"]["agent"]["prompt"], cases["A"]["judge"]["prompt"]) == (120, 40)
    assert cases["C"]["agent"] == {"prompt": None, "response": None}


def test_several_runs_share_a_document() -> None:
    runs = [make_run(["passed"]), make_run(["failed"])]

    answer = whole(runs_document(runs))

    assert [row["run"]["verdict"] for row in answer["runs"]] == ["passed", "failed"]
    assert (answer["total"]["runs"], answer["total"]["counts"]["total"]) == (2, 2)


def test_what_does_not_exist_is_none() -> None:
    assert run_details(1) is None
    assert execution_details(1) is None
