"""Data sets: rows of JSON that are read like a table."""

import json
from typing import Any

import pytest

from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent, Problem

KNOWN = ExistingObjects(agents={"desk": "model"})


def read(*rows: Any, path: str = "exam.jsonl", agent: str | None = "desk") -> Imported:
    text = "\n".join(map(json.dumps, rows))
    return read_files([SourceFile(path, text.encode())], known=KNOWN, agent=agent)


def suite(*rows: Any, **options: Any) -> Any:
    (located,) = read(*rows, **options).suites
    return located.spec.model_dump(mode="json", exclude_defaults=True)


def turns(*rows: Any, **options: Any) -> list[Any]:
    return [case["turns"][0] for case in suite(*rows, **options)["cases"]]


def errors(*rows: Any, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(*rows, **options)
    return [problem for problem in caught.value.problems if problem.level == "error"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("input", "target"),
        ("question", "answer"),
        ("prompt", "completion"),
        ("input", "output"),
        ("query", "gold"),
        ("user_input", "expectedResponse"),
        ("Input", "expected_output"),
        ("inputs", "outputs"),
        ("prompt", "ideal"),
    ],
)
def test_rows_are_cases_whatever_their_keys_are_called(asked: str, expected: str) -> None:
    spec = suite({asked: "2+2?", expected: "four"}, {asked: "3+3?", expected: "six or so"})

    assert (spec["slug"], spec["agent"]) == ("exam", "desk")
    assert spec["assertions"] == [{"type": "contains", "whole_words": True}]
    assert [case["turns"] for case in spec["cases"]] == [
        [{"user": "2+2?", "expected": "four"}],
        [{"user": "3+3?", "expected": "six or so"}],
    ]


def test_keys_may_differ_from_row_to_row() -> None:
    assert turns({"question": "a", "answer": "blue"}, {"prompt": "c", "target": "dark"}) == [
        {"user": "a", "expected": "blue"},
        {"user": "c", "expected": "dark"},
    ]


def test_messages_are_a_conversation() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": "See you"},
    ]

    imported = read({"messages": messages})

    (case,) = imported.suites[0].spec.cases
    assert [item.content for item in case.history] == ["Hi", "Hello"]
    assert (case.turns[0].user, case.turns[0].expected) == ("Bye", "See you")
    assert case.context_params == {"instructions": "Be brief."}
    assert [loss.keys for loss in imported.losses] == ["[0].messages"]


def test_messages_may_be_the_input_and_the_output() -> None:
    row = {"input": [{"role": "user", "content": "Hi"}], "output": "Hello"}

    assert turns(row) == [{"user": "Hi", "expected": "Hello"}]


def test_one_of_several_answers_is_enough() -> None:
    imported = read({"question": "3+3?", "answer": ["half a dozen", "sixfold"]})

    (turn,) = imported.suites[0].spec.cases[0].turns
    (check,) = turn.assertions or []
    assert (check.type, check.grader.summary()) == (
        "matches",
        "Reply matches “half a dozen” or “sixfold”",
    )
    assert [(warning.keys, "any one" in warning.message) for warning in imported.warnings] == [
        ("[0].answer", True)
    ]


def test_a_mapping_stands_for_the_text_in_it() -> None:
    rows = {"input": {"question": "Why?", "lang": "en"}, "expected_output": {"text": "Because"}}

    assert turns(rows) == [{"user": "Why?", "expected": "Because"}]


def test_each_row_is_a_case_even_if_names_repeat() -> None:
    paris = {"title": "Paris", "question": "a"}

    names = [case["name"] for case in suite(paris, paris, {"question": "c"})["cases"]]

    assert names == ["Paris", "Paris (2)", "c"]


def test_of_two_names_the_first_is_kept() -> None:
    imported = read({"id": 7, "title": "x", "question": "a"})

    assert imported.suites[0].spec.cases[0].name == "7"
    assert [loss.keys for loss in imported.losses] == ["[0].title"]


def test_braces_in_data_are_text() -> None:
    assert turns({"question": "What is {{x}}?"})[0]["user"] == r"What is \{{x}}?"


def test_columns_of_ours_are_known() -> None:
    row = {"user": "a", "tags": ["x", "y"], "context": ["One fact."], "expected": "b"}

    (case,) = suite(row | {"check": "exact match"})["cases"]

    assert case["tags"] == ["x", "y"]
    assert case["turns"][0]["context"] == ["One fact."]
    assert case["turns"][0]["assertions"] == [{"type": "exact_match"}]


def test_what_is_not_about_cases_is_a_loss() -> None:
    imported = read(
        {"question": "a", "answer": "b", "difficulty": 3, "metadata": {"x": 1}, "level": "low"}
    )

    assert [loss.keys for loss in imported.losses] == [
        "[0].difficulty",
        "[0].metadata",
        "[0].level",
    ]


@pytest.mark.parametrize(
    ("rows", "place", "word"),
    [
        pytest.param([{"question": "a", "expcted": "b"}], (1, "[0].expcted"), "'expected'", id="misspelt"),
        pytest.param([{"question": "a"}, 5], (2, "[1]"), "input", id="no row"),
        pytest.param([{"question": "a", "input": "b"}], (1, "[0].input"), "`question`", id="twice"),
        pytest.param([{"question": {"a": 1, "b": 2}}], (1, "[0].question"), "text", id="structure"),
        pytest.param([{"question": "a", "answer": [{}]}], (1, "[0].answer"), "text", id="no answer"),
        pytest.param([{"question": "a"}, {"answer": "b"}], (2, "[1]"), "message", id="nothing asked"),
        pytest.param([{"level": 1}], (1, "[0].level"), "question", id="no column of messages"),
        pytest.param([{"messages": [{"role": "assistant", "content": "a"}]}], (1, "[0].messages"), "asks", id="asks nothing"),
    ],
)  # fmt: skip
def test_errors_have_their_line_and_key(rows: list[Any], place: tuple[int, str], word: str) -> None:
    problem = errors(*rows)[0]

    assert (problem.line, problem.keys) == place
    assert word in problem.message


def test_without_an_agent_one_is_asked_for() -> None:
    assert [isinstance(error, NoAgent) for error in errors({"question": "a"}, agent=None)] == [True]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param([{"input": "a", "expected_output": "blue"}], id="list: DeepEval, Opik"),
        pytest.param(
            {"cases": [{"name": "x", "inputs": "a", "expected_output": "blue"}]},
            id="pydantic-evals",
        ),
    ],
)
def test_other_files_with_rows_are_read_too(data: Any) -> None:
    assert turns(data, path="set.json") == [{"user": "a", "expected": "blue"}]
    assert turns(data, path="set.yaml") == [{"user": "a", "expected": "blue"}]


def test_items_of_openai_evals_may_be_rows() -> None:
    source = SourceFile("x.jsonl", b'{"item": {"question": "a", "answer": "b", "x": 1}}')

    imported = read_files([source], known=KNOWN, agent="desk", dialect="table")

    assert imported.suites[0].spec.cases[0].turns[0].user == "a"
    assert [loss.keys for loss in imported.losses] == ["[0].item.x"]


def test_what_is_next_to_the_rows_is_a_loss() -> None:
    data = {"cases": [{"inputs": "a"}], "owners": ["Ann"]}

    assert "owners" in {loss.keys for loss in read(data, path="set.json").losses}
