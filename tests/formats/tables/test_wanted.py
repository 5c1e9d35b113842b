"""What tables want of a reply: texts, lists of them, and short answers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evals_app.engine.graders import GRADERS
from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.foreign.shapes import TableChoices
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, Problem
from evals_app.formats.reading.yaml_text import write_yaml
from evals_app.formats.tables.answers import AnswerChecks
from evals_app.formats.tables.wanted import one_of
from fixtures_app.ground.written_data import data_in
from tests.engine.graders.makers import view_of
from tests.formats.tables.test_reader import book

KNOWN = ExistingObjects(agents={"desk": "model"})
COLUMNS = (
    *("must_contain", "must_not_contain", "matches", "not_matches"),
    *("exact_match", "tool_called", "tool_not_called", "criteria"),
)
REFUSED = None
# What a person may write for the checks of one reply, and the texts that it means.
VALUES: list[tuple[Any, list[str] | None]] = [
    ("refund", ["refund"]),
    ("refund\ncredit", ["refund", "credit"]),
    (["refund"], ["refund"]),
    (["refund", "credit"], ["refund", "credit"]),
    ([["refund", "credit"], ["bonus"]], ["refund", "credit", "bonus"]),
    ([], []),
    ([[]], []),
    (["refund", None, " "], ["refund"]),
    ('["refund", "credit"]', ["refund", "credit"]),
    ("['refund', 'credit']", ["refund", "credit"]),
    ("['refund'\n 'credit']", ["refund", "credit"]),
    ("('refund', 'credit')", ["refund", "credit"]),
    ("{'refund', 'credit'}", ["refund", "credit"]),
    ('[["refund", "credit"]]', ["refund", "credit"]),
    ("[]", []),
    (42, ["42"]),
    ([4, 2.5], ["4", "2.5"]),
    (None, []),
    (True, REFUSED),
    (["refund", True], REFUSED),
    ({"contains": "refund"}, REFUSED),
    ({}, REFUSED),
    (["refund", {"contains": "credit"}], REFUSED),
    ([[["refund"]]], REFUSED),
    ('{"contains": "refund"}', REFUSED),
    ("{'contains': ['refund']}", REFUSED),
]  # fmt: skip


def read(path: str, content: bytes, **options: Any) -> Imported:
    return read_files([SourceFile(path, content)], known=KNOWN, agent="desk", **options)


def errors(path: str, content: bytes, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(path, content, **options)
    return [problem for problem in caught.value.problems if problem.level == "error"]


def in_cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def as_csv(row: dict[str, Any]) -> bytes:
    lines = [list(row), [in_cell(value) for value in row.values()]]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines]
    return "\n".join(quoted).encode()


DOORS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "rows.jsonl": lambda row: json.dumps(row).encode(),
    "rows.json": lambda row: json.dumps([row]).encode(),
    "rows.yaml": lambda row: write_yaml([row]),
    "rows.csv": as_csv,
    "rows.xlsx": lambda row: book(("Cases", [list(row), list(map(in_cell, row.values()))])),
}


def needles(imported: Imported) -> list[str]:
    """Return the texts that the checks of the first turn look for."""
    (turn,) = imported.suites[0].spec.cases[0].turns
    graders: list[Any] = [check.grader for check in turn.assertions or []]
    return [getattr(grader, "criteria", None) or grader.value for grader in graders]


def outcome(path: str, content: bytes) -> tuple[list[str], list[str]]:
    """Return the texts that are looked for, and the places that are refused."""
    try:
        return needles(read(path, content)), []
    except FormatError as error:
        return [], [problem.keys for problem in error.problems if problem.level == "error"]


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize("column", COLUMNS)
def test_data_is_never_a_needle(path: str, column: str) -> None:
    for value, texts in VALUES:
        if value is True and path.endswith(("csv", "xlsx")):
            continue  # a cell has only its text
        found, refused = outcome(path, DOORS[path]({"question": "hi", column: value}))

        if texts is REFUSED or _cannot_be_said(column, value):
            assert (len(refused), found) == (1, []), value
            assert refused[0].endswith((column, "B2")), refused
            continue
        assert refused == [], value
        assert not [needle for needle in found if needle.lstrip().startswith(("[", "{"))], value
        assert bool(found) == bool(texts)
        assert all(any(text in needle for needle in found) for text in texts), value


def _cannot_be_said(column: str, value: Any) -> bool:
    """Whether a column has no check for this, so that it is refused."""
    data = data_in(in_cell(value))
    several = [item for item in data if item not in (None, " ", [])] if data else []
    if column == "exact_match":
        return len(several) > 1
    return column == "tool_called" and any(isinstance(item, list) for item in several)


def checks_of(row: dict[str, Any]) -> list[Any]:
    spec = read("rows.jsonl", json.dumps({"input": "hi", **row}).encode()).suites[0].spec
    return spec.model_dump(mode="json", exclude_defaults=True)["cases"][0]["turns"][0].get("assertions", [])  # type: ignore[no-any-return]  # fmt: skip


def test_each_text_of_a_list_is_a_check() -> None:
    assert checks_of({"must_not_contain": ["i can't", "let me check"]}) == [
        {"type": "not_contains", "value": "i can't"},
        {"type": "not_contains", "value": "let me check"},
    ]


@pytest.mark.parametrize(
    ("column", "reply", "passes"),
    [
        ("must_contain", "You get a credit.", True),
        ("must_contain", "You get nothing.", False),
        ("matches", "You get a credit.", True),
        ("matches", "You get nothing.", False),
        ("exact_match", "credit", True),
        ("exact_match", "a credit", False),
    ],
)
def test_of_a_list_in_a_list_any_one_is_enough(column: str, reply: str, passes: bool) -> None:  # noqa: FBT001
    (check,) = checks_of({column: [["refund", "credit"]]})

    assert AssertionSpec.model_validate(check).grader.grade(view_of(reply)).passed is passes  # type: ignore[attr-defined]


@pytest.mark.parametrize("column", ["must_not_contain", "not_matches", "tool_not_called"])
def test_what_must_not_be_any_of_several_is_each_of_them(column: str) -> None:
    assert [check["value"] for check in checks_of({column: [["a1", "b2"], "c3"]})] == ["a1", "b2", "c3"]  # fmt: skip


def test_what_becomes_of_lists_is_said_once_a_file() -> None:
    rows = [
        {"input": "a", "expected": "fine", "must_contain": [], "must_not_contain": []},
        {
            "input": "b",
            "expected": "fine",
            "must_contain": [],
            "must_not_contain": "['credit', 'bonus']",
        },
    ]

    imported = read("rows.jsonl", "\n".join(map(json.dumps, rows)).encode())

    said = [(warning.line, warning.keys) for warning in imported.warnings]
    assert said == [(1, "[0].must_contain"), (2, "[1].must_not_contain")]
    assert "3 cells" in imported.warnings[0].message


def test_what_only_begins_like_a_list_is_looked_for_with_a_line() -> None:
    imported = read("rows.csv", as_csv({"user": "hi", "contains": "[refund, credit]"}))

    assert needles(imported) == ["[refund, credit]"]
    assert [(warning.keys, "JSON" in warning.message) for warning in imported.warnings] == [("B2", True)]  # fmt: skip


def test_a_pattern_may_begin_with_a_bracket() -> None:
    imported = read("rows.csv", as_csv({"user": "hi", "matches": "[Rr]efund\n[0-9]+"}))

    assert (needles(imported), imported.warnings) == (["[Rr]efund", "[0-9]+"], [])


def test_a_mapped_column_is_read_in_the_same_way() -> None:
    row = {"input": "hi", "never": ["refund", "credit"], "always": {"say": "please"}}
    columns = {"never": "not contains", "always": "contains"}

    problems = errors("rows.jsonl", json.dumps(row).encode(), tables=TableChoices(columns))

    assert [(item.keys, "`say`" in item.message) for item in problems] == [("[0].always", True)]
    del row["always"], columns["always"]
    imported = read("rows.jsonl", json.dumps(row).encode(), tables=TableChoices(columns))
    assert needles(imported) == ["refund", "credit"]


# Mappings.


@pytest.mark.parametrize(
    ("expected", "answer", "checks"),
    [
        ({"not_contains": "sorry"}, None, [("not_contains", "sorry")]),
        ({"must_not_say": ["refund", "credit"]}, None, [("not_contains", "refund"), ("not_contains", "credit")]),
        ({"mustNotMention": "refund"}, None, [("not_contains", "refund")]),
        ({"never": "refund"}, None, [("not_contains", "refund")]),
        ({"should include": "refund"}, None, [("contains", "refund")]),
        ({"must": ["hold on"]}, None, [("contains", "hold on")]),
        ({"answer": "in five days", "must_not": "lawyer", "tools": ["find"]}, "in five days", [("contains", None), ("not_contains", "lawyer"), ("tool_called", "find")]),
        ({"value": "in five days"}, "in five days", []),
        ({"answer": {"text": "in five days"}}, "in five days", []),
    ],
)  # fmt: skip
def test_a_mapping_under_expected_means_what_its_keys_say(
    expected: Any, answer: str | None, checks: list[tuple[str, str | None]]
) -> None:
    spec = read("rows.jsonl", json.dumps({"input": "hi", "expected": expected}).encode()).suites[0].spec  # fmt: skip
    (turn,) = spec.cases[0].turns

    assert turn.expected == answer
    assert [(check.type, check.grader.value) for check in turn.assertions or []] == checks  # type: ignore[attr-defined]


def test_every_other_key_under_expected_is_a_loss() -> None:
    row = {"input": "hi", "expected": {"answer": "Rome", "unit": "km", "refund": False, "x": None}}

    imported = read("rows.jsonl", json.dumps(row).encode())

    assert [loss.keys for loss in imported.losses] == ["[0].expected.unit", "[0].expected.refund"]


@pytest.mark.parametrize("key", ["input", "expected"])
def test_a_mapping_of_unknown_keys_is_refused(key: str) -> None:
    row = {"input": "hi", "expected": "x"} | {key: {"city": "Rome"}}

    (problem,) = [item for item in errors("rows.jsonl", json.dumps(row).encode()) if item.keys == f"[0].{key}"]  # fmt: skip

    assert "`city`" in problem.message


def test_other_keys_of_a_message_are_parameters() -> None:
    asked = {"question": "How long?", "context": "Policy: 5 days", "level": "42", "tags": ["x"], "no": None}  # fmt: skip

    imported = read("rows.jsonl", json.dumps({"input": asked, "expected": "5"}).encode())

    (case,) = imported.suites[0].spec.cases
    assert case.turns[0].user == "How long?"
    assert case.context_params == {"context": "Policy: 5 days", "level": "42", "tags": '["x"]'}
    said = [(warning.keys, "threadContext.params" in warning.message) for warning in imported.warnings]  # fmt: skip
    assert said == [(f"[0].input.{key}", True) for key in ("context", "level", "tags")]


def test_a_message_may_have_its_history_with_it() -> None:
    asked = {"content": "And now?", "history": [{"role": "user", "content": "Hi"}]}

    (case,) = read("rows.jsonl", json.dumps({"input": asked}).encode()).suites[0].spec.cases

    assert (case.turns[0].user, case.history[0].content) == ("And now?", "Hi")


# Short answers.


def grade(check: dict[str, Any], reply: str, expected: str) -> bool | None:
    options = {key: value for key, value in check.items() if key != "type"}
    grader: Any = GRADERS[check["type"]].model_validate(options)
    return grader.grade(view_of(reply, expected=expected)).passed  # type: ignore[no-any-return]


SHORT = [
    ("3", ["It is 3.", "3", "**3** of them", "3.0"], ["It is 13.", "3.5", "30", "v3"]),
    ("35", ["35 euros", "$35"], ["The bill is 350 euros.", "135"]),
    ("206", ["There are 206 of them."], ["There are 2060 of them."]),
    ("-5", ["It is -5."], ["It is 5."]),
    ("1,234", ["1,234 of them", "1234"], ["11,234", "1,2345"]),
    ("3.5", ["3.5 litres"], ["13.5 litres", "3.55"]),
    ("3,5", ["3,5 Liter"], ["13,5 Liter", "3,55 Liter"]),
    ("42", ["共42人", "42 Leute"], ["第142条", "42万"]),
    ("$35", ["It is $35."], ["$350", "$35.50"]),
    ("35 %", ["35 %", "35 %."], ["135 %"]),
    ("5 days", ["in 5 days", "5  days!"], ["15 days"]),
    ("007", ["agent 007"], ["1007", "0071"]),
    ("12:30", ["at 12:30."], ["112:30"]),
    ("A-12", ["Take A-12."], ["BA-12", "A-123"]),
    ("Version 2", ["version 2."], ["version 20"]),
    ("yes", ["Yes, it is."], ["yesterday"]),
    ("no", ["No."], ["I note that."]),
    ("true", ["True"], ["untrue"]),
    ("A", ["A", "(a)", "It is A."], ["Can it?"]),
    ("für", ["für dich"], ["dafür"]),
    ("да", ["Да!"], ["дата"]),
    ("東", ["関東です"], ["西"]),
    ("5天", ["要5天吧"], ["要15天吧"]),
    ("C++", ["C++ is"], ["C"]),
    # Or the opposite would pass.
    ("refund", ["a refund."], ["credit", "refunded"]),
    ("valid", ["It is valid."], ["It is invalid."]),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "right", "wrong"), SHORT, ids=[row[0] for row in SHORT])
def test_short_answers_are_whole_words_and_numbers_are_numbers(
    expected: str, right: list[str], wrong: list[str]
) -> None:
    checks = AnswerChecks().checks_for(expected)

    def passes(reply: str) -> bool:
        return all(grade(check, reply, expected) for check in checks)

    assert [reply for reply in right if not passes(reply)] == []
    assert [reply for reply in wrong if passes(reply)] == []


@pytest.mark.parametrize(
    ("texts", "right", "wrong"),
    [
        (["A", "B"], ["B.", "(a)", "**A**", "答案是A。"], ["I cannot say anything.", "AB"]),
        (["6", "six"], ["It is 6.", "Six!"], ["16", "6.5", "1,600", "sixty"]),
        (["35", "36"], ["35, yes", "$36"], ["35,5", "1,35", "350"]),
        (["für", "gegen"], ["für dich", "dagegen"], ["dafür"]),
        (["5天", "东京"], ["要5天吧", "在东京吗"], ["要15天吧"]),
        (["it's ok", "no"], ["It\u2019s  OK", "no!"], ["note"]),
        (["a (b)", "x|y"], ["A (B)", "x|y"], ["ab", "x"]),
    ],
)
def test_of_several_short_answers_any_one_is_enough(
    texts: list[str], right: list[str], wrong: list[str]
) -> None:
    check = one_of(texts)

    assert [reply for reply in right if not grade(check, reply, "")] == []
    assert [reply for reply in wrong if grade(check, reply, "")] == []


@pytest.mark.parametrize(
    ("row", "expected", "types"),
    [
        ({"expected": 206}, "206", ["numeric"]),
        ({"expected": True}, "true", ["matches", "not_matches"]),
        ({"expected": ["206"]}, "206", ["numeric"]),
        ({"expected": "['206']"}, "206", ["numeric"]),
        ({"expected": "['A', 'B']"}, None, ["matches"]),
        ({"expected": []}, None, []),
        ({"expected": "3", "inherit": True}, "3", ["numeric"]),
        ({"expected": "3", "contains": "euro"}, "3", ["numeric", "contains"]),
        ({"expected": "3", "check": "contains"}, "3", ["contains"]),
        ({"expected": "3", "check": "none"}, "3", []),
        ({"expected": '["A", "B"]', "check": "exact match"}, '["A", "B"]', ["exact_match"]),
    ],
)
def test_how_an_expected_answer_is_compared(
    row: dict[str, Any], expected: str | None, types: list[str]
) -> None:
    spec = read("rows.jsonl", json.dumps({"input": "hi", **row}).encode()).suites[0].spec
    (turn,) = spec.cases[0].turns

    assert turn.expected == expected
    assert [check.type for check in spec.assertions_for(turn)] == types


def test_several_answers_are_not_compared_in_ways_that_take_one() -> None:
    row = {"input": "hi", "expected": ["A", "B"], "check": "same meaning"}

    (problem, *_) = errors("rows.jsonl", json.dumps(row).encode())

    assert problem.keys == "[0].expected"


@pytest.mark.parametrize(
    ("expected", "check", "word"),
    [
        ("3", "contains", "longer"),
        ("no", "contains", "longer"),
        ("['A1', 'B2']", "contains", "brackets"),
        ("refund", "contains", None),
        ("3", "whole words", None),
        ("3", "any number", None),
        ("3", "", None),
    ],
)
def test_contains_is_warned_of_where_it_finds_too_much(
    expected: str, check: str, word: str | None
) -> None:
    rows = [{"input": "hi", "expected": expected, "check": check}] * 2

    warnings = read("rows.jsonl", "\n".join(map(json.dumps, rows)).encode()).warnings

    said = [warning for warning in warnings if word and word in warning.message]
    assert [(item.keys, "2 cells" in item.message) for item in said] == (
        [("[0].expected", True)] if word else []
    )
    assert len(warnings) == len(said)
