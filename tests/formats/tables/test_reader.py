import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from evals_app.engine.graders.kit.base import PlainGrader
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent, Problem
from evals_app.formats.tables.columns import HEADERS
from tests.engine.graders.makers import view_of

KNOWN = ExistingObjects(agents={"desk": "model"}, fixtures=frozenset({"shop"}))


def read(content: str | bytes, path: str = "cases.csv", agent: str | None = "desk") -> Imported:
    written = content if isinstance(content, bytes) else content.encode()
    return read_files([SourceFile(path, written)], known=KNOWN, agent=agent)


def suite(content: str | bytes, path: str = "cases.csv", agent: str | None = "desk") -> Any:
    (located,) = read(content, path, agent).suites
    return located.spec.model_dump(mode="json", exclude_defaults=True)


def cases(content: str) -> Any:
    return suite(content)["cases"]


def turn(content: str) -> Any:
    """Return the first turn of a table."""
    return cases(content)[0]["turns"][0]


def checks(header: str, cell: str, *, expected: str = "") -> Any:
    """Return the checks of a turn with one such cell."""
    quoted = cell.replace('"', '""')
    return turn(f'user,expected,{header}\nhi,{expected},"{quoted}"\n').get("assertions")


def problems(content: str | bytes, path: str = "cases.csv", agent: str | None = "desk") -> Any:
    with pytest.raises(FormatError) as caught:
        read(content, path, agent)
    return [problem for problem in caught.value.problems if problem.level == "error"]


def places_of(problems: list[Problem]) -> list[tuple[int, int, str]]:
    return [(problem.line, problem.column, problem.keys) for problem in problems]


def fill_rows(sheet: Worksheet, *rows: list[Any]) -> None:
    for row in rows:
        sheet.append(row)


def book(*fills: tuple[str, Callable[[Worksheet], Any] | list[list[Any]]]) -> bytes:
    """Make a workbook of sheets, each filled by a function or with rows."""
    made = Workbook()
    made.remove(made.worksheets[0])
    for title, fill in fills:
        sheet = made.create_sheet(title)
        if callable(fill):
            fill(sheet)
        else:
            fill_rows(sheet, *fill)
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def test_the_smallest_table_is_a_suite_of_its_file_name() -> None:
    spec = suite(
        "user,expected\nCapital of France?,Paris\nOf Italy?,Rome\n", "evals/my geography.csv"
    )

    assert spec == {
        "suite": "my geography",
        "slug": "my-geography",
        "agent": "desk",
        "assertions": [{"type": "contains", "whole_words": True}],
        "cases": [
            {
                "name": "Capital of France?",
                "turns": [{"user": "Capital of France?", "expected": "Paris"}],
            },
            {"name": "Of Italy?", "turns": [{"user": "Of Italy?", "expected": "Rome"}]},
        ],
    }


def test_the_ending_suite_is_no_part_of_the_name() -> None:
    assert suite("user,contains\nhi,hello\n", "Desk.suite.csv")["slug"] == "desk"


@pytest.mark.parametrize("user", ["User", " QUESTION ", "input", "Prompt", "user_message"])
@pytest.mark.parametrize("expected", ["Expected", "ANSWER", "ground truth", "Expected-Answer *"])
def test_headers_are_known_by_their_usual_names_in_any_case(user: str, expected: str) -> None:
    assert turn(f"{user},{expected}\nhi,hello\n") == {"user": "hi", "expected": "hello"}


def test_each_column_says_what_its_header_means() -> None:
    header = (
        "case,description,tags,channel,param:name,param: Age,clock,max prompt tokens,"
        "max_response_tokens,Max time (ms),max cost USD,max tool calls,turn timeout s,streaming,"
        "trials,history,user,expected,context,retrieval context,config,final checks"
    )
    row = (
        'first,For people,"a, b;c",api,Ana,42,2026-05-01T09:30:00+00:00,"1,000",20,300,0.05,4,9.5,'
        'yes,3,"[{role: user, content: Hi}]",hi,hello,It is open.,"[""a"", ""b""]",{deep: [1]},'
        '"type: tool_not_called\nvalue: entity.delete"'
    )

    (case,) = cases(f"{header}\n{row}\n")

    assert case == {
        "name": "first",
        "description": "For people",
        "tags": ["a", "b", "c"],
        "channel": "api",
        "context_params": {"name": "Ana", "Age": 42},
        "clock": "2026-05-01T09:30:00+00:00",
        "limits": {
            "max_prompt_tokens": 1000,
            "max_response_tokens": 20,
            "max_time_ms": 300,
            "max_cost_usd": 0.05,
            "max_tool_calls": 4,
        },
        "turn_timeout_s": 9.5,
        "streaming": True,
        "trials": 3,
        "history": [{"role": "user", "content": "Hi"}],
        "turns": [
            {
                "user": "hi",
                "expected": "hello",
                "context": ["It is open."],
                "retrieval_context": ["a", "b"],
                "config": {"deep": [1]},
            }
        ],
        "final_assertions": [{"type": "tool_not_called", "value": "entity.delete"}],
    }


def test_files_of_a_turn_are_named_a_line_each() -> None:
    table = SourceFile("a/cases.csv", b'user,contains,files\nhi,x,"notes/one.txt\ntwo.md"\n')
    beside = {"a/notes/one.txt": b"1", "a/two.md": b"2"}

    (located,) = read_files([table], known=KNOWN, agent="desk", find=beside.get).suites

    assert [file.path for file in located.spec.cases[0].turns[0].files] == [
        "notes/one.txt",
        "two.md",
    ]


@pytest.mark.parametrize(
    ("header", "cell", "assertions"),
    [
        ("contains", "one\n two \n", [("contains", "value", "one"), ("contains", "value", "two")]),
        ("not contains", "no", [("not_contains", "value", "no")]),
        ("matches", r"#\d+", [("matches", "value", r"#\d+")]),
        ("regex", r"#\d+", [("matches", "value", r"#\d+")]),
        ("not matches", "x", [("not_matches", "value", "x")]),
        ("exact match", "Paris", [("exact_match", "value", "Paris")]),
        ("tool called", "entity.query", [("tool_called", "value", "entity.query")]),
        ("tool not called", "entity.delete", [("tool_not_called", "value", "entity.delete")]),
        ("criteria", "Is polite.", [("llm_judge", "criteria", "Is polite.")]),
    ],
)
def test_a_column_of_checks_has_one_a_line(
    header: str, cell: str, assertions: list[tuple[str, str, str]]
) -> None:
    assert checks(header, cell) == [{"type": kind, key: value} for kind, key, value in assertions]


@pytest.mark.parametrize(
    ("way", "check"),
    [
        ("contains", {"type": "contains"}),
        ("Exact match", {"type": "exact_match"}),
        ("exact_match", {"type": "exact_match"}),
        ("numeric", {"type": "numeric"}),
        ("number", {"type": "numeric", "extract": "last"}),
        ("last number", {"type": "numeric", "extract": "last"}),
        ("any number", {"type": "numeric", "extract": "any"}),
        ("number, comma", {"type": "numeric", "extract": "last", "decimal": "comma"}),
        ("fuzzy match 0.8", {"type": "fuzzy_match", "threshold": 0.8}),
        ("token f1 >= .5", {"type": "token_f1", "threshold": 0.5}),
        ("rouge>=1", {"type": "rouge", "threshold": 1.0}),
        ("semantic similarity 0.9", {"type": "semantic_similarity", "threshold": 0.9}),
        ("json valid", {"type": "json_valid"}),
        (
            "same meaning",
            {"type": "llm_judge", "criteria": "The reply says the same as the expected answer."},
        ),
    ],
)
def test_the_column_check_says_how_the_expected_text_is_compared(way: str, check: Any) -> None:
    assert checks("check", way, expected="hello") == [check]


@pytest.mark.parametrize(
    ("expected", "reply", "passed"),
    [
        pytest.param("1,875", "In all 1,875", True, id="thousands on both sides"),
        pytest.param("12", "3 x 4 = 12, so 15", False, id="a figure on the way"),
        pytest.param("12", "3 x 5 - 3 = 12", True, id="the last figure"),
    ],
)
def test_the_check_number_is_about_the_last_number(
    expected: str, reply: str, *, passed: bool
) -> None:
    imported = read(f'user,expected,check\nHow many?,"{expected}",number\n')
    (located,) = imported.suites
    (check,) = located.spec.cases[0].turns[0].assertions or []

    assert isinstance(check.grader, PlainGrader)
    assert check.grader.grade(view_of(reply, expected=expected)).passed is passed
    assert not imported.warnings


def test_several_ways_to_compare_stand_on_lines_of_their_own() -> None:
    compared = checks("check", "contains\nrouge 0.5", expected="hello")

    assert compared == [{"type": "contains"}, {"type": "rouge", "threshold": 0.5}]


def test_an_expected_text_is_compared_next_to_other_checks_unless_its_row_says_none() -> None:
    content = "user,expected,check,contains\na,Rome,,y\nb,x,none,y\nc,z,exact,y\nd,,,y\ne,x,none,\n"

    assert [case["turns"][0]["assertions"] for case in cases(content)] == [
        [{"type": "contains", "whole_words": True}, {"type": "contains", "value": "y"}],
        [{"type": "contains", "value": "y"}],
        [{"type": "exact_match"}, {"type": "contains", "value": "y"}],
        [{"type": "contains", "value": "y"}],
        [],
    ]


def test_checks_of_the_suite_take_the_place_of_the_usual_comparison() -> None:
    content = 'user,expected,contains,settings\na,x,y,"assertions: [{type: exact_match}]"\nb,x,,\n'

    spec = suite(content)

    assert spec["assertions"] == [{"type": "exact_match"}]
    assert spec["cases"][0]["turns"][0]["assertions"] == [{"type": "contains", "value": "y"}]
    assert "assertions" not in spec["cases"][1]["turns"][0]


def test_a_row_may_add_its_checks_to_those_of_the_suite() -> None:
    spec = suite("user,expected,contains,inherit\na,Paris,y,TRUE\n")

    assert spec["cases"][0]["turns"][0] == {
        "user": "a",
        "expected": "Paris",
        "assertions": [
            {"type": "contains", "whole_words": True},
            {"type": "contains", "value": "y"},
        ],
    }


@pytest.mark.parametrize(
    "cell",
    [
        "type: rouge\nthreshold: 0.5\n",
        "[{type: rouge, threshold: 0.5}]",
        '- {"type": "rouge", "threshold": 0.5}',
    ],
)
def test_any_check_may_be_written_as_yaml(cell: str) -> None:
    assert checks("checks", cell, expected="x") == [{"type": "rouge", "threshold": 0.5}]


def test_rows_of_one_name_or_without_a_name_are_the_turns_of_a_case() -> None:
    content = "case,user,contains,tags\nfirst,a,x,t\n,b,x,\n\nfirst ,c,x,t\nsecond,d,x,\n,e,x,\n"

    read_cases = cases(content)

    assert [case["name"] for case in read_cases] == ["first", "second"]
    asked = [[turn["user"] for turn in case["turns"]] for case in read_cases]
    assert asked == [["a", "b", "c"], ["d", "e"]]


def test_without_any_name_every_row_is_a_case() -> None:
    names = [case["name"] for case in cases("case,user,contains\n,a,x\n,b,x\n")]

    assert names == ["a", "b"]


def test_rows_above_the_header_empty_rows_and_columns_for_people_are_passed_over() -> None:
    content = "Cases of May;;\n\nuser;expected;# owner\n;;\na;b;me\n;;\nc;d;\n"

    assert [case["turns"][0]["user"] for case in cases(content)] == ["a", "c"]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("42", 42),
        ("-1.5", -1.5),
        ("true", True),
        ('"42"', "42"),
        ("007", "007"),
        ("1.50", "1.50"),
        ("null", "null"),
        ("TRUE", "TRUE"),
        ("[1]", "[1]"),
        ('"said"', '"said"'),
    ],
)
def test_a_parameter_is_a_number_only_if_it_would_be_written_the_same(
    cell: str, value: Any
) -> None:
    quoted = cell.replace('"', '""')
    (case,) = cases(f'user,contains,param:p\nhi,x,"{quoted}"\n')

    assert case["context_params"] == {"p": value}
    assert type(case["context_params"]["p"]) is type(value)


def test_the_suite_is_named_in_its_first_row_or_settings() -> None:
    content = (
        'user,contains,suite,slug,agent,settings\nhi,x,My suite,mine,desk,"trials: 3\ntags: [a]"\n'
        "ho,x,My suite,,,\n"
    )

    spec = suite(content, agent=None)

    assert {key: spec[key] for key in spec if key != "cases"} == {
        "suite": "My suite",
        "slug": "mine",
        "agent": "desk",
        "trials": 3,
        "tags": ["a"],
    }


def test_a_table_wins_over_the_agent_that_is_given_for_those_who_name_none() -> None:
    known = ExistingObjects(agents={"desk": "model", "other": "model"})
    source = SourceFile("a.csv", b"user,contains,agent\nhi,x,other\n")

    (located,) = read_files([source], known=known, agent="desk").suites

    assert located.spec.agent == "other"


ERRORS = [
    pytest.param("usr,contains\nhi,x\n", [(1, 1, "A1")], "'user'", id="no messages"),
    pytest.param("user,contians\nhi,x\n", [(1, 2, "B1")], "Did you mean 'contains'?", id="header"),
    pytest.param("user,zzz\nhi,x\n", [(1, 2, "B1")], "Known: case, description", id="unknown"),
    pytest.param("user,expected,answer\na,b,c\n", [(1, 3, "C1")], "as B1 does", id="twice"),
    pytest.param("user,contains,\na,b,\nc,d,e\n", [(3, 3, "C3")], "no header", id="no header"),
    pytest.param("user,contains\na,b,c\n", [(2, 3, "C2")], "no header", id="too long a row"),
    pytest.param("user,contains\n", [(1, 1, "")], "no rows below", id="no case"),
    pytest.param("", [(1, 1, "")], "empty", id="empty"),
    pytest.param("user,contains\n,x\n", [(2, 1, "A2")], "no message", id="no message"),
    pytest.param(
        "case,user,contains\n,a,x\nb,c,x\n", [(2, 1, "A2")], "name of a case", id="no name at first"
    ),
    pytest.param(
        "case,user,contains\na,x,x\nb,x,x\na,x,x\n",
        [(4, 1, "A4")],
        "begins in A2",
        id="a case in two places",
    ),
    pytest.param(
        "case,user,contains,tags\na,x,x,t\na,x,x,other\n", [(3, 4, "D3")], "D2", id="tags differ"
    ),
    pytest.param("user,matches\na,(\n", [(2, 2, "B2")], "pattern", id="no pattern"),
    pytest.param("user,check\na,equls\n", [(2, 2, "B2")], "'equals'", id="no such way"),
    pytest.param("user,check\na,exact\n", [(2, 2, "B2")], "expected", id="nothing to compare"),
    pytest.param(
        "user,checks\na,{type: contians}\n", [(2, 2, "B2")], "type: Unknown check", id="in data"
    ),
    pytest.param("user,checks\na,[x\n", [(2, 2, "B2")], "YAML", id="yaml"),
    pytest.param("user,checks\na,text\n", [(2, 2, "B2")], "Expected a list", id="no check"),
    pytest.param("user,contains,trials\na,x,2.5\n", [(2, 3, "C2")], "whole number", id="trials"),
    pytest.param("user,contains,trials\na,x,0\n", [(2, 3, "C2")], "greater", id="no trial"),
    pytest.param("user,contains,streaming\na,x,maybe\n", [(2, 3, "C2")], "TRUE", id="no flag"),
    pytest.param(
        "user,contains,max cost usd\na,x,cheap\n", [(2, 3, "C2")], "decimal point", id="no money"
    ),
    pytest.param("user,contains,clock\na,x,noon\n", [(2, 3, "C2")], "2026-05-01T", id="no time"),
    pytest.param(
        'user,contains,param:p,context params\na,x,1,"{p: 2}"\n',
        [(2, 4, "D2")],
        "Another column",
        id="a parameter twice",
    ),
    pytest.param(
        "user,contains,settings\na,x,trails: 3\n", [(2, 3, "C2")], "'trials'", id="setting"
    ),
    pytest.param("user,contains,settings\na,x,3\n", [(2, 3, "C2")], "trials: 3", id="no setting"),
    pytest.param(
        "user,contains,settings\na,x,cases: []\n", [(2, 3, "C2")], "rows are", id="cases there"
    ),
    pytest.param(
        "user,contains,slug,settings\na,x,s,slug: t\n", [(2, 4, "D2")], "C2", id="slug twice"
    ),
    pytest.param(
        "user,contains,slug\na,x,s\na,x,t\n", [(3, 3, "C3")], "one suite", id="two suites"
    ),
    pytest.param("user,contains,slug\na,x,My Slug\n", [(2, 3, "C2")], "lower-case", id="slug"),
    pytest.param("user,contains,agent\na,x,dsk\n", [(2, 3, "C2")], "'desk'", id="no such agent"),
]


@pytest.mark.parametrize(("content", "places", "words"), ERRORS)
def test_an_error_is_reported_with_its_cell(content: str, places: Any, words: str) -> None:
    errors = problems(content)

    assert places_of(errors) == places
    assert any(words in item.message for item in errors), errors


def test_an_agent_that_no_one_names_is_reported_next_to_all_other_errors() -> None:
    errors = problems("user,trials\na,x\n", agent=None)

    assert places_of(errors) == [(1, 1, ""), (2, 2, "B2")]
    assert [isinstance(item, NoAgent) for item in errors] == [True, False]
    assert "--agent" in errors[0].message


def test_what_follows_from_an_error_is_not_reported() -> None:
    # Without the column of what is expected nothing is asserted, either.
    (error,) = problems("user,expectd\na,x\n")

    assert "'expected'" in error.message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("cases.XLS", "Workbook", id="old Excel"),
        pytest.param("cases.ods", "LibreOffice", id="LibreOffice"),
        pytest.param("cases.numbers", "Export", id="Numbers"),
        pytest.param("cases.pdf", "eval", id="no table at all"),
    ],
)
def test_a_table_of_another_kind_is_refused_with_the_way_out(name: str, words: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_files([SourceFile(name, b"")])

    assert words in caught.value.problems[0].message


def test_a_case_that_asserts_nothing_is_warned_of() -> None:
    (warning,) = read("user,contains\na,refund\nb,\n").warnings

    assert (warning.line, warning.keys) == (3, "A3")
    assert "checks nothing" in warning.message


OWNED = '"owner": "Ann"'


@pytest.mark.parametrize(
    ("rows", "keys", "word"),
    [
        pytest.param(
            [f'{{"input": "a", "expected": "x", {OWNED}}}', f'{{"input": "b", {OWNED}}}'],
            "[1].input",
            "checks nothing",
            id="a case without checks",
        ),
        pytest.param(
            [f'{{"input": "a", "expected": "many", "check": "number", {OWNED}}}'],
            "[0].expected",
            "number",
            id="an expected text that fails its own check",
        ),
        pytest.param(
            [f'{{"input": "a", "not contains": "12", "contains": "Bonn", {OWNED}}}'],
            "[0]['not contains']",
            "whole_words",
            id="a check that finds part of a number",
        ),
    ],
)
def test_a_loss_silences_no_warning(rows: list[str], keys: str, word: str) -> None:
    imported = read("\n".join(rows), "rows.jsonl")

    assert [loss.keys for loss in imported.losses] == ["[0].owner"]
    (warning,) = imported.warnings
    assert word in warning.message
    assert warning.keys == keys.replace("'", '"')


def test_a_suite_that_checks_nothing_at_all_is_warned_of_once() -> None:
    rows = "".join(f'{{"question": "{n}", "expected_team": "search"}}\n' for n in range(3))
    imported = read(rows, "rows.jsonl")

    (warning,) = imported.warnings
    assert "None of the 3 cases" in warning.message
    (loss,) = imported.losses
    assert loss.keys == "[0].expected_team"
    assert "expected answer" not in loss.message


@pytest.mark.parametrize(
    ("header", "lost"),
    [
        pytest.param("question,expectedResponse,metadata", ["C1"], id="Copilot Studio"),
        pytest.param("id,input,expected_output,metadata,status", ["D1", "E1"], id="Langfuse"),
        pytest.param("input,target", [], id="input and target"),
        pytest.param("prompt,completion", [], id="prompt and completion"),
        pytest.param("Question,Gold", [], id="gold"),
        pytest.param("query,output,#internal", [], id="output"),
    ],
)
def test_tables_of_other_tools_are_understood(header: str, lost: list[str]) -> None:
    row = ",".join(f"cell {n}" for n, _ in enumerate(header.split(",")))

    imported = read(f"{header}\n{row}\n")

    (turn,) = imported.suites[0].spec.cases[0].turns
    assert turn.user.startswith("cell")
    assert turn.expected is not None
    assert [loss.keys for loss in imported.losses] == lost


def test_what_is_no_table_is_refused_under_this_name() -> None:
    with pytest.raises(FormatError, match="no rows"):
        read_files([SourceFile("a.yaml", b"prompts: []")], dialect="table")


# Workbooks.


def test_one_sheet_of_cases_is_a_suite_of_the_file_name() -> None:
    content = book(("Sheet1", [["user", "expected"], ["2 + 2?", "four"]]), ("Empty", []))

    spec = suite(content, "sums.suite.xlsx")

    assert (spec["suite"], spec["slug"]) == ("sums", "sums")
    assert spec["cases"][0]["turns"] == [{"user": "2 + 2?", "expected": "four"}]


def test_several_sheets_of_cases_are_several_suites() -> None:
    rows = [["user", "expected"], ["a", "b"]]

    suites = read(book(("First half", rows), ("Second", rows)), "exam.xlsx").suites

    assert [(item.spec.suite, item.spec.slug) for item in suites] == [
        ("First half", "exam-first-half"),
        ("Second", "exam-second"),
    ]


def test_a_sheet_about_suites_has_a_row_for_each_sheet_of_cases() -> None:
    rows = [["user", "expected"], ["a", "blue"]]
    about: list[list[Any]] = [
        ["Sheet", "suite", "slug", "agent", "Judge model", "trials", "fixtures", "rubric", "# who"],
        ["two", "Two", "second", "desk", "agent", 3, "shop", "- polite", "me"],
        ["ONE", None, "first"],
    ]

    suites = read(book(("One", rows), ("Two", rows), ("Suite", about)), "exam.xlsx").suites

    assert [item.spec.slug for item in suites] == ["first", "second"]
    assert suites[1].spec.model_dump(mode="json", exclude_defaults=True, exclude={"cases"}) == {
        "suite": "Two",
        "slug": "second",
        "agent": "desk",
        "judge_model": "agent",
        "trials": 3,
        "fixtures": ["shop"],
        "rubric": "- polite",
        "assertions": [{"type": "contains", "whole_words": True}],
    }


@pytest.mark.parametrize(
    ("about", "keys", "words"),
    [
        ([["slug"], ["x"]], "Suite!A2", "sheet"),
        ([["sheet", "slug"], ["Tow", "x"]], "Suite!A2", "'Two'"),
        ([["sheet", "slgu"], ["One", "x"]], "Suite!B1", "'slug'"),
        ([["sheet", "slug"], ["One", "x"], ["One", "y"]], "Suite!A3", "already"),
        ([["sheet", "trials"], ["One", "many"]], "Suite!B2", "whole number"),
        ([["sheet", "agent"], ["One", "desk"]], "Suite!B2", "One!C2"),
    ],
)
def test_an_error_on_the_sheet_about_suites_is_reported(about: Any, keys: str, words: str) -> None:
    first = [["user", "expected", "agent"], ["a", "b", "desk"]]
    second = [["user", "expected"], ["a", "b"]]

    (error,) = problems(book(("One", first), ("Two", second), ("Suite", about)), "exam.xlsx")

    assert (error.path, error.keys) == ("exam.xlsx", keys)
    assert words in error.message


def test_a_sheet_called_suite_that_has_messages_is_a_sheet_of_cases() -> None:
    assert suite(book(("Suite", [["user", "expected"], ["a", "b"]])), "a.xlsx")["slug"] == "a"


def test_notes_and_hidden_sheets_are_left_out_with_a_warning() -> None:
    def hidden(sheet: Worksheet) -> None:
        sheet["A1"] = "user"
        sheet.sheet_state = "hidden"

    content = book(
        ("Cases", [["user", "expected"], ["a", "b"]]), ("Notes", [["Ask Ana"]]), ("Lists", hidden)
    )

    imported = read(content, "a.xlsx")

    assert [item.spec.slug for item in imported.suites] == ["a"]
    assert [(warning.keys, warning.message.split(" has ")[0]) for warning in imported.warnings] == [
        ("", "The sheet Lists is hidden and was not read."),
        ("Notes", "The sheet Notes"),
    ]


def test_a_sheet_with_known_headers_and_no_messages_is_an_error() -> None:
    content = book(
        ("Cases", [["user", "expected"], ["a", "b"]]), ("More", [["qestion", "expected"], ["a"]])
    )

    errors = problems(content, "a.xlsx")

    assert places_of(errors) == [(1, 1, "More!A1")]
    assert "'question'" in errors[0].message


def test_cells_that_show_no_value_are_reported_where_they_are_read() -> None:
    def fill(sheet: Worksheet) -> None:
        fill_rows(sheet, ["user", "contains", "trials", "# note"], ["a", "x", "=1+1", "=1+1"])
        sheet["B2"] = "#N/A"
        sheet["B2"].data_type = "e"

    errors = problems(book(("S", fill)), "a.xlsx")

    assert places_of(errors) == [(2, 2, "S!B2"), (2, 3, "S!C2")]
    assert "#N/A" in errors[0].message
    assert "Open" in errors[1].message


def test_merged_cells_count_for_every_row_that_they_cover() -> None:
    def fill(sheet: Worksheet) -> None:
        first = (["case", "user", "expected"], ["first", "a", "same"], [None, "b", None])
        fill_rows(sheet, *first, ["second", "c", "x"])
        sheet.merge_cells("A2:A3")
        sheet.merge_cells("C2:C3")

    spec = suite(book(("S", fill)), "a.xlsx")

    assert [len(case["turns"]) for case in spec["cases"]] == [2, 1]
    assert [turn["expected"] for turn in spec["cases"][0]["turns"]] == ["same", "same"]


def test_a_message_that_is_merged_over_rows_is_an_error() -> None:
    def fill(sheet: Worksheet) -> None:
        fill_rows(sheet, ["user", "contains"], ["a", "x"], [None, "y"])
        sheet.merge_cells("A2:A3")

    errors = problems(book(("S", fill)), "a.xlsx")

    assert places_of(errors) == [(3, 1, "S!A3")]
    assert "merged" in errors[0].message


CELL = st.text(max_size=10) | st.sampled_from(
    [
        *("[", "{}", "[]", "{a: 1}", "type: contains", "none"),
        *("rouge 2", "yes", "1", "-", "null", "#N/A"),
    ]
)


@given(
    st.lists(st.sampled_from(HEADERS) | CELL, max_size=6),
    st.lists(st.lists(CELL, max_size=7), max_size=4),
)
def test_whatever_is_in_cells_is_read_or_reported_with_its_place(
    header: list[str], rows: list[list[str]]
) -> None:
    cells = [["user", *header], *rows]
    text = "\n".join(",".join('"{}"'.format(c.replace('"', '""')) for c in row) for row in cells)
    try:
        reported = read(text.encode(errors="replace")).warnings
    except FormatError as error:
        reported = error.problems

    assert all(item.path == "cases.csv" and item.line and item.message for item in reported)
