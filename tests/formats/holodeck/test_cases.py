import pytest

from tests.formats.holodeck.projects import (
    FACT_CHECK,
    MULTI_TURN,
    OVERLAP,
    problems,
    read,
    suite,
    with_metrics,
    with_turn,
    written,
)


def test_metrics_of_a_case_replace_those_of_the_suite_and_its_tools_join_them() -> None:
    (case,) = written(suite(with_metrics(OVERLAP).partition("test_cases")[0] + FACT_CHECK))["cases"]

    assert case == {
        "name": "Fact check test",
        "turns": [
            {
                "user": "What's our company's founding date?",
                "expected": "Founded in 2010",
                "assertions": [
                    {"type": "faithfulness", "threshold": 0.85},
                    {"type": "answer_relevancy", "threshold": 0.7},
                    {"type": "tool_called", "value": "search_kb", "name_match": "contains"},
                ],
            }
        ],
    }


def test_each_turn_has_its_own_truth_config_tools_and_metrics() -> None:
    (case,) = written(suite(MULTI_TURN))["cases"]

    assert case["name"] == "ConvFinQA · MRO 2007"
    assert case["turns"] == [
        {
            "user": "What was the weighted average exercise price per share in 2007?",
            "expected": "60.94",
            "config": {"turn_program": "60.94"},
        },
        {"user": "And in 2005?", "expected": "25.14", "config": {"turn_program": "25.14"}},
        {
            "user": "What was the change over the years?",
            "expected": "35.8",
            "config": {"turn_program": "subtract(60.94, 25.14)"},
            "assertions": [
                {"type": "code", "grader": "evals_app.engine.examples.graders:turn_program"},
                {
                    "type": "tool_called",
                    "value": "subtract",
                    "name_match": "contains",
                    "args": {"a": {"fuzzy": "60.94"}, "b": {"fuzzy": "25.14"}},
                },
            ],
        },
    ]


def test_metrics_of_a_case_are_those_of_each_turn_without_its_own() -> None:
    text = """\
test_cases:
  - evaluations: [{metric: bleu, threshold: 0.2}]
    turns:
      - {input: a, ground_truth: x}
      - {input: b, ground_truth: y, evaluations: [{metric: rouge, threshold: 0.3}]}
      - {input: c, ground_truth: z, evaluations: []}
"""

    (case,) = suite(text).cases

    kinds = [[assertion.type for assertion in turn.assertions or []] for turn in case.turns]
    assert kinds == [["bleu"], ["rouge"], []]
    assert case.turns[2].assertions == []


def test_expected_tools_join_the_metrics_of_the_suite() -> None:
    text = with_turn(
        """\
expected_tools:
  - lookup
  - name: subtract
    count: 2
    args:
      a: 42
      b: [1, {c: 2}]
      c: { fuzzy: "60.94" }
      d: { regex: "^\\\\d+$" }
"""
    )

    (turn,) = written(suite(text))["cases"][0]["turns"]

    assert turn == {
        "user": "hi",
        "inherit": True,
        "assertions": [
            {"type": "tool_called", "value": "lookup", "name_match": "contains"},
            {
                "type": "tool_called",
                "value": "subtract",
                "name_match": "contains",
                "min_count": 2,
                "args": {
                    "a": 42,
                    "b": [1, {"c": 2}],
                    "c": {"fuzzy": "60.94"},
                    "d": {"regex": r"^\d+$"},
                },
            },
        ],
    }


def test_a_literal_that_is_a_matcher_here_is_warned_about() -> None:
    keys = "expected_tools: [{name: t, args: {a: {contains: x}, b: {other: x}, c: {}}}]\n"

    imported = read(with_turn(keys))

    (warning,) = (item for item in imported.warnings if "compares" in item.message)
    assert warning.keys == "test_cases[0].expected_tools[0].args.a"


def test_an_empty_list_of_tools_asserts_nothing_and_says_so() -> None:
    imported = read(with_turn("expected_tools: []\n"))

    assert any("checks nothing" in warning.message for warning in imported.warnings)
    assert imported.suites[0].spec.cases[0].turns[0].assertions is None


def test_retrieved_texts_come_along() -> None:
    (case,) = suite(with_turn("retrieval_context: [one, two]\n")).cases

    assert case.turns[0].retrieval_context == ["one", "two"]


def test_cases_without_a_name_are_called_by_their_position_and_no_name_stands_twice() -> None:
    text = "test_cases:\n  - {input: a}\n  - {name: x, input: b}\n  - {name: x, input: c}\n"

    assert [case.name for case in suite(text).cases] == ["row-0001", "x", "x (2)"]


def test_files_are_shown_with_their_turn() -> None:
    text = with_turn(
        """\
files:
  - {path: data/figures.csv, type: csv, description: The figures, cache: true}
  - {path: ./notes.txt, type: text, pages: [1], sheet: A, range: "A1:B2"}
"""
    )

    imported = read(text, beside={"data/figures.csv": "a,b\n1,2\n", "notes.txt": "Mind the gap."})

    files = imported.suites[0].spec.cases[0].turns[0].files
    assert [file.path for file in files] == ["data/figures.csv", "notes.txt"]
    assert set(imported.contents) == {file.sha256 for file in files}
    assert [loss.keys.rpartition(".")[2] for loss in imported.losses] == [
        *("description", "cache", "pages", "sheet", "range")
    ]


@pytest.mark.parametrize(
    ("file", "key", "message"),
    [
        ("{url: 'https://x.org/a.png'}", ".url", "fetched"),
        ("{type: image}", "", "`path`"),
        ("{path: a.png, type: picture}", ".type", "Write"),
        ("{path: /etc/passwd.txt}", ".path", "folder"),
        ("{path: a.exe}", ".path", "shown"),
        ("{path: gone.png}", "", "gone.png"),
    ],
)
def test_a_file_that_cannot_be_shown_is_refused(file: str, key: str, message: str) -> None:
    (problem,) = problems(with_turn(f"files:\n  - {file}\n"))

    assert (problem.line, problem.keys) == (4, f"test_cases[0].files[0]{key}")
    assert message in problem.message


def test_a_file_that_is_named_twice_is_shown_once() -> None:
    text = with_turn("files: [{path: a.txt}, {path: ./a.txt}, {path: b.txt}]\n")

    imported = read(text, beside={"a.txt": "a", "b.txt": "b"})

    assert [file.path for file in imported.suites[0].spec.cases[0].turns[0].files] == [
        "a.txt",
        "b.txt",
    ]
    assert [loss.keys for loss in imported.losses] == ["test_cases[0].files[1]"]


def test_a_turn_shows_ten_files_at_most() -> None:
    files = "".join(f"  - {{path: {n}.txt}}\n" for n in range(11))

    (problem,) = problems(with_turn(f"files:\n{files}"))

    assert (problem.line, problem.keys) == (4, "test_cases[0].files")
    assert "11" in problem.message


@pytest.mark.parametrize(
    ("case", "key", "message"),
    [
        ("{}", "", "`input`"),
        ("hello", "", "keys"),
        ("{input: ''}", ".input", "empty"),
        ("{input: '   '}", ".input", "only spaces"),
        ("{turns: []}", ".turns", "entry"),
        ("{turns: [{}]}", ".turns[0]", "`input`"),
        ("{turns: [{input: a, name: b}]}", ".turns[0].name", "`name`"),
        ("{turns: [{input: a}], input: a}", ".input", "Move"),
        ("{turns: [{input: a}], ground_truth: a}", ".ground_truth", "Move"),
        ("{turns: [{input: a}], expected_tools: [a]}", ".expected_tools", "Move"),
        ("{turns: [{input: a}], files: [{path: a.png}]}", ".files", "Move"),
        ("{turns: [{input: a}], retrieval_context: [a]}", ".retrieval_context", "Move"),
        ("{turns: [{input: a}], turn_config: {a: 1}}", ".turn_config", "Move"),
        ("{input: a, ground_truth: 60.94}", ".ground_truth", '"60.94"'),
        ("{input: a, evaluations: {metric: bleu}}", ".evaluations", "dash"),
        ("{input: a, expected_tools: [5]}", ".expected_tools[0]", "Expected text"),
        *(
            (
                f"{{input: a, expected_tools: [{{name: t, {tool}}}]}}",
                f".expected_tools[0].{key}",
                message,
            )
            for tool, key, message in (
                ("count: 0", "count", "greater"),
                ("arg: {}", "arg", "'args'"),
                ("args: {a: {fuzzy: x, regex: y}}", "args.a", "has one key"),
                ("args: {a: {regex: '(?=x)'}}", "args.a", "Lookahead"),
            )
        ),
    ],
)
def test_a_case_that_cannot_be_read_is_refused(case: str, key: str, message: str) -> None:
    errors = problems(f"test_cases:\n  - {case}\n")

    assert [(item.line, item.keys) for item in errors] == [(2, f"test_cases[0]{key}")]
    assert message in errors[0].message
