"""What kind of answer an expected text is, and which replies its checks let pass."""

import json
from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import AssertionSpec
from evals_app.formats.foreign.shapes import TableChoices
from evals_app.formats.tables.answers import AnswerChecks, alternatives, kind_of, labels_in
from evals_app.formats.tables.chosen import AnswerGuess, read_choices
from evals_app.formats.tables.columns import CheckColumn, column_of
from tests.engine.graders.makers import view_of
from tests.formats.tables.test_wanted import as_csv, errors, read

KINDS = [
    ("35", "number"),
    ("1,234", "number"),
    ("yes", "yes-no"),
    ("FALSE", "yes-no"),
    ("nein", "yes-no"),
    ("2026-05-03", "date"),
    ("3 May 2026", "date"),
    ("May 3rd, 2026", "date"),
    ("3.5.2026", "date"),
    ("2026-13-03", "short"),
    ("03/05/2026", "short"),
    ("Paris", "short"),
    ("5 days", "short"),
    ("A-12", "short"),
    ("from 9 to 5", "short"),
    ("refund refused", "short"),
    ("It depends.", "short"),
    ("Returns are free for 30 days.", "sentence"),
    ("You must bring your passport to the desk.", "sentence"),
    ("Call us at the number on the card.", "sentence"),
    ("Das Depot öffnet um neun Uhr.", "sentence"),
    ("word " * 41, "paragraph"),
    ("One.\n\nTwo.", "paragraph"),
    ("Should NOT activate the skill", "instruction"),
    ("The agent must ask for the order number first.", "instruction"),
    ("Response should mention the deadline", "instruction"),
    ("Refuses to give medical advice and names a doctor", "instruction"),
    ("Politely declines the request", "instruction"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), KINDS, ids=[text[:30] for text, _ in KINDS])
def test_an_answer_has_a_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def passes(checks: list[dict[str, Any]], reply: str, expected: str) -> bool:
    graders: list[Any] = [AssertionSpec.model_validate(check).grader for check in checks]
    return all(grader.grade(view_of(reply, expected=expected)).passed for grader in graders)


LABELS = frozenset({"billing", "order", "order status"})


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("yes", ["Yes.", "yes, there is no fee", "The answer is: yes"], ["No.", "No, yes", "Not yet, yes-sayer that I am"]),
        ("no", ["No, it is closed", "I am afraid no."], ["There is no fee, so yes.", "Yes, but on Sundays no."]),
        ("true", ["True", "Yes, it is.", "So the answer is yes."], ["False", "No, it is not true", "No."]),
        ("FALSE", ["It is false.", "No.", "Nein, nie."], ["Yes", "True.", "Ja"]),
        ("Ja.", ["Ja, immer"], ["Nein, ja doch"]),
        ("12%", ["12 %", "It is 12%."], ["112 %", "1.12%"]),
        ("4,95 \u20ac", ["f\u00fcr 4,95\u20ac", "4,95 \u20ac"], ["14,95 \u20ac"]),
        ("2026-05-03", ["on 3 May 2026", "May 3, 2026", "3rd of May 2026", "2026-05-03.", "03.05.2026"], ["2026-05-30", "13 May 2026", "3 March 2026"]),
        ("Done.", ["Done", "It is done, sir."], ["undone"]),
        ("billing", ["Billing", "The topic is billing."], ["order", "billing or order", "billings"]),
        ("order", ["order"], ["order status", "orders"]),
        ("order status", ["Order status", "It is an order status question"], ["order", "billing, order status"]),
    ],
)  # fmt: skip
def test_checks_of_a_kind_pass_what_is_right_and_nothing_else(
    expected: str, right: list[str], wrong: list[str]
) -> None:
    checks = AnswerChecks(labels=LABELS).checks_for(expected)

    assert [reply for reply in right if not passes(checks, reply, expected)] == []
    assert [reply for reply in wrong if passes(checks, reply, expected)] == []


@pytest.mark.parametrize(
    ("answers", "labels"),
    [
        (["Spam", "ham", "spam", "Ham"], {"spam", "ham"}),
        (["spam", "none", "none", "spam"], {"spam", "none"}),
        (["spam", "ham", "spam"], set()),  # too few to see which there are
        (["a", "b", "c", "d"], set()),
        (["yes", "no", "yes", "no"], set()),
        (["Y", "N"], {"y", "n"}),
        (["J", "nein"], {"j"}),
        (["Y", "Y"], set()),  # may be an option
        (["Y", "N", "B"], set()),
        (["1", "2", "1", "2"], set()),
        (["It is closed on Sunday.", "It is open."] * 3, set()),
    ],
)
def test_few_answers_that_repeat_are_labels(answers: list[str], labels: set[str]) -> None:
    assert labels_in(answers) == labels


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("Y", ["Yes.", "y", "It is open: yes"], ["No", "N", "Nobody knows", "no, yes"]),
        ("N", ["No.", "n", "Nein"], ["Yes", "Y, no", "In no way is it so"]),
    ],
)
def test_letters_for_yes_and_no_are_met_by_the_words(
    expected: str, right: list[str], wrong: list[str]
) -> None:
    labels = labels_in(["Y", "N"])
    checks = AnswerChecks(labels=labels).checks_for(expected)

    assert kind_of(expected, labels) == "yes-no"
    assert [reply for reply in right if not passes(checks, reply, expected)] == []
    assert [reply for reply in wrong if passes(checks, reply, expected)] == []


@pytest.mark.parametrize(
    ("written", "compared"),
    [
        ("3 bags of 4 are <<3*4=12>>12.\n#### 12", "12"),
        ("#### 1,200", "1,200"),
        ("30 days [1]", "30 days"),
        ("Paris[^1]", "Paris"),
        ("1871 [2, 3]", "1871"),
        ("Paris\u30104:0\u2020source\u3011", "Paris"),
        ("**Rome**", "Rome"),
        ("`ls -l`", "ls -l"),
        ("names[0]", "names[0]"),
        ("2**3**4", "2**3**4"),
        ("* one", "* one"),
        ("#### Refunds\nThey take 5 days.", "#### Refunds\nThey take 5 days."),
        ("Returns are **free** for 30 days [1].", "Returns are **free** for 30 days [1]."),
    ],
)
def test_only_the_answer_is_compared_not_what_is_around_it(written: str, compared: str) -> None:
    row = {"question": "What is it?", "answer": written}

    imported = read("rows.jsonl", json.dumps(row).encode())

    assert imported.suites[0].spec.cases[0].turns[0].expected == compared
    is_changed = written != compared
    assert bool(imported.warnings) is is_changed


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        ("Rome / Roma", ["Rome", "Roma"]),
        ("Rome|Roma", ["Rome", "Roma"]),
        ("6 | six", ["6", "six"]),
        ("km / h", ["km / h"]),
        ("1 / 2", ["1 / 2"]),
        ("and/or", ["and/or"]),
        ("a || b", ["a || b"]),
        ("yes / no", ["yes / no"]),
        ("Rome or Milan", ["Rome or Milan"]),
    ],
)
def test_a_short_text_may_give_a_choice(written: str, texts: list[str]) -> None:
    assert alternatives(written) == texts


@pytest.mark.parametrize(
    ("answer", "is_warned"),
    [
        *((text, True) for text in ("Rome or Milan", "Rome; Milan", "red, green, blue", "~50")),
        *((text, True) for text in (">100", "10-20", "2026-05-03 14:30")),
        *((text, False) for text in ("Rome", "Rome, Italy", "A-12", "555-1234", "14:30", "1,234")),
        *((text, False) for text in ("2026-05-03", "R&D", "oracle", "Returns are; free or not.")),
    ],
)
def test_what_is_said_in_many_ways_is_warned_of(answer: str, is_warned: bool) -> None:  # noqa: FBT001
    row = {"question": "Which?", "answer": answer}

    warnings = read("rows.jsonl", json.dumps(row).encode()).warnings

    assert ["other words" in warning.message for warning in warnings] == [True] * is_warned


def test_of_a_choice_any_one_is_enough_and_that_is_said() -> None:
    imported = read("rows.csv", b"question,answer\nWhere?,Rome / Roma\n")

    (turn,) = imported.suites[0].spec.cases[0].turns
    (check,) = imported.suites[0].spec.assertions_for(turn)
    grader: Any = check.grader
    assert [grader.grade(view_of(reply)).passed for reply in ("Roma.", "Milan")] == [True, False]
    assert ["any one" in warning.message for warning in imported.warnings] == [True]


@pytest.mark.parametrize(
    ("header", "cell", "types"),
    [
        ("keywords", "30 days, free", ["contains"] * 2),
        ("keywords", "1,234 euros; by mail", ["contains"] * 2),
        ("keywords", "30 days", ["contains"]),
        ("Forbidden", "lawyer, sorry", ["not_contains"] * 2),
        ("must contain", "Hello, Ann", ["contains"]),
        ("must not contain", "Hello, Ann", ["not_contains"]),
    ],
)
def test_commas_separate_keywords_and_that_is_said(
    header: str, cell: str, types: list[str]
) -> None:
    imported = read("rows.csv", as_csv({"question": "How?", header: cell}))

    (turn,) = imported.suites[0].spec.cases[0].turns
    assert [check.type for check in turn.assertions or []] == types
    said = [warning.keys for warning in imported.warnings if "commas" in warning.message]
    assert said == (["B2"] if len(types) > 1 else [])


def test_an_output_beside_the_expected_answer_is_an_old_reply() -> None:
    row = {"input": "Where?", "expected": "Rome", "output": "Milan", "scores": {"exact": 0}}

    imported = read("rows.jsonl", json.dumps(row).encode())

    assert imported.suites[0].spec.cases[0].turns[0].expected == "Rome"
    assert [loss.keys for loss in imported.losses] == ["[0].output", "[0].scores"]


def test_checks_of_promptfoo_in_cells_are_refused_not_looked_for() -> None:
    (problem,) = errors("rows.csv", b"question,__expected\nWhere?,contains:Rome\n")

    assert "file://rows.csv" in problem.message


ROWS = [
    {"question": "How long?", "expected": "Returns are free for 30 days."},
    {"question": "How much?", "expected": "35"},
    {"question": "And twice?", "expected": "70"},
    {"question": "Is it spam?", "expected": "Should not answer at all, but ask."},
]


def guesses(
    rows: list[dict[str, Any]], tables: TableChoices | None = None
) -> list[tuple[str, int]]:
    content = "\n".join(map(json.dumps, rows)).encode()
    imported = read("rows.jsonl", content, tables=tables or TableChoices())
    return [(item.kind, item.rows) for item in imported.guesses if isinstance(item, AnswerGuess)]


def test_each_kind_of_answer_is_one_line_with_its_count() -> None:
    assert guesses(ROWS) == [("sentence", 1), ("number", 2), ("instruction", 1)]


def test_a_judge_takes_a_description_as_a_criterion_and_no_text_is_expected() -> None:
    (suite,) = read("rows.jsonl", json.dumps(ROWS[3]).encode()).suites
    (turn,) = suite.spec.cases[0].turns

    (check,) = suite.spec.assertions_for(turn)
    assert (check.type, check.grader.criteria) == ("llm_judge", ROWS[3]["expected"])  # type: ignore[attr-defined]
    assert turn.expected is None


@pytest.mark.parametrize(
    ("words", "types"),
    [
        ([], ["llm_judge", "numeric", "numeric", "llm_judge"]),
        (["contains"], ["contains"] * 4),
        (["sentence=contains"], ["contains", "numeric", "numeric", "llm_judge"]),
        (["sentence=fuzzy match 0.6"], ["fuzzy_match", "numeric", "numeric", "llm_judge"]),
        (["number=none", "criteria"], ["llm_judge", None, None, "llm_judge"]),
    ],
)
def test_how_answers_are_compared_can_be_chosen_by_kind(
    words: list[str], types: list[str | None]
) -> None:
    content = "\n".join(map(json.dumps, ROWS)).encode()
    (suite,) = read("rows.jsonl", content, tables=read_choices([], [], words)).suites

    turns = [case.turns[0] for case in suite.spec.cases]
    found = [[check.type for check in suite.spec.assertions_for(turn)] for turn in turns]
    assert found == [[kind] if kind else [] for kind in types]


def test_the_commonest_guess_is_the_check_of_the_suite() -> None:
    rows = [{"question": word, "expected": word} for word in ("one two", "three four", "5")]
    (suite,) = read("rows.jsonl", "\n".join(map(json.dumps, rows)).encode()).suites

    assert [check.type for check in suite.spec.assertions] == ["contains"]
    assert [case.turns[0].assertions is None for case in suite.spec.cases] == [True, True, False]


def test_a_judge_is_the_check_of_a_suite_only_if_every_turn_expects_something() -> None:
    rows = [{"question": "a", "expected": "Returns are free for 30 days."}, {"question": "b"}]
    (suite,) = read("rows.jsonl", "\n".join(map(json.dumps, rows)).encode()).suites

    assert (list(suite.spec.assertions), suite.spec.cases[1].turns[0].assertions) == ([], None)


@pytest.mark.parametrize("cell", ["-", "\u2013", "n/a", "N/A", "none", "null", "k. A."])
def test_what_means_nothing_is_no_check(cell: str) -> None:
    row = {"question": "hi", "expected": cell, "must_not_contain": cell, "contains": "refund"}

    imported = read("rows.csv", as_csv(row))

    (turn,) = imported.suites[0].spec.cases[0].turns
    assert (turn.expected, [check.type for check in turn.assertions or []]) == (None, ["contains"])
    assert ["2 cells" in warning.message for warning in imported.warnings] == [True]


def test_none_is_an_answer_where_it_is_one_of_the_labels() -> None:
    rows = [{"question": str(n), "expected": word} for n, word in enumerate(["spam", "none"] * 3)]
    content = "\n".join(map(json.dumps, rows)).encode()

    (suite,) = read("rows.jsonl", content).suites

    assert {case.turns[0].expected for case in suite.spec.cases} == {"spam", "none"}


# Columns that may mean two things.


@pytest.mark.parametrize(
    ("row", "asked", "nearest"),
    [
        ({"question": "Is it spam?", "label": "spam"}, "label", "expected"),
        ({"question": "Is it spam?", "intent": "spam"}, "intent", "expected"),
        ({"question": "Pay it.", "expected": "x", "tools": ["find"]}, "tools", "tool called"),
        ({"question": "Pay it.", "output": "Ten years!", "passed": False}, "output", "expected"),
        ({"id": "a", "text_of_it": "Where is it?", "team": "b"}, "text_of_it", "user"),
    ],
)
@pytest.mark.parametrize("path", ["rows.jsonl", "rows.csv"])
def test_what_may_mean_two_things_is_asked(
    path: str, row: dict[str, Any], asked: str, nearest: str
) -> None:
    content = json.dumps(row).encode() if path.endswith("jsonl") else as_csv(row)

    (question,) = [item for item in errors(path, content) if getattr(item, "nearest", None)]

    assert (getattr(question, "header", ""), getattr(question, "nearest", "")) == (asked, nearest)
    tables = TableChoices({asked: nearest})
    assert not [item for item in read_or_errors(path, content, tables) if asked in item.keys]


def read_or_errors(path: str, content: bytes, tables: TableChoices) -> list[Any]:
    try:
        read(path, content, tables=tables)
    except Exception as error:  # noqa: BLE001 - its problems are what is asked for
        return list(getattr(error, "problems", ()))
    return []


def test_a_label_beside_an_expected_answer_is_a_topic() -> None:
    row = {"question": "Is it spam?", "expected": "no", "label": "spam"}

    (case,) = read("rows.jsonl", json.dumps(row).encode()).suites[0].spec.cases

    assert (case.tags, case.turns[0].expected) == (["spam"], "no")


def test_calls_with_arguments_are_asked_not_left_out() -> None:
    row = {
        "question": "Pay it.",
        "expected": "fine",
        "tools": [{"name": "pay", "arguments": {"id": 7}}],
    }

    assert [item.keys for item in errors("rows.jsonl", json.dumps(row).encode())][:1] == [
        "[0].tools"
    ]


def test_tools_that_are_described_are_offered_and_left_out() -> None:
    offered = [{"name": "find", "description": "Finds orders.", "parameters": {}}]
    row = {"question": "Pay it.", "expected": "fine", "tools": offered}

    imported = read("rows.jsonl", json.dumps(row).encode())

    assert [loss.keys for loss in imported.losses] == ["[0].tools"]


@pytest.mark.parametrize(
    ("value", "check"),
    [
        ("find", {"type": "tool_called", "value": "find"}),
        (["find"], {"type": "tool_called", "value": "find"}),
        ([{"name": "find", "arguments": {"id": 7}}], {"type": "tool_calls", "tools": [{"name": "find", "args": {"id": 7}}]}),
        ([{"tool_name": "find", "tool_input": {}}], {"type": "tool_calls", "tools": [{"name": "find"}]}),
        ([{"function": {"name": "find", "arguments": '{"id": 7}'}}], {"type": "tool_calls", "tools": [{"name": "find", "args": {"id": 7}}]}),
    ],
)  # fmt: skip
def test_expected_tools_are_names_or_calls(value: Any, check: dict[str, Any]) -> None:
    row = {"question": "hi", "expected_tools": value}

    (case,) = read("rows.jsonl", json.dumps(row).encode()).suites[0].spec.cases

    turn = case.model_dump(mode="json", exclude_defaults=True)["turns"][0]
    assert _plain(turn["assertions"]) == [check]


def _plain(checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for check in checks:
        check["tools"] = [{"name": tool} if isinstance(tool, str) else tool for tool in check.get("tools", [])]  # fmt: skip
    return [{key: value for key, value in check.items() if value != []} for check in checks]


def test_a_call_without_a_name_is_refused_at_its_place() -> None:
    row = {"question": "hi", "expected_tools": [{"arguments": {}}]}

    assert [item.keys for item in errors("rows.jsonl", json.dumps(row).encode())] == ["[0].expected_tools"]  # fmt: skip


# Conversations.

TALK = [
    {"role": "user", "content": "Find 7."},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "find", "arguments": "{}"}}]},
    {"role": "tool", "content": "{}"},
    {"role": "assistant", "content": "Found."},
    {"role": "user", "content": "Thanks"},
    {"role": "assistant", "content": "Bye"},
]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "columns", "turns"),
    [
        ("turns", {}, [("Find 7.", "Found.", 2), ("Thanks", "Bye", 1)]),
        ("messages", {"messages": "turns"}, [("Find 7.", "Found.", 2), ("Thanks", "Bye", 1)]),
        ("messages", {}, [("Thanks", "Bye", 1)]),
        ("turns", {"turns": "messages"}, [("Thanks", "Bye", 1)]),
    ],
)
def test_a_conversation_stays_one(
    key: str, columns: dict[str, str], turns: list[tuple[str, str, int]]
) -> None:
    row = {"id": "a", key: TALK}

    imported = read("rows.jsonl", json.dumps(row).encode(), tables=TableChoices(columns))

    (suite,) = imported.suites
    (case,) = suite.spec.cases
    found = [
        (turn.user, turn.expected, len(suite.spec.assertions_for(turn))) for turn in case.turns
    ]
    assert found == turns
    assert [guess.keys for guess in imported.guesses if not isinstance(guess, AnswerGuess)] == [
        f"[0].{key}"
    ]


@pytest.mark.parametrize("path", ["rows.jsonl", "rows.csv"])
def test_rows_of_one_session_are_one_conversation(path: str) -> None:
    rows = [
        {"id": n, "session_id": session, "question": question, "expected": "fine"}
        for n, (session, question) in enumerate([("s1", "hi"), ("s1", "more"), ("s2", "bye")])
    ]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    content = "\n".join(map(json.dumps, rows) if path.endswith("jsonl") else lines).encode()

    (suite,) = read(path, content).suites

    assert [(case.name, len(case.turns)) for case in suite.spec.cases] == [("s1", 2), ("s2", 1)]


def test_the_last_message_of_the_assistant_is_what_is_expected() -> None:
    row = {"input": "Cancel 5", "expected": [{"role": "assistant", "content": "Done"}]}

    (case,) = read("rows.jsonl", json.dumps(row).encode()).suites[0].spec.cases

    assert case.turns[0].expected == "Done"


# Where rows are, and how they are written.


@pytest.mark.parametrize(
    "data",
    [
        {"data": {"items": [{"question": "hi", "answer": "fine"}]}},
        {"a": {"b": {"c": {"d": [{"question": "hi", "answer": "fine"}]}}}},
        {"rows": [{"row_idx": 0, "row": {"question": "hi", "answer": "fine"}}], "features": []},
        {"question": ["hi", "you"], "answer": ["fine", "me"]},
        {"q1": {"question": "hi", "answer": "fine"}, "q2": {"question": "you", "answer": "me"}},
    ],
)
def test_rows_are_found_wherever_they_are(data: Any) -> None:
    (suite,) = read("rows.json", json.dumps(data).encode()).suites

    assert suite.spec.cases[0].turns[0].expected == "fine"


def test_of_several_lists_one_has_to_be_kept() -> None:
    rows = [{"question": "hi", "answer": "fine"}]

    (problem,) = errors("rows.json", json.dumps({"train": rows, "test": rows}).encode())

    assert all(f"`{key}`" in problem.message for key in ("train", "test"))


def test_rows_of_a_viewer_are_told_from_the_list_of_their_columns() -> None:
    features = [{"feature_idx": 0, "name": "text"}, {"feature_idx": 1, "name": "label"}]
    rows = [{"row_idx": 0, "row": {"text": "A dull film.", "label": "negative"}}]
    content = json.dumps({"features": features, "rows": rows}).encode()

    asked = errors("films.json", content)

    assert [problem.keys for problem in asked] == ["rows[0].row.text", "rows[0].row.label"]


def test_yaml_stays_as_it_is_written() -> None:
    content = b"- question: yes\n  expected: no\n- question: Code?\n  expected: 007\n- question: Version?\n  expected: 1.10\n"  # fmt: skip

    (suite,) = read("rows.yaml", content).suites

    said = [(case.turns[0].user, case.turns[0].expected) for case in suite.spec.cases]
    assert said == [("yes", "no"), ("Code?", "007"), ("Version?", "1.10")]


def test_a_chosen_column_is_the_question_in_rows_too() -> None:
    row = {"ticket": "my card fails", "category": "billing"}
    tables = TableChoices({"ticket": "question", "category": "expected"})

    (case,) = read("rows.jsonl", json.dumps(row).encode(), tables=tables).suites[0].spec.cases

    assert (case.name, case.turns[0].expected) == ("my card fails", "billing")


def test_the_row_of_the_headers_can_be_chosen() -> None:
    content = b"Question,Answer\nWhat,Reply\nhi,fine\n"
    columns = {"What": "user", "Reply": "expected"}

    (case,) = read("rows.csv", content, tables=TableChoices(columns, header_row=2)).suites[0].spec.cases  # fmt: skip

    assert (case.turns[0].user, case.turns[0].expected) == ("hi", "fine")


def test_headers_below_a_title_are_found_even_if_none_is_known() -> None:
    content = b"Fragen 2026,,\nNr.,Anliegen,Loesung\n1,Wann ist offen?,um neun\n"

    (question,) = [item for item in errors("rows.csv", content) if getattr(item, "nearest", None)]

    assert (getattr(question, "header", ""), question.line) == ("Anliegen", 2)


def test_a_key_that_is_left_out_is_named_with_its_rows() -> None:
    rows = [{"question": "a", "expected": "b"}, {"question": "c", "expected": "d", "owner": "Ann"}]

    (loss,) = read("rows.jsonl", "\n".join(map(json.dumps, rows)).encode()).losses

    assert (loss.keys, "1 row" in loss.message) == ("[1].owner", True)


def test_names_of_files_that_differ_late_give_different_suites() -> None:
    content = as_csv({"question": "a", "expected": "b"})
    long = "team-support-evaluation-starter-sets-quarterly-review-shipping"

    slugs = {read(f"{long}-{end}.csv", content).suites[0].spec.slug for end in ("alpha", "beta")}

    assert len(slugs) == 2
    assert read("shop/evals/dataset.csv", content).suites[0].spec.slug == "shop-evals-dataset"


@pytest.mark.parametrize(
    ("cell", "right", "wrong"),
    [
        pytest.param("30", "It takes 30 days.", "It takes 300 days.", id="whole"),
        pytest.param("6,90", "It is 6.90 EUR.", "It is 16,90 EUR.", id="with a comma"),
        pytest.param("6.90", "It costs 6.9 EUR.", "It costs 6.95 EUR.", id="with a point"),
        pytest.param("1,234", "1234 people", "1,235 people", id="of thousands"),
        pytest.param("30 days", "Within 30 days.", "Within 30 weeks.", id="with a unit"),
    ],
)
def test_a_column_of_numbers_looks_for_each_number(cell: str, right: str, wrong: str) -> None:
    column = column_of("expected number")
    assert isinstance(column, CheckColumn)

    checks = [check for part in column.parts(cell) for check in column.read(part)]

    assert [passes(checks, reply, "") for reply in (right, wrong)] == [True, False]
