"""Multiple choice: the options are sent, and the right one is looked for."""

import json
from typing import Any

import pytest

from evals_app.formats.tables.choices import choice_check, read_options
from tests.formats.tables.test_wanted import as_csv, errors, grade, read

FRUIT = {"A": "apple", "B": "car", "C": "dog"}


def turns(*rows: dict[str, Any]) -> list[Any]:
    content = "\n".join(json.dumps({"question": "Which one?", **row}) for row in rows).encode()
    spec = read("rows.jsonl", content).suites[0].spec
    return [case.turns[0] for case in spec.cases]


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        ('["apple", "car", "dog"]', FRUIT),
        ("['apple' 'car' 'dog']", FRUIT),
        ("apple\ncar\ndog", FRUIT),
        ("apple | car | dog", FRUIT),
        ("apple; car; dog", FRUIT),
        ("A) apple\nB) car\nC) dog", FRUIT),
        ('["(a) apple", "(b) car", "(c) dog"]', FRUIT),
        ('{"a": "apple", "b": "car", "c": "dog"}', FRUIT),
        ('{"text": ["apple", "car", "dog"], "label": ["A", "B", "C"]}', FRUIT),
        ('{"text": ["apple", "car"], "label": [1, 2]}', {"1": "apple", "2": "car"}),
        ("[1, 2.5]", {"A": "1", "B": "2.5"}),
    ],
)
def test_options_are_read_however_they_are_written(cell: str, options: dict[str, str]) -> None:
    assert read_options(cell) == options


@pytest.mark.parametrize(
    "value",
    [
        *("apple", [], ["apple"], ["apple", ""], ["apple", ["car"]], True, list(map(str, range(27)))),
        *({"temperature": 0, "top_p": 1}, [{"text": "apple", "right": True}, {"text": "car"}]),
    ],
)  # fmt: skip
def test_what_is_no_options_is_refused_by_name(value: Any) -> None:
    row = {"input": "Which one?", "choices": value, "target": "A"}

    (problem,) = errors("rows.jsonl", json.dumps(row).encode())

    assert problem.keys == "[0].choices"


@pytest.mark.parametrize(
    "row",
    [
        {"choices": ["apple", "car", "dog"], "answer": "A"},
        {"options": ["apple", "car", "dog"], "answer": "(a)"},
        {"answer_choices": ["apple", "car", "dog"], "answer": "A) apple"},
        {"choices": ["apple", "car", "dog"], "answer": "Apple"},
        {"choices": ["apple", "car", "dog"], "answer": 0},
        {"choices": ["apple", "car", "dog"], "answer": ["A"]},
        {"A": "apple", "B": "car", "C": "dog", "answer": "A"},
        {"option_a": "apple", "option_b": "car", "option_c": "dog", "answer": "A"},
        {"choice1": "apple", "choice2": "car", "choice3": "dog", "answer": "A"},
        {"question": {"question": "Which one?", "choices": ["apple", "car", "dog"]}, "answer": "A"},
    ],
)
def test_the_options_are_sent_and_the_right_one_is_looked_for(row: dict[str, Any]) -> None:
    (turn,) = turns(row)

    assert turn.user == "Which one?\n\nA) apple\nB) car\nC) dog"
    assert turn.expected == "A) apple"
    (check,) = turn.assertions
    assert check.grader.summary() == "Reply matches A or “apple”"


@pytest.mark.parametrize(
    ("label", "right", "wrong"),
    [
        ("A", ["A", "a", "(A)", "A.", "**A**", "A: apple", "The answer is A", "Option A it is", "A is right", "An apple."],
              ["A car, of course.", "I think a dog.", "B", "Apples? No: C", "An APPLET"]),
        ("B", ["B", "b)", "(B)", "It is B, the car.", "B because it drives", "The car"], ["A", "abc", "Cars", "BBC"]),
    ],
)  # fmt: skip
def test_a_reply_names_an_option_by_its_letter_or_its_text(
    label: str, right: list[str], wrong: list[str]
) -> None:
    check = choice_check(FRUIT, label)

    assert [reply for reply in right if not grade(check, reply, "")] == []
    assert [reply for reply in wrong if grade(check, reply, "")] == []


def test_a_text_that_is_part_of_another_option_does_not_name_one() -> None:
    check = choice_check({"A": "fruit", "B": "no fruit"}, "A")

    assert [grade(check, reply, "") for reply in ("A", "no fruit")] == [True, False]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([1, 0, 2], ["B) 4", "A) 2", "C) 8"], id="from 0"),
        pytest.param([1, 3, 2], ["A) 2", "C) 8", "B) 4"], id="from 1"),
        pytest.param([1, 1, 2], ["B) 4", "B) 4", "C) 8"], id="unclear: from 0"),
        pytest.param([2, 4, "8"], ["A) 2", "B) 4", "C) 8"], id="texts of options"),
        pytest.param(["a", "4", "C"], ["A) 2", "B) 4", "C) 8"], id="letters and texts"),
    ],
)
def test_what_numbers_count_from_is_found_in_all_answers(answers: list[Any], expected: Any) -> None:
    rows = [{"choices": [2, 4, 8], "answer": answer} for answer in answers]

    assert [turn.expected for turn in turns(*rows)] == expected


def test_what_numbers_count_from_is_said() -> None:
    row = {"question": "Which?", "choices": ["apple", "car"], "answer": 1}

    said = [warning.message for warning in read("rows.jsonl", json.dumps(row).encode()).warnings]

    assert [message for message in said if " 0." in message]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(["D"], id="no such letter"),
        pytest.param(["appel"], id="no such text"),
        pytest.param([7], id="no such number"),
        pytest.param([0, 3], id="counted both ways"),
        pytest.param([["A", "B"]], id="two answers"),
    ],
)
def test_an_answer_that_names_no_option_is_refused(answers: list[Any]) -> None:
    rows = [{"input": "x", "choices": ["apple", "car", "dog"], "answer": item} for item in answers]

    problems = errors("rows.jsonl", "\n".join(map(json.dumps, rows)).encode())

    assert {problem.keys for problem in problems} == {f"[{n}].answer" for n in range(len(rows))}


def test_a_message_that_has_its_options_is_sent_as_it_is() -> None:
    asked = "Which one?\nA. apple\nB. car"

    (turn,) = turns({"question": asked, "choices": ["apple", "car"], "answer": "A"})

    assert turn.user == asked


def test_a_row_may_say_how_its_answer_is_compared() -> None:
    (turn,) = turns({"choices": ["apple", "car"], "answer": "A", "check": "exact match"})

    assert (turn.expected, turn.assertions[0].type) == ("A", "exact_match")
    assert "B) car" in turn.user


def test_columns_of_a_spreadsheet_may_be_options() -> None:
    row = {"question": "Which one?", "A": "apple", "B": "car", "answer": "B"}

    (turn,) = read("quiz.csv", as_csv(row)).suites[0].spec.cases[0].turns

    assert (turn.user, turn.expected) == ("Which one?\n\nA) apple\nB) car", "B) car")


def test_braces_in_options_are_text() -> None:
    (turn,) = turns({"choices": ["{{a}}", "b"], "answer": "{{a}}"})

    assert r"A) \{{a}}" in turn.user
