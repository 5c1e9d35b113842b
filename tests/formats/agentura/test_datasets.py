import json
from typing import Any

import pytest

from evals_app.formats.agentura import datasets
from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from tests.formats.agentura.projects import (
    ACCURACY,
    CONVERSATION,
    DATASETS,
    KNOWN,
    QUALITY,
    TALK,
    TOOL_ROUTING,
    problems,
    read,
    suite,
    written,
)


def test_tool_use_has_a_check_for_each_row() -> None:
    beside = {
        "evals/tools.jsonl": """\
{"input": "book", "expected_tool": "search_flights", "expected_args": {"destination": "Paris"}}
{"input": "calculate", "expected_tool": "calculator", "expected_args": {}, "expected_output": "51"}
{"input": "help", "expected_tool": "ask"}
"""
    }

    data = written(TOOL_ROUTING, beside)

    common = {"type": "tool_use", "threshold": 0.9}
    assert [case["turns"][0]["assertions"] for case in data["cases"]] == [
        [{**common, "tool": "search_flights", "args": {"destination": "Paris"}}],
        [{**common, "tool": "calculator", "args": {}, "expected_output": "51"}],
        [{**common, "tool": "ask"}],
    ]
    assert data["gates"] == {"min_score": 0.9}
    assert "assertions" not in data


STORAGE = {
    "user": "I am on the Pro plan, what storage do I get?",
    "expected": "Pro plan includes 100GB storage",
}
SEATS = {
    "user": "Can I upgrade individual team members?",
    "expected": "Yes, you can manage seats in Settings > Team",
}
UNSCORED: dict[str, Any] = {"assertions": []}


@pytest.mark.parametrize(
    ("eval_turns", "turns"),
    [
        ([2, 4], [STORAGE, SEATS]),
        ([], [STORAGE | UNSCORED, SEATS]),
        (None, [STORAGE | UNSCORED, SEATS]),
        ([2], [STORAGE, SEATS | UNSCORED]),
    ],
)
def test_turns_of_a_conversation_are_scored_where_eval_turns_says(
    eval_turns: list[int] | None, turns: list[dict[str, Any]]
) -> None:
    row = json.loads(DATASETS["evals/conversation.jsonl"]) | {"eval_turns": eval_turns}

    data = written(CONVERSATION, {"evals/conversation.jsonl": json.dumps(row)})

    assert data["cases"] == [{"name": "row-0001", "turns": turns}]


def test_conversations_and_questions_are_in_one_dataset() -> None:
    rows = DATASETS["evals/accuracy.jsonl"] + DATASETS["evals/conversation.jsonl"]

    spec = suite(CONVERSATION, {"evals/conversation.jsonl": rows})

    assert [len(case.turns) for case in spec.cases] == [1, 1, 2]


def test_a_judge_scores_conversations_without_more_ado() -> None:
    spec = suite(QUALITY, {"evals/quality.jsonl": DATASETS["evals/conversation.jsonl"]})

    assert [turn.assertions for turn in spec.cases[0].turns] == [None, None]


def test_rows_are_known_by_their_id_and_bring_facts_for_the_judge() -> None:
    rows = """\
{"id": "fees", "input": "What does it cost?", "context": "It is free."}
{"input": "And later?"}
{"id": "fees", "input": "Really?"}
"""

    cases = suite(QUALITY, {"evals/quality.jsonl": rows}).cases

    assert [case.name for case in cases] == ["fees", "row-0002", "fees (2)"]
    assert [case.turns[0].context for case in cases] == [["It is free."], [], []]


def test_a_dataset_of_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_ROWS", 2)
    rows = '{"input": "what is 2+2", "expected": "4"}\n' * 3

    errors = problems(ACCURACY, {"evals/accuracy.jsonl": rows})

    assert ["at most 2 rows" in item for item in map(str, errors)] == [True]


def test_a_missing_dataset_is_looked_for_among_the_files_of_the_import() -> None:
    sources = [
        SourceFile("agentura.yaml", ACCURACY.replace("accuracy.jsonl", "acuracy.yaml").encode()),
        SourceFile("evals/accuracy.yaml", b"turns: [{content: x}]\nname: x\n"),
    ]

    with pytest.raises(FormatError, match=r"Did you mean 'evals/accuracy.yaml'\?"):
        read_files(sources, known=KNOWN, agent="support")


SUITES = {"accuracy": ACCURACY, "tools": TOOL_ROUTING}
SYSTEM = {"role": "system", "content": "Be kind."}
SAID = {"role": "assistant", "content": "Hi"}
CALL = {"input": "x", "expected_tool": "t"}


@pytest.mark.parametrize(
    ("dataset", "row", "keys", "message"),
    [
        ("accuracy", 3, "[1]", "keys"),
        ("accuracy", {}, "[1]", "`input`"),
        ("accuracy", {"input": "x"}, "[1]", "`expected`"),
        ("accuracy", {"input": "x", "Expected": "y"}, "[1]", "`Expected`"),
        ("accuracy", {"input": "x", "expected": 4}, "[1].expected", "number"),
        ("accuracy", {"input": "x", "expected": "y", "conversation": TALK}, "[1]", "both"),
        ("accuracy", {"conversation": TALK, "eval_turns": 2}, "[1].eval_turns", "number"),
        ("tools", {"input": "x"}, "[1]", "`expected_tool`"),
        ("tools", {"input": "x", "expectedTool": "t"}, "[1]", "`expectedTool`"),
        ("tools", CALL | {"expected_args": [1]}, "[1].expected_args", "found"),
        ("tools", CALL | {"expected_output": ""}, "[1].expected_output", "empty"),
        ("tools", {"conversation": TALK}, "[1].conversation", "types"),
    ],
)
def test_what_is_wrong_with_a_row_is_reported_at_its_line(
    dataset: str, row: Any, keys: str, message: str
) -> None:
    file = f"evals/{dataset}.jsonl"
    sound = '{"input": "x", "expected": "y", "expected_tool": "t"}\n'

    (problem,) = problems(SUITES[dataset], {file: sound + json.dumps(row)})

    assert (problem.path, problem.line, problem.keys) == (file, 2, keys)
    assert message in problem.message


@pytest.mark.parametrize(
    ("row", "keys", "message"),
    [
        ({"conversation": []}, "conversation", "conversation"),
        ({"conversation": [*TALK, TALK[0]]}, "conversation", "conversation"),
        ({"conversation": [TALK[0], TALK[0]]}, "conversation[1].role", "assistant"),
        ({"conversation": [SYSTEM, *TALK]}, "conversation[0].role", "agent"),
        ({"conversation": [TALK[0], SAID]}, "conversation[1]", "`content`"),
        ({"conversation": TALK, "expected": "Hi"}, "expected", "message"),
        ({"conversation": TALK, "eval_turns": [1]}, "eval_turns[0]", "assistant"),
        ({"conversation": TALK, "eval_turns": [2, 4]}, "eval_turns[1]", "here 2"),
    ],
)
def test_what_is_wrong_with_a_conversation_is_reported_at_its_message(
    row: Any, keys: str, message: str
) -> None:
    (problem,) = problems(CONVERSATION, {"evals/conversation.jsonl": json.dumps(row)})

    assert problem.keys == f"[0].{keys}"
    assert message in problem.message


def test_an_empty_text_that_is_expected_exactly_is_warned_about() -> None:
    config = "- {name: a, type: golden_dataset, dataset: evals/accuracy.jsonl}\n"

    imported = read(config, {"evals/accuracy.jsonl": '{"input": "x", "expected": ""}\n'})

    assert [warning.keys for warning in imported.warnings] == ["[0].expected"]


@pytest.mark.parametrize(
    ("row", "line", "column", "message"),
    [
        pytest.param('{"input": "x", "expected": }', 2, 28, "value", id="no value"),
        pytest.param("{'input': 'x'}", 2, 2, "double", id="single quotes"),
        # The comma, or what stands behind it: releases of Python differ.
        pytest.param('{"input": "x",}', 2, None, "comma", id="comma at the end"),
        pytest.param('{"input": "x"', 3, 1, "line", id="not closed"),
        pytest.param('{"input": "x}', 2, 14, "line", id="open text"),
        pytest.param('{"input" "x"}', 2, 10, "colon", id="no colon"),
        pytest.param(r'{"input": "C:\Users"}', 2, 14, "backslash", id="path"),
        pytest.param("# a remark", 2, 1, "row", id="remark"),
    ],
)
def test_what_is_no_json_is_reported_in_plain_words(
    row: str, line: int, column: int | None, message: str
) -> None:
    sound = '{"input": "x", "expected": "y"}\n'

    (problem,) = problems(ACCURACY, {"evals/accuracy.jsonl": f"{sound}{row}\n{sound}"})

    assert problem.line == line
    assert column in (None, problem.column)
    assert message in problem.message


@pytest.mark.parametrize(
    ("dataset", "lost"), [("tools", "expected"), ("accuracy", "expected_tool")]
)
def test_what_a_type_does_not_look_at_is_reported_once(dataset: str, lost: str) -> None:
    path, row = f"evals/{dataset}.jsonl", '{"input": "x", "expected": "y", "expected_tool": "t"}\n'

    imported = read(SUITES[dataset], {path: row * 3})

    assert [(loss.path, loss.keys) for loss in imported.losses] == [(path, f"[0].{lost}")]


def test_an_error_in_one_row_hides_none_in_another_and_none_in_the_suite() -> None:
    config = QUALITY + "  judge_model: nobody/x\n" + ACCURACY
    beside = {
        "evals/quality.jsonl": '{"input": 3}\n',
        "evals/accuracy.jsonl": '{"input": "x"}\n{"input": 3, "expected": "y"}\n{"input": "z"}\n',
    }

    errors = problems(config, beside)

    assert [(item.line, item.keys) for item in errors] == [
        (6, "[0].judge_model"),
        (1, "[0]"),
        (2, "[1].input"),
        (3, "[2]"),
        (1, "[0].input"),
    ]


@pytest.mark.parametrize(("row", "line"), [('{"input": "x"}', 1), ('{"input": "x"', 2)])
def test_an_error_in_a_dataset_is_reported_once_however_many_use_it(row: str, line: int) -> None:
    config = ACCURACY + ACCURACY.replace("accuracy\n", "again\n", 1)

    (problem,) = problems(config, {"evals/accuracy.jsonl": f"{row}\n"})

    assert (problem.path, problem.line) == ("evals/accuracy.jsonl", line)


def test_a_list_of_rows_is_refused_with_how_rows_are_written() -> None:
    rows = '[\n{"input": "x", "expected": "y"},\n{"input": "x", "expected": "y"}\n]\n'

    (problem,) = problems(ACCURACY, {"evals/accuracy.jsonl": rows})

    assert "line" in problem.message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(r'"a\u0000b"', "NUL", id="nothing"),
        pytest.param(r'"\ud83d"', "surrogate", id="half a character"),
        pytest.param(r'{"\ud83d": 1}', "surrogate", id="in a key"),
        pytest.param('[{"a": 1e999}]', "too large", id="infinity"),
        pytest.param("1" * 1001, "1,000", id="long number"),
        pytest.param("1" * 5000, "1,000", id="number that is not read at all"),
    ],
)
def test_what_no_database_stores_is_refused_at_its_line(value: str, message: str) -> None:
    row = f'{{"input": "x", "expected_tool": "t", "expected_args": {{"a": {value}}}}}\n'

    (problem,) = problems(TOOL_ROUTING, {"evals/tools.jsonl": f"\n{row}"})

    assert problem.line == 2
    assert message in problem.message


def test_a_file_that_is_something_else_is_given_up_after_some_lines() -> None:
    errors = problems(ACCURACY, {"evals/accuracy.jsonl": "no JSON\n" * 10_000})

    assert len(errors) == 21
    assert "was read" in errors[-1].message


def test_many_rows_of_one_id_are_reported_apart_without_delay() -> None:
    row = '{"id": "greeting", "input": "x", "expected": "y"}\n'

    imported = read(ACCURACY, {"evals/accuracy.jsonl": row * 5_000})

    cases = imported.suites[0].spec.cases
    (not_tried,) = imported.warnings
    assert "check_evals" in not_tried.message
    assert imported.losses == []
    assert [cases[n].name for n in (0, 1, 4_999)] == ["greeting", "greeting (2)", "greeting (5000)"]


def test_what_an_assistant_said_before_needs_no_expectation() -> None:
    talk = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Is it open?"},
        {"role": "assistant", "expected": "Yes"},
    ]

    imported = read(CONVERSATION, {"evals/conversation.jsonl": json.dumps({"conversation": talk})})

    (case,) = imported.suites[0].spec.cases
    assert [(turn.expected, turn.assertions) for turn in case.turns] == [(None, []), ("Yes", None)]
    assert [loss.keys for loss in imported.losses] == ["[0].conversation[1].content"]


def test_turns_chosen_where_there_is_one_are_a_loss() -> None:
    row = {"input": "x", "expected": "y", "eval_turns": [2]}

    imported = read(ACCURACY, {"evals/accuracy.jsonl": json.dumps(row)})

    assert [loss.keys for loss in imported.losses] == ["[0].eval_turns"]


def test_what_rows_bring_along_is_reported_once() -> None:
    rows = '{"input": "x", "mood": 1}\n{"input": "y", "mood": 2, "expectd": "z"}\n'

    imported = read(QUALITY, {"evals/quality.jsonl": rows})

    assert [(loss.path, loss.line, loss.keys) for loss in imported.losses] == [
        ("evals/quality.jsonl", 1, "[0].mood"),
        ("evals/quality.jsonl", 2, "[1].expectd"),
    ]
    assert "'expected'" in imported.losses[1].message


def test_an_argument_that_is_a_matcher_here_is_pointed_out() -> None:
    row = {"input": "x", "expected_tool": "t", "expected_args": {"q": {"contains": "a"}, "n": 1}}

    imported = read(TOOL_ROUTING, {"evals/tools.jsonl": json.dumps(row)})

    assert [warning.keys for warning in imported.warnings] == ["[0].expected_args.q"]
