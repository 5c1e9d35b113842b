"""Evaluation documents of Microsoft 365 Copilot."""

import json
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError

KNOWN = ExistingObjects(agents={"desk": "model"})
ASK = {"prompt": "When is the office open?", "expected_response": "From 8 to 16."}


def read(*items: Any, agent: str | None = "desk", **top: Any) -> Imported:
    data = {"schemaVersion": "1.4.0", "items": items, **top}
    source = SourceFile("evals/office.json", json.dumps(data).encode())
    return read_files([source], agent=agent, known=KNOWN)


def item(evaluators: Any, **more: Any) -> Imported:
    return read({**ASK, "evaluators": evaluators, "evaluators_mode": "replace", **more})


def checks(imported: Imported, turn: int = 0) -> list[dict[str, Any]]:
    written = imported.suites[0].spec.cases[0].turns[turn].assertions or []
    return [check.model_dump() for check in written]


def thresholds(imported: Imported, turn: int = 0) -> list[float]:
    return [check["threshold"] for check in checks(imported, turn)]


def test_a_document_is_a_suite_with_the_usual_evaluators() -> None:
    imported = read(
        {**ASK, "context": "The office opens at 8.", "tags": ["hours"], "testId": "H-1"},
        metadata={"name": "Office", "description": "Asks", "tags": ["smoke"]},
    )

    spec = imported.suites[0].spec
    assert (spec.suite, spec.slug, spec.description) == ("Office", "office", "Asks")
    assert spec.tags == ["smoke"]
    (case,) = spec.cases
    (turn,) = case.turns
    assert (case.name, case.tags, case.description) == (ASK["prompt"], ["hours"], "testId: H-1")
    assert (turn.user, turn.expected) == (ASK["prompt"], ASK["expected_response"])
    assert turn.context == ["The office opens at 8."]
    judged = [(check["scale"], check["threshold"]) for check in checks(imported)]
    assert judged == [("1-5", 0.5)] * 2
    (guess,) = imported.guesses  # nothing compares with the expected response
    assert guess.keys == "items[0].expected_response"
    assert imported.losses == []


def test_own_evaluators_extend_or_replace_those_of_the_document() -> None:
    own = {"evaluators": {"Similarity": {"threshold": 4}, "Coherence": {"threshold": 5}}}
    turns = [{**ASK, **own}, {**ASK, **own, "evaluators_mode": "replace"}, {**ASK}]

    imported = read(
        {"name": "Hours", "turns": turns}, default_evaluators={"Relevance": {}, "Coherence": {}}
    )

    assert imported.suites[0].spec.cases[0].name == "Hours"
    assert thresholds(imported, 0) == [0.5, 1, 0.75]
    assert thresholds(imported, 1) == [0.75, 1]
    assert thresholds(imported, 2) == [0.5, 0.5]


@pytest.mark.parametrize("written", [["Similarity"], [{"Similarity": {}}], {"Similarity": None}])
def test_evaluators_may_be_a_list(written: Any) -> None:
    assert thresholds(item(written)) == [0.5]


def test_texts_are_compared_as_the_options_say() -> None:
    loose = item({"ExactMatch": {}, "PartialMatch": {"threshold": 0.8}})
    strict = item({"ExactMatch": {"case_sensitive": True}})

    exact, partial = checks(loose)
    assert (exact["type"], exact["case_insensitive"]) == ("exact_match", True)
    assert (partial["type"], partial["threshold"]) == ("llm_judge", 0.8)
    assert not checks(strict)[0]["case_insensitive"]


def test_tools_that_are_to_be_called_are_checks() -> None:
    imported = item(
        {"ToolCallSelection": {"calls": [{"tool": "find"}, {"tool": "book", "arguments": {}}]}}
    )

    values = [(check["type"], check["value"]) for check in checks(imported)]
    assert values == [("tool_called", "find"), ("tool_called", "book")]
    (loss,) = imported.losses
    assert (loss.keys.endswith("arguments"), loss.checks) == (True, 1)


@pytest.mark.parametrize("name", ["Citations", "RetrievalQuery", "RetrievalResult", "our_own"])
def test_evaluators_without_an_equal_are_lost_checks(name: str) -> None:
    (loss,) = item({name: {}}).losses

    assert (name in loss.message, loss.checks) == (True, 1)


@pytest.mark.parametrize("name", ["Similarity", "ExactMatch", "PartialMatch"])
def test_a_comparison_with_nothing_is_a_lost_check(name: str) -> None:
    (loss,) = item({name: {}}, expected_response="").losses

    assert (loss.keys, loss.checks) == (f"items[0].evaluators.{name}", 1)


def test_results_of_an_earlier_run_are_left_out_with_their_count() -> None:
    old = {"response": "At noon.", "scores": {"relevance": {"score": 5}}, "status": "pass"}

    imported = read(*({**ASK, **old, "prompt": f"Question {n}"} for n in range(5)))

    assert {loss.keys.rpartition(".")[2] for loss in imported.losses} == {*old}
    assert all("5 places" in loss.message for loss in imported.losses)


@pytest.mark.parametrize(
    ("entry", "keys"),
    [
        pytest.param({"prompt": ""}, "items[0].prompt", id="blank"),
        pytest.param({"turns": []}, "items[0].turns", id="no turns"),
        pytest.param({"turns": [{"promt": "x"}]}, "items[0].turns[0]", id="misspelt"),
        pytest.param({**ASK, "evaluators": {"Similarity": {"threshold": 9}}}, "items[0].evaluators.Similarity.threshold", id="grade"),
        pytest.param({**ASK, "evaluators": {"Similarity": {"treshold": 3}}}, "items[0].evaluators.Similarity.treshold", id="option"),
        pytest.param({**ASK, "evaluators": 5}, "items[0].evaluators", id="number"),
        pytest.param({**ASK, "evaluators": [5]}, "items[0].evaluators[0]", id="number in a list"),
        pytest.param({**ASK, "evaluators_mode": "merge"}, "items[0].evaluators_mode", id="mode"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_with_its_place(entry: Any, keys: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(entry)

    assert keys in {problem.keys for problem in caught.value.problems}


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        pytest.param({"schemaVersion": "1.0.0", "items": [ASK]}, "copilot-studio", id="document"),
        pytest.param({"items": [ASK]}, "copilot-studio", id="without a version"),
        pytest.param({"items": [{"prompt": "x", "answer": "y"}]}, "table", id="rows"),
        pytest.param({"prompts": ["x"], "tests": [{"vars": {}}]}, "promptfoo", id="promptfoo"),
        pytest.param({"evals": [{"prompt": "x", "assertions": []}]}, "agent-skills", id="skills"),
    ],
)
def test_a_document_is_known_by_its_keys(data: Any, dialect: str) -> None:
    assert foreign_dialect("x.json", data) == dialect
