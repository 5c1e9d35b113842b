"""Data sets as other tools export them, in shapes of our own making."""

import json
from typing import Any

import pytest

from evals_app.formats.importing import Imported
from tests.formats.tables.test_wanted import as_csv, errors, read

ITEM = {"input": {"question": "Where is Malta?"}, "expectedOutput": {"answer": "South of Sicily, in the sea."}}  # fmt: skip
DATASETS: dict[str, tuple[str, Any]] = {
    "Langfuse, JSON": ("items.json", [{"id": "i1", "datasetId": "d", **ITEM, "metadata": {"a": 1}, "status": "ACTIVE", "createdAt": "2026-01-01"}]),
    "Langfuse, CSV": ("items.csv", {"id": "i1", "input": json.dumps(ITEM["input"]), "expected_output": json.dumps(ITEM["expectedOutput"]), "metadata": "{}"}),
    "Opik": ("items.json", [{"id": "1", "input": "Where is Malta?", "expected_output": "South of Sicily, in the sea.", "source": "manual", "tags": ["geo"]}]),
    "Braintrust": ("data.json", {"rows": [{"row_idx": 0, "row": {"input": "Where is Malta?", "expected": "South of Sicily, in the sea.", "metadata": "{}"}}], "features": [{"name": "input"}]}),
    "Braintrust, mappings": ("data.jsonl", [{"input": {"text": "Where is Malta?"}, "expected": {"text": "South of Sicily, in the sea."}, "metadata": {"k": 1}, "tags": ["geo"]}]),
    "Inspect": ("samples.jsonl", [{"input": [{"role": "user", "content": "Where is Malta?"}], "target": "South of Sicily, in the sea.", "id": 1, "sandbox": "docker", "files": {"a": "b"}}]),
    "Ragas": ("set.jsonl", [{"user_input": "Where is Malta?", "reference": "South of Sicily, in the sea.", "retrieved_contexts": ["It is south."], "response": "An old reply"}]),
}  # fmt: skip


def imported(path: str, data: Any) -> Imported:
    if isinstance(data, dict) and path.endswith(".csv"):
        return read(path, as_csv(data))
    is_lines = path.endswith(".jsonl")
    return read(path, ("\n".join(map(json.dumps, data)) if is_lines else json.dumps(data)).encode())


@pytest.mark.parametrize(("path", "data"), DATASETS.values(), ids=DATASETS)
def test_question_and_answer_are_what_they_are_there(path: str, data: Any) -> None:
    (suite,) = imported(path, data).suites

    (turn,) = suite.spec.cases[0].turns
    assert (turn.user, turn.expected) == ("Where is Malta?", "South of Sicily, in the sea.")
    assert [check.type for check in suite.spec.assertions_for(turn)] == ["llm_judge"]


@pytest.mark.parametrize(("path", "data"), DATASETS.values(), ids=DATASETS)
def test_everything_else_is_read_or_named_as_lost(path: str, data: Any) -> None:
    found = imported(path, data)

    written = json.dumps(data)
    lost = " ".join(f"{loss.keys} {loss.message}" for loss in found.losses)
    others = {
        "metadata",
        "status",
        "createdAt",
        "source",
        "sandbox",
        "response",
        "files",
        "features",
    }
    assert [key for key in others if f'"{key}"' in written and key not in lost] == []


def test_choices_are_sent_and_the_right_one_is_checked() -> None:
    row = {"input": "Which is a fruit?", "choices": ["apple", "car"], "target": "A"}

    (turn,) = imported("samples.jsonl", [row]).suites[0].spec.cases[0].turns

    assert ("A) apple" in turn.user, turn.expected) == (True, "A) apple")


def test_variables_of_a_prompt_are_asked_which_is_the_question() -> None:
    rows = [{"country": "Malta", "correct_answer": "Valletta"}]

    (problem,) = errors("set.json", json.dumps(rows).encode())

    assert (getattr(problem, "header", ""), problem.keys) == ("country", "[0].country")


def test_a_mapping_of_checks_beside_the_answer_is_read() -> None:
    row = {"question": "hi", "response_checks": {"must_not_contain": ["lawyer"], "tone": "kind"}}

    found = imported("own.jsonl", [row])

    (turn,) = found.suites[0].spec.cases[0].turns
    assert [check.type for check in turn.assertions or []] == ["not_contains"]
    assert [(loss.keys, loss.checks) for loss in found.losses] == [("[0].response_checks.tone", 1)]


def test_a_mistake_in_a_cell_with_keys_is_at_the_cell() -> None:
    cells = {"input": '{"question": "Where?"}', "expected": '{"color": "red"}'}

    (problem,) = errors("items.csv", as_csv(cells))

    assert (problem.line, problem.column, problem.keys) == (2, 2, "B2")
