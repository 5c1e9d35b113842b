"""What else evals of skills may have: other names of keys, mappings, files and what is lost."""

import json
from typing import Any

import pytest

from evals_app.engine.suites.suite_spec import SuiteSpec
from evals_app.formats.checking.references import ExistingObjects
from evals_app.formats.detect import foreign_dialect
from evals_app.formats.importing import Imported, SourceFile, read_files
from evals_app.formats.reading.problems import FormatError, NoAgent, Problem

KNOWN = ExistingObjects(agents={"desk": "model"})
PATH = "notes/evals/evals.json"
ASK = {"id": 1, "prompt": "File this receipt, please."}
RESULT = "The receipt is filed under its month."


def read(
    *evals: Any, beside: dict[str, bytes] | None = None, agent: str | None = "desk", **top: Any
) -> Imported:
    data = {"skill_name": "receipts", "evals": evals, **top}
    source = SourceFile(PATH, json.dumps(data).encode())
    return read_files([source], agent=agent, known=KNOWN, find=(beside or {}).get)


def suite(*evals: Any, **top: Any) -> SuiteSpec:
    imported = read(*evals, **top)
    assert imported.losses == imported.warnings == []
    return imported.suites[0].spec


def problems(*evals: Any, **options: Any) -> list[Problem]:
    with pytest.raises(FormatError) as caught:
        read(*evals, **options)
    return caught.value.problems


def criteria(spec: SuiteSpec) -> list[str]:
    (turn,) = spec.cases[0].turns
    checks = [check.model_dump(exclude_defaults=True) for check in turn.assertions or []]
    assert {check["type"] for check in checks} <= {"llm_judge"}
    return [check["criteria"] for check in checks]


@pytest.mark.parametrize("key", ["expectations", "assertions", "expected_behavior"])
def test_each_expectation_is_a_criterion_of_its_own(key: str) -> None:
    spec = suite({**ASK, key: ["Names the month", "Says where the file is"]})

    assert (spec.suite, spec.slug, spec.agent) == ("receipts", "receipts", "desk")
    (case,) = spec.cases
    assert (case.name, case.turns[0].user) == (ASK["prompt"], ASK["prompt"])
    assert criteria(spec) == ["Names the month", "Says where the file is"]
    assert case.turns[0].expected is None


def test_what_a_good_result_is_like_is_background_beside_expectations() -> None:
    spec = suite({**ASK, "expected_output": RESULT, "expectations": ["Names the month"]})

    assert criteria(spec) == ["Names the month"]
    (background,) = spec.cases[0].turns[0].context
    assert RESULT in background
    assert background != RESULT  # what judges rely on is true; this is a wish


@pytest.mark.parametrize("output", [RESULT, [RESULT]])
@pytest.mark.parametrize("empty", [{}, {"expectations": []}, {"assertions": None}])
def test_without_expectations_it_is_the_one_criterion(empty: Any, output: Any) -> None:
    spec = suite({**ASK, "expected_output": output, **empty})

    (criterion,) = criteria(spec)
    assert RESULT in criterion
    assert spec.cases[0].turns[0].context == []


def test_expectations_with_names_keep_their_names_and_say_what_is_lost() -> None:
    imported = read(
        {
            **ASK,
            "assertions": [
                {"name": "month", "description": "Names the month", "weight": 2},
                {"id": "b", "text": "Says where the file is", "must_include": ["/2026"]},
                {"type": "contains", "value": "May"},
            ],
        }
    )

    spec = imported.suites[0].spec
    assert criteria(spec) == ["Names the month", "Says where the file is"]
    assert next(check.name for check in spec.cases[0].turns[0].assertions or []) == "month"
    lost = {(loss.keys.partition("assertions")[2], loss.checks) for loss in imported.losses}
    assert lost == {("[0].weight", 0), ("[1].must_include", 1), ("[2]", 1)}


def test_a_skill_that_must_not_start_is_no_text_to_look_for() -> None:
    evals = [{"prompt": f"Tell a joke, number {n}", "should_trigger": False} for n in range(4)]

    imported = read(*evals)

    (loss,) = imported.losses
    assert (loss.keys.endswith("should_trigger"), loss.checks) == (True, 4)
    assert "4 places" in loss.message
    assert all(case.turns[0].assertions == [] for case in imported.suites[0].spec.cases)
    assert any("None of the 4 cases" in warning.message for warning in imported.warnings)


def test_other_keys_are_named_and_those_about_checks_counted() -> None:
    imported = read(
        {**ASK, "expectations": ["a b"], "must_have": ["x"], "fixture": "shop", "rubric": "r"},
        version=2,
    )

    assert {(loss.keys, loss.checks) for loss in imported.losses} == {
        ("version", 0),
        ("evals[0].must_have", 1),
        ("evals[0].fixture", 0),
        ("evals[0].rubric", 1),
    }


def test_files_are_found_from_the_folder_of_the_skill_or_of_the_evals() -> None:
    beside = {
        "notes/evals/files/a.csv": b"a,b\n",
        "notes/assets/b.md": b"# B",
        "notes/evals/c.txt": b"c",
    }

    imported = read(
        {**ASK, "expectations": ["x y"], "files": ["evals/files/a.csv", "assets/b.md", "c.txt"]},
        beside=beside,
    )

    files = imported.suites[0].spec.cases[0].turns[0].files
    assert imported.losses == []
    assert [file.path for file in files] == ["evals/files/a.csv", "assets/b.md", "c.txt"]
    contents = [imported.contents[str(file.sha256)] for file in files]
    assert contents == [*beside.values()]


def test_files_that_cannot_be_shown_are_lost_with_their_number_and_refuse_nothing() -> None:
    names = ["run.py", "gone.csv", "empty.txt", "../../up.txt", "a.md", 5, "more.py", "x.sh"]
    beside = {f"notes/{name}": b"x" for name in ("run.py", "a.md", "more.py", "x.sh")}
    beside["notes/empty.txt"] = b""

    imported = read({**ASK, "expectations": ["x y"], "files": names}, beside=beside)

    (turn,) = imported.suites[0].spec.cases[0].turns
    assert [file.path for file in turn.files] == ["a.md"]
    assert len(imported.losses) == 2
    assert sorted("4 places" in loss.message for loss in imported.losses) == [False, True]


def test_cases_are_called_by_their_name_or_the_first_words_of_their_prompt() -> None:
    spec = suite(
        {"name": "By month", "prompt": "File it.", "assertions": ["x y"]},
        {"id": 7, "query": "word " * 40, "assertions": ["x y"], "category": "odd", "tags": ["t"]},
        {"prompt": "File it.", "assertions": ["x y"]},
        {"prompt": "File it.", "assertions": ["x y"]},
    )

    first, second, third, fourth = spec.cases
    assert (first.name, third.name, fourth.name) == ("By month", "File it.", "File it. (2)")
    assert second.name.startswith("word word")
    assert len(second.name) <= 60
    assert (second.description, second.tags) == ("id: 7", ["odd", "t"])


def test_braces_are_sent_as_they_are_written() -> None:
    spec = suite({"prompt": "Fill in {{name}}.", "assertions": ["x y"]})

    assert spec.cases[0].turns[0].user == r"Fill in \{{name}}."


@pytest.mark.parametrize(
    ("entry", "keys"),
    [
        pytest.param({"expectations": ["x"]}, "evals[0]", id="nothing asked"),
        pytest.param({"prompt": " ", "expectations": ["x"]}, "evals[0]", id="blank"),
        pytest.param({"prompt": ["x"]}, "evals[0].prompt", id="list"),
        pytest.param({**ASK, "expectations": [5]}, "evals[0].expectations[0]", id="number"),
        pytest.param({**ASK, "assertions": True}, "evals[0].assertions", id="flag"),
        pytest.param({**ASK, "expected_output": {}}, "evals[0].expected_output", id="mapping"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(entry: Any, keys: str) -> None:
    assert keys in {problem.keys for problem in problems(entry)}


def test_a_file_without_an_agent_asks_for_one() -> None:
    (problem,) = problems({**ASK, "expectations": ["x y"]}, agent=None)

    assert isinstance(problem, NoAgent)


OTHERS = {
    "scenario_name": "Adds a module",
    "evals": [
        {
            "name": "a",
            "prompt": "Add it.",
            "fixture": "empty",
            "mock_scripts": {},
            "checks": {"skill_invoked": "add", "files_created": [{"pattern": "*.md"}]},
        }
    ],
}


def test_the_other_file_of_this_name_is_refused_by_name() -> None:
    source = SourceFile("evals/evals.json", json.dumps(OTHERS).encode())

    with pytest.raises(FormatError) as caught:
        read_files([source], agent="desk", known=KNOWN)

    (problem,) = caught.value.problems
    assert "another maker" in problem.message


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        pytest.param({"skill_name": "a", "evals": [{"prompt": "x"}]}, "agent-skills", id="named"),
        pytest.param({"evals": [{"prompt": "x", "assertions": []}]}, "agent-skills", id="unnamed"),
        pytest.param(
            {"evals": [{"query": "x", "should_trigger": True}]}, "agent-skills", id="start"
        ),
        pytest.param(OTHERS, "agent-skills", id="scenario, to be refused"),
        pytest.param({"evals": [{"type": "golden_dataset"}]}, "agentura", id="Agentura"),
        pytest.param({"evals": [{"prompt": "x", "answer": "y"}]}, "table", id="rows"),
        pytest.param({"prompts": ["x"], "tests": [{"vars": {}}]}, "promptfoo", id="promptfoo"),
        pytest.param({"suite": "x", "cases": []}, None, id="ours"),
    ],
)
def test_its_files_are_known_by_their_keys(data: Any, dialect: str | None) -> None:
    assert foreign_dialect("evals.json", data) == dialect
