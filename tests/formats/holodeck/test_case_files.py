import pytest

from evals_app.formats.importing import SourceFile, read_files
from evals_app.formats.reading.problems import FormatError
from tests.formats.holodeck.projects import KNOWN, problems, read

CASES_ELSEWHERE = """\
# agent.yaml
evaluations:
  metrics:
    - type: standard
      metric: numeric
      relative_tolerance: 0.01
test_cases_file: data/convfinqa_subset.yaml
"""


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param('- {name: a, input: "${GREETING}", ground_truth: "1"}\n', id="list"),
        pytest.param(
            'test_cases:\n  - {name: a, input: "${GREETING}", ground_truth: "1"}\n', id="mapping"
        ),
    ],
)
def test_cases_may_are_in_a_file_of_their_own(cases: str) -> None:
    imported = read(
        CASES_ELSEWHERE,
        beside={"data/convfinqa_subset.yaml": cases},
        environment={"GREETING": "Hello"},
    )

    (case,) = imported.suites[0].spec.cases
    assert (case.name, case.turns[0].user, case.turns[0].expected) == ("a", "Hello", "1")


def test_notes_next_to_the_cases_are_left_out_and_reported() -> None:
    cases = "made_by: convert.py\ntest_cases: [{input: a, ground_truth: '1'}]\n"

    imported = read(CASES_ELSEWHERE, beside={"data/convfinqa_subset.yaml": cases})

    assert len(imported.suites[0].spec.cases) == 1
    assert [(loss.keys, loss.line) for loss in imported.losses] == [("made_by", 1)]


EXACTLY = "evaluations: {metrics: [{type: standard, metric: equality}]}\n"


@pytest.mark.parametrize("cases", ["test_cases: []\n", "test_cases_file: cases.yaml\n"])
def test_a_suite_without_a_case_is_warned_about(cases: str) -> None:
    imported = read(f"{EXACTLY}{cases}", beside={"cases.yaml": "[]"})

    assert [warning.keys for warning in imported.warnings] == [cases.partition(":")[0]]


def test_an_error_in_cases_that_two_agents_share_is_reported_once() -> None:
    sources = [
        SourceFile(f"{name}.yaml", f"name: {name}\n{EXACTLY}test_cases_file: c.yaml\n".encode())
        for name in ("one", "two")
    ]

    with pytest.raises(FormatError) as caught:
        read_files(sources, known=KNOWN, agent="desk", find={"c.yaml": b"- {inputt: x}\n"}.get)

    assert [problem.keys for problem in caught.value.problems] == ["[0]", "[0].inputt"]


def test_agents_in_folders_of_their_own_share_a_file_above_them() -> None:
    sources = [
        SourceFile(
            f"agents/{name}/agent.yaml",
            f"name: {name}\n{EXACTLY}test_cases_file: ../../cases.yaml\n".encode(),
        )
        for name in ("one", "two")
    ]
    beside = {"cases.yaml": b"- {name: a, input: Hello, ground_truth: Hi}\n"}

    imported = read_files(sources, known=KNOWN, agent="desk", find=beside.get)

    assert {suite.spec.slug: len(suite.spec.cases) for suite in imported.suites} == {
        "one": 1,
        "two": 1,
    }


def test_a_file_above_that_is_not_imported_along_is_reported_how_to_be() -> None:
    (problem,) = problems(f"{EXACTLY}test_cases_file: ../cases.yaml\n")

    assert (problem.line, problem.keys) == (2, "test_cases_file")
    assert "Import" in problem.message


def test_errors_in_a_file_of_cases_are_shown_there() -> None:
    cases = "- input: a\n- input: 5\n- input: a\n  expected_tools: [{name: t, args: {a: {regex: '('}}}]\n"

    errors = problems(CASES_ELSEWHERE, beside={"data/convfinqa_subset.yaml": cases})

    assert [(item.path, item.line, item.keys) for item in errors] == [
        ("project/data/convfinqa_subset.yaml", 2, "[1].input"),
        ("project/data/convfinqa_subset.yaml", 4, "[2].expected_tools[0].args.a"),
    ]


@pytest.mark.parametrize(
    ("cases", "line", "message"),
    [
        pytest.param("test_cases: [", 2, "YAML", id="YAML"),
        pytest.param("hello\n", 1, "found", id="text"),
        pytest.param("cases: []\n", 1, "`test_cases`", id="another key"),
    ],
)
def test_a_file_that_holds_no_cases_is_refused(cases: str, line: int, message: str) -> None:
    errors = problems(CASES_ELSEWHERE, beside={"data/convfinqa_subset.yaml": cases})

    assert errors[0].path == "project/data/convfinqa_subset.yaml"
    assert any(item.line == line and message in item.message for item in errors)


def test_a_file_of_cases_that_is_not_there_is_named_with_the_nearest() -> None:
    files = [
        SourceFile("agent.yaml", CASES_ELSEWHERE.encode()),
        SourceFile("data/convfinqa_subsets.yaml", b"- {input: a}\n"),
    ]

    with pytest.raises(FormatError) as caught:
        read_files(files, known=KNOWN, agent="desk")

    result = next(problem for problem in caught.value.problems if problem.path == "agent.yaml")
    assert (result.line, result.keys) == (7, "test_cases_file")
    assert "data/convfinqa_subset.yaml" in result.message
    assert "'data/convfinqa_subsets.yaml'" in result.message


def test_a_file_of_cases_among_those_of_the_import_is_no_eval_file_of_its_own() -> None:
    files = [
        SourceFile("agent.yaml", CASES_ELSEWHERE.encode()),
        SourceFile("data/convfinqa_subset.yaml", b"- {input: a, ground_truth: '1'}\n"),
    ]

    imported = read_files(files, known=KNOWN, agent="desk")

    assert [len(suite.spec.cases) for suite in imported.suites] == [1]


def test_cases_here_and_in_a_file_are_refused() -> None:
    (problem,) = problems(CASES_ELSEWHERE + "test_cases: [{input: a}]\n")

    assert (problem.line, problem.keys) == (7, "test_cases_file")
