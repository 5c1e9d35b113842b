"""Datasets of pydantic-evals."""

import json
from typing import Any

import pytest
import yaml

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from tests.formats.pydantic_evals.datasets import DATASET

KNOWN = ExistingObjects(agents={"desk": "http"})


def read(data: object, path: str = "shop.yaml", agent: str | None = "desk") -> Imported:
    text = json.dumps(data) if path.endswith(".json") else yaml.safe_dump(data, sort_keys=False)
    return read_files([SourceFile(path, text.encode())], known=KNOWN, agent=agent)


def suite(data: object, path: str = "shop.yaml") -> Any:
    (found,) = read(data, path).suites
    return found.spec.model_dump(mode="json", exclude_defaults=True)


def checks(*evaluators: object, expected: object = "4") -> Any:
    """Return the checks of a case that has these evaluators."""
    case = {"inputs": "2+2?", "expected_output": expected, "evaluators": list(evaluators)}
    return suite({"cases": [case]})["cases"][0]["turns"][0].get("assertions")


@pytest.mark.parametrize("path", ["shop.yaml", "shop.json"])
def test_a_dataset_is_a_suite_whose_cases_have_shared_and_own_checks(path: str) -> None:
    assert suite(DATASET, path) == {
        "suite": "opening hours",
        "slug": "opening-hours",
        "agent": "desk",
        "assertions": [{"type": "latency", "max_ms": 2500}],
        "cases": [
            {
                "name": "sunday",
                "tags": ["level=easy", "seen=2"],
                "context_params": {"city": "Graz", "days": "[1, 2]"},
                "turns": [
                    {
                        "user": "Open on Sunday?",
                        "expected": '{"open": false}',
                        "inherit": True,
                        "assertions": [
                            {"type": "json_schema", "schema": {"const": {"open": False}}},
                            {"type": "llm_judge", "criteria": "Names the city"},
                        ],
                    }
                ],
            },
            {
                "name": "Open {today}?",
                "turns": [
                    {
                        "user": "Open {today}?",
                        "expected": "Yes",
                        "inherit": True,
                        "assertions": [{"type": "exact_match", "value": "Yes"}],
                    }
                ],
            },
            {"name": "And tomorrow?", "turns": [{"user": "And tomorrow?"}]},
        ],
    }
    assert [guess.keys for guess in read(DATASET, path).guesses] == [
        "cases[0].inputs.city",
        "cases[0].inputs.days",
    ]


@pytest.mark.parametrize(
    ("evaluator", "check"),
    [
        pytest.param(
            {"Contains": "a"}, {"type": "contains", "value": "a", "case_sensitive": True}, id="text"
        ),
        pytest.param(
            {"Contains": {"value": "a", "case_sensitive": False, "evaluation_name": "n"}},
            {"type": "contains", "value": "a", "name": "n"},
            id="options",
        ),
        pytest.param(
            {"name": "Contains", "arguments": {"value": 5, "as_strings": True}},
            {"type": "contains", "value": "5", "case_sensitive": True},
            id="long form",
        ),
        pytest.param(
            {"name": "Equals", "arguments": ["a"]}, {"type": "exact_match", "value": "a"}, id="list"
        ),
        pytest.param({"Equals": 5}, {"type": "json_schema", "schema": {"const": 5}}, id="number"),
        pytest.param(
            {"Contains": {"value": {"a b": 1}}},
            {"type": "json_path", "path": "$['a b']", "value": 1},
            id="keys",
        ),
        pytest.param({"MaxDuration": "PT1M"}, {"type": "latency", "max_ms": 60000}, id="duration"),
        pytest.param(
            {
                "LLMJudge": {
                    "rubric": "r",
                    "model": "openai:gpt-5",
                    "assertion": {"evaluation_name": "n"},
                }
            },
            {"type": "llm_judge", "criteria": "r", "name": "n", "model": "openai/gpt-5"},
            id="judge",
        ),
        pytest.param(
            {"LLMJudge": {"rubric": "r", "score": {"evaluation_name": "s"}, "assertion": False}},
            {"type": "llm_judge", "criteria": "r", "name": "s", "scale": "0-1"},
            id="judge that only scores",
        ),
    ],
)
def test_an_evaluator_is_a_check(evaluator: object, check: object) -> None:
    assert checks(evaluator) == [check]


@pytest.mark.parametrize(
    ("evaluator", "word"),
    [
        pytest.param({"IsInstance": "str"}, "json_schema", id="type"),
        pytest.param(
            {"HasMatchingSpan": {"query": {"name_contains": "x"}}}, "tool_called", id="span"
        ),
        pytest.param("PoliteTone", "PoliteTone", id="own class"),
        pytest.param({"PoliteTone": {"strict": True}}, "PoliteTone", id="own class with options"),
        pytest.param({"Contains": ["a"]}, "text", id="list"),
    ],
)
def test_an_evaluator_without_an_equal_is_a_lost_check(evaluator: object, word: str) -> None:
    imported = read({"cases": [{"inputs": "x", "evaluators": [evaluator]}]})

    assert [(loss.keys, loss.checks) for loss in imported.losses] == [("cases[0].evaluators[0]", 1)]
    assert word in imported.losses[0].message


def test_what_many_cases_lose_is_named_once_with_its_count() -> None:
    case = {"inputs": "x", "evaluators": ["Polite", "EqualsExpected"], "metadata": {"a": {"b": 1}}}
    cases = [{**case, "name": str(n), "expected_output": "y"} for n in range(7)]

    losses = read({"cases": cases, "report_evaluators": ["Matrix"]}).losses

    assert sorted((loss.checks, "7 places" in loss.message) for loss in losses) == [
        (0, True),
        (1, False),
        (7, True),
    ]


def test_without_evaluators_an_expected_value_that_is_data_is_compared() -> None:
    data = {"cases": [{"inputs": {"a": 1, "b": "c"}, "expected_output": {"d": 2}}]}

    imported = read(data)

    (turn,) = suite(data)["cases"][0]["turns"]
    assert turn["user"] == '{"a": 1, "b": "c"}'
    assert turn["assertions"] == [{"type": "json_schema", "schema": {"const": {"d": 2}}}]
    assert [guess.keys for guess in imported.guesses] == [
        "cases[0].inputs",
        "cases[0].expected_output",
    ]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        pytest.param(
            {"cases": [{"inputs": "x", "evaluators": [{"Contains": {"valu": 1}}]}]},
            "Contains.valu",
            id="option",
        ),
        pytest.param(
            {"cases": [{"inputs": "x", "evaluators": []}, {"input": "x"}]},
            "cases[1]",
            id="no inputs",
        ),
        pytest.param({"cases": [{"inputs": "", "evaluators": []}]}, "inputs", id="nothing asked"),
        pytest.param(
            {"cases": [{"inputs": "x"}], "evaluators": [5]}, "evaluators[0]", id="no name"
        ),
        pytest.param(
            {"cases": [{"inputs": "x"}], "evaluators": [{"MaxDuration": "long"}]},
            "evaluators[0]",
            id="time",
        ),
        pytest.param(
            {"cases": [{"inputs": "x"}], "evaluators": [], "evaluator": 1},
            "evaluator",
            id="misspelt",
        ),
    ],
)
def test_what_cannot_be_read_is_an_error_in_its_place(data: object, place: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(data)

    errors = [problem for problem in caught.value.problems if problem.level == "error"]
    assert any(place in problem.keys and problem.line for problem in errors)


def test_an_agent_has_to_be_chosen() -> None:
    with pytest.raises(FormatError) as caught:
        read(DATASET, agent=None)

    errors = [problem for problem in caught.value.problems if problem.level == "error"]
    assert ["--agent" in error.message for error in errors] == [True]


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        pytest.param({"cases": [{"inputs": "x"}], "evaluators": []}, "pydantic-evals", id="shared"),
        pytest.param({"cases": [{"inputs": "x", "evaluators": []}]}, "pydantic-evals", id="own"),
        pytest.param(
            {"cases": [{"inputs": 1, "expected_output": {}}]}, "pydantic-evals", id="data"
        ),
        pytest.param({"cases": [{"inputs": "x", "expected_output": "y"}]}, "table", id="texts"),
        pytest.param({"cases": [{"input": "x"}], "evaluators": []}, "table", id="another key"),
        pytest.param({"slug": "x", "cases": [{"turns": []}], "evaluators": []}, None, id="ours"),
    ],
)
def test_a_dataset_is_known_by_keys_that_only_it_has(data: object, dialect: str | None) -> None:
    assert foreign_dialect("a.yaml", data) == dialect
