import pytest

from evals_app.formats import FormatError, SourceFile, read_files
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
    found = read(
        CASES_ELSEWHERE,
        beside={"data/convfinqa_subset.yaml": cases},
        environment={"GREETING": "Hello"},
    )

    (case,) = found.suites[0].spec.cases
    assert (case.name, case.turns[0].user, case.turns[0].expected) == ("a", "Hello", "1")


def test_notes_next_to_the_cases_are_left_out_and_reported() -> None:
    cases = "made_by: convert.py\ntest_cases: [{input: a, ground_truth: '1'}]\n"

    found = read(CASES_ELSEWHERE, beside={"data/convfinqa_subset.yaml": cases})

    assert len(found.suites[0].spec.cases) == 1
    assert [(loss.keys, loss.line) for loss in found.losses] == [("made_by", 1)]


EXACTLY = "evaluations: {metrics: [{type: standard, metric: equality}]}\n"


@pytest.mark.parametrize("cases", ["test_cases: []\n", "test_cases_file: cases.yaml\n"])
def test_a_suite_without_a_case_is_warned_about(cases: str) -> None:
    found = read(f"{EXACTLY}{cases}", beside={"cases.yaml": "[]"})

    assert [warning.keys for warning in found.warnings] == [cases.partition(":")[0]]


def test_an_error_in_cases_that_two_agents_share_is_reported_once() -> None:
    sources = [
        SourceFile(f"{name}.yaml", f"name: {name}\n{EXACTLY}test_cases_file: c.yaml\n".encode())
        for name in ("one", "two")
    ]

    with pytest.raises(FormatError) as caught:
        read_files(sources, known=KNOWN, agent="desk", find=lambda _: b"- {inputt: x}\n")

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

    found = read_files(sources, known=KNOWN, agent="desk", find=beside.get)

    assert {suite.spec.slug: len(suite.spec.cases) for suite in found.suites} == {
        "one": 1,
        "two": 1,
    }


def test_a_file_above_that_is_not_imported_along_is_reported_how_to_be() -> None:
    (found,) = problems(f"{EXACTLY}test_cases_file: ../cases.yaml\n")

    assert (found.line, found.keys) == (2, "test_cases_file")
    assert "Import" in found.message


def test_errors_in_a_file_of_cases_are_shown_there() -> None:
    cases = "- input: a\n- input: 5\n- input: a\n  expected_tools: [{name: t, args: {a: {regex: '('}}}]\n"

    found = problems(CASES_ELSEWHERE, beside={"data/convfinqa_subset.yaml": cases})

    assert [(item.path, item.line, item.keys) for item in found] == [
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
    found = problems(CASES_ELSEWHERE, beside={"data/convfinqa_subset.yaml": cases})

    assert found[0].path == "project/data/convfinqa_subset.yaml"
    assert any(item.line == line and message in item.message for item in found)


def test_a_file_of_cases_that_is_not_there_is_named_with_the_nearest() -> None:
    files = [
        SourceFile("agent.yaml", CASES_ELSEWHERE.encode()),
        SourceFile("data/convfinqa_subsets.yaml", b"- {input: a}\n"),
    ]

    with pytest.raises(FormatError) as caught:
        read_files(files, known=KNOWN, agent="desk")

    found = next(problem for problem in caught.value.problems if problem.path == "agent.yaml")
    assert (found.line, found.keys) == (7, "test_cases_file")
    assert "data/convfinqa_subset.yaml" in found.message
    assert "'data/convfinqa_subsets.yaml'" in found.message


def test_a_file_of_cases_among_those_of_the_import_is_no_eval_file_of_its_own() -> None:
    files = [
        SourceFile("agent.yaml", CASES_ELSEWHERE.encode()),
        SourceFile("data/convfinqa_subset.yaml", b"- {input: a, ground_truth: '1'}\n"),
    ]

    found = read_files(files, known=KNOWN, agent="desk")

    assert [len(suite.spec.cases) for suite in found.suites] == [1]


def test_cases_here_and_in_a_file_are_refused() -> None:
    (found,) = problems(CASES_ELSEWHERE + "test_cases: [{input: a}]\n")

    assert (found.line, found.keys) == (7, "test_cases_file")
